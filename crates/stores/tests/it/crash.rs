//! A short run of `cargo xtask crash`.

#[path = "../../examples/crash/verify.rs"]
mod verify;
#[path = "../../examples/crash/work.rs"]
mod work;

use std::path::Path;

use crate::child;

#[test]
fn nothing_that_was_acknowledged_is_lost_when_the_process_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let start = |path: &Path, round: u64| {
        child::command(
            "crash::child_that_gets_killed",
            &[path.to_str().unwrap(), &round.to_string()],
        )
    };
    let mut crash = verify::Crash::new(folder.path().join("crash.db"), start);
    let report = crash.run(8, 100, |_| {});
    assert_eq!(report.rounds, 8);
    assert!(report.created > 0 && report.drafted > 0 && report.settled > 0);
    assert!(
        report.slowest_open.as_secs() < 2,
        "{:?}",
        report.slowest_open
    );
}

#[test]
fn child_that_gets_killed() {
    if let Some(words) = child::words() {
        work::until_killed(Path::new(&words[0]), words[1].parse().unwrap());
    }
}
