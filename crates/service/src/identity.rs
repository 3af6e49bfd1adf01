//! Identifies the person behind a request.
//!
//! An [`Identity`] says how; pages do not depend on it. Checking that a person holds the link to a
//! question, and that a request is not forged by another site, is up to the pages.

#[cfg(feature = "sign-in")]
mod assertion;
#[cfg(feature = "sign-in")]
mod claims;
mod header;
mod host;
#[cfg(feature = "sign-in")]
pub(crate) mod oidc;
mod respondents;
#[cfg(feature = "sign-in")]
pub(crate) mod session;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::http::{HeaderMap, Uri};
use entreat_core::UnixTime;
use entreat_engine::Request;
use serde::{Deserialize, Serialize};

#[cfg(feature = "sign-in")]
pub use self::assertion::AssertionIdentity;
#[cfg(feature = "sign-in")]
pub use self::claims::ClaimNames;
pub use self::header::{HeaderIdentity, InvalidHeaderName, InvalidProxyRange, ProxyRange};
pub use self::host::HostIdentity;
#[cfg(feature = "sign-in")]
pub use self::oidc::{OidcIdentity, OidcSettings};

use crate::local::{has_loopback_host, is_forwarded, is_loopback};

/// How people are identified.
#[derive(Clone, Debug, Default)]
pub enum Identity {
    /// Everyone on this machine is the respondent: requests must come from a loopback address, name
    /// a loopback host, and not be forwarded. All others are rejected, so that a proxy on this
    /// machine does not expose the pages.
    #[default]
    Local,
    /// A trusted proxy signs people in and names them in a header.
    Header(HeaderIdentity),
    /// A proxy signs people in and names them by a signed token in a header.
    #[cfg(feature = "sign-in")]
    Assertion(Box<AssertionIdentity>),
    /// People sign in at an OpenID provider.
    #[cfg(feature = "sign-in")]
    Oidc(Box<OidcIdentity>),
    /// The program that embeds the service knows people.
    Host(HostIdentity),
}

impl Identity {
    /// Returns the person who sent a request, or why it is rejected. Of somebody who signs in at a
    /// provider, a request says nothing: the pages find the session in its cookie.
    pub(crate) async fn identify(
        &self,
        peer: SocketAddr,
        uri: &Uri,
        headers: &HeaderMap,
        now: UnixTime,
    ) -> Result<Person, Unidentified> {
        let _ = now;
        match self {
            Self::Local => local(peer, uri, headers),
            Self::Header(header) => header.identify(peer, headers),
            #[cfg(feature = "sign-in")]
            Self::Assertion(assertion) => assertion.identify(headers, now).await,
            #[cfg(feature = "sign-in")]
            Self::Oidc(_) => Err(Unidentified::NotSignedIn),
            Self::Host(host) => host.identify(headers),
        }
    }

    /// Returns the proxies that are trusted to name people.
    pub fn proxies(&self) -> &[ProxyRange] {
        match self {
            Self::Local | Self::Host(_) => &[],
            Self::Header(header) => header.proxies(),
            #[cfg(feature = "sign-in")]
            Self::Assertion(_) | Self::Oidc(_) => &[],
        }
    }

    /// Whether people have names, so that a question must name its respondent.
    pub fn needs_respondent(&self) -> bool {
        match self {
            Self::Local => false,
            Self::Header(_) | Self::Host(_) => true,
            #[cfg(feature = "sign-in")]
            Self::Assertion(_) | Self::Oidc(_) => true,
        }
    }
}

fn local(peer: SocketAddr, uri: &Uri, headers: &HeaderMap) -> Result<Person, Unidentified> {
    if !is_loopback(peer.ip()) {
        return Err(Unidentified::ForeignPeer);
    }
    if is_forwarded(headers) {
        return Err(Unidentified::Forwarded);
    }
    if !has_loopback_host(uri, headers) {
        return Err(Unidentified::ForeignHost);
    }
    Ok(Person::Local)
}

/// A person who visits the pages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Person {
    /// The user of this machine.
    Local,
    /// A person whom a proxy names.
    Named(Box<str>),
    /// A person who signed in at an issuer.
    SignedIn(Arc<Account>),
}

/// A person's account at an issuer, as of the current session.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Account {
    /// The issuer's identifier.
    pub issuer: Box<str>,
    /// The subject at the issuer.
    pub subject: Box<str>,
    /// Whether questions may name the subject alone, because there is no other issuer.
    pub is_of_default_issuer: bool,
    /// The name that is shown.
    pub shown_as: Box<str>,
    /// The address, if the issuer verified it and it is trusted.
    pub email: Option<Box<str>>,
    /// The groups that the issuer names.
    pub groups: Box<[Box<str>]>,
    /// Whether this is an operator of the service.
    pub is_operator: bool,
}

impl Account {
    /// Whether a question's respondent is this person or one of their groups: `subject`,
    /// `issuer#subject`, `email:ADDRESS` or `group:NAME`.
    pub fn is_named_by(&self, respondent: &str) -> bool {
        if let Some(address) = respondent.strip_prefix("email:") {
            let email = self.email.as_deref();
            return email.is_some_and(|email| email.eq_ignore_ascii_case(address));
        }
        if let Some(name) = respondent.strip_prefix("group:") {
            return self.groups.iter().any(|group| **group == *name);
        }
        // Neither an issuer nor, by its specification, the whole of a name contains another `#`:
        // the rest is compared as it is.
        let subject = respondent
            .strip_prefix(&*self.issuer)
            .and_then(|rest| rest.strip_prefix('#'));
        subject == Some(&*self.subject)
            || (self.is_of_default_issuer
                && respondent == &*self.subject
                && !names_issuer(respondent))
    }
}

