//! Small texts that outlive the process with a durable store.

use crate::engine::Engine;
use crate::store::StoreError;

impl Engine {
    /// Loads a text saved by [`save_note`](Self::save_note).
    pub async fn load_note(&self, name: &'static str) -> Result<Option<String>, StoreError> {
        self.inner.store.load_note(name).await
    }

    /// Saves a small text, in place of the one of this name. The text is not encrypted.
    pub async fn save_note(&self, name: &'static str, text: String) -> Result<(), StoreError> {
        self.inner.store.save_note(name, text).await
    }
}
