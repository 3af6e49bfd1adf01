//! Encrypted fields, as a store keeps them.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::cipher::{OVERHEAD, WRAPPED_KEY};
use super::wire::{Base64, Format1};

/// The encrypted fields of an elicitation, with their wrapped data key.
///
/// Only field names and the key version are in clear text. As JSON:
///
/// ```
/// # use std::sync::Arc;
/// # use entreat_core::{ElicitationId, UnixTime};
/// # use entreat_engine::{KeyRing, SystemEntropy, Vault};
/// # let entropy = Arc::new(SystemEntropy::new()?);
/// # let vault = Vault::new(KeyRing::generate(&*entropy), entropy);
/// # let id = ElicitationId::new(UnixTime::from_millis(0), [7; 10]);
/// let sealed = vault.seal(id, [("pin", b"1234".as_slice())].into_iter());
/// let json = serde_json::to_value(&sealed)?;
/// assert_eq!(json["v"], 1); // the format
/// assert_eq!(json["kek"], 1); // the version of the key that wraps
/// assert!(json["key"].is_string()); // the wrapped key
/// assert_eq!(json["fields"][0][0], "pin"); // pairs, whose order no database changes
/// assert_eq!(format!("{sealed:?}"), r#"Sealed { kek: 1, fields: {"pin": 44 bytes}, .. }"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Wire", try_from = "Wire")]
pub struct Sealed {
    key_version: u32,
    wrapped_key: Box<[u8]>,
    fields: Vec<(Box<str>, Base64)>,
}

impl Sealed {
    /// Returns the version of the ring's key that decrypts this.
    pub fn key_version(&self) -> u32 {
        self.key_version
    }

    /// Returns the names of the fields, in the order in which they were sealed.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|(name, _)| &**name)
    }

    /// Returns the size of the ciphertexts in bytes.
    pub fn size(&self) -> usize {
        self.fields.iter().map(|(_, sealed)| sealed.0.len()).sum()
    }

    pub(super) fn new(key_version: u32, wrapped_key: Box<[u8]>) -> Self {
        Self {
            key_version,
            wrapped_key,
            fields: Vec::new(),
        }
    }

    /// Returns the same fields with a rewrapped key.
    pub(super) fn rewrapped(&self, key_version: u32, wrapped_key: Box<[u8]>) -> Self {
        Self {
            key_version,
            wrapped_key,
            fields: self.fields.clone(),
        }
    }

    pub(super) fn put(&mut self, name: &str, ciphertext: Box<[u8]>) {
        self.fields.retain(|(known, _)| **known != *name);
        self.fields.push((name.into(), Base64(ciphertext)));
    }

    pub(super) fn wrapped_key(&self) -> &[u8] {
        &self.wrapped_key
    }

    pub(super) fn get(&self, name: &str) -> Option<&[u8]> {
        self.iter()
            .find_map(|(known, ciphertext)| (known == name).then_some(ciphertext))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.fields
            .iter()
            .map(|(name, ciphertext)| (&**name, &*ciphertext.0))
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealed")
            .field("kek", &self.key_version)
            .field("fields", &Sizes(self))
            .finish_non_exhaustive()
    }
}

/// Debug output of fields: names and ciphertext sizes only.
struct Sizes<'a>(&'a Sealed);

impl fmt::Debug for Sizes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes = self.0.iter();
        f.debug_map()
            .entries(sizes.map(|(name, ciphertext)| (name, Size(ciphertext.len()))))
            .finish()
    }
}

struct Size(usize);

impl fmt::Debug for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0)
    }
}

/// The JSON form of [`Sealed`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    /// First, so that a reader of another format reports that error.
    v: Format1,
    kek: u32,
    key: Base64,
    /// Pairs, not an object: some databases sort the members of objects.
    fields: Vec<(Box<str>, Base64)>,
}

impl From<Sealed> for Wire {
    fn from(sealed: Sealed) -> Self {
        Self {
            v: Format1,
            kek: sealed.key_version,
            key: Base64(sealed.wrapped_key),
            fields: sealed.fields,
        }
    }
}

impl TryFrom<Wire> for Sealed {
    type Error = Malformed;

    fn try_from(wire: Wire) -> Result<Self, Malformed> {
        if wire.key.0.len() != WRAPPED_KEY {
            return Err(Malformed::Key);
        }
        for (place, (name, ciphertext)) in wire.fields.iter().enumerate() {
            if ciphertext.0.len() < OVERHEAD {
                return Err(Malformed::Short);
            }
            if wire.fields[..place].iter().any(|(known, _)| known == name) {
                return Err(Malformed::Twice);
            }
        }
        Ok(Self {
            key_version: wire.kek,
            wrapped_key: wire.key.0,
            fields: wire.fields,
        })
    }
}

/// Invalid sealed data.
#[derive(Debug, thiserror::Error)]
enum Malformed {
    #[error("the wrapped key has the wrong length")]
    Key,
    #[error("a sealed field is too short")]
    Short,
    #[error("a field is sealed twice")]
    Twice,
}
