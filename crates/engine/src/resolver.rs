//! DNS for the URL guard.
//!
//! [`judge_resolved`] is how all of Entreat judges a URL that it may connect to later: the
//! core's guard first, then one look-up, and what comes out holds the addresses that were
//! judged. Nothing here connects, follows a redirect or caches an answer.

mod cleared;
mod system;

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

pub use cleared::{Cleared, Unresolved, UrlError, judge_resolved};
pub use system::SystemResolver;

/// Finds the addresses of a host name.
///
/// A seam, so that the guard can be tested against hostile answers. An implementation has to
/// end in bounded time by itself; nobody waits for it with a clock in hand.
pub trait Resolver: Send + Sync {
    /// Looks up a name: ASCII, lower case, without a dot at the end.
    ///
    /// Fails with [`ResolveError::NotFound`] if there is no such name or it has no address;
    /// an empty list says the same. All other errors mean that the question could not be
    /// asked or was not answered.
    fn resolve(&self, host: &str) -> LookUp<'_>;

    /// Looks up a name that an asker brought, as [`resolve`](Self::resolve) does. Names that hang
    /// are of somebody's choosing: an implementation that has few look-ups under way at once
    /// gives each asker a share of them.
    fn resolve_for(&self, _asker: &str, host: &str) -> LookUp<'_> {
        self.resolve(host)
    }
}

/// A resolver as one asker may use it.
pub(crate) struct OnAccountOf<'a> {
    pub(crate) asker: &'a str,
    pub(crate) resolver: &'a dyn Resolver,
}

impl Resolver for OnAccountOf<'_> {
    fn resolve(&self, host: &str) -> LookUp<'_> {
        self.resolver.resolve_for(self.asker, host)
    }
}

/// A look-up under way.
pub type LookUp<'a> = Pin<Box<dyn Future<Output = Result<Vec<IpAddr>, ResolveError>> + Send + 'a>>;

/// Why a name has no addresses to show.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// There is no such name, or it has no address. Asking again is of no use soon.
    #[error("no such host name")]
    NotFound,
    /// No answer came in time; it may if asked again.
    #[error("no answer within {after:?}")]
    TimedOut {
        /// How long was waited.
        after: Duration,
    },
    /// Too many earlier look-ups hang; one may end.
    #[error("{limit} look-ups were under way for {after:?}, and no more are started")]
    Busy {
        /// How many may be under way at once.
        limit: usize,
        /// How long was waited for one to end.
        after: Duration,
    },
    /// The resolver failed; it may work if asked again.
    #[error("the resolver failed")]
    Failed {
        /// What it said.
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
}
