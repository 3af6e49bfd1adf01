//! DNS for the URL guard.
//!
//! [`resolve_and_check`] checks every URL that Entreat may connect to: first the core's guard, then
//! one DNS lookup. The result holds the addresses that were checked. Nothing here connects, follows
//! redirects or caches.

mod system;
mod vetted_url;

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

pub use system::SystemResolver;
pub use vetted_url::{Unresolved, UrlError, VettedUrl, resolve_and_check};

/// Resolves host names.
///
/// A trait, so that the guard can be tested against hostile answers. Implementations must apply
/// their own timeout.
pub trait Resolver: Send + Sync {
    /// Resolves a name: ASCII, lower case, without a trailing dot.
    ///
    /// Fails with [`ResolveError::NotFound`] if the name does not exist or has no address; an empty
    /// list means the same. All other errors mean that there was no answer.
    fn resolve(&self, host: &str) -> Lookup<'_>;

    /// Resolves a name that an asker supplied. An implementation that limits concurrent lookups
    /// gives each asker a share, because an asker can choose names that hang.
    fn resolve_for(&self, _asker: &str, host: &str) -> Lookup<'_> {
        self.resolve(host)
    }
}

/// A resolver limited to one asker's share of lookups.
pub(crate) struct AskerResolver<'a> {
    pub(crate) asker: &'a str,
    pub(crate) resolver: &'a dyn Resolver,
}

impl Resolver for AskerResolver<'_> {
    fn resolve(&self, host: &str) -> Lookup<'_> {
        self.resolver.resolve_for(self.asker, host)
    }
}

/// A lookup in flight.
pub type Lookup<'a> = Pin<Box<dyn Future<Output = Result<Vec<IpAddr>, ResolveError>> + Send + 'a>>;

/// Why a name could not be resolved.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// The name does not exist or has no address. Retrying soon is no use.
    #[error("no such host name")]
    NotFound,
    /// No answer in time; a retry may succeed.
    #[error("no response within {after:?}")]
    TimedOut {
        /// The timeout.
        after: Duration,
    },
    /// Too many lookups in flight; a retry may succeed.
    #[error("{limit} lookups were in flight for {after:?}, which is the limit")]
    Busy {
        /// The limit on lookups in flight.
        limit: usize,
        /// The timeout.
        after: Duration,
    },
    /// The resolver failed; a retry may succeed.
    #[error("the resolver failed")]
    Failed {
        /// The cause.
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
}
