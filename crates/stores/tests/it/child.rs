//! Runs one test of this program as a process of its own.
//!
//! A test whose name begins with `child` does nothing unless it was started from here: the
//! words for it are in the environment.

use std::process::Command;

const WORDS: &str = "ENTREAT_TEST_CHILD";

/// The command that runs a test as a process, with words for it.
pub(crate) fn command(test: &str, words: &[&str]) -> Command {
    let mut command = Command::new("sh");
    // Without the trap a write beyond a limit ends the process instead of failing.
    command
        .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(WORDS, words.join("\n"));
    command
}

/// The words for this process, if it is such a one.
#[expect(
    clippy::disallowed_methods,
    reason = "the test harness leaves no other way to pass something to a test"
)]
pub(crate) fn words() -> Option<Vec<String>> {
    let words = std::env::var(WORDS).ok()?;
    Some(words.lines().map(str::to_owned).collect())
}
