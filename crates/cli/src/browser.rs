//! Opens pages in the browser of this machine.

use std::io;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::context::Context;
use crate::signals::Signals;

/// How long the closing page stays available.
const CLOSING_PAGE_GRACE: Duration = Duration::from_secs(3);

/// Waits until the browser has loaded the closing page of a question that has just settled, so that
/// the person doesn't see a failed connection in its place. A signal ends the wait.
pub(crate) async fn wait_for_closing_page(signals: &mut Signals) {
    tokio::select! {
        () = tokio::time::sleep(CLOSING_PAGE_GRACE) => {}
        _ = signals.next() => {}
    }
}

/// Whether there is a display for a browser. Without one, opening a URL may start another program
/// instead, such as a terminal browser.
pub(crate) fn may_open(context: &Context) -> bool {
    let is_set = |name| {
        context
            .environment()
            .variable(name)
            .is_some_and(|value| !value.is_empty())
    };
    !cfg!(target_os = "linux")
        || is_set("DISPLAY")
        || is_set("WAYLAND_DISPLAY")
        || is_set("WSL_DISTRO_NAME")
}

/// Opens a URL with the system's default program, without a shell, and does not wait for it.
pub(crate) fn open(url: &str) -> io::Result<()> {
    // The first that exists. `wslview` exists within WSL only, and opens the browser of Windows.
    let programs: &[&[&str]] = if cfg!(windows) {
        // Not `start`, which is a command of the shell and would read `&` in a URL.
        &[&["rundll32", "url.dll,FileProtocolHandler"]]
    } else if cfg!(target_os = "macos") {
        &[&["open"]]
    } else {
        &[&["wslview"], &["xdg-open"], &["gio", "open"]]
    };
    let mut failed = io::ErrorKind::NotFound.into();
    for words in programs {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg(url);
        let quiet = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        match quiet.spawn() {
            Ok(mut child) => {
                // Reaps it; a browser may run for days.
                std::thread::spawn(move || child.wait());
                return Ok(());
            }
            Err(error) => failed = error,
        }
    }
    Err(failed)
}
