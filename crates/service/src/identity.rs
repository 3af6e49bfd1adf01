//! Identifies the person behind a request.
//!
//! Pages call [`Identity::identify`] and do not depend on how people sign in. Checking that a
//! person holds the link to a question, and that a request is not forged by another site, is up to
//! the pages.

mod header;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::http::{HeaderMap, Uri};
use entreat_engine::Request;

pub use self::header::{HeaderIdentity, InvalidHeaderName, InvalidProxyRange, ProxyRange};

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
}

impl Identity {
    /// Returns the person who sent a request, or why it is rejected.
    ///
    /// ```
    /// use entreat_service::identity::{Identity, Person, Unidentified};
    /// # use axum::http::{HeaderMap, HeaderValue, Uri};
    ///
    /// let mut headers = HeaderMap::new();
    /// headers.insert("host", HeaderValue::from_static("localhost:7171"));
    /// let uri = Uri::from_static("/inbox");
    /// let here = ([127, 0, 0, 1], 50_000).into();
    /// assert_eq!(Identity::Local.identify(here, &uri, &headers), Ok(Person::Local));
    ///
    /// let there = ([192, 0, 2, 7], 50_000).into();
    /// let refused = Identity::Local.identify(there, &uri, &headers);
    /// assert_eq!(refused, Err(Unidentified::ForeignPeer));
    /// ```
    pub fn identify(
        &self,
        peer: SocketAddr,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Person, Unidentified> {
        match self {
            Self::Local => local(peer, uri, headers),
            Self::Header(header) => header.identify(peer, headers),
        }
    }

    /// Returns the proxies that are trusted to name people.
    pub fn proxies(&self) -> &[ProxyRange] {
        match self {
            Self::Local => &[],
            Self::Header(header) => header.proxies(),
        }
    }

    /// Whether people have names, so that a question must name its respondent.
    pub fn needs_respondent(&self) -> bool {
        match self {
            Self::Local => false,
            Self::Header(_) => true,
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
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
            || (self.is_of_default_issuer && respondent == &*self.subject)
    }
}

impl Person {
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
        Identity::Local.identify(peer, &Uri::from_static(uri), &headers(pairs))
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
