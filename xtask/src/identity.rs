//! `cargo xtask identity`: who may do what, at length.
//!
//! The tests of sign-in, tokens, groups and the board, with as many random sequences as take
//! minutes; in Chromium with a certified provider; and the fuzz target of tokens.

use std::path::Path;

use anyhow::Result;

use crate::fuzz;
use crate::peers;
use crate::shell::{self, cargo};

/// The tests of signing in, of the board, and of tokens, wherever they are.
const TESTS: &str = "test(/sign_in|board|groups|operators|issuer|resource|tokens|asked_over_http|identity/) \
                     & not binary(browser)";
/// Those in Chromium.
const IN_A_BROWSER: &str = "binary(browser) & test(/sign_in|board|inbox/)";

/// Arguments of the command.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How long to fuzz tokens; 0 leaves that out
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    fuzz_seconds: u32,
}

pub(crate) fn run(args: &Args, root: &Path) -> Result<()> {
    peers::prepare(root)?;
    shell::ensure_subcommand(root, "nextest")?;
    for tests in [TESTS, IN_A_BROWSER] {
        let packages = [
            "-p",
            "entreat-wire",
            "-p",
            "entreat-service",
            "-p",
            "entreat",
            "-p",
            "entreat-cli",
        ];
        let mut command = cargo(
            root,
            &["nextest", "run", "--all-features", "--no-fail-fast"],
        );
        command
            .args(packages)
            .args(["-E", tests])
            .env("ENTREAT_IDENTITY", "long");
        shell::run(&mut command)?;
    }
    match args.fuzz_seconds {
        0 => Ok(()),
        seconds => fuzz::run(&fuzz::Args::of("token", seconds), root),
    }
}
