//! `POST /rpc`: one JSON-RPC message or batch.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use tracing::Span;

use super::refusal::Refusal;
use super::{Shared, json};
use crate::rpc::{ResponseFuture, RpcResponse, Session};
use crate::trace::{self, Route};

const ROUTE: Route = Route {
    method: "POST",
    path: "/rpc",
    name: "POST /rpc",
};

pub(super) async fn rpc(
    State(shared): State<Arc<Shared>>,
    Extension(peer): Extension<SocketAddr>,
    request: Request<Body>,
) -> Response {
    let span = trace::request(&ROUTE, request.headers());
    let response = answer(&shared, peer, request, &span).await;
    trace::answered(&span, &response);
    response
}

async fn answer(
    shared: &Shared,
    peer: SocketAddr,
    request: Request<Body>,
    span: &Span,
) -> Response {
    let (Parts { uri, headers, .. }, body) = request.into_parts();
    let session = match shared.admit(peer, &uri, &headers) {
        Ok(caller) => Session::of(caller),
        Err(refusal) => return refusal.into_response(),
    };
    if !is_json(&headers) {
        return Refusal::NotJson.into_response();
    }
    let mut reservation = shared.memory.reserve_for(session.asker().name().into());
    match reservation.read_body(body, &shared.settings).await {
        Ok(message) => {
            let answering = span.in_scope(|| shared.rpc.answer(&session, &message));
            // A waiting call should hold none of these.
            drop((message, reservation, headers, uri));
            respond(answering, shared).await
        }
        Err(refusal) => {
            shared.warn(peer, refusal);
            refusal.into_response()
        }
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let mut kinds = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(kind), None) = (kinds.next(), kinds.next()) else {
        return false;
    };
    let kind = kind.to_str().unwrap_or_default();
    let (essence, parameters) = kind.split_once(';').unwrap_or((kind, ""));
    let is_utf8 = parameters.split(';').all(|parameter| {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let is_charset = name.trim().eq_ignore_ascii_case("charset");
        let value = value.trim().trim_matches('"');
        !is_charset || value.eq_ignore_ascii_case("utf-8") || value.eq_ignore_ascii_case("utf8")
    });
    essence.trim().eq_ignore_ascii_case("application/json")
        && is_utf8
        && !headers.contains_key(header::CONTENT_ENCODING)
}

/// Responds with the answer. If it takes longer than a heartbeat, starts the response and sends
/// spaces, which JSON ignores, so that no proxy closes the connection as idle.
async fn respond(mut answering: ResponseFuture, shared: &Shared) -> Response {
    let heartbeat = shared.settings.heartbeat;
    tokio::select! {
        biased;
        answered = &mut answering => return finished(answered),
        () = tokio::time::sleep(heartbeat) => {}
    }
    let beats = stream::unfold(Some(answering), move |answering| async move {
        let mut answering = answering?;
        tokio::select! {
            biased;
            answered = &mut answering => {
                Some((Ok::<_, Infallible>(answered.body.unwrap_or_default().into()), None))
            }
            () = tokio::time::sleep(heartbeat) => {
                Some((Ok(Bytes::from_static(b" ")), Some(answering)))
            }
        }
    });
    // Only valid requests take this long.
    json(StatusCode::OK, Body::from_stream(beats))
}

fn finished(answered: RpcResponse) -> Response {
    let status = if answered.is_well_formed {
        StatusCode::OK
    } else {
        StatusCode::BAD_REQUEST
    };
    json(status, answered.body.unwrap_or_default())
}
