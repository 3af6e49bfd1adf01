//! Decides whether a request comes from this machine.
//!
//! Used for askers without a key and respondents without a name. Both are trusted for being local,
//! so requests forwarded by a proxy or sent by another site's page must not pass.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, header, uri};
use url::{Host, Url};

/// Headers that show that a proxy forwarded the request: the standard ones, and those of common
/// proxies, clouds and CDNs.
const FORWARDING_HEADERS: [&str; 23] = [
    "ali-cdn-real-ip",
    "cdn-loop",
    "client-ip",
    "forwarded",
    "forwarded-for",
    "incap-client-ip",
    "proxy-client-ip",
    "remote-addr",
    "remote-user",
    "true-client-ip",
    "via",
    "wl-proxy-client-ip",
    "x-amz-cf-id",
    "x-amzn-trace-id",
    "x-appengine-user-ip",
    "x-client-ip",
    "x-cloud-trace-context",
    "x-cluster-client-ip",
    "x-forward-for",
    "x-proxyuser-ip",
    "x-scheme",
    "x-sucuri-clientip",
    "x-varnish",
];

/// Prefixes of forwarding headers.
const FORWARDING_PREFIXES: [&str; 17] = [
    "cf-",
    "cloudfront-",
    "fastly-",
    "fly-",
    "tailscale-",
    "x-arr-",
    "x-auth-request-",
    "x-azure-",
    "x-envoy-",
    "x-forwarded",
    "x-goog-",
    "x-original-",
    "x-originating-",
    "x-real-",
    "x-remote-",
    "x-ssl-",
    "x-vercel-",
];

/// The unit of per-address limits: an IPv4 address or an IPv6 /64 network. IPv6 users have at least
/// a /64 and can use any address in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct AddressBlock(IpAddr);

impl AddressBlock {
    pub(crate) fn of(address: IpAddr) -> Self {
        // A dual-stack socket reports IPv4 peers as IPv4-mapped IPv6 addresses.
        Self(match address.to_canonical() {
            IpAddr::V4(address) => address.into(),
            IpAddr::V6(address) => {
                let network = address.to_bits() >> 64 << 64;
                Ipv6Addr::from_bits(network).into()
            }
        })
    }
}

/// Whether an address is a loopback one.
pub(crate) fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// Whether a proxy forwarded the request; then its origin is unknown.
pub(crate) fn is_forwarded(headers: &HeaderMap) -> bool {
    let is_forwarding = |name: &HeaderName| {
        let mut prefixes = FORWARDING_PREFIXES.iter();
        FORWARDING_HEADERS.contains(&name.as_str())
            || prefixes.any(|begin| name.as_str().starts_with(begin))
    };
    headers.keys().any(is_forwarding)
}

/// Whether `Host` occurs once and it and the request target name a loopback host.
pub(crate) fn has_loopback_host(uri: &Uri, headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(header::HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return false;
    };
    let in_target = uri.authority().map(uri::Authority::as_str);
    host.to_str().is_ok_and(is_loopback_authority) && in_target.is_none_or(is_loopback_authority)
}

/// Whether the request is not cross-origin; another port of this machine is another origin.
/// Programs send no `Origin`; pages of this service send its own.
pub(crate) fn is_same_origin(scheme: &str, headers: &HeaderMap) -> bool {
    let mut sites = headers.get_all("sec-fetch-site").iter();
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let host = headers.get(header::HOST).map(HeaderValue::as_bytes);
    let is_here = |origin: &HeaderValue| {
        let origin = origin.to_str().unwrap_or_default().split_once("://");
        origin.is_some_and(|(of, authority)| {
            of == scheme && host.is_some_and(|host| host.eq_ignore_ascii_case(authority.as_bytes()))
        })
    };
    sites.all(|site| site == "same-origin" || site == "none") && origins.all(is_here)
}

