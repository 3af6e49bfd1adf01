//! `cargo xtask clients`: third-party MCP clients against `examples/everything`.
//!
//! Each client is a program in `tests/peers` that receives the server's HTTP URL and the stdio
//! command, and tries both, in every protocol era that it supports.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::peers;
use crate::running::RunningServer;
use crate::shell;

/// Builds the example and returns its path.
fn build(root: &Path) -> Result<PathBuf> {
    Ok(shell::build(root)?.join("examples/everything"))
}

/// Starts the example over HTTP, on a free port.
pub(crate) fn serve(root: &Path) -> Result<RunningServer> {
    RunningServer::start(Command::new(build(root)?).args(["--port", "0"]))
}

/// Runs every client; stops at the first failure.
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
