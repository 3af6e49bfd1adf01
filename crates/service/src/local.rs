//! What makes a request one of this machine's.
//!
//! Shared by those who ask without a key and those who answer without a name: both are let in
//! because they are here, and a proxy or a page of another site must not look as if it were.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use axum::http::{HeaderMap, HeaderValue, Uri, header, uri};

/// Headers by which a proxy says that the request is somebody else's.
const FORWARDED: [&str; 4] = ["forwarded", "x-forwarded-for", "x-real-ip", "via"];

/// Whether an address is a loopback one.
pub(crate) fn is_this_machine(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// Whether a proxy passed the request on: who stands behind it is anybody.
pub(crate) fn is_forwarded(headers: &HeaderMap) -> bool {
    FORWARDED.iter().any(|name| headers.contains_key(*name))
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

/// Whether no page of another site sent the request.
pub(crate) fn comes_from_this_machine(headers: &HeaderMap) -> bool {
    let is_cross_site = headers
        .get("sec-fetch-site")
        .is_some_and(|site| site.as_bytes() == b"cross-site");
    let is_local = |origin: &HeaderValue| {
        let origin = origin.to_str().unwrap_or_default();
        let rest = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        rest.is_some_and(is_loopback_authority)
    };
    !is_cross_site && headers.get_all(header::ORIGIN).iter().all(is_local)
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
