//! Who is the person behind a request, and what may they answer?
//!
//! A seam: pages ask [`Identity::identify`] and know nothing of how it was found out. What is
//! decided here is who somebody is; that they hold a link to a question, and that the request was
//! meant, is for pages to see to.

mod header;

use std::net::SocketAddr;

use axum::http::{HeaderMap, Uri};
use entreat_engine::Request;

pub use self::header::{BadHeaderName, BadRange, HeaderIdentity, ProxyRange};

use crate::local::{is_forwarded, is_this_machine, names_this_machine};

/// How people are told apart.
#[derive(Clone, Debug, Default)]
pub enum Identity {
    /// Whoever sits at this machine is the person meant: requests come from it, name it, and came
    /// through no proxy. Anything else is refused, so that a proxy on this machine does not let
    /// the world in.
    #[default]
    Local,
    /// A proxy that is trusted signs people in and names them in a header.
    Header(HeaderIdentity),
}

impl Identity {
    /// The person that a request is from, or why it is refused.
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

    /// The proxies that are trusted to name people.
    pub fn proxies(&self) -> &[ProxyRange] {
        match self {
            Self::Local => &[],
            Self::Header(header) => header.proxies(),
        }
    }

    /// Whether people have names, so that a question has to say who may answer it.
    pub fn needs_respondent(&self) -> bool {
        match self {
            Self::Local => false,
            Self::Header(_) => true,
        }
    }
}

fn local(peer: SocketAddr, uri: &Uri, headers: &HeaderMap) -> Result<Person, Unidentified> {
    if !is_this_machine(peer.ip()) {
        return Err(Unidentified::ForeignPeer);
    }
    if is_forwarded(headers) {
        return Err(Unidentified::Forwarded);
    }
    if !names_this_machine(uri, headers) {
        return Err(Unidentified::ForeignHost);
    }
    Ok(Person::Local)
}

/// Somebody who looks at questions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Person {
    /// Whoever sits at this machine.
    Local,
    /// Somebody who has signed in, by the name they are known under.
    Named(Box<str>),
}

impl Person {
    /// Whether this person is meant to answer. At one's own machine that is everything; somebody
    /// with a name answers what is for exactly that name, and not what is for nobody.
    pub fn may_answer(&self, request: &Request) -> bool {
        let extras = request.extras.as_ref();
        let respondent = extras.and_then(|extras| extras.respondent.as_deref());
        match self {
            Self::Local => true,
            Self::Named(name) => respondent == Some(&**name),
        }
    }
}

/// Why nobody knows who a request is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unidentified {
    /// Questions are answered at the machine itself, and the request comes from another.
    #[error("the request does not come from this machine")]
    ForeignPeer,
    /// Questions are answered at the machine itself, and a proxy passed the request on.
    #[error("the request came through a proxy")]
    Forwarded,
    /// The request names another machine, as one of a page does whose name was pointed here.
    #[error("the request names another machine")]
    ForeignHost,
    /// The request did not come through a proxy that is trusted to name people.
    #[error("the request did not come through a trusted proxy")]
    UntrustedProxy,
    /// The proxy named nobody.
    #[error("the proxy named nobody")]
    NoName,
    /// More than one name was given, of which one may be the sender's own.
    #[error("the request names more than one person")]
    SeveralNames,
    /// The name is no text in UTF-8.
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
