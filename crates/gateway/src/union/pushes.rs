//! Requests of upstreams that are open at the client.
//!
//! Each session bounds its own, so that one upstream takes no room of the others; beyond that, its
//! upstream gets an error from the session.

use std::collections::HashMap;
use std::sync::Weak;

use crate::envelope::RawId;
use crate::session::Session;

/// The open requests, by the ids that the client knows and by those of their sessions.
#[derive(Default)]
pub(super) struct Pushes {
    by_known: HashMap<RawId, Pushed>,
    /// By the number of the upstream and the id in its session.
    by_own: HashMap<(usize, RawId), RawId>,
}

/// A request of an upstream.
pub(super) struct Pushed {
    /// The number of the upstream.
    pub(super) upstream: usize,
    pub(super) session: Weak<Session>,
    /// Its id in the session.
    pub(super) id: RawId,
    /// Its token for reports of the client, if it has one.
    pub(super) token: Option<String>,
}

impl Pushes {
    pub(super) fn insert(&mut self, known: RawId, pushed: Pushed) {
        let own = (pushed.upstream, pushed.id.clone());
        self.by_own.insert(own, known.clone());
        self.by_known.insert(known, pushed);
    }

    pub(super) fn get(&self, known: &RawId) -> Option<&Pushed> {
        self.by_known.get(known)
    }

    /// Takes out a request that the client has answered.
    pub(super) fn take(&mut self, known: &RawId) -> Option<Pushed> {
        let pushed = self.by_known.remove(known)?;
        self.by_own.remove(&(pushed.upstream, pushed.id.clone()));
        Some(pushed)
    }

    /// Takes out a request that its session withdraws; returns the id that the client knows.
    pub(super) fn take_own(&mut self, upstream: usize, id: RawId) -> Option<RawId> {
        let known = self.by_own.remove(&(upstream, id))?;
        self.by_known.remove(&known);
        Some(known)
    }

    /// Takes out all requests of an upstream; returns the ids that the client knows.
    pub(super) fn take_all(&mut self, upstream: usize) -> Vec<RawId> {
        let is_of = |pushed: &Pushed| pushed.upstream == upstream;
        let taken = self.by_known.extract_if(|_, pushed| is_of(pushed));
        let taken: Vec<RawId> = taken.map(|(known, _)| known).collect();
        self.by_own.retain(|(other, _), _| *other != upstream);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pushed(upstream: usize, id: u64) -> Pushed {
        Pushed {
            upstream,
            session: Weak::new(),
            id: RawId::number(id),
            token: None,
        }
    }

    #[test]
    fn a_request_is_found_by_either_id_until_it_is_taken_out() {
        let mut pushes = Pushes::default();
        for (known, upstream, id) in [("a", 0, 1), ("b", 1, 1), ("c", 0, 2), ("d", 0, 3)] {
            pushes.insert(RawId::text(known), pushed(upstream, id));
        }
        let known = |name: &str| RawId::text(name);
        assert_eq!(pushes.take(&known("a")).unwrap().id, RawId::number(1));
        assert!(pushes.take_own(0, RawId::number(1)).is_none());
        assert_eq!(pushes.take_own(1, RawId::number(1)), Some(known("b")));
        assert!(pushes.get(&known("b")).is_none());
        assert_eq!(pushes.take_all(0).len(), 2);
        assert!(pushes.by_known.is_empty() && pushes.by_own.is_empty());
    }
}
