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
    /// Who works on the outcome; `None` if there will be none, and the claim is only a mark.
    pub holder: Option<Holder>,
    /// The result, opaque to the store; `None` until it is known.
    pub outcome: Option<Arc<[u8]>>,
}

/// A handle on a store: the node that has it, and since which of its starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Holder {
    /// The node; 0 in a store with one handle.
    pub node: u64,
    /// Differs for each opening of the store.
    pub epoch: u64,
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

    pub(super) fn take_over(&mut self, claim: &Claim, from: Option<Holder>) -> bool {
        let is_held = |found: &&mut Claim| {
            let is_same = found.inputs == claim.inputs && found.holder == from;
            is_same && found.outcome.is_none()
        };
        let found = self.claims.get_mut(&claim.key).filter(is_held);
        found.is_some_and(|found| {
            found.holder = claim.holder;
            true
        })
    }

    pub(super) fn end(&mut self, key: ClaimKey, holder: Option<Holder>, outcome: Vec<u8>) -> bool {
        let is_open = |claim: &&mut Claim| claim.holder == holder && claim.outcome.is_none();
        let found = self.claims.get_mut(&key).filter(is_open);
        found.is_some_and(|claim| {
            claim.outcome = Some(outcome.into());
            true
        })
    }

    pub(super) fn release(&mut self, key: ClaimKey, inputs: [u8; 16], holder: Option<Holder>) {
        let is_open = |claim: &Claim| {
            claim.inputs == inputs && claim.holder == holder && claim.outcome.is_none()
        };
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
