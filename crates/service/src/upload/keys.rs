//! File keys and download tokens, derived from the engine's key ring.

use blake3::Hasher;
use entreat_core::ElicitationId;
use entreat_engine::Engine;
use zeroize::Zeroizing;

use super::folder::UploadId;

type Key = Zeroizing<[u8; 32]>;

/// Random bytes that make each file's key unique.
pub(super) type Salt = [u8; 32];

/// Derived keys for every key of the ring, the sealing one first.
pub(super) struct Keys {
    files: Vec<(u32, Key)>,
    downloads: Vec<(u32, Key)>,
}

impl Keys {
    pub(super) fn derive(engine: &Engine) -> Self {
        Self {
            files: engine.derived_keys("entreat 2026-11 uploads"),
            downloads: engine.derived_keys("entreat 2026-11 upload downloads"),
        }
    }

    /// The key version for new files.
    pub(super) fn sealing(&self) -> u32 {
        self.files.first().map_or(0, |(version, _)| *version)
    }

    /// Returns the key of a file; `None` if its version was removed from the ring. It is bound to
    /// the file's location, so that a file moved in place of another cannot be opened.
    pub(super) fn file_key(
        &self,
        version: u32,
        salt: &Salt,
        id: ElicitationId,
        upload: UploadId,
    ) -> Option<Key> {
        let (_, key) = self.files.iter().find(|(other, _)| *other == version)?;
        let mut hasher = Hasher::new_keyed(key);
        hasher.update(salt);
        hasher.update(id.as_bytes());
        hasher.update(upload.as_bytes());
        Some(Zeroizing::new(hasher.finalize().into()))
    }

    /// Returns the token of a download.
    pub(super) fn token(&self, id: ElicitationId, upload: UploadId) -> Option<String> {
        let (_, key) = self.downloads.first()?;
        Some(token(key, id, upload).to_hex().to_string())
    }

    /// Whether the token is valid, also under older keys of the ring. Takes constant time.
    pub(super) fn is_valid_token(
        &self,
        candidate: &str,
        id: ElicitationId,
        upload: UploadId,
    ) -> bool {
        // `blake3::Hash` compares in constant time.
        blake3::Hash::from_hex(candidate).is_ok_and(|expected| {
            let mut is_valid = false;
            for (_, key) in &self.downloads {
                is_valid |= token(key, id, upload) == expected;
            }
            is_valid
        })
    }
}

fn token(key: &Key, id: ElicitationId, upload: UploadId) -> blake3::Hash {
    let mut hasher = Hasher::new_keyed(key);
    hasher.update(id.as_bytes());
    hasher.update(upload.as_bytes());
    hasher.finalize()
}
