//! `cargo xtask attack`: strangers attack the real programs, in every way that we know of.
//!
//! The attacks are the test `attack` of the command line, one module for each entrance; the name
//! of each test says what must hold. Short variants are among the tests; here they are made in
//! full, on optimised programs.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::shell::{self, cargo, say};

/// Which attacks to make.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only the attacks whose names contain this, such as `uploads::`
    filter: Option<String>,
    /// Make the short variants, as the tests do
    #[arg(long)]
    short: bool,
}

/// Fails if anything did not hold; says how many attacks were made.
pub(crate) fn run(args: &Args, root: &Path) -> Result<()> {
    let mut command = command(args, root);
    let line = shell::shown(&command);
    say(&format!("$ {line}"));
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start `{line}`"))?;
    let stdout = child.stdout.take().context("its stdout is ours")?;
    let mut tally = Tally::default();
    for line in BufReader::new(stdout).lines() {
        let line = line?;
        if !tally.count(&line) {
            say(&line);
        }
    }
    let status = child.wait()?;
    say(&tally.told());
    if !status.success() {
        bail!("`{line}` ended with {status}");
    }
    Ok(())
}

fn command(args: &Args, root: &Path) -> Command {
    let test = ["test", "--release", "-p", "entreat-cli", "--test", "attack"];
    let mut command = cargo(root, &test);
    command.args(args.filter.as_deref());
    // One at a time: what a program spends is its own.
    command.args(["--", "--nocapture", "--test-threads=1"]);
    if !args.short {
        command.env("ENTREAT_ATTACK", "long");
    }
    command
}

/// How many attacks were made, by what the tests print.
#[derive(Default)]
struct Tally {
    attacks: usize,
    tests: usize,
}

impl Tally {
    /// Whether a line was a count.
    fn count(&mut self, line: &str) -> bool {
        // The name of the test stands before it when it runs alone.
        let Some((_, count)) = line.split_once("attacks: ") else {
            return false;
        };
        let Ok(count) = count.trim().parse::<usize>() else {
            return false;
        };
        self.attacks += count;
        self.tests += 1;
        true
    }

    fn told(&self) -> String {
        format!("{} attacks in {} tests were made", self.attacks, self.tests)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(filter: Option<&str>, short: bool) -> Args {
        Args {
            filter: filter.map(str::to_owned),
            short,
        }
    }

    #[test]
    fn the_attacks_are_made_in_full_unless_short_ones_are_wanted() {
        let shown = |args: &Args| shell::shown(&command(args, Path::new(".")));
        assert_eq!(
            shown(&args(None, false)),
            "ENTREAT_ATTACK=long cargo test --release -p entreat-cli --test attack -- --nocapture \
             --test-threads=1"
        );
        assert_eq!(
            shown(&args(Some("uploads::"), true)),
            "cargo test --release -p entreat-cli --test attack uploads:: -- --nocapture \
             --test-threads=1"
        );
    }

    #[test]
    fn what_the_tests_print_is_counted() {
        let mut tally = Tally::default();
        for line in [
            "running 2 tests",
            "attacks: 12",
            "test pages::looking_changes_nothing ... attacks: 30",
            "attacks: none",
        ] {
            tally.count(line);
        }
        assert_eq!(tally.told(), "42 attacks in 2 tests were made");
    }
}
