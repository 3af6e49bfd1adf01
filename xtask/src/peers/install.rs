//! Installs third-party programs into the build folder: Debian packages, npm and PyPI.
//!
//! `tests/peers` pins the versions. Nothing is downloaded again until they change.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::shell::{self, say};

/// Programs needed besides Rust, each with its Debian package.
const PROGRAMS: [(&str, &str); 6] = [
    ("curl", "curl"),
    ("python3", "python3"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("chromium", "chromium"),
    ("chromedriver", "chromium-driver"),
];

/// A font for the browser, which comes without one.
const FONT: &str = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf";
const FONT_PACKAGE: &str = "fonts-dejavu-core";

/// The folder with the package lists and the programs that use them.
const SOURCES: &str = "tests/peers";

/// The lists of PyPI packages, each with the folder of its environment: not all go together.
const ENVIRONMENTS: [(&str, &str); 2] = [
    ("requirements.txt", "venv"),
    ("requirements-mcp-proxy.txt", "venv-mcp-proxy"),
];

/// A copy of the list that was last installed, beside the installed packages.
const INSTALLED: &str = ".installed";

/// Installed third-party programs.
pub(crate) struct Peers {
    folder: PathBuf,
}

impl Peers {
    /// Returns the folder with the npm packages and a copy of `tests/peers`.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns Node.js 22, which the conformance suite requires: Debian's may be older.
    pub(crate) fn node(&self) -> Command {
        let mut command = Command::new(self.folder.join("node_modules/node/bin/node"));
        command.current_dir(&self.folder);
        command
    }

    /// Returns Python with the PyPI packages.
    pub(crate) fn python(&self) -> Command {
        let mut command = Command::new(self.folder.join("venv/bin/python"));
        command.current_dir(&self.folder);
        command
    }
}

/// Installs missing third-party programs, including a browser.
pub(crate) fn prepare(root: &Path) -> Result<Peers> {
    for (program, package) in PROGRAMS {
        debian_program(program, package)?;
    }
    if !Path::new(FONT).exists() {
        debian("a font", FONT_PACKAGE)?;
    }
    let folder = root.join("target/peers");
    copy(&root.join(SOURCES), &folder)?;
    npm(&folder)?;
    for (list, environment) in ENVIRONMENTS {
        pypi(&folder, list, environment)?;
    }
    Ok(Peers { folder })
}

/// Installs the Debian package of a program unless the program already runs.
pub(crate) fn debian_program(program: &str, package: &str) -> Result<()> {
    if shell::works(Command::new(program).arg("--version")) {
        return Ok(());
    }
    debian(program, package)
}

/// Installs a Debian package, and prints why.
fn debian(missing: &str, package: &str) -> Result<()> {
    say(&format!("{missing} is missing; installing {package}"));
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    shell::run(&mut apt(&["update"]))?;
    let install = ["install", "--yes", "--no-install-recommends", package];
    shell::run(&mut apt(&install))
}

/// Copies the programs beside the packages, where Node.js looks for them.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    let entries = fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))?;
    for entry in entries {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            let wanted = fs::read(entry.path())?;
            if fs::read(&target).ok().as_ref() != Some(&wanted) {
                fs::write(&target, &wanted)?;
            }
        }
    }
    Ok(())
}

fn npm(folder: &Path) -> Result<()> {
    let list = fs::read(folder.join("package-lock.json"))?;
    let marker = folder.join("node_modules").join(INSTALLED);
    if is_installed(&marker, &list) {
        return Ok(());
    }
    say("installing packages of npm into target/peers, Node.js 22 among them");
    let arguments = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
    shell::run(Command::new("npm").args(arguments).current_dir(folder))?;
    Ok(fs::write(marker, list)?)
}

fn pypi(folder: &Path, list_name: &str, environment: &str) -> Result<()> {
    let list = fs::read(folder.join(list_name))?;
    let target = folder.join(environment);
    let marker = target.join(INSTALLED);
    if is_installed(&marker, &list) {
        return Ok(());
    }
    let parts = ["-c", "import ensurepip, venv"];
    if !shell::works(Command::new("python3").args(parts)) {
        debian("Python's venv", "python3-venv")?;
    }
    say(&format!(
        "installing packages of PyPI into target/peers/{environment}"
    ));
    let make = ["-m", "venv", "--clear"];
    shell::run(Command::new("python3").args(make).arg(&target))?;
    let install = ["-m", "pip", "install", "--quiet"];
    let options = ["--disable-pip-version-check", "--requirement"];
    shell::run(
        Command::new(target.join("bin/python"))
            .args(install)
            .args(options)
            .arg(folder.join(list_name)),
    )?;
    Ok(fs::write(marker, list)?)
}

/// Whether the marker of the last installation has the same list. It is written last, so that an
/// interrupted installation is repeated.
fn is_installed(marker: &Path, list: &[u8]) -> bool {
    fs::read(marker).is_ok_and(|installed| installed == list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_copied_with_its_folders_and_what_changed_is_copied_again() {
        let scratch = std::env::temp_dir().join(format!("entreat-copy-{}", std::process::id()));
        let (from, to) = (scratch.join("from"), scratch.join("to"));
        fs::create_dir_all(from.join("bench")).unwrap();
        fs::write(from.join("bench/a.mjs"), "first").unwrap();
        copy(&from, &to).unwrap();
        fs::write(from.join("bench/a.mjs"), "second").unwrap();
        copy(&from, &to).unwrap();
        let copied = fs::read_to_string(to.join("bench/a.mjs")).unwrap();
        fs::remove_dir_all(scratch).unwrap();
        assert_eq!(copied, "second");
    }
}
