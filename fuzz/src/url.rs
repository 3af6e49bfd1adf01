//! URLs and redirects: what passes the guard is what a browser would open.

use std::net::IpAddr;

use entreat_core::url::{self, Url};
use entreat_core::url_guard::{Host, Policy, check_redirect, check_url, inspect};

use super::Meter;

/// Judges a text as a URL; its lines also as a URL and where it redirects to.
pub fn run(data: &[u8], meter: &mut Meter) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let (first, second) = text.split_once('\n').unwrap_or((text, text));
    let lax = Policy::new(["https", "http", "ftp", "ssh", "foo"])
        .block_private(false)
        .block_localhost(false);
    for policy in [Policy::default(), Policy::web(), lax] {
        for url in [text, first, second] {
            if let Ok(checked) = meter.call("check_url", || check_url(url, &policy)) {
                assert_parsed_alike(url, checked.scheme(), checked.host());
            }
        }
        for (from, location) in [(first, second), ("https://example.com/a/b?c", text)] {
            let hop = meter.call("check_redirect", || check_redirect(from, location, &policy));
            if let Ok(target) = hop {
                assert!(
                    check_url(&target, &policy).is_ok(),
                    "{target:?} from {location:?}"
                );
            }
        }
    }
    for (url, server) in [
        (text, None),
        (text, Some("mcp.example.com")),
        (first, Some(second)),
    ] {
        let card = meter.call("inspect", || inspect(url, server));
        assert!(card.warnings.is_sorted(), "{url:?}");
    }
}

fn assert_parsed_alike(url: &str, scheme: &str, host: &Host<'_>) {
    let parsed = Url::parse(url).unwrap_or_else(|error| panic!("{url:?} passes: {error}"));
    assert_eq!(parsed.scheme(), scheme);
    // Other schemes' hosts are opaque to a browser.
    if !["http", "https", "ftp"].contains(&scheme) {
        return;
    }
    let agrees = match (host, parsed.host()) {
        (Host::Name(name), Some(url::Host::Domain(opened))) => {
            opened.strip_suffix('.').unwrap_or(opened) == name
        }
        (Host::Address(IpAddr::V4(v4)), Some(url::Host::Ipv4(opened))) => opened == *v4,
        (Host::Address(IpAddr::V6(v6)), Some(url::Host::Ipv6(opened))) => opened == *v6,
        _ => false,
    };
    assert!(agrees, "{url:?} is read as {host}");
}
