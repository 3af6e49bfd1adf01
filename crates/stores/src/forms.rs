//! Forms as a store keeps them: each definition once, however many records ask it.
//!
//! A definition is known by a digest. Two caches spare work: one from a loaded form to its
//! digest, so that a record with a known form is written without looking at the definition; one
//! from a digest to the loaded form, so that a thousand records with one form load it once.

use std::sync::Arc;

use entreat_core::{Form, Validators};
use quick_cache::sync::Cache;
use serde_json::Value;

use crate::record::{self, RecordError};

/// What a definition is known by.
///
/// Cryptographic, because askers share the table: none may craft a definition that finds
/// another's. Of the definition's bytes, not of its JSON text: a number with a fraction that is
/// written and parsed again may differ in its last bit.
pub(crate) type Digest = [u8; 16];

/// A definition as it is kept.
#[derive(Debug)]
pub(crate) struct KeptForm {
    pub(crate) digest: Digest,
    pub(crate) definition: Box<[u8]>,
}

/// Both caches, and what forms are loaded with.
pub(crate) struct Forms {
    validators: Validators,
    /// By the address of the loaded definition. An entry holds the form, so that no other
    /// definition can come to lie at that address while the entry is there.
    kept: Cache<usize, (Form, Arc<KeptForm>)>,
    loaded: Cache<Digest, Form>,
}

impl Forms {
    /// Caches for about so many forms.
    pub(crate) fn new(capacity: usize, validators: Validators) -> Self {
        Self {
            validators,
            kept: Cache::new(capacity),
            loaded: Cache::new(capacity),
        }
    }

    /// The form as it is to be kept.
    pub(crate) fn kept(&self, form: &Form) -> Arc<KeptForm> {
        let address = std::ptr::from_ref(form.definition()).addr();
        if let Some((_, kept)) = self.kept.get(&address) {
            return kept;
        }
        let definition = record::encode(form.definition()).into_boxed_slice();
        let digest = digest(&definition);
        let kept = Arc::new(KeptForm { digest, definition });
        self.kept.insert(address, (form.clone(), kept.clone()));
        self.loaded.insert(digest, form.clone());
        kept
    }

    /// The form of a digest; `fetch` brings its definition if it was not loaded lately.
    pub(crate) fn load<E: From<RecordError>>(
        &self,
        digest: &Digest,
        fetch: impl FnOnce() -> Result<Option<Vec<u8>>, E>,
    ) -> Result<Form, E> {
        self.loaded.get_or_insert_with(digest, || {
            let bytes = fetch()?.ok_or(RecordError::NoForm)?;
            if self::digest(&bytes) != *digest {
                return Err(RecordError::Damaged.into());
            }
            let definition: Value = record::read(&bytes)?;
            let form = Form::with_validators(&definition, &self.validators);
            form.map_err(|problems| RecordError::BadForm(problems).into())
        })
    }
}

/// The digest of a definition.
pub(crate) fn digest(definition: &[u8]) -> Digest {
    let mut digest = Digest::default();
    let mut hasher = blake3::Hasher::new();
    hasher.update(definition).finalize_xof().fill(&mut digest);
    digest
}
