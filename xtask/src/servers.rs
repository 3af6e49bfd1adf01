//! `cargo xtask servers`: `entreat call` against third-party MCP servers.
//!
//! `tests/peers/answers.py` drives the program through a pseudo-terminal, from outside of Rust.

use std::path::Path;

use anyhow::Result;

use crate::peers;
use crate::shell;

pub(crate) fn run(root: &Path) -> Result<()> {
    let peers = peers::prepare(root)?;
    let built = shell::build(root)?;
    let mut python = peers.python();
    python
        .arg("answers.py")
        .arg(built.join("entreat"))
        .arg(built.join("examples/everything"))
        .arg(peers.node().get_program());
    shell::run(&mut python)
}
