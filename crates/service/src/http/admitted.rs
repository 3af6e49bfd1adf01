//! Callers of routes that others add to this server.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::AUTHORIZATION;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::Shared;
#[cfg(feature = "tokens")]
use super::guard;
use super::refusal::{Refusal, charge};
use crate::askers::Role;
#[cfg(feature = "tokens")]
use crate::resource::{Challenge, ProtectedResource};

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

/// Who is admitted by tokens.
#[cfg(feature = "tokens")]
pub(super) struct Tokens {
    pub(super) resource: ProtectedResource,
    /// Acts for the holders of tokens.
    pub(super) asker: entreat_engine::Asker,
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
    #[cfg(feature = "tokens")]
    if let Some(tokens) = &shared.tokens
        && request.headers().contains_key(AUTHORIZATION)
        && guard::by_key(&shared.askers, request.headers()).is_none()
    {
        return admit_by_token(&shared, tokens, peer, request, next).await;
    }
    let admitted = shared.admit(peer, request.uri(), request.headers());
    // What these routes do is not the engine's to count.
    let charged = admitted.and_then(|caller| charge(&caller.asker).map(|()| caller));
    let (asker, caller) = match charged {
        Ok(caller) => {
            let headers = request.headers();
            let admitted = AdmittedCaller {
                name: caller.asker.name().into(),
                role: caller.role,
                has_key: headers.contains_key(AUTHORIZATION),
            };
            (caller.asker.clone(), admitted)
        }
        #[cfg(feature = "tokens")]
        Err(Refusal::NoKey) if shared.tokens.is_some() => {
            let tokens = shared.tokens.as_ref();
            let refused = tokens.map(|it| it.resource.refuse(Challenge::NoToken));
            return refused.unwrap_or_else(|| Refusal::NoKey.into_response());
        }
        Err(refusal) => return refusal.into_response(),
    };
    let extensions = request.extensions_mut();
    extensions.insert(caller);
    extensions.insert(asker);
    next.run(request).await
}

/// Admits the holder of a token, and charges the asker on their behalf. The token goes no further.
#[cfg(feature = "tokens")]
async fn admit_by_token(
    shared: &Shared,
    tokens: &Tokens,
    peer: SocketAddr,
    mut request: Request,
    next: Next,
) -> Response {
    let now = shared.rpc.engine().now();
    let holder = match tokens.resource.authorize(request.headers(), now).await {
        Ok(holder) => holder,
        Err(challenge) => {
            let is_guess = challenge == Challenge::InvalidToken;
            if is_guess && shared.guess_limiter.is_exceeded_by(peer.ip(), now) {
                return Refusal::TooManyGuesses.into_response();
            }
            return tokens.resource.refuse(challenge);
        }
    };
    let asker = tokens.asker.on_behalf_of(&holder.principal);
    if let Err(refusal) = charge(&asker) {
        return refusal.into_response();
    }
    request.headers_mut().remove(AUTHORIZATION);
    let extensions = request.extensions_mut();
    extensions.insert(holder);
    extensions.insert(asker);
    next.run(request).await
}
