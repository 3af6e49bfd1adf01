//! `cargo xtask features`: compiles each feature by itself, with the oldest Rust that we promise.
//!
//! The tests turn every feature on. A feature that only compiles beside another, or a method that
//! the promised Rust does not have yet, shows here alone.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use cargo_metadata::{Metadata, MetadataCommand, Package};

use crate::shell::{self, say};

/// What others depend on, or install. The features of `entreat` turn on those of its parts.
const PUBLISHED: [&str; 2] = ["entreat", "entreat-cli"];
/// Features that only stand for others.
const GROUPS: [&str; 2] = ["default", "full"];

/// Fails at the first set of features that does not compile without warnings.
pub(crate) fn run(root: &Path) -> Result<()> {
    let metadata = MetadataCommand::new().current_dir(root).no_deps().exec()?;
    let toolchain = minimum(&metadata)?;
    for name in PUBLISHED {
        let package = package(&metadata, name)?;
        for features in sets(package) {
            shell::run(&mut check(root, toolchain.as_deref(), name, &features))?;
        }
    }
    Ok(())
}

fn package<'a>(metadata: &'a Metadata, name: &str) -> Result<&'a Package> {
    let found = metadata
        .packages
        .iter()
        .find(|package| package.name == name);
    found.with_context(|| format!("there is no package `{name}`"))
}

/// Installs the toolchain of the packages' `rust-version`; `None` if it cannot be had, as without
/// rustup or a network.
fn minimum(metadata: &Metadata) -> Result<Option<String>> {
    let version = package(metadata, "entreat")?.rust_version.as_ref();
    let version = version.context("`entreat` names no rust-version")?;
    let toolchain = format!("{}.{}", version.major, version.minor);
    let runs = |toolchain: &str| {
        shell::works(Command::new("rustup").args(["run", toolchain, "cargo", "--version"]))
    };
    if runs(&toolchain) {
        return Ok(Some(toolchain));
    }
    say(&format!("Rust {toolchain} is missing; installing it"));
    let install = [
        "toolchain",
        "install",
        "--profile",
        "minimal",
        "--no-self-update",
    ];
    if let Err(error) = shell::run(Command::new("rustup").args(install).arg(&toolchain)) {
        say(&format!(
            "{error:#}; features are checked with the Rust in use instead"
        ));
        return Ok(None);
    }
    Ok(Some(toolchain))
}

/// Nothing, each feature by itself, and everything.
fn sets(package: &Package) -> Vec<Vec<&str>> {
    let names = package.features.keys().map(String::as_str);
    let alone = names
        .filter(|name| !GROUPS.contains(name))
        .map(|name| vec![name]);
    let all: Vec<&str> = package.features.keys().map(String::as_str).collect();
    let mut sets: Vec<Vec<&str>> = std::iter::once(Vec::new()).chain(alone).collect();
    if !all.is_empty() {
        sets.push(all);
    }
    sets.dedup();
    sets
}

/// In a folder of its own, or the two toolchains would undo each other's work.
fn check(root: &Path, toolchain: Option<&str>, package: &str, features: &[&str]) -> Command {
    let mut command = Command::new(if toolchain.is_some() {
        "rustup"
    } else {
        "cargo"
    });
    if let Some(toolchain) = toolchain {
        command.args(["run", toolchain, "cargo"]);
    }
    command
        .args(["check", "--profile", "quick"])
        .arg("--no-default-features")
        .args(["--target-dir", "target/features", "--package", package])
        .args(["--features", &features.join(",")])
        .env("RUSTFLAGS", "-D warnings")
        .current_dir(root);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_of_the_crate_is_checked_alone_and_with_all_others() {
        let metadata = MetadataCommand::new().no_deps().exec().unwrap();
        let sets = sets(package(&metadata, "entreat").unwrap());
        assert!(sets[0].is_empty());
        assert!(sets.contains(&vec!["mcp"]), "{sets:?}");
        assert!(sets.contains(&vec!["terminal"]), "{sets:?}");
        assert!(!sets.contains(&vec!["full"]), "{sets:?}");
        let all = sets.last().unwrap();
        assert!(all.contains(&"default") && all.contains(&"embedded"));
    }

    #[test]
    fn a_set_is_checked_without_the_default_features() {
        let shown = |toolchain| {
            let features = ["mcp", "terminal"];
            shell::shown(&check(Path::new("."), toolchain, "entreat", &features))
        };
        assert!(shown(None).starts_with("RUSTFLAGS='-D warnings' cargo check --profile quick "));
        assert_eq!(
            shown(Some("1.90")),
            "RUSTFLAGS='-D warnings' rustup run 1.90 cargo check --profile quick \
             --no-default-features --target-dir target/features --package entreat --features mcp,terminal"
        );
    }
}
