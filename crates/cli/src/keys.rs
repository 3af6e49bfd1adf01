//! The sealing keys of a store, in a file that only its owner may read.
//!
//! Never prints a key, and never replaces an existing file.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use entreat::KeyRing;
use entreat::engine::SystemEntropy;
use zeroize::Zeroizing;

use crate::output;

/// A key takes about 60 bytes and a ring has a few keys; a larger file is something else.
const MAX_BYTES: usize = 64 * 1024;

/// Reads the keys; `None` if the file does not exist.
pub(crate) fn read(path: &Path) -> anyhow::Result<Option<KeyRing>> {
    let name = output::sanitize_path(path);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read the keys in {name}")),
    };
    check_permissions(&file, &name)?;
    // Full capacity at once: growing would leave copies of keys in memory.
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_BYTES + 1));
    file.take(MAX_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("cannot read the keys in {name}"))?;
    ensure!(
        bytes.len() <= MAX_BYTES,
        "{name} is too large for a key file"
    );
    let Ok(text) = str::from_utf8(&bytes) else {
        bail!("{name} contains no keys: it is not text");
    };
    let keys = KeyRing::from_text(text).with_context(|| format!("{name} contains no keys"))?;
    Ok(Some(keys))
}

/// Generates new keys and writes them to a new file.
///
/// The complete file is on disk when this returns; a crash before that leaves none.
pub(crate) fn create(path: &Path) -> anyhow::Result<KeyRing> {
    let entropy = SystemEntropy::new().context("cannot get random bytes from the system")?;
    let keys = KeyRing::generate(&entropy);
    write(path, &keys)?;
    Ok(keys)
}

/// Writes keys to a new file.
pub(crate) fn write(path: &Path, keys: &KeyRing) -> anyhow::Result<()> {
    write_new(path, keys)
        .with_context(|| format!("cannot save keys in {}", output::sanitize_path(path)))
}

fn write_new(path: &Path, keys: &KeyRing) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // Created with permissions for the owner only.
    let mut file = tempfile::Builder::new()
        .prefix(".entreat-keys-")
        .tempfile_in(folder)?;
    file.write_all(HEADER)?;
    file.write_all(keys.to_text().expose())?;
    file.as_file().sync_all()?;
    file.persist_noclobber(path)?;
    // The directory entry must be durable too.
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    Ok(())
}

const HEADER: &[u8] = b"\
# The keys that encrypt secrets in an Entreat store. Anyone who has this file and the store can
# read them; without this file nobody can. Keep a copy separate from the store's.
";

/// Fails if other users could have read the keys.
#[cfg(unix)]
fn check_permissions(file: &File, name: &str) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;

    /// Permission bits of the group and others.
    const GROUP_AND_OTHERS: u32 = 0o077;
    let metadata = file
        .metadata()
        .with_context(|| format!("cannot read the keys in {name}"))?;
    ensure!(metadata.is_file(), "{name} is not a key file");
    ensure!(
        metadata.permissions().mode() & GROUP_AND_OTHERS == 0,
        "others can read or change the keys in {name}: run `chmod 600 {name}`"
    );
    Ok(())
}

#[cfg(not(unix))]
fn check_permissions(_: &File, _: &str) -> anyhow::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_back_and_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        assert!(read(&path).unwrap().is_none());
        let made = create(&path).unwrap();
        let found = read(&path).unwrap().unwrap();
        assert_eq!(made.to_text().expose(), found.to_text().expose());
        assert!(create(&path).is_err());
        let kept = read(&path).unwrap().unwrap();
        assert_eq!(made.to_text().expose(), kept.to_text().expose());
        // Nothing half-written stays behind.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_can_read_is_refused_with_the_remedy() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        create(&path).unwrap();
        let mode = |mode| std::fs::Permissions::from_mode(mode);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        for open in [0o640, 0o604, 0o620] {
            std::fs::set_permissions(&path, mode(open)).unwrap();
            let words = format!("{:#}", read(&path).unwrap_err());
            assert!(words.contains("chmod 600"), "{words}");
        }
        std::fs::set_permissions(&path, mode(0o400)).unwrap();
        assert!(read(&path).unwrap().is_some());
    }

    #[test]
    fn what_holds_no_keys_is_named_without_being_quoted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        create(&path).unwrap();
        for text in [&b"v1 c2VjcmV0"[..], b"", b"\xff"] {
            std::fs::write(&path, text).unwrap();
            let words = format!("{:#}", read(&path).unwrap_err());
            assert!(words.contains("keys contains no keys"), "{words}");
            assert!(!words.contains("c2Vj"));
        }
    }
}
