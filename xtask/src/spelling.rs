//! `cargo xtask spelling`: finds misspelt words in code, docs and interface.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::peers;
use crate::shell;

/// Fails if a word is misspelt; `typos.toml` lists what may be.
pub(crate) fn run(root: &Path) -> Result<()> {
    let typos = peers::prepare(root)?.folder().join("venv/bin/typos");
    shell::run(Command::new(typos).current_dir(root))
}
