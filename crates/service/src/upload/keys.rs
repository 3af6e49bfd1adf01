//! Keys of files and tokens of downloads, derived from the engine's ring.

use blake3::Hasher;
use entreat_core::ElicitationId;
use entreat_engine::Engine;
use zeroize::Zeroizing;

use super::folder::UploadId;

type Key = Zeroizing<[u8; 32]>;

/// Random bytes that make a file's key its own.
pub(super) type Salt = [u8; 32];

/// One of each for every key of the ring, newest first.
pub(super) struct Keys {
    files: Vec<(u32, Key)>,
    downloads: Vec<(u32, Key)>,
}

impl Keys {
    pub(super) fn of(engine: &Engine) -> Self {
        Self {
            files: engine.derived_keys("entreat 2026-11 uploads"),
            downloads: engine.derived_keys("entreat 2026-11 upload downloads"),
        }
    }

    /// The version that new files are sealed under.
    pub(super) fn newest(&self) -> u32 {
        self.files.first().map_or(0, |(version, _)| *version)
    }

    /// The key of one file, if the ring still has what it comes from. It is bound to the file's
    /// place, so that a file in the place of another cannot be opened.
    pub(super) fn of_file(
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

    /// The token that opens a download.
    pub(super) fn token(&self, id: ElicitationId, upload: UploadId) -> Option<String> {
        let (_, key) = self.downloads.first()?;
        Some(token(key, id, upload).to_hex().to_string())
    }

    /// Whether a token opens a download; also one that was made before the ring had its newest
    /// key. Takes as long for a wrong one as for a right one.
    pub(super) fn opens(&self, token_given: &str, id: ElicitationId, upload: UploadId) -> bool {
        // Comparing two hashes takes the same time whatever they are.
        blake3::Hash::from_hex(token_given).is_ok_and(|given| {
            let mut opens = false;
            for (_, key) in &self.downloads {
                opens |= token(key, id, upload) == given;
            }
            opens
        })
    }
}

fn token(key: &Key, id: ElicitationId, upload: UploadId) -> blake3::Hash {
    let mut hasher = Hasher::new_keyed(key);
    hasher.update(id.as_bytes());
    hasher.update(upload.as_bytes());
    hasher.finalize()
}
