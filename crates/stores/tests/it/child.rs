//! Runs one test of this program in a child process.
//!
//! A test whose name starts with `child` does nothing unless it was started from here, with its
//! arguments in the environment.

use std::process::Command;

const WORDS: &str = "ENTREAT_TEST_CHILD";

/// The command that runs a test in a child process, with arguments.
pub(crate) fn command(test: &str, words: &[&str]) -> Command {
    let mut command = Command::new("sh");
    // Without the trap, a write beyond a limit kills the process instead of failing.
    command
        .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(WORDS, words.join("\n"));
    command
}

/// The arguments of this process, if it is such a child.
#[expect(
    clippy::disallowed_methods,
    reason = "the test harness leaves no other way to pass something to a test"
)]
pub(crate) fn words() -> Option<Vec<String>> {
    let words = std::env::var(WORDS).ok()?;
    Some(words.lines().map(str::to_owned).collect())
}
