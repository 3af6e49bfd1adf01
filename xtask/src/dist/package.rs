//! Archives and the Debian package: what is in them, and where.
//!
//! Made with the tools that read them everywhere: `tar`, `zip`, `dpkg-deb`, `sha256sum`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::peers;
use crate::shell;

/// What is beside the binary in every archive.
const DOCUMENTS: [&str; 5] = [
    "README.md",
    "CHANGELOG.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "SECURITY.md",
];

/// The shells with completions, and where Debian keeps those.
const SHELLS: [(&str, &str); 3] = [
    ("bash", "usr/share/bash-completion/completions/entreat"),
    ("zsh", "usr/share/zsh/vendor-completions/_entreat"),
    ("fish", "usr/share/fish/vendor_completions.d/entreat.fish"),
];

/// The name of an archive without its ending, and of the only folder in it.
pub(super) fn name(version: &str, target: &str) -> String {
    format!("entreat-{version}-{target}")
}

/// The completions of each shell, in the order of [`SHELLS`], as a binary prints them.
pub(super) fn completions(binary: &Path) -> Result<Vec<Vec<u8>>> {
    let scripts = SHELLS.iter().map(|(shell, _)| {
        let mut command = Command::new(binary);
        let output = command.args(["completions", shell]).output();
        let output = output.with_context(|| format!("cannot run {}", binary.display()))?;
        ensure!(
            output.status.success(),
            "there are no completions for {shell}"
        );
        Ok(output.stdout)
    });
    scripts.collect()
}

/// Writes `SHA256SUMS`, as `sha256sum --check` reads it.
pub(super) fn checksums(folder: &Path, files: &[&Path]) -> Result<()> {
    let names = files.iter().filter_map(|file| file.file_name());
    let output = Command::new("sha256sum")
        .args(names)
        .current_dir(folder)
        .output()
        .context("cannot start sha256sum")?;
    ensure!(
        output.status.success(),
        "sha256sum ended with {}",
        output.status
    );
    fs::write(folder.join("SHA256SUMS"), output.stdout)?;
    Ok(())
}

/// What all packages of a release share.
pub(super) struct Package<'a> {
    pub(super) root: &'a Path,
    pub(super) folder: &'a Path,
    pub(super) version: &'a str,
    pub(super) completions: &'a [Vec<u8>],
}

