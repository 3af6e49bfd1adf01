//! The hidden command that ties a server's life to that of `entreat wrap`.

use std::ffi::OsString;

use anyhow::Context as _;
use entreat::gateway::side::child::exec_bound_to_parent;

use crate::context::Exit;
use crate::output;

/// Become another program that ends with its parent
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The id of the process that starts this one
    parent: u32,
    /// The program and its arguments
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let (program, arguments) = args
        .command
        .split_first()
        .context("there is no program to become")?;
    let error = exec_bound_to_parent(args.parent, program, arguments);
    let name = output::sanitize_path(program);
    Err(error).with_context(|| format!("cannot start {name}"))
}
