//! `cargo xtask crash`: repeatedly kills a process that writes to the embedded store, a whole
//! service, or a gateway.
//!
//! The workloads are the example `crash` of the stores and the tests `killed*` of the command line;
//! the test suite has a short run of each.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::shell::{self, cargo};

/// Arguments of the command.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How often the process is killed
    #[arg(long, value_name = "N", default_value_t = 200)]
    rounds: u32,
    /// How many elicitations are pending all the while
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        conflicts_with = "service"
    )]
    pending: u32,
    /// Kill `entreat serve` under load over HTTP instead, with callbacks
    #[arg(long)]
    service: bool,
    /// Kill `entreat gateway` instead, with calls parked, asked on pages and running
    #[arg(long, conflicts_with_all = ["service", "pending"])]
    gateway: bool,
}

/// Fails if anything that was acknowledged is lost, duplicated or revived.
pub(crate) fn run(args: &Args, root: &Path) -> Result<()> {
    let mut command = if args.service {
        killed(args, root, &["killed::", "killed_pages::"])
    } else if args.gateway {
        killed(args, root, &["killed_gateway::"])
    } else {
        crash(args, root)
    };
    shell::run(&mut command)
}

fn killed(args: &Args, root: &Path, tests: &[&str]) -> Command {
    let test = [
        "test",
        "--release",
        "-p",
        "entreat-cli",
        "--test",
        "it",
        "--",
    ];
    let mut command = cargo(root, &test);
    command.args(tests);
    command.env("ENTREAT_CRASH_ROUNDS", args.rounds.to_string());
    command
}

fn crash(args: &Args, root: &Path) -> Command {
    let program = [
        "run",
        "--release",
        "-p",
        "entreat-stores",
        "--example",
        "crash",
    ];
    let mut command = cargo(root, &program);
    command
        .arg("--")
        .arg("--rounds")
        .arg(args.rounds.to_string())
        .arg("--pending")
        .arg(args.pending.to_string());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_runs_optimised_with_what_was_asked_for() {
        let args = Args {
            rounds: 3,
            pending: 100_000,
            service: false,
            gateway: false,
        };
        assert_eq!(
            shell::shown(&crash(&args, Path::new("."))),
            "cargo run --release -p entreat-stores --example crash -- --rounds 3 --pending 100000"
        );
    }
}
