//! Installs and runs what was made on a bare Debian: a root of its own, made by debootstrap.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::peers;
use crate::shell;

const RELEASE: &str = "trixie";

/// What is run with the archive's binary, then with the package's.
const TRIAL: &str = r#"
set -eux
cd /tmp
"$1" --version
"$1" form lint - <<'EOF'
{"id": "g", "title": "Who?", "fields": [{"id": "name", "type": "text", "label": "Name"}]}
EOF
echo '{"approve": false, "reason": "The tests are red."}' | "$1" demo --answer - | grep red
HOME=/tmp "$1" setup codex
grep -q "$1" /tmp/.codex/config.toml
HOME=/tmp "$1" setup codex --remove
test ! -e /tmp/.codex/config.toml
ENTREAT_STORE=/tmp/q.db timeout --signal=TERM 5 "$1" serve --listen 127.0.0.1:0 || test $? = 124
test -s /tmp/q.db
rm -r /tmp/q.db*
"#;

/// Every Linux has /proc; a program finds its own path there.
const MOUNTED: &str = r#"mount -t proc proc "$0/proc" && exec chroot "$0" "$@""#;

/// Fails if something does not run there.
pub(super) fn try_out(folder: &Path, archive: &Path, deb: &Path) -> Result<()> {
    peers::debian_program("debootstrap", "debootstrap")?;
    let root = root(folder)?;
    let inside = |file: &Path| -> Result<PathBuf> {
        let name = file.file_name().context("it is a file")?;
        fs::copy(file, root.join("tmp").join(name))?;
        Ok(Path::new("/tmp").join(name))
    };
    let archive = inside(archive)?;
    shell::run(
        chroot(&root, &["tar", "--extract", "--strip-components=1"])
            .args(["--directory=/opt", "--file"])
            .arg(archive),
    )?;
    shell::run(&mut chroot(
        &root,
        &["sh", "-c", TRIAL, "sh", "/opt/entreat"],
    ))?;

    let deb = inside(deb)?;
    shell::run(chroot(&root, &["dpkg", "--install"]).arg(deb))?;
    shell::run(&mut chroot(
        &root,
        &["sh", "-c", TRIAL, "sh", "/usr/bin/entreat"],
    ))?;
    for file in [
        "/usr/lib/systemd/system/entreat.service",
        "/usr/share/bash-completion/completions/entreat",
        "/usr/share/doc/entreat/copyright",
    ] {
        shell::run(&mut chroot(&root, &["test", "-s", file]))?;
    }
    shell::run(&mut chroot(&root, &["dpkg", "--purge", "entreat"]))?;
    shell::run(&mut chroot(&root, &["test", "!", "-e", "/usr/bin/entreat"]))?;
    fs::remove_dir_all(&root).context("cannot remove the bare Debian")
}

/// A root with the packages that every Debian has, and no others.
fn root(folder: &Path) -> Result<PathBuf> {
    let root = folder.join("debian");
    let mut make = Command::new("debootstrap");
    make.args(["--variant=minbase", RELEASE]).arg(&root);
    shell::run(&mut make)?;
    Ok(root)
}

/// A command in that root, with nothing of our environment.
fn chroot(root: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    command
        // Mounted for this command alone, so that nothing is left to unmount when it fails.
        .args(["--mount", "sh", "-c", MOUNTED])
        .arg(root)
        .args(words)
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    command
}
