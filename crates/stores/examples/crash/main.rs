//! Crash test: kills a process that writes to a store, repeatedly, and checks that no acknowledged
//! write is lost.
//!
//! `cargo xtask crash` runs this. With `work` as its first argument it is the process to kill.

#![expect(clippy::print_stdout, reason = "what was found is what it is run for")]

mod verify;
mod work;

use std::path::Path;
use std::process::Command;

use verify::{Crash, Report};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match &words[..] {
        [word, path, round] if word == "work" => {
            let round = round.parse().expect("a round is a number");
            work::until_killed(Path::new(path), round);
        }
        _ => {
            let rounds = option(&words, "--rounds").unwrap_or(200);
            let pending = option(&words, "--pending").unwrap_or(0);
            let folder = tempfile::tempdir().expect("a folder");
            let program = std::env::current_exe().expect("this program");
            let start = |path: &Path, round: u64| {
                let mut command = Command::new(&program);
                command.arg("work").arg(path).arg(round.to_string());
                command
            };
            let mut crash = Crash::new(folder.path().join("crash.db"), start);
            let report = crash.run(rounds, pending, |line| println!("{line}"));
            println!("{report}");
        }
    }
}

fn option(words: &[String], name: &str) -> Option<u64> {
    let place = words.iter().position(|word| word == name)?;
    let value = words.get(place + 1).and_then(|word| word.parse().ok());
    Some(value.unwrap_or_else(|| {
        println!("usage: crash [--rounds N] [--pending N]");
        std::process::exit(2)
    }))
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} rounds: {} creations, {} drafts and {} outcomes were acknowledged; \
             none lost, none doubled, none revived; ready after {:.0?} at most",
            self.rounds, self.created, self.drafted, self.settled, self.slowest_open
        )
    }
}
