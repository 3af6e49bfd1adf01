//! Who may ask over a network: holders of a key, and local programs if allowed.

use std::collections::HashMap;
use std::fmt;

use entreat_engine::Asker;

/// The askers that may use the API, by key.
///
/// Keys are stored and looked up as digests, so lookup time reveals nothing about a key.
#[derive(Clone, Default)]
pub struct Askers {
    by_digest: HashMap<[u8; 32], Asker>,
    local: Option<Asker>,
}

impl Askers {
    /// Allows no asker.
    pub fn none() -> Self {
        Self::default()
    }

    /// Adds an asker with a key. One asker may have several keys, for rotation.
    #[must_use]
    pub fn with_key(mut self, key: &str, asker: Asker) -> Self {
        self.by_digest.insert(digest(key), asker);
        self
    }

    /// Lets programs on this machine ask without a key, as this asker.
    #[must_use]
    pub fn with_local(mut self, asker: Asker) -> Self {
        self.local = Some(asker);
        self
    }

    pub(crate) fn by_key(&self, key: &str) -> Option<&Asker> {
        self.by_digest.get(&digest(key))
    }

    pub(crate) fn local(&self) -> Option<&Asker> {
        self.local.as_ref()
    }
}

fn digest(key: &str) -> [u8; 32] {
    blake3::hash(key.as_bytes()).into()
}

impl fmt::Debug for Askers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names: Vec<_> = self.by_digest.values().map(Asker::name).collect();
        names.sort_unstable();
        f.debug_struct("Askers")
            .field("with_keys", &names)
            .field("local", &self.local.as_ref().map(Asker::name))
            .finish()
    }
}
