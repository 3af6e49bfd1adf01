//! The resources that a client of 2025 subscribes to, kept by whatever tells a new session or
//! stream of them.

use std::collections::BTreeSet;

use crate::reply::Reply;

/// The longest URI, in bytes.
const MAX_URI: usize = 2 << 10;
/// The maximum number of URIs, and of their bytes together: a server of 2026-07-28 is told all of
/// them whenever one changes.
const MAX_URIS: usize = 10_000;
const MAX_BYTES: usize = 1 << 20;

/// The resources of one server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subscriptions {
    uris: BTreeSet<String>,
    bytes: usize,
}

impl Subscriptions {
    /// Adds a resource. Returns whether it is new; the error is for a client for whose resource
    /// there is no room.
    pub(crate) fn add(&mut self, uri: String) -> Result<bool, Reply> {
        if uri.len() > MAX_URI {
            return Err(Reply::invalid_params("uri: longer than 2 KiB"));
        }
        if self.uris.contains(&uri) {
            return Ok(false);
        }
        if self.uris.len() >= MAX_URIS || self.bytes + uri.len() > MAX_BYTES {
            return Err(Reply::busy("too many subscriptions"));
        }
        self.bytes += uri.len();
        self.uris.insert(uri);
        Ok(true)
    }

    /// Removes a resource. Returns whether it was there.
    pub(crate) fn remove(&mut self, uri: &str) -> bool {
        let was_there = self.uris.remove(uri);
        if was_there {
            self.bytes -= uri.len();
        }
        was_there
    }

    pub(crate) fn uris(&self) -> &BTreeSet<String> {
        &self.uris
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_short_resources_and_few_long_ones_are_bounded() {
        let mut many = Subscriptions::default();
        let taken = (0..20_000).take_while(|n| many.add(format!("a:{n}")) == Ok(true));
        assert_eq!(taken.count(), MAX_URIS);
        let long = |n: usize| format!("{n:0>MAX_URI$}");
        let mut few = Subscriptions::default();
        let taken = (0..20_000).take_while(|n| few.add(long(*n)) == Ok(true));
        assert_eq!(taken.count(), MAX_BYTES / MAX_URI);
        assert_eq!(few.add(long(0)), Ok(false), "it is there already");
        assert!(few.remove(&long(0)) && !few.remove(&long(0)));
        assert_eq!(few.add(long(0)), Ok(true));
        assert!(few.add("x".repeat(MAX_URI + 1)).is_err());
    }
}
