//! Ids of elicitations.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::time::UnixTime;

/// The globally unique id of an elicitation: `elic_` and 26 characters.
///
/// The first six bytes are the time of creation, so that ids sort by age and a store's inserts
/// stay local. The other ten are random, so that an id cannot be guessed. An id is not a
/// credential: it gives no access without being the asker or holding the token of the page.
///
/// ```
/// use entreat_core::{ElicitationId, UnixTime};
///
/// let id = ElicitationId::new(UnixTime::from_millis(1_706_889_000_000), [7; 10]);
/// assert_eq!(id.to_string().len(), "elic_".len() + 26);
/// assert_eq!(id.to_string().parse(), Ok(id));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
// Bytes, not `u128`: an alignment of 16 would pad every record.
pub struct ElicitationId([u8; 16]);

const PREFIX: &str = "elic_";
/// Crockford's base 32: digits sort like their values, and I, L, O and U are left out.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// 128 bits at five bits per digit.
const LENGTH: usize = 26;

impl ElicitationId {
    /// Creates an id from the time of creation and random bytes.
    pub fn new(created: UnixTime, random: [u8; 10]) -> Self {
        let mut bytes = [0; 16];
        bytes[..6].copy_from_slice(&created.as_millis().to_be_bytes()[2..]);
        bytes[6..].copy_from_slice(&random);
        Self(bytes)
    }

    /// Returns the lowest id of a time. Every id created earlier sorts before it.
    pub fn earliest(created: UnixTime) -> Self {
        Self::new(created, [0; 10])
    }

    /// The id as bytes, for storage.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Restores an id from its bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Maps the id to one of `shards` shards. Zero shards count as one.
    pub fn shard(&self, shards: usize) -> usize {
        // High bits: the low ones choose the bucket within a shard's table.
        let high = self.hash_bits() >> 32;
        usize::try_from(high).unwrap_or(0) % shards.max(1)
    }

    /// Random bits of the id, for hashing. The bits of the timestamp would cluster.
    pub fn hash_bits(&self) -> u64 {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.0[8..]);
        u64::from_le_bytes(bytes)
    }
}

impl fmt::Display for ElicitationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = u128::from_be_bytes(self.0);
        let mut text = [0; PREFIX.len() + LENGTH];
        let (prefix, digits) = text.split_at_mut(PREFIX.len());
        prefix.copy_from_slice(PREFIX.as_bytes());
        for digit in digits.iter_mut().rev() {
            *digit = DIGITS[(rest % 32) as usize];
            rest /= 32;
        }
        f.pad(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for ElicitationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The error for a text that is not an elicitation id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an elicitation's id is `elic_` and {LENGTH} lower-case letters and digits")]
pub struct InvalidElicitationId;

impl FromStr for ElicitationId {
    type Err = InvalidElicitationId;

    /// Accepts exactly what `Display` writes, so that an id has a single spelling.
    fn from_str(text: &str) -> Result<Self, InvalidElicitationId> {
        let digits = text.strip_prefix(PREFIX).ok_or(InvalidElicitationId)?;
        if digits.len() != LENGTH {
            return Err(InvalidElicitationId);
        }
        let mut value: u128 = 0;
        for digit in digits.bytes() {
            let digit = DIGITS
                .iter()
                .position(|d| *d == digit)
                .ok_or(InvalidElicitationId)?;
            value = value.checked_mul(32).ok_or(InvalidElicitationId)? | digit as u128;
        }
        Ok(Self(value.to_be_bytes()))
    }
}

impl Serialize for ElicitationId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ElicitationId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_id_is_read_back_from_its_text(bytes: [u8; 16]) {
            let id = ElicitationId(bytes);
            prop_assert_eq!(id.to_string().parse(), Ok(id));
        }

        #[test]
        fn texts_sort_as_ids_do(left: [u8; 16], right: [u8; 16]) {
            let (left, right) = (ElicitationId(left), ElicitationId(right));
            prop_assert_eq!(left.cmp(&right), left.to_string().cmp(&right.to_string()));
        }

        #[test]
        fn no_other_text_is_an_id(text in "elic_[0-9a-zA-Z]{25,27}|.{0,40}") {
            if let Ok(id) = text.parse::<ElicitationId>() {
                prop_assert_eq!(id.to_string(), text);
            }
        }
    }

    #[test]
    fn a_later_id_sorts_later_whatever_chance_brings() {
        let early = ElicitationId::new(UnixTime::from_millis(1), [255; 10]);
        let late = ElicitationId::new(UnixTime::from_millis(2), [0; 10]);
        assert!(early < late);
        assert_eq!(late, ElicitationId::earliest(UnixTime::from_millis(2)));
    }
}
