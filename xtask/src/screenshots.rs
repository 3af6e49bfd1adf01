//! `cargo xtask screenshots`: renders every page in a browser, into `docs/pages`.
//!
//! The browser tests write the screenshots if `ENTREAT_SCREENSHOTS` is set. Those of the gateway
//! come from servers of others behind it.

use std::path::Path;

use anyhow::Result;

use crate::peers;
use crate::shell::{self, cargo};

pub(crate) fn run(root: &Path) -> Result<()> {
    let peers = peers::prepare(root)?;
    let pages = root.join("docs/pages");
    std::fs::create_dir_all(&pages)?;
    let test = [
        "test",
        "--package",
        "entreat-service",
        "--all-features",
        "--test",
        "browser",
        "--",
        "states::",
        "media::",
        "board::",
    ];
    shell::run(cargo(root, &test).env("ENTREAT_SCREENSHOTS", &pages))?;
    let built = shell::build(root)?;
    let mut python = peers.python();
    python.arg("gateway/pictures.py").arg(built.join("entreat"));
    python.arg(peers.node().get_program()).arg(pages);
    shell::run(&mut python)
}
