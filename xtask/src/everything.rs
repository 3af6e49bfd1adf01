//! `cargo xtask clients`: MCP clients of other people against `examples/everything`.
//!
//! Each client is a program in `tests/peers` that gets the address of the server over HTTP and
//! the command that serves stdio, and tries both, in every era that it knows.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::peers;
use crate::running::Running;
use crate::shell;

/// Builds the example; where it is then.
fn build(root: &Path) -> Result<PathBuf> {
    Ok(shell::build(root)?.join("examples/everything"))
}

/// The example over HTTP, on a free port.
pub(crate) fn serve(root: &Path) -> Result<Running> {
    Running::start(Command::new(build(root)?).args(["--port", "0"]))
}

/// Runs every client; the first that finds something wrong ends the run.
pub(crate) fn run(root: &Path) -> Result<()> {
    let peers = peers::prepare(root)?;
    let server = serve(root)?;
    let program = shell::built(root)?.join("examples/everything");
    let mut python = peers.python();
    let mut typescript = peers.node();
    for (command, script) in [
        (&mut python, "everything.py"),
        (&mut typescript, "everything.mjs"),
    ] {
        command.args([script, &server.url]).arg(&program);
        shell::run(command.arg("stdio"))?;
    }
    Ok(())
}
