//! `cargo xtask servers`: MCP servers of other people, called and answered by `entreat call`.
//!
//! `tests/peers/answers.py` does the calling, since it has a pseudo-terminal at hand and is no
//! Rust: it tries the program alone.

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
