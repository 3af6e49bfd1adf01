//! Requests to addresses that a server names.
//!
//! Whoever runs a server chooses what it names, so these addresses get what the URL guard allows:
//! a public server leads to public addresses only, and connections go to the addresses that were
//! checked. A server in the local network, which its user has named, may lead there, and one that is
//! named as on this machine, to this machine. Redirects are not followed, and responses are bounded.

use std::time::Duration;

use entreat_core::url_guard::Policy;
use entreat_engine::{Resolver, Unresolved, UrlError, VettedUrl, resolve_and_check};
use http::{Method, StatusCode};
use rustls::ClientConfig;
use url::{Host, Url};

use super::SignInError;
use crate::http::{Client, Request};
use crate::issuer::{MAX_DOCUMENT, is_acceptable};

/// How long a request may take.
const TIMEOUT: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Makes requests on the word of one server.
pub(super) struct Outbound<'a> {
    resolver: &'a dyn Resolver,
    tls: Option<&'a ClientConfig>,
    policy: Policy,
}

/// A response that was read as a whole.
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) body: String,
}

impl<'a> Outbound<'a> {
    /// Finds out where the server itself is, which decides where it may lead.
    pub(super) async fn of(
        server: &Url,
        resolver: &'a dyn Resolver,
        tls: Option<&'a ClientConfig>,
    ) -> Result<Self, SignInError> {
        let policies = [
            Policy::web(),
            Policy::web().block_private(false),
            Policy::web().block_private(false).block_localhost(false),
        ];
        // By its name: a foreign one may resolve to this machine for a moment.
        let allowed = if is_here(server) { 3 } else { 2 };
        let mut blocked = String::new();
        for policy in policies.into_iter().take(allowed) {
            match vet(resolver, server.as_str(), &policy).await {
                Ok(_) => {
                    return Ok(Self {
                        resolver,
                        tls,
                        policy,
                    });
                }
                Err(UrlError::Blocked(error)) => blocked = error.to_string(),
                Err(error) => return Err(SignInError::Address(error.to_string())),
            }
        }
        Err(SignInError::Address(blocked))
    }

    /// Fetches a document; `None` if there is none.
    pub(super) async fn document(&self, url: &str) -> Result<Option<String>, SignInError> {
        let request = self.request(Method::GET, url).await?;
        let reply = read(request).await?;
        match reply.status {
            StatusCode::OK => Ok(Some(reply.body)),
            status if status.is_client_error() => Ok(None),
            status => Err(SignInError::Status(status.as_u16())),
        }
    }

    /// Posts a body.
    pub(super) async fn post(
        &self,
        url: &str,
        kind: &str,
        authorization: Option<&str>,
        body: String,
    ) -> Result<Reply, SignInError> {
        let mut request = self.request(Method::POST, url).await?;
        request = request.header("content-type", kind);
        if let Some(authorization) = authorization {
            request = request.header("authorization", authorization);
        }
        read(request.body(body)).await
    }

    /// Checks an address that people will open in their browser.
    pub(super) async fn check(&self, url: &str) -> Result<(), SignInError> {
        self.vetted(url).await.map(drop)
    }

    async fn vetted(&self, url: &str) -> Result<VettedUrl, SignInError> {
        if !is_acceptable(url) {
            let why = "a URL that does not start with https://";
            return Err(SignInError::Address(why.to_owned()));
        }
        vet(self.resolver, url, &self.policy)
            .await
            .map_err(|error| SignInError::Address(error.to_string()))
    }

    async fn request(&self, method: Method, url: &str) -> Result<Request, SignInError> {
        let vetted = self.vetted(url).await?;
        let mut builder = Client::builder(url)
            .connect_timeout(CONNECT_TIMEOUT)
            .pinned_to(vetted.socket_addrs());
        if let Some(tls) = self.tls {
            builder = builder.tls(tls.clone());
        }
        let client = builder
            .build()
            .map_err(|error| SignInError::Unreachable(error.to_string()))?;
        Ok(client
            .request(method)
            .header("accept", "application/json")
            .timeout(TIMEOUT))
    }
}

/// Whether a URL names this machine.
fn is_here(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

async fn vet(resolver: &dyn Resolver, url: &str, policy: &Policy) -> Result<VettedUrl, UrlError> {
    resolve_and_check(resolver, url, policy, Unresolved::Refuse).await
}

async fn read(request: Request) -> Result<Reply, SignInError> {
    let unreachable =
        |error: crate::http::ExchangeError| SignInError::Unreachable(error.to_string());
    let response = request.send().await.map_err(unreachable)?;
    let status = response.status();
    let body = response.body(MAX_DOCUMENT).await.map_err(unreachable)?;
    let body = String::from_utf8(body.into()).map_err(|_| SignInError::Malformed)?;
    Ok(Reply { status, body })
}