/// Whether the URL's host is loopback without asking DNS.
pub(crate) fn is_loopback_url(url: &str) -> bool {
    let url = Url::parse(url);
    let host = url.as_ref().ok().and_then(Url::host);
    host.is_some_and(|host| match host {
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => is_loopback(address.into()),
        Host::Domain(name) => name == "localhost" || name.ends_with(".localhost"),
    })
}

/// How a service can be reached, which decides whether loopback peers may be trusted.
///
/// A proxy on this machine also connects from loopback and may send a loopback `Host`. So asking
/// without a key is allowed only if nothing suggests a proxy in front.
///
/// ```
/// use entreat_service::Exposure;
///
/// let mut reach = Exposure {
///     listen: ([127, 0, 0, 1], 7171).into(),
///     public_url: None,
///     speaks_tls: false,
///     names_people: false,
/// };
/// assert_eq!(reach.why_key_required(), None);
/// reach.public_url = Some("https://ask.example.com");
/// assert_eq!(reach.why_key_required(), Some("`public_url` names another machine"));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Exposure<'a> {
    /// The address it listens at.
    pub listen: SocketAddr,
    /// The URL under which people and programs reach it.
    pub public_url: Option<&'a str>,
    /// Whether it terminates TLS itself.
    pub speaks_tls: bool,
    /// Whether the people who answer have names: by sign-in, or by a proxy.
    pub names_people: bool,
}

impl Exposure<'_> {
    /// Returns why asking needs a key by default; `None` if only this machine is served.
    pub fn why_key_required(&self) -> Option<&'static str> {
        if !is_loopback(self.listen.ip()) {
            return Some("other machines can reach the service");
        }
        if self.public_url.is_some_and(|url| !is_loopback_url(url)) {
            return Some("`public_url` names another machine");
        }
        if self.speaks_tls {
            return Some("the service uses TLS");
        }
        self.names_people.then_some("people are known by name")
    }

    /// Whether the pages reject everyone: only local users may answer, but `public_url` suggests a
    /// proxy, whose users cannot be told apart from local ones.
    pub fn rejects_everyone(&self) -> bool {
        !self.names_people && self.public_url.is_some_and(|url| !is_loopback_url(url))
    }
}

/// Whether `host` or `host:port` is loopback without asking DNS.
fn is_loopback_authority(authority: &str) -> bool {
    let (host, port) = match authority.rsplit_once(':') {
        // Colons inside brackets belong to the address.
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let port_is_valid = port.is_none_or(|port| port.parse::<u16>().is_ok());
    let address = match host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
    {
        Some(inside) => inside.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        None => host.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
    };
    port_is_valid && (host.eq_ignore_ascii_case("localhost") || address.is_some_and(is_loopback))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_network_are_one_neighbour() {
        let of = |address: &str| AddressBlock::of(address.parse().unwrap());
        assert_eq!(of("2001:db8:0:1::1"), of("2001:db8:0:1:ffff::2"));
        assert_ne!(of("2001:db8:0:1::1"), of("2001:db8:0:2::1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
        assert_eq!(of("192.0.2.1"), of("::ffff:192.0.2.1"));
        assert_ne!(of("::ffff:192.0.2.1"), of("::ffff:192.0.2.2"));
    }

    #[test]
    fn only_what_is_loopback_by_itself_names_this_machine() {
        for name in [
            "localhost",
            "LocalHost:80",
            "127.0.0.1",
            "127.9.9.9:8080",
            "[::1]",
            "[::1]:1",
            "[::ffff:127.0.0.1]",
        ] {
            assert!(is_loopback_authority(name), "{name}");
        }
        for name in [
            "",
            ":80",
            "example.com",
            "localhost.example.com",
            "127.0.0.1.nip.io",
            "127.1",
            "2130706433",
            "0x7f000001",
            "0.0.0.0",
            "[::]",
            "::1",
            "localhost:",
            "localhost:80:80",
            "localhost:99999",
            "user@localhost",
            "localhost/",
            "[::1",
            "127.0.0.1:x",
        ] {
            assert!(!is_loopback_authority(name), "{name}");
        }
    }
}
