//! A configuration file of another program: read whole, replaced whole, with a backup.
//!
//! Follows symbolic links and replaces what they point to: configurations often live in a
//! repository of dotfiles. Never leaves half a file, and keeps mode and owner.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};

use crate::output;

/// Some clients keep their history in the same file; still, none comes near this.
const MAX_BYTES: u64 = 64 << 20;

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// A file as it was read, or the place for a new one.
pub(super) struct ConfigFile {
    /// As it was named.
    path: PathBuf,
    /// Where it is: what a link points to.
    target: PathBuf,
    /// `None` if it does not exist.
    old: Option<Old>,
}

struct Old {
    metadata: Metadata,
    bytes: Vec<u8>,
}

impl ConfigFile {
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let path = std::path::absolute(path).context("the configuration has no path")?;
        let name = output::sanitize_path(&path);
        let cannot_read = || format!("cannot read {name}");
        let target = match fs::canonicalize(&path) {
            Ok(target) => target,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                ensure!(
                    fs::symlink_metadata(&path).is_err(),
                    "{name} is a symbolic link to a file that doesn't exist"
                );
                path.clone()
            }
            Err(error) => return Err(error).with_context(cannot_read),
        };
        let old = read(&target).with_context(cannot_read)?;
        let file = Self { path, target, old };
        if let Some(old) = &file.old {
            ensure!(
                str::from_utf8(&old.bytes).is_ok(),
                "{name} is not text in UTF-8"
            );
        }
        Ok(file)
    }

    /// Whether links on the way to it stay below a folder.
    pub(super) fn is_below(&self, folder: &Path) -> io::Result<bool> {
        let folder = folder.canonicalize()?;
        let mut existing = self.target.ancestors();
        let place = existing.find_map(|place| place.canonicalize().ok());
        Ok(place.is_some_and(|place| place.starts_with(folder)))
    }

    /// The name to tell people.
    pub(super) fn name(&self) -> String {
        output::sanitize_path(&self.path)
    }

    pub(super) fn exists(&self) -> bool {
        self.old.is_some()
    }

    /// Its text, without a byte order mark; empty if there is no file.
    pub(super) fn text(&self) -> &str {
        let text = self.whole();
        text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
    }

    fn whole(&self) -> &str {
        let bytes = self.old.as_ref().map(|old| old.bytes.as_slice());
        str::from_utf8(bytes.unwrap_or_default()).unwrap_or_default()
    }

    /// Where the backup is, or would be.
    pub(super) fn backup_path(&self) -> PathBuf {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(".entreat-backup");
        self.path.with_file_name(name)
    }

    /// The file as it was before the last change.
    pub(super) fn backup(&self) -> anyhow::Result<Option<Self>> {
        let backup = Self::read(&self.backup_path())?;
        Ok(backup.exists().then_some(backup))
    }

    /// Replaces the text, after a backup of the file. Returns the place of the backup, if there
    /// was something to keep.
    pub(super) fn change(&self, text: &str) -> anyhow::Result<Option<PathBuf>> {
        let backup = match &self.old {
            None => None,
            Some(old) => {
                let path = self.backup_path();
                write(&path, &old.bytes, Some(&old.metadata)).with_context(|| {
                    format!("cannot save a backup in {}", output::sanitize_path(&path))
                })?;
                Some(path)
            }
        };
        let has_mark = self.whole().starts_with(BYTE_ORDER_MARK);
        let mark = if has_mark { BYTE_ORDER_MARK } else { "" };
        self.replace(format!("{mark}{text}").as_bytes())?;
        Ok(backup)
    }

    /// Makes the file what its backup is, and removes the backup.
    pub(super) fn restore(&self, backup: &Self) -> anyhow::Result<()> {
        self.replace(backup.whole().as_bytes())?;
        fs::remove_file(&backup.path).with_context(|| format!("cannot remove {}", backup.name()))
    }

    /// Removes the file.
    pub(super) fn delete(&self) -> anyhow::Result<()> {
        self.ensure_unchanged()?;
        fs::remove_file(&self.target).with_context(|| format!("cannot remove {}", self.name()))
    }

    fn replace(&self, bytes: &[u8]) -> anyhow::Result<()> {
        let old = self.old.as_ref().map(|old| &old.metadata);
        if let Some(old) = old {
            ensure!(
                !old.permissions().readonly(),
                "{} is read-only",
                self.name()
            );
        }
        self.ensure_unchanged()?;
        write(&self.target, bytes, old).with_context(|| format!("cannot write {}", self.name()))
    }

    /// Clients write their files too.
    fn ensure_unchanged(&self) -> anyhow::Result<()> {
        let now = read(&self.target).with_context(|| format!("cannot read {}", self.name()))?;
        let now = now.map(|now| now.bytes);
        if now.as_ref() != self.old.as_ref().map(|old| &old.bytes) {
            bail!("another program changed {}: try again", self.name());
        }
        Ok(())
    }
}

/// Reads a file; `None` if there is none.
fn read(path: &Path) -> io::Result<Option<Old>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    let length = file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if length as u64 > MAX_BYTES {
        return Err(io::Error::other("it is too large for a configuration"));
    }
    Ok(Some(Old { metadata, bytes }))
}

/// Writes a file that is whole or not there, with the mode and owner of the old one. A new one is
/// its owner's alone.
fn write(path: &Path, bytes: &[u8], old: Option<&Metadata>) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new()
        .prefix(".entreat-setup-")
        .tempfile_in(folder)?;
    file.write_all(bytes)?;
    if let Some(old) = old {
        keep_owner(file.as_file(), old)?;
        file.as_file().set_permissions(old.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

#[cfg(unix)]
fn keep_owner(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, fchown};

    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        fchown(file, Some(old.uid()), Some(old.gid()))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}
