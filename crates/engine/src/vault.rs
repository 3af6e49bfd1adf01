//! Encrypts the answers to sensitive fields, so that a store only holds ciphertext.
//!
//! Envelope encryption with XChaCha20-Poly1305: each elicitation has a random data key, which
//! encrypts its fields one by one and is itself encrypted ("wrapped") with a key of the
//! [`KeyRing`]. Rotation rewraps the data key and leaves the fields unchanged.
//!
//! Associated data binds a field's ciphertext to its elicitation and field name, and a wrapped key
//! to its elicitation and key version. So an attacker with write access to the store cannot move an
//! answer to where it would be shown.
//!
//! Not prevented: learning the length of an answer, removing a whole field, and rolling an
//! elicitation back to an earlier ciphertext of its own. The latter two require write access to the
//! store, which allows deleting it anyway.

mod cipher;
mod error;
mod key_ring;
mod proof;
mod sealed;
mod secret;
mod wire;

use std::fmt;
use std::sync::Arc;

use entreat_core::ElicitationId;

pub use error::{KeyLineFault, KeyRingError, VaultError};
pub use key_ring::KeyRing;
pub use proof::KeyProof;
pub use sealed::Sealed;
pub use secret::Secret;

use cipher::Key;

use crate::Entropy;

/// Encrypts and decrypts secrets with the keys of a ring.
///
/// ```
/// use std::sync::Arc;
/// use entreat_core::{ElicitationId, UnixTime};
/// use entreat_engine::{KeyRing, SystemEntropy, Vault};
///
/// let entropy = Arc::new(SystemEntropy::new()?);
/// let vault = Vault::new(KeyRing::generate(&*entropy), entropy);
/// let id = ElicitationId::new(UnixTime::from_millis(0), [7; 10]);
///
/// let sealed = vault.seal(id, [("pin", b"1234".as_slice())].into_iter());
/// assert!(!serde_json::to_string(&sealed)?.contains("1234"));
///
/// let fields = vault.open(id, &sealed)?;
/// assert_eq!(&*fields[0].0, "pin");
/// assert_eq!(fields[0].1.expose(), b"1234");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Vault {
    keys: KeyRing,
    entropy: Arc<dyn Entropy>,
}

impl Vault {
    /// Creates a vault; the sealing key encrypts, all keys decrypt.
    pub fn new(keys: KeyRing, entropy: Arc<dyn Entropy>) -> Self {
        Self { keys, entropy }
    }

    /// Returns the keys.
    pub fn keys(&self) -> &KeyRing {
        &self.keys
    }

    /// Encrypts fields of an elicitation with a new data key.
    ///
    /// Of several fields with the same name, the last is stored.
    ///
    /// # Panics
    ///
    /// If a plaintext is longer than 256 GiB, the cipher's limit.
    pub fn seal<'a>(
        &self,
        id: ElicitationId,
        fields: impl Iterator<Item = (&'a str, &'a [u8])>,
    ) -> Sealed {
        let entropy = &*self.entropy;
        let key = Key::random(entropy);
        let mut sealed = Sealed::new(self.keys.sealing_version(), self.wrap_key(id, &key));
        for (name, plaintext) in fields {
            let ciphertext = key.encrypt(&bound_field(id, name), plaintext, entropy);
            sealed.put(name, ciphertext);
        }
        sealed
    }

    /// Decrypts all fields, in the order in which they were sealed.
    ///
    /// Fails as a whole if the ring lacks the key, or if anything was altered or moved.
    pub fn open(
        &self,
        id: ElicitationId,
        sealed: &Sealed,
    ) -> Result<Vec<(Box<str>, Secret)>, VaultError> {
        let key = self.unwrap_key(id, sealed)?;
        sealed
            .iter()
            .map(|(name, ciphertext)| Ok((name.into(), open_with(&key, id, name, ciphertext)?)))
            .collect()
    }

    /// Decrypts one field; `None` if no field of that name was sealed.
    ///
    /// Fails as [`open`](Self::open) does, but only checks this field.
    pub fn open_field(
        &self,
        id: ElicitationId,
        sealed: &Sealed,
        name: &str,
    ) -> Result<Option<Secret>, VaultError> {
        let Some(ciphertext) = sealed.get(name) else {
            return Ok(None);
        };
        let key = self.unwrap_key(id, sealed)?;
        open_with(&key, id, name, ciphertext).map(Some)
    }

    /// Rewraps the data key with the sealing key of the ring; `None` if it already is.
    ///
    /// The fields are neither decrypted nor changed. An old key can be removed once nothing is
    /// wrapped with it and the store has a proof [without it](KeyProof::without).
    pub fn rewrap(&self, id: ElicitationId, sealed: &Sealed) -> Result<Option<Sealed>, VaultError> {
        let newest = self.keys.sealing_version();
        if sealed.key_version() == newest {
            return Ok(None);
        }
        let key = self.unwrap_key(id, sealed)?;
        Ok(Some(sealed.rewrapped(newest, self.wrap_key(id, &key))))
    }

    /// Returns a proof to store, which detects wrong keys at the next start.
    ///
    /// Deterministic: the same keys yield the same proof.
    pub fn proof(&self) -> KeyProof {
        KeyProof::of(&self.keys)
    }

    /// Checks that this ring has every key of the proof.
    ///
    /// It may have more. Fails with the version that is missing or differs.
    pub fn verify(&self, proof: &KeyProof) -> Result<(), VaultError> {
        proof.verify(&self.keys)
    }

    fn wrap_key(&self, id: ElicitationId, key: &Key) -> Box<[u8]> {
        let (version, wrapping) = self.keys.sealing();
        wrapping.encrypt(&bound_key(id, version), key.expose(), &*self.entropy)
    }

    fn unwrap_key(&self, id: ElicitationId, sealed: &Sealed) -> Result<Key, VaultError> {
        let version = sealed.key_version();
        let wrapping = self
            .keys
            .get(version)
            .ok_or(VaultError::MissingKey { version })?;
        wrapping
            .decrypt(&bound_key(id, version), sealed.wrapped_key())
            .and_then(|key| Key::from_slice(&key))
            .ok_or(VaultError::KeyRefused { version })
    }
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vault")
            .field("keys", &self.keys)
            .finish_non_exhaustive()
    }
}

fn open_with(
    key: &Key,
    id: ElicitationId,
    name: &str,
    ciphertext: &[u8],
) -> Result<Secret, VaultError> {
    key.decrypt(&bound_field(id, name), ciphertext)
        .map(Secret::from)
        .ok_or_else(|| VaultError::FieldRefused { name: name.into() })
}

/// The associated data of a field.
fn bound_field(id: ElicitationId, name: &str) -> Vec<u8> {
    let length = (name.len() as u64).to_be_bytes();
    [
        b"entreat/field/1",
        &id.as_bytes()[..],
        &length,
        name.as_bytes(),
    ]
    .concat()
}

/// The associated data of a wrapped key.
fn bound_key(id: ElicitationId, version: u32) -> Vec<u8> {
    [b"entreat/key/1", &id.as_bytes()[..], &version.to_be_bytes()].concat()
}

#[cfg(test)]
mod tests;
