//! The JSON encoding of sealed data: a format number and base64.
//!
//! Readers are strict: unknown formats and unknown members are errors. Ignoring what a newer
//! Entreat wrote would lose answers permanently; an error only lasts until the upgrade. Additions
//! get a new format number.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The constant format number 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format1;

impl Serialize for Format1 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(1)
    }
}

impl<'de> Deserialize<'de> for Format1 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            1 => Ok(Self),
            other => Err(D::Error::custom(format_args!(
                "format {other} of sealed data is unknown to this version of Entreat"
            ))),
        }
    }
}

/// Bytes encoded as base64.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Base64(pub(super) Box<[u8]>);

impl Serialize for Base64 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        match STANDARD.decode(text.as_bytes()) {
            Ok(bytes) => Ok(Self(bytes.into())),
            Err(_) => Err(D::Error::custom("sealed data is not base64")),
        }
    }
}
