//! Single-use values: claims that survive restarts with a durable store.
//!
//! A claim is a mark, or it has a holder that works on its outcome. Silence ends no claim: it is
//! taken over only once its holder is known to be gone, and then the earlier holder can't end it.

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

    /// Claims a single-use value in order to work on its outcome, as its holder.
    ///
    /// Returns the existing claim if it has an outcome or other inputs, or if somebody else works on
    /// it: then look again later. A claim with these inputs whose holder is gone is taken over.
    pub async fn begin_claim(&self, mut claim: Claim) -> Result<Option<Claim>, StoreError> {
        let store = &self.inner.store;
        let own = store.holder();
        claim.holder = Some(own);
        loop {
            let Some(first) = store.claim(claim.clone()).await? else {
                return Ok(None);
            };
            if first.outcome.is_some() || first.inputs != claim.inputs {
                return Ok(Some(first));
            }
            let is_left = match first.holder {
                // Of this process, which knows that nothing works on it.
                Some(holder) if holder == own => return Ok(None),
                Some(holder) => store.is_gone(holder).await?,
                // From before claims had holders.
                None => true,
            };
            if !is_left {
                return Ok(Some(first));
            }
            if store.take_over_claim(claim.clone(), first.holder).await? {
                return Ok(None);
            }
        }
    }

    /// Returns a claim without making one.
    pub async fn find_claim(&self, key: ClaimKey) -> Result<Option<Claim>, StoreError> {
        self.inner.store.find_claim(key).await
    }

    /// Stores the outcome of a claim that was [begun](Self::begin_claim); later claims of the same
    /// key return it. False if somebody else has it now.
    pub async fn end_claim(&self, key: ClaimKey, outcome: Vec<u8>) -> Result<bool, StoreError> {
        let store = &self.inner.store;
        store.end_claim(key, Some(store.holder()), outcome).await
    }

    /// Releases a claim that was [begun](Self::begin_claim) and has no outcome, so that it can be
    /// begun again. Does nothing if somebody else has it now.
    pub async fn abandon_claim(&self, key: ClaimKey, inputs: [u8; 16]) -> Result<(), StoreError> {
        let store = &self.inner.store;
        let holder = Some(store.holder());
        store.release_claim(key, inputs, holder).await
    }

    /// Releases a mark: a claim that nobody holds. Does nothing if it has other inputs.
    pub async fn release_claim(&self, key: ClaimKey, inputs: [u8; 16]) -> Result<(), StoreError> {
        self.inner.store.release_claim(key, inputs, None).await
    }
}
