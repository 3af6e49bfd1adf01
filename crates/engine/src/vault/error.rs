//! What can go wrong with sealed answers and with keys. No error holds either.

/// Why something sealed stays closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VaultError {
    /// Put the key back into the ring.
    #[error("the key ring has no key v{version}; put its line back into the key file")]
    MissingKey {
        /// The key's version.
        version: u32,
    },
    /// Restore the key that had this version; a new key takes a new version.
    #[error(
        "key v{version} is not the key that the store was sealed with; restore its line in the \
         key file, and give a new key a new version"
    )]
    WrongKey {
        /// The key's version.
        version: u32,
    },
    /// The answers of this elicitation are lost, unless another key has this version.
    #[error(
        "the wrapped key does not open with key v{version}: it was altered, belongs to another \
         elicitation, or was made with another key"
    )]
    KeyRefused {
        /// The key's version.
        version: u32,
    },
    /// The answer to this field is lost; others may open.
    #[error(
        "the sealed field `{name}` does not open: it was altered, or belongs to another field or \
         elicitation"
    )]
    FieldRefused {
        /// The field's name.
        name: Box<str>,
    },
}

/// Why a text is no key ring, or a ring takes no more keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyRingError {
    /// Correct the line.
    #[error("line {line} of the key file: {fault}")]
    Line {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        fault: KeyLineFault,
    },
    /// Add a key.
    #[error("the key file has no key; a key is a line such as `v1 <32 bytes in base64>`")]
    Empty,
    /// Start a new ring.
    #[error("no version is left after v{}", u32::MAX)]
    Full,
}

/// What is wrong with a line of a key file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyLineFault {
    /// It is not a version and a key.
    #[error("expected a version and a key, such as `v1 <32 bytes in base64>`")]
    Shape,
    /// The first word is no version.
    #[error(
        "the version is `v` and a number from 1 to {}, without leading zeros",
        u32::MAX
    )]
    Version,
    /// The second word is not base64.
    #[error("the key is not base64 (the standard alphabet, padded)")]
    Base64,
    /// The key is of another length.
    #[error("the key has {0} bytes instead of 32")]
    Length(usize),
    /// An earlier line has this version.
    #[error("v{0} was given before")]
    VersionTwice(u32),
    /// An earlier line has this key, so that changing to it would change nothing.
    #[error("the key is the same as that of v{0}")]
    KeyTwice(u32),
}
