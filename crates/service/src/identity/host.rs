//! People whom the program that embeds the service knows.

use std::fmt;
use std::sync::Arc;

use axum::http::HeaderMap;

use super::{Account, Person, Unidentified};

/// Finds the account of whoever sent a request with these headers.
type Find = dyn Fn(&HeaderMap) -> Option<Arc<Account>> + Send + Sync;

/// Identifies people by the sessions of the embedding program, which finds them in a request's
/// headers, such as its own cookie.
///
/// ```
/// use entreat_service::identity::{HostIdentity, Identity};
///
/// // Nobody is signed in.
/// let identity = Identity::Host(HostIdentity::new(|_headers| None));
/// assert!(identity.needs_respondent());
/// ```
#[derive(Clone)]
pub struct HostIdentity(Arc<Find>);

impl HostIdentity {
    /// Identifies people by this function, which returns `None` if nobody is signed in.
    pub fn new(find: impl Fn(&HeaderMap) -> Option<Arc<Account>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(find))
    }

    pub(super) fn identify(&self, headers: &HeaderMap) -> Result<Person, Unidentified> {
        let account = (self.0)(headers).ok_or(Unidentified::NotSignedIn)?;
        Ok(Person::SignedIn(account))
    }
}

impl fmt::Debug for HostIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostIdentity").finish_non_exhaustive()
    }
}
