//! A URL that passed the guard, with the addresses it passed for.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use entreat_core::url_guard::{Blocked, Host, Judged, Policy, judge};

use super::{ResolveError, Resolver};

/// Judges a URL and every address of its host.
///
/// A name is looked up exactly once, after all that can be judged without; an address is not
/// looked up at all. Fails if the guard blocks the URL or one of the addresses, and, under
/// [`Unresolved::Refuse`], if there is none. Each failure is logged with host and reason, and
/// without the rest of the URL, which may hold secrets.
///
/// ```
/// use entreat_core::url_guard::Policy;
/// use entreat_engine::{Unresolved, UrlError, judge_resolved};
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
/// let cleared = judge_resolved(&resolver, url, &policy, Unresolved::Refuse).await?;
/// assert!(cleared.socket_addrs().eq(["93.184.215.14:443".parse().unwrap()]));
///
/// let url = "https://rebind.example.com/hook";
/// let error = judge_resolved(&resolver, url, &policy, Unresolved::Refuse).await.unwrap_err();
/// assert_eq!(error.code(), "dns_private");
/// # Ok::<(), UrlError>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub async fn judge_resolved(
    resolver: &dyn Resolver,
    url: &str,
    policy: &Policy,
    unresolved: Unresolved,
) -> Result<Cleared, UrlError> {
    let outcome = clear(resolver, url, policy, unresolved).await;
    if let Err(error) = &outcome {
        tracing::warn!(host = error.host(), reason = error.code(), "blocked URL");
    }
    outcome
}

/// What becomes of a name that cannot be resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unresolved {
    /// It passes, with no address to connect to. For URLs that are kept or shown: the host
    /// may be known in the person's network only, or not exist yet.
    Accept,
    /// It is refused. For URLs that Entreat itself connects to.
    Refuse,
}

/// A URL that passed, and the addresses that were judged.
///
/// Connect to [`socket_addrs`](Self::socket_addrs) and to nothing else: the name could lead
/// elsewhere when asked again. An HTTP client must therefore be given these addresses
/// whatever host it asks for, rather than a table by host name: it may spell the host otherwise
/// than [`host`](Self::host) does, such as with a dot at its end, and then look it up itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Cleared {
    url: Box<str>,
    host: Box<str>,
    port: Option<u16>,
    addresses: Vec<IpAddr>,
}

impl Cleared {
    /// The URL as it was given.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The host: a name in lower case without a dot at its end, or an address as it stands in
    /// a URL, IPv6 in brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port that the URL names, or its scheme's own where it is known.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// The addresses that were judged; none if the name could not be resolved.
    pub fn addresses(&self) -> &[IpAddr] {
        &self.addresses
    }

    /// Where to connect to, in the resolver's order; nowhere without addresses or a port.
    pub fn socket_addrs(&self) -> impl Iterator<Item = SocketAddr> {
        let socket = |port| {
            self.addresses
                .iter()
                .map(move |ip| SocketAddr::new(*ip, port))
        };
        self.port.into_iter().flat_map(socket)
    }
}

impl fmt::Debug for Cleared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the URL: paths and queries carry secrets.
        f.debug_struct("Cleared")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("addresses", &self.addresses)
            .finish_non_exhaustive()
    }
}

/// Why a URL may not be used. Names its host at most.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UrlError {
    /// The guard refuses it, and will again.
    #[error(transparent)]
    Blocked(#[from] Blocked),
    /// Its host could not be resolved this time; a later attempt may work.
    #[error("the host name {host} cannot be resolved")]
    Unresolved {
        /// The host name.
        host: Box<str>,
        /// What the resolver said.
        source: ResolveError,
    },
}

impl UrlError {
    /// A stable code for programs and logs: the guard's reason, or `unresolved`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Blocked(blocked) => blocked.reason().code(),
            Self::Unresolved { .. } => "unresolved",
        }
    }

    /// The host, if the URL got as far as having one.
    pub fn host(&self) -> Option<&str> {
        match self {
            Self::Blocked(blocked) => blocked.host(),
            Self::Unresolved { host, .. } => Some(host),
        }
    }
}

async fn clear(
    resolver: &dyn Resolver,
    url: &str,
    policy: &Policy,
    unresolved: Unresolved,
) -> Result<Cleared, UrlError> {
    let judged = judge(url, policy)?;
    let addresses = match judged.host() {
        // Judged already, as part of the URL.
        Host::Address(address) => vec![*address],
        Host::Name(name) => addresses_of(&judged, name, resolver, policy, unresolved).await?,
    };
    Ok(Cleared {
        url: url.into(),
        host: judged.host().to_string().into(),
        port: judged.port(),
        addresses,
    })
}

async fn addresses_of(
    judged: &Judged<'_>,
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
    judged.addresses_pass(&answer, policy)?;
    Ok(answer)
}
