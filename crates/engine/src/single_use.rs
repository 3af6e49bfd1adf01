//! Things that may be used once, for those who hand them out.

use crate::engine::Engine;
use crate::store::{Claim, ClaimKey, StoreError};

impl Engine {
    /// Whether claims are still there after this process, as elicitations are. Where they are not,
    /// whoever claims does better to remember by itself.
    pub fn keeps_claims(&self) -> bool {
        self.inner.store.outlives_process()
    }

    /// Claims something that may be used once. If it was claimed before, nothing changes, and the
    /// first claim is returned.
    pub async fn claim(&self, claim: Claim) -> Result<Option<Claim>, StoreError> {
        self.inner.store.claim(claim).await
    }

    /// Keeps what came of a claim. Whoever claims the same later is told.
    pub async fn end_claim(&self, key: ClaimKey, outcome: Vec<u8>) -> Result<(), StoreError> {
        self.inner.store.end_claim(key, outcome).await
    }

    /// Gives a claim back that came to nothing. It is left alone if it has an outcome, or if it
    /// was made with other inputs.
    pub async fn release_claim(&self, key: ClaimKey, inputs: [u8; 16]) -> Result<(), StoreError> {
        self.inner.store.release_claim(key, inputs).await
    }
}
