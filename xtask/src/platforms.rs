//! `cargo xtask platforms`: checks that Entreat compiles for macOS and Windows, without warnings.
//!
//! Nothing is run there: `docs/platforms.md` says what holds where. The C code of dependencies is
//! compiled by mingw for Windows and by zig for macOS; both are installed if they are missing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::peers::{self, Peers};
use crate::shell::{self, say};

const WINDOWS: &str = "x86_64-pc-windows-gnu";
const MACOS: &str = "aarch64-apple-darwin";

/// Fails if anything but the tests does not compile without warnings.
pub(crate) fn run(root: &Path) -> Result<()> {
    let peers = peers::prepare(root)?;
    peers::debian_program("x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64")?;
    shell::run(&mut check(root, WINDOWS)?)?;
    let zig = zig(root, &peers)?;
    let mut macos = check(root, MACOS)?;
    macos
        .env("CC_aarch64_apple_darwin", zig)
        // zig brings the headers; without this, Apple's tools are asked for them.
        .env("SDKROOT", "/");
    shell::run(&mut macos)
}

fn check(root: &Path, target: &str) -> Result<Command> {
    shell::run(Command::new("rustup").args(["target", "add", target]))?;
    let mut command = shell::cargo(root, &["check", "--workspace", "--exclude", "xtask"]);
    command
        .args(["--all-features", "--profile", "quick", "--target", target])
        .args(["--target-dir", "target/platforms"])
        .env("RUSTFLAGS", "-D warnings");
    Ok(command)
}

/// A C compiler for macOS: zig, of PyPI, told the target in its own words.
fn zig(root: &Path, peers: &Peers) -> Result<PathBuf> {
    let mut python = peers.python();
    if !shell::works(python.args(["-m", "ziglang", "version"])) {
        say("zig is missing; installing it into target/peers/venv");
        let install = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ];
        shell::run(peers.python().args(install).arg("ziglang"))?;
    }
    let script = root.join("target/platforms/cc-macos");
    fs::create_dir_all(root.join("target/platforms"))?;
    fs::write(&script, wrapper(&peers.folder().join("venv/bin/python")))?;
    let mut executable = Command::new("chmod");
    shell::run(executable.arg("+x").arg(&script))?;
    Ok(script)
}

/// Leaves out what only Apple's compiler understands.
fn wrapper(python: &Path) -> String {
    format!(
        "#!/bin/sh\n\
         for word do\n\
         \x20 shift\n\
         \x20 case $word in\n\
         \x20   --target=*|-isysroot|/|-mmacosx-version-min=*|-arch|arm64) ;;\n\
         \x20   *) set -- \"$@\" \"$word\" ;;\n\
         \x20 esac\n\
         done\n\
         exec '{}' -m ziglang cc -target aarch64-macos \"$@\"\n",
        python.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wrapper_names_the_target_itself_and_passes_the_rest_on() {
        let script = wrapper(Path::new("/venv/bin/python"));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cc");
        fs::write(
            &path,
            script.replace("exec '/venv/bin/python' -m ziglang", "echo"),
        )
        .unwrap();
        let given = [
            "--target=arm64-apple-macosx",
            "-isysroot",
            "/",
            "-O3",
            "-o",
            "a b.o",
        ];
        let output = Command::new("sh").arg(&path).args(given).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(printed, "cc -target aarch64-macos -O3 -o a b.o\n");
    }
}
