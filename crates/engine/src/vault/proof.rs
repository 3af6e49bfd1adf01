//! Notices a wrong key before anything is opened or sealed with it.

use serde::{Deserialize, Serialize};

use super::cipher::Key;
use super::wire::{Base64, Format1};
use super::{KeyRing, VaultError};

/// Shows that a ring has certain keys, without giving them away.
///
/// A store keeps one beside what is sealed. At each start the vault
/// [verifies](super::Vault::verify) it; then, if the ring has more versions than the proof, the
/// store keeps a [new one](super::Vault::proof).
///
/// It guards against mistakes: the key file of another installation, a line that was changed.
/// Whoever can write to the store can put another proof in its place, and gains nothing by it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Wire", try_from = "Wire")]
pub struct KeyProof {
    /// By version, lowest first.
    tags: Vec<(u32, [u8; 16])>,
}

impl KeyProof {
    /// The versions that the proof speaks of, lowest first.
    pub fn versions(&self) -> impl Iterator<Item = u32> {
        self.tags.iter().map(|(version, _)| *version)
    }

    /// The proof without a version, for a key that nothing is sealed with any more.
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

/// The version and zeros: the same proof every time, and no nonce serves for two texts. That
/// chance brings a wrapped key such a nonce is as unlikely as that it repeats one.
fn nonce(version: u32) -> [u8; 24] {
    let mut nonce = [0; 24];
    nonce[..4].copy_from_slice(&version.to_be_bytes());
    nonce
}

/// [`KeyProof`] as it is written.
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

/// What no vault writes.
#[derive(Debug, thiserror::Error)]
#[error("a key proof lists each version once, lowest first, with a tag of 16 bytes")]
struct NotAProof;
