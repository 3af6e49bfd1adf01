//! Callers of routes that others add to this server.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::Shared;
use super::refusal::Refusal;
use crate::askers::Role;

/// Who sent a request: the holder of a key, or a program on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmittedCaller {
    /// The name of the asker.
    pub name: Arc<str>,
    /// What it may do.
    pub role: Role,
    /// Whether it was admitted by a key; otherwise, for being on this machine.
    pub has_key: bool,
}

/// Admits a request, or rejects it as the control API does.
pub(super) async fn admit(
    State(shared): State<Arc<Shared>>,
    mut request: Request,
    next: Next,
) -> Response {
    let peer = request.extensions().get::<SocketAddr>().copied();
    let Some(peer) = peer else {
        return Refusal::NoKey.into_response();
    };
    let caller = match shared.admit(peer, request.uri(), request.headers()) {
        Ok(caller) => AdmittedCaller {
            name: caller.asker.name().into(),
            role: caller.role,
            has_key: request
                .headers()
                .contains_key(axum::http::header::AUTHORIZATION),
        },
        Err(refusal) => return refusal.into_response(),
    };
    request.extensions_mut().insert(caller);
    next.run(request).await
}
