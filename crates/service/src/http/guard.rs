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
use crate::local::{comes_from_this_machine, is_forwarded, is_this_machine, names_this_machine};

/// The asker, or why the request is refused.
pub(super) fn admit<'a>(
    askers: &'a Askers,
    peer: SocketAddr,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<&'a Asker, Refusal> {
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let key = value.to_str().ok().and_then(bearer);
        return key
            .and_then(|key| askers.by_key(key))
            .ok_or(Refusal::UnknownKey);
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
    if !comes_from_this_machine(headers) {
        return Err(Refusal::ForeignOrigin);
    }
    Ok(local)
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, key) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(key.trim_matches(' '))
}
