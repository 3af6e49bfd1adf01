//! People named by a trusted proxy in a header.
//!
//! Anyone who bypasses the proxy could claim any name, so the header counts only if the peer
//! address is trusted. `X-Forwarded-For` is not evidence: clients can send it.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use axum::http::{HeaderMap, HeaderName};
use ipnet::IpNet;

use super::{Person, Unidentified};

/// Which header names people, and which proxies may set it.
#[derive(Clone, Debug)]
pub struct HeaderIdentity {
    name: HeaderName,
    proxies: Vec<ProxyRange>,
}

/// Not a valid header name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a header name has letters, digits and hyphens, such as `x-forwarded-user`")]
pub struct InvalidHeaderName;

impl HeaderIdentity {
    /// Trusts this header when it comes from these proxies.
    pub fn new(name: &str, proxies: Vec<ProxyRange>) -> Result<Self, InvalidHeaderName> {
        let name = HeaderName::from_str(name).map_err(|_| InvalidHeaderName)?;
        Ok(Self { name, proxies })
    }

    pub(super) fn proxies(&self) -> &[ProxyRange] {
        &self.proxies
    }

    /// Whether this is the address of a trusted proxy.
    pub(crate) fn trusts(&self, address: IpAddr) -> bool {
        self.proxies.iter().any(|range| range.contains(address))
    }

    pub(crate) fn identify(
        &self,
        peer: SocketAddr,
        headers: &HeaderMap,
    ) -> Result<Person, Unidentified> {
        if !self.trusts(peer.ip()) {
            return Err(Unidentified::UntrustedProxy);
        }
        let mut values = headers.get_all(&self.name).iter();
        let value = match (values.next(), values.next()) {
            (Some(value), None) => value,
            (None, _) => return Err(Unidentified::NoName),
            // The proxy appended its header to the client's.
            (Some(_), Some(_)) => return Err(Unidentified::SeveralNames),
        };
        let name = str::from_utf8(value.as_bytes()).map_err(|_| Unidentified::NotText)?;
        // A list is treated as one name, which matches no respondent.
        match name.trim() {
            "" => Err(Unidentified::NoName),
            name => Ok(Person::Named(name.into())),
        }
    }
}

/// The address of a proxy, or a range such as `10.0.0.0/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxyRange(IpNet);

impl ProxyRange {
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        // A dual-stack socket reports IPv4 peers as IPv4-mapped IPv6 addresses.
        self.0.contains(&address.to_canonical())
    }
}

impl ProxyRange {
    /// Whether the range covers a whole address family.
    pub fn covers_all_addresses(&self) -> bool {
        self.0.prefix_len() == 0
    }
}

impl fmt::Display for ProxyRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Not an address or a range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an address or a range, such as `10.0.0.7` or `10.0.0.0/8`")]
pub struct InvalidProxyRange;

impl FromStr for ProxyRange {
    type Err = InvalidProxyRange;

    fn from_str(text: &str) -> Result<Self, InvalidProxyRange> {
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self(address.to_canonical().into()));
        }
        let range: IpNet = text.parse().map_err(|_| InvalidProxyRange)?;
        match range {
            // Would match no peer: mapped addresses are compared as IPv4.
            IpNet::V6(inside) if inside.addr().to_ipv4_mapped().is_some() => Err(InvalidProxyRange),
            range => Ok(Self(range)),
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn identity() -> HeaderIdentity {
        let ranges = ["10.1.0.0/16", "2001:db8::/32", "192.0.2.7"];
        let ranges = ranges.iter().map(|range| range.parse().unwrap());
        HeaderIdentity::new("X-User", ranges.collect()).unwrap()
    }

    fn identify(
        peer: &str,
        pairs: &[(&'static str, &'static [u8])],
    ) -> Result<Person, Unidentified> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            let value = HeaderValue::from_bytes(value).unwrap();
            headers.append(*name, value);
        }
        identity().identify(SocketAddr::new(peer.parse().unwrap(), 5), &headers)
    }

    #[test]
    fn a_trusted_proxy_names_a_person() {
        for peer in ["10.1.2.3", "::ffff:10.1.2.3", "2001:db8::9", "192.0.2.7"] {
            let found = identify(peer, &[("x-user", b"ada")]);
            assert_eq!(found, Ok(Person::Named("ada".into())), "{peer}");
        }
        let found = identify("10.1.0.1", &[("x-user", "josé@example.com".as_bytes())]);
        assert_eq!(found, Ok(Person::Named("josé@example.com".into())));
    }

    #[test]
    fn nobody_else_is_believed_whatever_the_request_says_of_its_way() {
        for peer in [
            "10.2.0.1",
            "127.0.0.1",
            "::1",
            "::ffff:10.2.0.1",
            "192.0.2.8",
            "2001:db9::1",
        ] {
            let found = identify(peer, &[("x-user", b"ada")]);
            assert_eq!(found, Err(Unidentified::UntrustedProxy), "{peer}");
        }
        let chain = [
            ("x-user", &b"ada"[..]),
            ("x-forwarded-for", b"10.1.0.1, 10.1.0.2"),
        ];
        assert_eq!(
            identify("203.0.113.9", &chain),
            Err(Unidentified::UntrustedProxy)
        );
        // With several proxies, the last one must be trusted.
        let found = identify("10.1.0.2", &chain);
        assert_eq!(found, Ok(Person::Named("ada".into())));
    }

    #[test]
    fn a_name_is_given_once_and_is_not_empty() {
        let peer = "10.1.0.1";
        let no_name = Err(Unidentified::NoName);
        assert_eq!(identify(peer, &[]), no_name);
        assert_eq!(identify(peer, &[("x-user", b"")]), no_name);
        assert_eq!(identify(peer, &[("x-user", b"  ")]), no_name);
        let two = [("x-user", &b"mallory"[..]), ("x-user", b"ada")];
        assert_eq!(identify(peer, &two), Err(Unidentified::SeveralNames));
        let same = [("x-user", &b"ada"[..]), ("x-user", b"ada")];
        assert_eq!(identify(peer, &same), Err(Unidentified::SeveralNames));
        let latin = identify(peer, &[("x-user", b"jos\xe9")]);
        assert_eq!(latin, Err(Unidentified::NotText));
        // Values joined by a proxy match nobody.
        let joined = identify(peer, &[("x-user", b"mallory, ada")]);
        assert_eq!(joined, Ok(Person::Named("mallory, ada".into())));
    }

    #[test]
    fn ranges_and_header_names_that_cannot_be_are_refused() {
        for bad in [
            "",
            "10.0.0.0/33",
            "10.0.0",
            "proxy.example",
            "10.0.0.0/",
            "::ffff:10.0.0.0/104",
        ] {
            assert_eq!(bad.parse::<ProxyRange>(), Err(InvalidProxyRange), "{bad}");
        }
        let one = "::ffff:192.0.2.7".parse::<ProxyRange>().unwrap();
        assert_eq!(one, "192.0.2.7".parse().unwrap());
        for bad in ["", "x user", "x:user", "x\nuser"] {
            assert!(HeaderIdentity::new(bad, Vec::new()).is_err(), "{bad:?}");
        }
    }
}
