//! Detects a wrong key before anything is encrypted or decrypted with it.

use serde::{Deserialize, Serialize};

use super::cipher::Key;
use super::wire::{Base64, Format1};
use super::{KeyRing, VaultError};

/// Proves that a ring has certain keys, without revealing them.
///
/// Stored beside the sealed data. At each start the vault [verifies](super::Vault::verify) it, and
/// replaces it by a [new one](super::Vault::proof) if the ring has more versions.
///
/// It guards against mistakes, such as the key file of another installation or an edited line. An
/// attacker who replaces it in the store gains nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Wire", try_from = "Wire")]
pub struct KeyProof {
    /// Sorted by version.
    tags: Vec<(u32, [u8; 16])>,
}

impl KeyProof {
    /// Returns the versions in the proof, lowest first.
    pub fn versions(&self) -> impl Iterator<Item = u32> {
        self.tags.iter().map(|(version, _)| *version)
    }

    /// Removes a version, for a key that is no longer in use.
    pub fn without(mut self, version: u32) -> Self {
        self.tags.retain(|(known, _)| *known != version);
        self
    }

    pub(super) fn of(keys: &KeyRing) -> Self {
        let tags = keys
            .iter()
            .map(|(version, key)| (version, tag(version, key)))
            .collect();
        Self { tags }
    }

    pub(super) fn verify(&self, keys: &KeyRing) -> Result<(), VaultError> {
        for (version, tag) in &self.tags {
            let version = *version;
            let key = keys
                .get(version)
                .ok_or(VaultError::MissingKey { version })?;
            if !key.has_tag(nonce(version), DOMAIN, tag) {
                return Err(VaultError::WrongKey { version });
            }
        }
        Ok(())
    }
}

const DOMAIN: &[u8] = b"entreat/proof/1";

fn tag(version: u32, key: &Key) -> [u8; 16] {
    key.tag(nonce(version), DOMAIN)
}

/// The version, padded with zeros: deterministic, and never used for two texts. A collision with
/// the random nonce of a wrapped key is as unlikely as any other.
fn nonce(version: u32) -> [u8; 24] {
    let mut nonce = [0; 24];
    nonce[..4].copy_from_slice(&version.to_be_bytes());
    nonce
}

/// The JSON form of [`KeyProof`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    v: Format1,
    keys: Vec<(u32, Base64)>,
}

impl From<KeyProof> for Wire {
    fn from(proof: KeyProof) -> Self {
        Self {
            v: Format1,
            keys: proof
                .tags
                .into_iter()
                .map(|(version, tag)| (version, Base64(tag.into())))
                .collect(),
        }
    }
}

impl TryFrom<Wire> for KeyProof {
    type Error = NotAProof;

    fn try_from(wire: Wire) -> Result<Self, NotAProof> {
        let mut tags = Vec::with_capacity(wire.keys.len());
        for (version, tag) in wire.keys {
            tags.push((version, (*tag.0).try_into().map_err(|_| NotAProof)?));
        }
        if !tags.is_sorted_by(|(left, _), (right, _)| left < right) {
            return Err(NotAProof);
        }
        Ok(Self { tags })
    }
}

/// An invalid proof.
#[derive(Debug, thiserror::Error)]
#[error("a key proof lists each version once, lowest first, with a tag of 16 bytes")]
struct NotAProof;
