//! `cargo xtask churn`: a long-running load test that watches the memory of running programs.
//!
//! The workload is the test `churn` of the command line; the test suite has a short run of it.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::shell::{self, cargo};

/// Arguments of the command.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// For how long; the slope of the second half is held to a bound from two minutes on
    #[arg(long, value_name = "N", default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
}

/// Fails if the memory of a program keeps growing.
pub(crate) fn run(args: &Args, root: &Path) -> Result<()> {
    shell::run(&mut churn(args, root))
}

fn churn(args: &Args, root: &Path) -> Command {
    let test = ["test", "--release", "-p", "entreat-cli", "--test", "it"];
    let mut command = cargo(root, &test);
    command.args(["churn", "--", "--nocapture"]);
    command.env("ENTREAT_CHURN_SECONDS", args.seconds.to_string());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_runs_optimised_and_prints_what_it_saw() {
        assert_eq!(
            shell::shown(&churn(&Args { seconds: 600 }, Path::new("."))),
            "ENTREAT_CHURN_SECONDS=600 cargo test --release -p entreat-cli --test it churn -- --nocapture"
        );
    }
}
