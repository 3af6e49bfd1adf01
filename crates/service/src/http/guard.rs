//! Authenticates the asker of a request.
//!
//! A key decides. Without a key, only programs on this machine are admitted, and no pages in its
//! browsers: any site can send requests to localhost, and with DNS rebinding they look like
//! same-origin ones. Hence the checks of `Host`, which such a page cannot choose, and `Origin`,
//! which it cannot omit.

use std::net::SocketAddr;

use axum::http::{HeaderMap, Uri, header};

use super::refusal::Refusal;
use crate::askers::{Askers, Caller};
use crate::local::{has_loopback_host, is_forwarded, is_loopback, is_same_origin};

/// Returns the caller, or why the request is rejected.
pub(super) fn admit<'a>(
    askers: &'a Askers,
    scheme: &str,
    peer: SocketAddr,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<&'a Caller, Refusal> {
    if headers.contains_key(header::AUTHORIZATION) {
        return by_key(askers, headers).ok_or(Refusal::UnknownKey);
    }
    let local = askers.local().filter(|_| is_loopback(peer.ip()));
    let local = local.ok_or(Refusal::NoKey)?;
    if is_forwarded(headers) {
        // A proxy on this machine; the client behind it is unknown.
        return Err(Refusal::NoKey);
    }
    if !has_loopback_host(uri, headers) {
        return Err(Refusal::ForeignHost);
    }
    if !is_same_origin(scheme, headers) {
        return Err(Refusal::ForeignOrigin);
    }
    Ok(local)
}

/// Returns the caller whose key the request carries.
pub(super) fn by_key<'a>(askers: &'a Askers, headers: &HeaderMap) -> Option<&'a Caller> {
    let value = headers.get(header::AUTHORIZATION)?;
    let key = value.to_str().ok().and_then(bearer)?;
    askers.by_key(key)
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, key) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(key.trim_matches(' '))
}
