//! A URL that passed the guard, with the addresses that were checked.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use entreat_core::url_guard::{Blocked, CheckedUrl, Host, Policy, check_url};

use super::{ResolveError, Resolver};

/// Checks a URL and every address of its host.
///
/// A name is resolved exactly once, after all checks that need no DNS. Fails if the guard blocks
/// the URL or one of the addresses, and, with [`Unresolved::Refuse`], if there is no address. Logs
/// failures with host and reason, but without the rest of the URL, which may contain secrets.
///
/// ```
/// use entreat_core::url_guard::Policy;
/// use entreat_engine::{Unresolved, UrlError, resolve_and_check};
/// use entreat_testkit::ScriptedResolver;
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// # runtime.block_on(async {
/// let resolver = ScriptedResolver::new()
///     .answers("example.com", &["93.184.215.14"])
///     .answers("rebind.example.com", &["93.184.215.14", "10.0.0.5"]);
/// let policy = Policy::default();
///
/// let url = "https://example.com/hook";
/// let cleared = resolve_and_check(&resolver, url, &policy, Unresolved::Refuse).await?;
/// assert!(cleared.socket_addrs().eq(["93.184.215.14:443".parse().unwrap()]));
///
/// let url = "https://rebind.example.com/hook";
/// let error = resolve_and_check(&resolver, url, &policy, Unresolved::Refuse).await.unwrap_err();
/// assert_eq!(error.code(), "dns_private");
/// # Ok::<(), UrlError>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub async fn resolve_and_check(
    resolver: &dyn Resolver,
    url: &str,
    policy: &Policy,
    unresolved: Unresolved,
) -> Result<VettedUrl, UrlError> {
    let outcome = vet(resolver, url, policy, unresolved).await;
    if let Err(error) = &outcome {
        // Whoever asked for it may repeat it without end: callers that know who it was warn.
        tracing::debug!(host = error.host(), reason = error.code(), "blocked URL");
    }
    outcome
}

/// What happens to a name that cannot be resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unresolved {
    /// It passes, without addresses. For URLs that are stored or shown: the host may only exist in
    /// the person's network, or not yet.
    Accept,
    /// It fails. For URLs that Entreat connects to.
    Refuse,
}

/// A URL that passed the guard, and the addresses that were checked.
///
/// Connect only to [`socket_addrs`](Self::socket_addrs): resolving the name again could yield other
/// addresses (DNS rebinding). Give an HTTP client these addresses for every host, not a table by
/// host name: the client may spell the host differently from [`host`](Self::host), such as with a
/// trailing dot, and then resolve it itself.
#[derive(Clone, PartialEq, Eq)]
pub struct VettedUrl {
    url: Box<str>,
    host: Box<str>,
    port: Option<u16>,
    addresses: Vec<IpAddr>,
}

impl VettedUrl {
    /// Returns the URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the host: a lower-case name without a trailing dot, or an address, IPv6 in brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the URL's port, or the default of its scheme if known.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// Returns the addresses that were checked; empty if the name could not be resolved.
    pub fn addresses(&self) -> &[IpAddr] {
        &self.addresses
    }

    /// Returns the addresses to connect to, in the resolver's order; empty without a port.
    pub fn socket_addrs(&self) -> impl Iterator<Item = SocketAddr> {
        let socket = |port| {
            self.addresses
                .iter()
                .map(move |ip| SocketAddr::new(*ip, port))
        };
        self.port.into_iter().flat_map(socket)
    }
}

impl fmt::Debug for VettedUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the URL: paths and queries may contain secrets.
        f.debug_struct("VettedUrl")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("addresses", &self.addresses)
            .finish_non_exhaustive()
    }
}

/// Why a URL may not be used. Contains no more than its host.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UrlError {
    /// The guard blocks it; a retry is no use.
    #[error(transparent)]
    Blocked(#[from] Blocked),
    /// Its host could not be resolved; a retry may succeed.
    #[error("the host name {host} cannot be resolved")]
    Unresolved {
        /// The host name.
        host: Box<str>,
        /// The resolver's error.
        source: ResolveError,
    },
}

impl UrlError {
    /// Returns a stable code for programs and logs: the guard's reason, or `unresolved`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Blocked(blocked) => blocked.reason().code(),
            Self::Unresolved { .. } => "unresolved",
        }
    }

    /// Returns the host, if the URL could be parsed that far.
    pub fn host(&self) -> Option<&str> {
        match self {
            Self::Blocked(blocked) => blocked.host(),
            Self::Unresolved { host, .. } => Some(host),
        }
    }
}

async fn vet(
    resolver: &dyn Resolver,
    url: &str,
    policy: &Policy,
    unresolved: Unresolved,
) -> Result<VettedUrl, UrlError> {
    let checked = check_url(url, policy)?;
    let addresses = match checked.host() {
        // Already checked as part of the URL.
        Host::Address(address) => vec![*address],
        Host::Name(name) => addresses_of(&checked, name, resolver, policy, unresolved).await?,
    };
    Ok(VettedUrl {
        url: url.into(),
        host: checked.host().to_string().into(),
        port: checked.port(),
        addresses,
    })
}

async fn addresses_of(
    checked: &CheckedUrl<'_>,
    name: &str,
    resolver: &dyn Resolver,
    policy: &Policy,
    unresolved: Unresolved,
) -> Result<Vec<IpAddr>, UrlError> {
    let answer = match (resolver.resolve(name).await, unresolved) {
        (Ok(addresses), _) => addresses,
        (Err(ResolveError::NotFound), _) | (Err(_), Unresolved::Accept) => Vec::new(),
        (Err(source), Unresolved::Refuse) => {
            let host = name.into();
            return Err(UrlError::Unresolved { host, source });
        }
    };
    if answer.is_empty() && unresolved == Unresolved::Accept {
        return Ok(answer);
    }
    checked.check_addresses(&answer, policy)?;
    Ok(answer)
}
