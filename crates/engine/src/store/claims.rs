//! Claims on single-use values, and their outcomes.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use entreat_core::UnixTime;

/// The key of a claim: random, and so unique.
pub type ClaimKey = [u8; 24];

/// A record that a single-use value was used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The value that was used.
    pub key: ClaimKey,
    /// A digest of the inputs it was used with.
    pub inputs: [u8; 16],
    /// When the value itself expires, and the claim can be deleted.
    pub expires: UnixTime,
    /// The result, opaque to the store; `None` until it is known.
    pub outcome: Option<Arc<[u8]>>,
}

/// Claims in memory.
#[derive(Debug, Default)]
pub(super) struct Claims {
    claims: HashMap<ClaimKey, Claim>,
    /// Keys ordered by expiry.
    by_expiry: BTreeSet<(UnixTime, ClaimKey)>,
}

impl Claims {
    pub(super) fn claim(&mut self, claim: Claim) -> Option<Claim> {
        if let Some(first) = self.claims.get(&claim.key) {
            return Some(first.clone());
        }
        self.by_expiry.insert((claim.expires, claim.key));
        self.claims.insert(claim.key, claim);
        None
    }

    pub(super) fn find(&self, key: ClaimKey) -> Option<Claim> {
        self.claims.get(&key).cloned()
    }

    pub(super) fn end(&mut self, key: ClaimKey, outcome: Vec<u8>) {
        if let Some(claim) = self.claims.get_mut(&key) {
            claim.outcome.get_or_insert_with(|| outcome.into());
        }
    }

    pub(super) fn release(&mut self, key: ClaimKey, inputs: [u8; 16]) {
        let is_open = |claim: &Claim| claim.inputs == inputs && claim.outcome.is_none();
        if self.claims.get(&key).is_some_and(is_open) {
            self.remove(key);
        }
    }

    pub(super) fn purge(&mut self, expired_by: UnixTime, limit: usize) -> usize {
        let mut purged = 0;
        while purged < limit
            && let Some((expires, key)) = self.by_expiry.first().copied()
            && expires <= expired_by
        {
            self.remove(key);
            purged += 1;
        }
        purged
    }

    fn remove(&mut self, key: ClaimKey) {
        if let Some(claim) = self.claims.remove(&key) {
            self.by_expiry.remove(&(claim.expires, key));
        }
    }
}
