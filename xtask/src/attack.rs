//! `cargo xtask attack`: attacks the real programs as untrusted clients, in every known way.
//!
//! The attacks are the test `attack` of the command line, one module per entry point; the name of
//! each test states the property under attack. The test suite runs short variants; this command
//! runs them in full, on optimised programs.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::shell::{self, cargo, say};

/// Arguments of the command.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only the attacks whose names contain this, such as `uploads::`
    filter: Option<String>,
    /// Make the short variants, as the tests do
    #[arg(long)]
    short: bool,
}

/// Runs the attacks and prints their number. Fails if one succeeds.
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
    say(&tally.summary());
    if !status.success() {
        bail!("`{line}` ended with {status}");
    }
    Ok(())
}

fn command(args: &Args, root: &Path) -> Command {
    let test = ["test", "--release", "-p", "entreat-cli", "--test", "attack"];
    let mut command = cargo(root, &test);
    command.args(args.filter.as_deref());
    // One at a time, so that resource usage can be attributed.
    command.args(["--", "--nocapture", "--test-threads=1"]);
    if !args.short {
        command.env("ENTREAT_ATTACK", "long");
    }
    command
}

/// Counts attacks from the tests' output.
#[derive(Default)]
struct Tally {
    attacks: usize,
    tests: usize,
}

impl Tally {
    /// Adds a line's count; returns whether it was one.
    fn count(&mut self, line: &str) -> bool {
        // A test that runs alone prints its name on the same line.
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

    fn summary(&self) -> String {
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
        assert_eq!(tally.summary(), "42 attacks in 2 tests were made");
    }
}
