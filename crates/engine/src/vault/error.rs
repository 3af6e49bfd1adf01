//! Errors of sealed answers and keys. They contain neither.

/// Why sealed data cannot be decrypted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VaultError {
    /// The ring lacks a key; restore it.
    #[error("the key ring has no key v{version}; put its line back into the key file")]
    MissingKey {
        /// The key's version.
        version: u32,
    },
    /// The key of this version differs; restore it, and give a new key a new version.
    #[error(
        "key v{version} is not the key that the store was sealed with; restore its line in the \
         key file, and give a new key a new version"
    )]
    WrongKey {
        /// The key's version.
        version: u32,
    },
    /// The wrapped key cannot be decrypted: the elicitation's secrets are lost.
    #[error(
        "the wrapped key cannot be decrypted with key v{version}: it was altered, belongs to \
         another elicitation, or was made with another key"
    )]
    KeyRefused {
        /// The key's version.
        version: u32,
    },
    /// The field cannot be decrypted; others may be intact.
    #[error(
        "the sealed field `{name}` cannot be decrypted: it was altered, or belongs to another \
         field or elicitation"
    )]
    FieldRefused {
        /// The field's name.
        name: Box<str>,
    },
}

/// Why a key ring could not be parsed or extended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyRingError {
    /// A line is invalid.
    #[error("line {line} of the key file: {fault}")]
    Line {
        /// The line, counted from 1.
        line: usize,
        /// The reason.
        fault: KeyLineFault,
    },
    /// The text has no key.
    #[error("the key file has no key; a key is a line such as `v1 <32 bytes in base64>`")]
    Empty,
    /// The key to seal with is missing.
    #[error("the key file says `seal_with v{version}`, but has no such key")]
    NoSealingKey {
        /// The key's version.
        version: u32,
    },
    /// Versions are exhausted; start a new ring.
    #[error("no version is left after v{}", u32::MAX)]
    Full,
}

/// Why a line of a key file is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyLineFault {
    /// It is not a version and a key.
    #[error("expected a version and a key, such as `v1 <32 bytes in base64>`")]
    Shape,
    /// The first word is not a version.
    #[error(
        "the version is `v` and a number from 1 to {}, without leading zeros",
        u32::MAX
    )]
    Version,
    /// The second word is not base64.
    #[error("the key is not base64 (the standard alphabet, padded)")]
    Base64,
    /// The key has the wrong length.
    #[error("the key has {0} bytes instead of 32")]
    Length(usize),
    /// An earlier line has this version.
    #[error("v{0} appears twice")]
    VersionTwice(u32),
    /// An earlier line says which key seals.
    #[error("`seal_with` appears twice")]
    SealWithTwice,
    /// An earlier line has the same key, so that rotating to it would have no effect.
    #[error("the key is the same as that of v{0}")]
    KeyTwice(u32),
}
