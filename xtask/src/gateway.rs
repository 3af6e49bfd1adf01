//! `cargo xtask gateway`: third-party clients and servers with the gateway in between.
//!
//! `tests/peers/gateway` runs them and compares, from outside of Rust: each run direct and through
//! the gateway.

use std::path::Path;

use anyhow::Result;

use crate::peers;
use crate::shell;

/// Arguments of the command.
#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// Every client, server, version and transport, and the official conformance suite; otherwise a
    /// draw of a minute or two
    #[arg(long)]
    all: bool,
    /// Run one part only: stdio, http, crossed, silent, chains, client or conformance
    #[arg(long)]
    only: Option<String>,
    /// Go on after a failure, and list all failures at the end
    #[arg(long)]
    keep_going: bool,
}

/// Runs a draw, as a step of `cargo xtask test`.
pub(crate) fn run_some(root: &Path) -> Result<()> {
    run(&Args::default(), root)
}

pub(crate) fn run(args: &Args, root: &Path) -> Result<()> {
    let peers = peers::prepare(root)?;
    let built = shell::build(root)?;
    let mut python = peers.python();
    python.arg("gateway/run.py");
    if args.all {
        python.arg("--all");
    }
    if args.keep_going {
        python.arg("--keep-going");
    }
    if let Some(part) = &args.only {
        python.args(["--only", part]);
    }
    python
        .arg(built.join("entreat"))
        .arg(built.join("examples/everything"))
        .arg(peers.node().get_program());
    shell::run(&mut python)
}
