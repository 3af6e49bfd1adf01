//! What makes a request one of this machine's.
//!
//! Shared by those who ask without a key and those who answer without a name: both are let in
//! because they are here, and a proxy or a page of another site must not look as if it were.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, header, uri};
use url::{Host, Url};

/// Headers by which a proxy says that the request is somebody else's: standard ones, and those of
/// the usual proxies, clouds and networks that deliver content.
const FORWARDED: [&str; 23] = [
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

/// What headers begin with of which a proxy has several.
const FORWARDED_PREFIXES: [&str; 17] = [
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

/// Those who count as one where each address has a share: of IPv6 everybody has a network of 64
/// bits at least, and could come from any address in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Neighbourhood(IpAddr);

impl Neighbourhood {
    pub(crate) fn of(address: IpAddr) -> Self {
        // A socket for both families shows IPv4 peers as IPv6 ones.
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
pub(crate) fn is_this_machine(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// Whether a proxy passed the request on: who stands behind it is anybody.
pub(crate) fn is_forwarded(headers: &HeaderMap) -> bool {
    let is_a_proxys = |name: &HeaderName| {
        let mut prefixes = FORWARDED_PREFIXES.iter();
        FORWARDED.contains(&name.as_str()) || prefixes.any(|begin| name.as_str().starts_with(begin))
    };
    headers.keys().any(is_a_proxys)
}

/// Whether every host that the request names is a loopback one, and there is one.
pub(crate) fn names_this_machine(uri: &Uri, headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(header::HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return false;
    };
    let in_target = uri.authority().map(uri::Authority::as_str);
    host.to_str().is_ok_and(is_loopback_authority) && in_target.is_none_or(is_loopback_authority)
}

/// Whether no page of another origin sent the request, another port of this machine included.
/// Programs name no origin, and a page that the service itself had served would name the very one
/// that the request goes to.
pub(crate) fn comes_from_its_own_origin(scheme: &str, headers: &HeaderMap) -> bool {
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

/// Whether a URL names this machine by a name that is loopback whatever a name server says.
pub(crate) fn is_of_this_machine(url: &str) -> bool {
    let url = Url::parse(url);
    let host = url.as_ref().ok().and_then(Url::host);
    host.is_some_and(|host| match host {
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => is_this_machine(address.into()),
        Host::Domain(name) => name == "localhost" || name.ends_with(".localhost"),
    })
}

/// How a service is reached, which tells whether whoever comes from this machine is on it.
///
/// A proxy on this machine comes from loopback as well, and may name it in `Host`. So asking
/// without a key is for services that nothing says a proxy is in front of.
///
/// ```
/// use entreat_service::Reach;
///
/// let mut reach = Reach {
///     listen: ([127, 0, 0, 1], 7171).into(),
///     public_url: None,
///     speaks_tls: false,
///     names_people: false,
/// };
/// assert_eq!(reach.why_keys(), None);
/// reach.public_url = Some("https://ask.example.com");
/// assert_eq!(reach.why_keys(), Some("`public_url` names another machine"));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Reach<'a> {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Where people and programs are told that it is.
    pub public_url: Option<&'a str>,
    /// Whether it speaks TLS itself.
    pub speaks_tls: bool,
    /// Whether those who answer have names.
    pub names_people: bool,
}

impl Reach<'_> {
    /// Why asking needs a key unless somebody says otherwise; `None` if only this machine is
    /// served, so that it needs none.
    pub fn why_keys(&self) -> Option<&'static str> {
        if !is_this_machine(self.listen.ip()) {
            return Some("other machines can reach the service");
        }
        if self.public_url.is_some_and(|url| !is_of_this_machine(url)) {
            return Some("`public_url` names another machine");
        }
        if self.speaks_tls {
            return Some("the service speaks TLS");
        }
        self.names_people.then_some("a proxy names people")
    }

    /// Whether nobody can answer on a page: people are known by being at this machine, and the
    /// pages are another's as far as anybody knows. Those whom a proxy lets through could not be
    /// told from people who are here.
    pub fn nobody_answers(&self) -> bool {
        !self.names_people && self.public_url.is_some_and(|url| !is_of_this_machine(url))
    }
}

/// Whether `host` or `host:port` names this machine, whatever a name server says.
fn is_loopback_authority(authority: &str) -> bool {
    let (host, port) = match authority.rsplit_once(':') {
        // The colons of an address in brackets are its own.
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let port_is_sound = port.is_none_or(|port| port.parse::<u16>().is_ok());
    let address = match host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
    {
        Some(inside) => inside.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        None => host.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
    };
    port_is_sound
        && (host.eq_ignore_ascii_case("localhost") || address.is_some_and(is_this_machine))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_network_are_one_neighbour() {
        let of = |address: &str| Neighbourhood::of(address.parse().unwrap());
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
