//! Who is this request from?
//!
//! A key decides. Without one a request may come from a program on this machine, and must not
//! come from a page in a browser on it: a page of another site can send requests here, and a
//! name that its owner points here makes them look like our own. Hence the look at `Host`, which
//! such a page cannot choose, and `Origin`, which it cannot leave out.

use std::net::SocketAddr;

use axum::http::{HeaderMap, Uri, header};
use entreat_engine::Asker;

use super::refusal::Refusal;
use crate::askers::Askers;
use crate::local::{comes_from_its_own_origin, is_forwarded, is_this_machine, names_this_machine};

/// The asker, or why the request is refused.
pub(super) fn admit<'a>(
    askers: &'a Askers,
    scheme: &str,
    peer: SocketAddr,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<&'a Asker, Refusal> {
    if headers.contains_key(header::AUTHORIZATION) {
        return by_key(askers, headers).ok_or(Refusal::UnknownKey);
    }
    let local = askers.local().filter(|_| is_this_machine(peer.ip()));
    let local = local.ok_or(Refusal::NoKey)?;
    if is_forwarded(headers) {
        // A proxy on this machine: who stands behind it is anybody.
        return Err(Refusal::NoKey);
    }
    if !names_this_machine(uri, headers) {
        return Err(Refusal::ForeignHost);
    }
    if !comes_from_its_own_origin(scheme, headers) {
        return Err(Refusal::ForeignOrigin);
    }
    Ok(local)
}

/// The asker whose key the request has.
pub(super) fn by_key<'a>(askers: &'a Askers, headers: &HeaderMap) -> Option<&'a Asker> {
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
