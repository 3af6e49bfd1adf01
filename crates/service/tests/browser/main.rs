//! The pages in a real browser, through `WebDriver`: what a person sees and does, and what the
//! asker gets.
//!
//! Tests that make sense without the page's script run twice, with and without it. Nothing sleeps:
//! tests wait for a condition in the page or in the engine, until a deadline.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests: a panic is a failed test"
)]
#![expect(
    clippy::needless_pass_by_value,
    reason = "forms are written as `json!` where they are passed"
)]

mod driver;
mod forms;
mod site;

mod board;
mod closing;
mod conditions;
mod elsewhere;
mod errors;
mod fields;
mod files;
mod hostile;
mod inbox;
mod input_states;
mod keyboard;
mod media;
mod secrets;
#[cfg(feature = "sign-in")]
mod sign_in;
mod states;
mod time;
mod typing;
mod yes_no;

use std::time::Duration;

use driver::Browser;
use site::Site;

/// Whether the browser runs the page's script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Script {
    On,
    Off,
}

/// Longer than any test takes, unless it hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The polling interval.
pub(crate) const GLANCE: Duration = Duration::from_millis(25);

/// A site, and a browser.
pub(crate) struct Scene {
    pub(crate) site: Site,
    pub(crate) browser: Browser,
}

impl Scene {
    pub(crate) fn has_script(&self) -> bool {
        self.browser.script == Script::On
    }
}

/// Runs a test in its own browser.
pub(crate) fn play<F: Future<Output = ()>>(script: Script, body: impl FnOnce(Scene) -> F) {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let site = Site::new().await;
        let browser = Browser::start(script, "en-US").await;
        body(Scene { site, browser }).await;
    });
}

/// Tests that run twice, with and without the script.
macro_rules! both_ways {
    ($($name:ident),* $(,)?) => {$(
        mod $name {
            #[test]
            fn with_the_script() {
                crate::play(crate::Script::On, super::$name);
            }

            #[test]
            fn without_it() {
                crate::play(crate::Script::Off, super::$name);
            }
        }
    )*};
}
pub(crate) use both_ways;

/// Tests of what only the script does.
macro_rules! with_the_script {
    ($($name:ident),* $(,)?) => {$(
        mod $name {
            #[test]
            fn with_the_script() {
                crate::play(crate::Script::On, super::$name);
            }
        }
    )*};
}
pub(crate) use with_the_script;
