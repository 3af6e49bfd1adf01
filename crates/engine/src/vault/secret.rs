//! A plaintext secret that cannot leak by accident.

use std::fmt;

use zeroize::Zeroizing;

/// Plaintext of a sensitive field, or of a key.
///
/// It cannot be displayed, serialised, compared or cloned; `Debug` prints a placeholder. It is
/// wiped on drop. The only access is [`expose`](Self::expose), which is easy to find in reviews.
///
/// ```
/// use entreat_engine::Secret;
///
/// let secret = Secret::from("hunter2".to_owned());
/// assert_eq!(format!("{secret:?}"), "[sealed]");
/// assert_eq!(secret.expose(), b"hunter2");
/// ```
///
/// It has no `Display`:
///
/// ```compile_fail,E0277
/// let secret = entreat_engine::Secret::from("hunter2".to_owned());
/// let _ = format!("{}", secret);
/// ```
///
/// It cannot be serialised:
///
/// ```compile_fail,E0277
/// let secret = entreat_engine::Secret::from("hunter2".to_owned());
/// let _ = serde_json::to_string(&secret);
/// ```
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// Returns the plaintext bytes.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(entreat_core::SEALED)
    }
}

impl From<Vec<u8>> for Secret {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }
}

impl From<Zeroizing<Vec<u8>>> for Secret {
    fn from(bytes: Zeroizing<Vec<u8>>) -> Self {
        Self(bytes)
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        text.into_bytes().into()
    }
}
