//! The HTTP client: TLS with the platform's roots, bounds on time and size, errors in words.
//!
//! A client is for one URL and does no more than it is asked to: by default it opens a connection
//! for each request, follows no redirects and uses no proxies.

mod events;
mod exchange;
pub mod sse;

use std::future::ready;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http::{Method, StatusCode};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::{Action, Attempt, Policy};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use url::{Host, Url};

pub use events::{Event, EventError, EventStream};
pub use exchange::{ExchangeError, Request, Response};

const MAX_REDIRECTS: usize = 5;
/// How long connections are kept for further requests by default.
const LONGEST_IDLE: Duration = Duration::from_secs(90);

/// A client of one URL. Clones share connections.
#[derive(Clone)]
pub struct Client {
    client: reqwest::Client,
    url: Url,
}

/// Why a client cannot be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// Not a URL.
    #[error("`{0}` is not a URL")]
    NotAUrl(String),
    /// Not an HTTP URL.
    #[error("a server's URL must start with http:// or https://")]
    Scheme,
    /// The URL names an address that the client may not connect to.
    #[error("the address {0} is not among the checked ones")]
    Unpinned(IpAddr),
    /// The platform's root certificates cannot be loaded.
    #[error("the system's certificates cannot be read")]
    Certificates(#[source] rustls::Error),
    /// The HTTP library cannot be set up.
    #[error("cannot set up the HTTP client")]
    Library(#[source] reqwest::Error),
}

impl Client {
    /// Prepares a client of this URL.
    pub fn builder(url: &str) -> ClientBuilder<'_> {
        ClientBuilder {
            url,
            tls: None,
            addresses: None,
            idle: None,
            connect_timeout: None,
            has_proxies: false,
            redirects: Policy::none(),
        }
    }

    /// Prepares a request to the URL.
    pub fn request(&self, method: Method) -> Request {
        Request::new(self.client.request(method, self.url.clone()))
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without the URL, which may contain secrets.
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

/// Options of a [`Client`].
#[must_use]
pub struct ClientBuilder<'a> {
    url: &'a str,
    tls: Option<ClientConfig>,
    addresses: Option<Vec<SocketAddr>>,
    idle: Option<Duration>,
    connect_timeout: Option<Duration>,
    has_proxies: bool,
    redirects: Policy,
}

impl ClientBuilder<'_> {
    /// Uses a TLS configuration other than the [platform's](platform_tls).
    pub fn tls(mut self, tls: ClientConfig) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Connects to these addresses only, whatever the name of the host resolves to.
    pub fn pinned_to(mut self, addresses: impl IntoIterator<Item = SocketAddr>) -> Self {
        self.addresses = Some(addresses.into_iter().collect());
        self
    }

    /// Keeps connections open for further requests.
    pub fn reusing_connections(self) -> Self {
        self.reusing_connections_for(LONGEST_IDLE)
    }

    /// Keeps connections open for further requests, as long as they are idle for no longer than
    /// this. A request on one that the server is about to close fails, and nobody knows whether the
    /// server got it: stay below the time after which servers do.
    pub fn reusing_connections_for(mut self, idle: Duration) -> Self {
        self.idle = Some(idle);
        self
    }

    /// Limits the time that connecting may take, TLS included.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = Some(timeout);
        self
    }

    /// Uses the proxies that the environment names, unless the client is
    /// [pinned](Self::pinned_to) to addresses.
    pub fn environment_proxies(mut self) -> Self {
        self.has_proxies = true;
        self
    }

    /// Follows redirects within the URL's origin that preserve the method and body.
    pub fn same_origin_redirects(mut self) -> Self {
        self.redirects = Policy::custom(stay_within_origin);
        self
    }

    /// Builds the client. Root certificates are loaded only if they can be needed.
    pub fn build(self) -> Result<Client, ClientError> {
        let url = Url::parse(self.url).map_err(|_| ClientError::NotAUrl(self.url.to_owned()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(ClientError::Scheme);
        }
        let has_proxies = self.has_proxies && self.addresses.is_none();
        let tls = match self.tls {
            Some(tls) => tls,
            None if url.scheme() == "https" || has_proxies => platform_tls()?,
            None => trusting_nobody()?,
        };
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .user_agent(concat!("entreat/", env!("CARGO_PKG_VERSION")))
            .referer(false)
            .redirect(self.redirects);
        builder = match self.idle {
            Some(idle) => builder.pool_idle_timeout(idle),
            None => builder.pool_max_idle_per_host(0),
        };
        if let Some(timeout) = self.connect_timeout {
            builder = builder.connect_timeout(timeout);
        }
        if !has_proxies {
            builder = builder.no_proxy();
        }
        if let Some(addresses) = self.addresses {
            check_literal(&url, &addresses)?;
            builder = builder.dns_resolver(Pinned(addresses));
        }
        let client = builder.build().map_err(ClientError::Library)?;
        Ok(Client { client, url })
    }
}

/// Returns a TLS configuration that trusts the platform's root certificates.
pub fn platform_tls() -> Result<ClientConfig, ClientError> {
    let tls = tls_builder()
        .and_then(BuilderVerifierExt::with_platform_verifier)
        .map_err(ClientError::Certificates)?;
    Ok(tls.with_no_client_auth())
}

/// A TLS configuration for connections without TLS, which the HTTP library insists on.
fn trusting_nobody() -> Result<ClientConfig, ClientError> {
    let tls = tls_builder().map_err(ClientError::Certificates)?;
    let tls = tls.with_root_certificates(RootCertStore::empty());
    Ok(tls.with_no_client_auth())
}

type TlsBuilder = rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>;

fn tls_builder() -> Result<TlsBuilder, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()
}

/// Refuses a URL whose host is an address other than these: no resolver is asked about it.
fn check_literal(url: &Url, addresses: &[SocketAddr]) -> Result<(), ClientError> {
    let literal = match url.host() {
        Some(Host::Ipv4(address)) => IpAddr::V4(address),
        Some(Host::Ipv6(address)) => IpAddr::V6(address),
        Some(Host::Domain(_)) | None => return Ok(()),
    };
    let same = |pinned: &SocketAddr| pinned.ip().to_canonical() == literal.to_canonical();
    if addresses.iter().any(same) {
        Ok(())
    } else {
        Err(ClientError::Unpinned(literal))
    }
}

/// Resolves every name to the same addresses: a table by name would miss other spellings.
struct Pinned(Vec<SocketAddr>);

impl Resolve for Pinned {
    fn resolve(&self, _: Name) -> Resolving {
        let addresses: Addrs = Box::new(self.0.clone().into_iter());
        Box::pin(ready(Ok(addresses)))
    }
}

fn stay_within_origin(attempt: Attempt<'_>) -> Action {
    let keeps_message = matches!(
        attempt.status(),
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
    );
    let previous = attempt.previous();
    let same_origin = previous
        .last()
        .is_some_and(|before| before.origin() == attempt.url().origin());
    if keeps_message && same_origin && previous.len() <= MAX_REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}
