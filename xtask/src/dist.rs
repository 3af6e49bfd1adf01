//! `cargo xtask dist`: makes the archives of a release, into `target/dist`.
//!
//! A static Linux binary as an archive and as a Debian package, a Windows binary as an archive, and
//! their checksums. What is for Linux is then installed and run on a bare Debian, with nothing of
//! this machine. Publishes nothing.

mod bare_debian;
mod package;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use cargo_metadata::MetadataCommand;

use crate::peers;
use crate::shell::{self, say};
use package::Package;

/// Static, so that it runs on every distribution.
const LINUX: &str = "x86_64-unknown-linux-musl";
const WINDOWS: &str = "x86_64-pc-windows-gnu";

/// The profile of `Cargo.toml` that optimises across crates.
const PROFILE: &str = "release-lto";

/// Arguments of the command.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Package this Linux binary instead of building one
    #[arg(long, value_name = "FILE")]
    linux: Option<PathBuf>,
    /// Package this Windows binary instead of building one
    #[arg(long, value_name = "FILE")]
    windows: Option<PathBuf>,
}

/// Fails if something can't be built, packaged, or run where it is meant to run.
pub(crate) fn run(args: &Args, root: &Path) -> Result<()> {
    let linux = if let Some(file) = &args.linux {
        file.clone()
    } else {
        peers::debian_program("musl-gcc", "musl-tools")?;
        build(root, LINUX)?
    };
    let windows = if let Some(file) = &args.windows {
        file.clone()
    } else {
        peers::debian_program("x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64")?;
        build(root, WINDOWS)?
    };
    let metadata = MetadataCommand::new().current_dir(root).no_deps().exec()?;
    let folder = metadata.target_directory.join("dist").into_std_path_buf();
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let package = Package {
        root,
        folder: &folder,
        version: &binary(&metadata)?.version.to_string(),
        completions: &package::completions(&linux)?,
    };
    let archive = package.tarball(LINUX, &linux)?;
    let deb = package.deb(&linux)?;
    let zip = package.zip(WINDOWS, &windows)?;
    fs::remove_dir_all(folder.join("staging"))?;
    package::checksums(&folder, &[&archive, &deb, &zip])?;
    bare_debian::try_out(&folder, &archive, &deb)?;
    say(&format!("made and tried, in {}", folder.display()));
    if binary(&metadata)?.repository.is_none() {
        say(
            "`cargo binstall` can't find these archives yet: crates/cli/Cargo.toml has no \
             `repository`",
        );
    }
    Ok(())
}

/// Builds the binary for a target, and says where it is.
fn build(root: &Path, target: &str) -> Result<PathBuf> {
    shell::run(Command::new("rustup").args(["target", "add", target]))?;
    shell::run(&mut build_command(root, target))?;
    let metadata = MetadataCommand::new().current_dir(root).no_deps().exec()?;
    let folder = metadata.target_directory.join(target).join(PROFILE);
    let name = if target.contains("windows") {
        "entreat.exe"
    } else {
        "entreat"
    };
    Ok(folder.join(name).into_std_path_buf())
}

fn build_command(root: &Path, target: &str) -> Command {
    let mut command = shell::cargo(root, &["build", "--profile", PROFILE, "--locked"]);
    command.args(["--package", "entreat-cli", "--target", target]);
    command
}

/// The package of the binary.
fn binary(metadata: &cargo_metadata::Metadata) -> Result<&cargo_metadata::Package> {
    let mut packages = metadata.packages.iter();
    let package = packages.find(|package| package.name.as_str() == "entreat-cli");
    package.context("the binary has a package")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_built_from_the_lock_file() {
        assert_eq!(
            shell::shown(&build_command(Path::new("."), LINUX)),
            "cargo build --profile release-lto --locked --package entreat-cli --target x86_64-unknown-linux-musl"
        );
    }

    /// `cargo binstall` looks for the archives by the names that they get here.
    #[test]
    fn binstall_finds_the_archives() {
        let manifest = include_str!("../../crates/cli/Cargo.toml");
        let manifest: toml::Table = manifest.parse().unwrap();
        let binstall = &manifest["package"]["metadata"]["binstall"];
        let filled = |text: &toml::Value, target: &str, ending: &str| {
            let text = text.as_str().unwrap();
            text.replace("{ version }", "1.2.3")
                .replace("{ target }", target)
                .replace("{ archive-suffix }", ending)
        };
        let linux = filled(&binstall["pkg-url"], LINUX, ".tgz");
        assert!(linux.ends_with(&format!("/{}.tgz", package::name("1.2.3", LINUX))));
        let folder = filled(&binstall["bin-dir"], LINUX, "");
        assert!(folder.starts_with(&format!("{}/", package::name("1.2.3", LINUX))));
        let windows = &binstall["overrides"]["x86_64-pc-windows-msvc"];
        let zip = filled(&windows["pkg-url"], "", "");
        assert!(zip.ends_with(&format!("/{}.zip", package::name("1.2.3", WINDOWS))));
        let folder = filled(&windows["bin-dir"], "", "");
        assert!(folder.starts_with(&format!("{}/", package::name("1.2.3", WINDOWS))));
        let gnu = &binstall["overrides"][WINDOWS];
        assert_eq!(gnu["pkg-fmt"].as_str(), Some("zip"));
        let zip = filled(&binstall["pkg-url"], WINDOWS, ".zip");
        assert!(zip.ends_with(&format!("/{}.zip", package::name("1.2.3", WINDOWS))));
    }
}
