//! A cache of loaded forms.
//!
//! Building a form takes microseconds, mostly to compile its patterns. A service that receives
//! the same definition repeatedly looks it up by its digest instead.

use std::fmt;

use quick_cache::sync::Cache;

use crate::document::{self, Notation};
use crate::form::Form;
use crate::problem::Problems;
use crate::validator::Validators;

/// The cache key of a definition: a digest of its text and notation.
///
/// The hash is cryptographic because askers share a cache: nobody can craft a text that collides
/// with another asker's form.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct FormKey([u8; 16]);

impl FormKey {
    /// Computes the key of a definition's text.
    pub fn of(text: &str, notation: Notation) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&[notation as u8]).update(text.as_bytes());
        let mut key = [0; 16];
        hasher.finalize_xof().fill(&mut key);
        Self(key)
    }
}

impl fmt::Debug for FormKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FormKey({:032x})", u128::from_be_bytes(self.0))
    }
}

/// A bounded cache of loaded forms that evicts those least used.
///
/// ```
/// use entreat_core::{FormCache, FormKey, document::Notation};
///
/// let text = r#"{"id":"f","title":"F","fields":[{"id":"a","type":"text","label":"A"}]}"#;
/// let cache = FormCache::new(1000);
/// cache.load(text, Notation::Json)?;
/// assert!(cache.get(FormKey::of(text, Notation::Json)).is_some());
/// # Ok::<(), entreat_core::Problems>(())
/// ```
pub struct FormCache(Cache<FormKey, Form>);

impl FormCache {
    /// Creates a cache that holds about `capacity` forms.
    pub fn new(capacity: usize) -> Self {
        Self(Cache::new(capacity))
    }

    /// Returns the form cached under a key.
    pub fn get(&self, key: FormKey) -> Option<Form> {
        self.0.get(&key)
    }

    /// Returns the form of a definition, from the cache or loaded now. A definition with
    /// problems is not cached.
    pub fn load(&self, text: &str, notation: Notation) -> Result<Form, Problems> {
        self.load_with(text, notation, &Validators::default())
    }

    /// Returns the form of a definition that may name these custom validators. All calls on one
    /// cache must pass the same validators, because the key covers the text alone.
    pub fn load_with(
        &self,
        text: &str,
        notation: Notation,
        validators: &Validators,
    ) -> Result<Form, Problems> {
        let load = || Form::with_validators(&document::read(text, notation)?, validators);
        self.0
            .get_or_insert_with(&FormKey::of(text, notation), load)
    }
}

impl fmt::Debug for FormCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FormCache({} forms)", self.0.len())
    }
}
