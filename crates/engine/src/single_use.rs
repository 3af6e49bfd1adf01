//! Single-use values: claims that survive restarts with a durable store.

use crate::engine::Engine;
use crate::store::{Claim, ClaimKey, StoreError};

impl Engine {
    /// Whether claims outlive the process. If not, remembering used values in memory is cheaper.
    pub fn has_durable_claims(&self) -> bool {
        self.inner.store.is_durable()
    }

    /// Claims a single-use value. If it was claimed before, changes nothing and returns the
    /// existing claim.
    pub async fn claim(&self, claim: Claim) -> Result<Option<Claim>, StoreError> {
        self.inner.store.claim(claim).await
    }

    /// Returns a claim without making one.
    pub async fn find_claim(&self, key: ClaimKey) -> Result<Option<Claim>, StoreError> {
        self.inner.store.find_claim(key).await
    }

    /// Stores the outcome of a claim; later claims of the same key return it.
    pub async fn end_claim(&self, key: ClaimKey, outcome: Vec<u8>) -> Result<(), StoreError> {
        self.inner.store.end_claim(key, outcome).await
    }

    /// Releases a claim that was not used after all. Does nothing if it has an outcome or other
    /// inputs.
    pub async fn release_claim(&self, key: ClaimKey, inputs: [u8; 16]) -> Result<(), StoreError> {
        self.inner.store.release_claim(key, inputs).await
    }
}
