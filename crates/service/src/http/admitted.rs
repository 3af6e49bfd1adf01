//! Callers of routes that others add to this server.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::Shared;
use super::refusal::{Refusal, charge};
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

/// Admits a request and charges its asker, or rejects it as the control API does.
pub(super) async fn admit(
    State(shared): State<Arc<Shared>>,
    mut request: Request,
    next: Next,
) -> Response {
    let peer = request.extensions().get::<SocketAddr>().copied();
    let Some(peer) = peer else {
        return Refusal::NoKey.into_response();
    };
    let admitted = shared.admit(peer, request.uri(), request.headers());
    // What these routes do is not the engine's to count.
    let charged = admitted.and_then(|caller| charge(&caller.asker).map(|()| caller));
    let (asker, caller) = match charged {
        Ok(caller) => {
            let headers = request.headers();
            let admitted = AdmittedCaller {
                name: caller.asker.name().into(),
                role: caller.role,
                has_key: headers.contains_key(axum::http::header::AUTHORIZATION),
            };
            (caller.asker.clone(), admitted)
        }
        Err(refusal) => return refusal.into_response(),
    };
    let extensions = request.extensions_mut();
    extensions.insert(caller);
    extensions.insert(asker);
    next.run(request).await
}
