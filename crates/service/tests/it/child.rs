//! Runs one test of this program in a child process.
//!
//! A test whose name starts with `child` does nothing unless it was started from here, which an
//! environment variable says.

use std::process::Command;

const SIGN: &str = "ENTREAT_TEST_CHILD";

/// Runs a test as a process, which must succeed.
pub(crate) fn run(test: &str) {
    let mut command = Command::new("sh");
    // Without the trap, a write beyond a limit kills the process instead of failing.
    command
        .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(SIGN, "1");
    assert!(command.status().unwrap().success());
}

/// Whether this is such a child process.
#[expect(
    clippy::disallowed_methods,
    reason = "the test harness leaves no other way to pass something to a test"
)]
pub(crate) fn is_one() -> bool {
    std::env::var_os(SIGN).is_some()
}