/// Whether a name has the form `issuer#subject`. A subject of this form, which people may be able to
/// choose, must not stand for the person of that name.
fn names_issuer(name: &str) -> bool {
    let is_url = ["https://", "http://"]
        .iter()
        .any(|begin| name.starts_with(begin));
    is_url && name.contains('#')
}

impl Person {
    /// Tells people with names apart, wherever their names come from. Not for showing.
    pub(crate) fn digest(&self) -> Option<[u8; 16]> {
        let (kind, issuer, name): (&[u8], &str, &str) = match self {
            Self::Local => return None,
            Self::Named(name) => (b"name", "", name),
            Self::SignedIn(account) => (b"account", &account.issuer, &account.subject),
        };
        let mut hasher = blake3::Hasher::new_derive_key("entreat 2026-11 people");
        for part in [kind, issuer.as_bytes(), name.as_bytes()] {
            hasher.update(&(part.len() as u64).to_be_bytes());
            hasher.update(part);
        }
        let mut digest = [0; 16];
        hasher.finalize_xof().fill(&mut digest);
        Some(digest)
    }

    /// Whether this person may answer the request. The local user may answer every request; a named
    /// person only those addressed to exactly that name, and none without a respondent.
    pub fn may_answer(&self, request: &Request) -> bool {
        let extras = request.extras.as_ref();
        let respondent = extras.and_then(|extras| extras.respondent.as_deref());
        match self {
            Self::Local => true,
            Self::Named(name) => respondent == Some(&**name),
            Self::SignedIn(account) => respondent.is_some_and(|it| account.is_named_by(it)),
        }
    }
}

/// Why a request's sender cannot be identified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unidentified {
    /// Only this machine is served, and the peer address is another machine's.
    #[error("the request does not come from this machine")]
    ForeignPeer,
    /// Only this machine is served, and a proxy forwarded the request.
    #[error("the request came through a proxy")]
    Forwarded,
    /// `Host` names another machine, as in a DNS rebinding attack.
    #[error("the request names another machine")]
    ForeignHost,
    /// The peer is not a proxy trusted to name people.
    #[error("the request did not come through a trusted proxy")]
    UntrustedProxy,
    /// The proxy's header is missing or empty.
    #[error("the proxy named no user")]
    NoName,
    /// The header is repeated; one of the values may be the client's.
    #[error("the request names more than one user")]
    SeveralNames,
    /// The name is not UTF-8.
    #[error("the name is not text")]
    NotText,
    /// The proxy's token is not valid.
    #[error("the proxy's token is not valid")]
    InvalidToken,
    /// Nobody is signed in.
    #[error("nobody is signed in")]
    NotSignedIn,
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter().map(|(name, value)| {
            let value = HeaderValue::from_static(value);
            (axum::http::HeaderName::from_static(name), value)
        });
        let mut headers = HeaderMap::new();
        pairs.for_each(|(name, value)| {
            headers.append(name, value);
        });
        headers
    }

    fn local(
        peer: &str,
        uri: &'static str,
        pairs: &[(&'static str, &'static str)],
    ) -> Result<Person, Unidentified> {
        let peer = peer.parse().unwrap();
        super::local(peer, &Uri::from_static(uri), &headers(pairs))
    }

    #[test]
    fn whoever_is_at_this_machine_is_local_however_its_address_is_written() {
        for peer in [
            "127.0.0.1:5",
            "127.3.2.1:5",
            "[::1]:5",
            "[::ffff:127.0.0.1]:5",
        ] {
            let found = local(peer, "/", &[("host", "localhost:7171")]);
            assert_eq!(found, Ok(Person::Local), "{peer}");
        }
        assert!(!Identity::Local.needs_respondent());
    }

    #[test]
    fn what_comes_from_elsewhere_or_through_a_proxy_is_not_local() {
        let host = ("host", "localhost");
        for peer in [
            "192.0.2.1:5",
            "10.0.0.1:5",
            "[2001:db8::1]:5",
            "[::ffff:10.0.0.1]:5",
            "0.0.0.0:5",
        ] {
            assert_eq!(
                local(peer, "/", &[host]),
                Err(Unidentified::ForeignPeer),
                "{peer}"
            );
        }
        for name in ["forwarded", "x-forwarded-for", "x-real-ip", "via"] {
            let found = local("127.0.0.1:5", "/", &[host, (name, "")]);
            assert_eq!(found, Err(Unidentified::Forwarded), "{name}");
        }
    }

    #[test]
    fn a_name_that_was_pointed_here_is_refused() {
        let foreign = Err(Unidentified::ForeignHost);
        let here = "127.0.0.1:5";
        assert_eq!(local(here, "/", &[]), foreign);
        assert_eq!(local(here, "/", &[("host", "evil.example")]), foreign);
        let two = [("host", "localhost"), ("host", "localhost")];
        assert_eq!(local(here, "/", &two), foreign);
        let target = "http://evil.example/";
        assert_eq!(local(here, target, &[("host", "localhost")]), foreign);
    }
}
