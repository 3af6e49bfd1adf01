//! Deduplicated storage of form definitions.
//!
//! A definition is stored once and referenced by its digest. Two caches avoid work: from a loaded
//! form to its digest, so that writing a record does not encode its form again; and from a digest
//! to the loaded form, so that reading many records with one form loads it once.

use std::sync::Arc;

use entreat_core::{Form, Validators};
use quick_cache::sync::Cache;
use serde_json::Value;

use crate::record::{self, RecordError};

/// The digest of a definition.
///
/// Cryptographic, because askers share the table and must not craft collisions. Computed from the
/// encoded bytes, not from JSON text: a float that is printed and parsed again may differ in its
/// last bit.
pub(crate) type Digest = [u8; 16];

/// An encoded definition.
#[derive(Debug)]
pub(crate) struct StoredForm {
    pub(crate) digest: Digest,
    pub(crate) definition: Box<[u8]>,
}

/// Both caches, and the validators that forms are loaded with.
pub(crate) struct Forms {
    validators: Validators,
    /// Keyed by the address of the loaded definition. An entry owns the form, so that its address
    /// is not reused while the entry exists.
    encoded: Cache<usize, (Form, Arc<StoredForm>)>,
    loaded: Cache<Digest, Form>,
}

impl Forms {
    /// Creates caches for about `capacity` forms.
    pub(crate) fn new(capacity: usize, validators: Validators) -> Self {
        Self {
            validators,
            encoded: Cache::new(capacity),
            loaded: Cache::new(capacity),
        }
    }

    /// Returns the encoded form.
    pub(crate) fn encode(&self, form: &Form) -> Arc<StoredForm> {
        let address = std::ptr::from_ref(form.definition()).addr();
        if let Some((_, stored)) = self.encoded.get(&address) {
            return stored;
        }
        let definition = record::encode(form.definition()).into_boxed_slice();
        let digest = digest(&definition);
        let stored = Arc::new(StoredForm { digest, definition });
        self.encoded.insert(address, (form.clone(), stored.clone()));
        self.loaded.insert(digest, form.clone());
        stored
    }

    /// Returns the form of a digest; `fetch` reads its definition on a cache miss.
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
