//! Claims: what may be used once, and what came of it.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use entreat_core::UnixTime;

/// What a claim is known by: random, and so never that of another.
pub type ClaimKey = [u8; 24];

/// Something that was used, and must not be used again in another way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// What was used.
    pub key: ClaimKey,
    /// A digest of what it was used with.
    pub inputs: [u8; 16],
    /// From then on nobody can use it, and the claim can be forgotten.
    pub expires: UnixTime,
    /// What came of it, in the words of whoever claimed it; `None` until it is known.
    pub outcome: Option<Arc<[u8]>>,
}

/// Claims in memory.
#[derive(Debug, Default)]
pub(super) struct ClaimBook {
    claims: HashMap<ClaimKey, Claim>,
    /// Those that end first come first.
    ends: BTreeSet<(UnixTime, ClaimKey)>,
}

impl ClaimBook {
    pub(super) fn claim(&mut self, claim: Claim) -> Option<Claim> {
        if let Some(first) = self.claims.get(&claim.key) {
            return Some(first.clone());
        }
        self.ends.insert((claim.expires, claim.key));
        self.claims.insert(claim.key, claim);
        None
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
            && let Some((expires, key)) = self.ends.first().copied()
            && expires <= expired_by
        {
            self.remove(key);
            purged += 1;
        }
        purged
    }

    fn remove(&mut self, key: ClaimKey) {
        if let Some(claim) = self.claims.remove(&key) {
            self.ends.remove(&(claim.expires, key));
        }
    }
}