impl Package<'_> {
    /// Makes the archive for Unix.
    pub(super) fn tarball(&self, target: &str, binary: &Path) -> Result<PathBuf> {
        let name = name(self.version, target);
        let staging = self.stage(&name, binary, "entreat")?;
        copy(
            &self.root.join("packaging/entreat.service"),
            &staging.join(&name).join("entreat.service"),
        )?;
        let archive = self.folder.join(format!("{name}.tgz"));
        let mut tar = Command::new("tar");
        // Neither the owner nor the time of this build is anybody's business.
        tar.args([
            "--create",
            "--gzip",
            "--sort=name",
            "--owner=0",
            "--group=0",
        ])
        .args(["--numeric-owner", "--mtime=@0", "--file"])
        .arg(&archive)
        .arg("--directory")
        .arg(&staging)
        .arg(&name);
        shell::run(&mut tar)?;
        Ok(archive)
    }

    /// Makes the archive for Windows.
    pub(super) fn zip(&self, target: &str, binary: &Path) -> Result<PathBuf> {
        peers::debian_program("zip", "zip")?;
        let name = name(self.version, target);
        let staging = self.stage(&name, binary, "entreat.exe")?;
        let archive = self.folder.join(format!("{name}.zip"));
        let mut zip = Command::new("zip");
        zip.args(["--quiet", "--recurse-paths", "-X"])
            .arg(&archive)
            .arg(&name)
            .current_dir(&staging);
        shell::run(&mut zip)?;
        Ok(archive)
    }

    /// Makes the Debian package. It starts nothing: whether there is a service is for the
    /// administrator to say.
    pub(super) fn deb(&self, binary: &Path) -> Result<PathBuf> {
        let tree = self.folder.join("staging/deb");
        write(
            &tree.join("DEBIAN/control"),
            control(self.version, fs::metadata(binary)?.len()).as_bytes(),
        )?;
        let program = tree.join("usr/bin/entreat");
        copy(binary, &program)?;
        executable(&program)?;
        let unit = fs::read_to_string(self.root.join("packaging/entreat.service"))?;
        write(
            &tree.join("usr/lib/systemd/system/entreat.service"),
            unit.replace("/usr/local/bin/", "/usr/bin/").as_bytes(),
        )?;
        for ((_, place), script) in SHELLS.iter().zip(self.completions) {
            write(&tree.join(place), script)?;
        }
        let docs = tree.join("usr/share/doc/entreat");
        for document in DOCUMENTS {
            copy(&self.root.join(document), &docs.join(document))?;
        }
        write(&docs.join("copyright"), COPYRIGHT.as_bytes())?;
        readable(&tree)?;
        let package = self
            .folder
            .join(format!("entreat_{}_amd64.deb", self.version));
        let mut build = Command::new("dpkg-deb");
        build
            .args(["--root-owner-group", "--build"])
            .arg(&tree)
            .arg(&package)
            .env("SOURCE_DATE_EPOCH", "0");
        shell::run(&mut build)?;
        Ok(package)
    }

    /// Puts together the folder of an archive; returns the folder around it.
    fn stage(&self, name: &str, binary: &Path, program: &str) -> Result<PathBuf> {
        let staging = self.folder.join("staging");
        let folder = staging.join(name);
        copy(binary, &folder.join(program))?;
        executable(&folder.join(program))?;
        for document in DOCUMENTS {
            copy(&self.root.join(document), &folder.join(document))?;
        }
        for ((shell, _), script) in SHELLS.iter().zip(self.completions) {
            write(&folder.join(format!("completions/entreat.{shell}")), script)?;
        }
        readable(&folder)?;
        Ok(staging)
    }
}

const COPYRIGHT: &str = "\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: entreat

Files: *
Copyright: The Entreat authors
License: Apache-2.0 or MIT
 See LICENSE-APACHE and LICENSE-MIT in this folder.
";

/// What dpkg has to know. A static binary depends on nothing, but callbacks and other HTTPS need
/// certificates to trust.
fn control(version: &str, bytes: u64) -> String {
    format!(
        "Package: entreat\n\
         Version: {version}\n\
         Architecture: amd64\n\
         Maintainer: The Entreat authors\n\
         Section: utils\n\
         Priority: optional\n\
         Installed-Size: {}\n\
         Recommends: ca-certificates\n\
         Description: Lets any MCP server ask a person a question\n \
         Asks people questions for programs and MCP servers, and returns valid answers:\n \
         forms with validation, web pages to answer on, a terminal interface and a service.\n",
        bytes.div_ceil(1024)
    )
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let bytes = fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
    write(to, &bytes)
}

/// Writes a file, with the folders around it.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// Lets everybody read what is packaged, whatever the umask of this shell is.
fn readable(tree: &Path) -> Result<()> {
    shell::run(
        Command::new("chmod")
            .args(["--recursive", "u=rwX,go=rX"])
            .arg(tree),
    )
}

fn executable(path: &Path) -> Result<()> {
    shell::run(Command::new("chmod").arg("755").arg(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_says_what_dpkg_asks() {
        let control = control("1.2.3", 2_000);
        for line in ["Package: entreat", "Version: 1.2.3", "Installed-Size: 2"] {
            assert!(control.lines().any(|other| other == line), "{control}");
        }
        // Lines after the first of a field begin with a space.
        let description = control.split("Description: ").nth(1).unwrap();
        assert!(
            description
                .lines()
                .skip(1)
                .all(|line| line.starts_with(' '))
        );
        assert!(control.ends_with('\n'));
    }
}
