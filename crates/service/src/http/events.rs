//! `GET /events`: an asker's notifications as server-sent events.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Uri, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;

use super::Shared;
use super::refusal::charge;
use crate::told::Position;
use crate::trace::{self, Route};

/// What a client that lost the connection should wait before it comes back, in milliseconds.
const COME_BACK: &str = "retry: 1000\n\n";

const ROUTE: Route = Route {
    method: "GET",
    path: "/events",
    name: "GET /events",
};

pub(super) async fn events(
    State(shared): State<Arc<Shared>>,
    Extension(peer): Extension<SocketAddr>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    // It is over when the stream begins: a stream may go on for days.
    let span = trace::request(&ROUTE, &headers);
    let response = open(&shared, peer, &uri, &headers);
    trace::answered(&span, &response);
    response
}

fn open(shared: &Shared, peer: SocketAddr, uri: &Uri, headers: &HeaderMap) -> Response {
    let asker = match shared.admit(peer, uri, headers) {
        Ok(asker) => asker,
        Err(refusal) => return refusal.into_response(),
    };
    if let Err(refusal) = charge(asker) {
        return refusal.into_response();
    }
    let last = headers.get("last-event-id");
    let last = last.and_then(|last| Position::read(last.to_str().ok()?));
    let told = shared.told.stream(asker.clone(), last);
    let closing = shared.ending.closing.clone();
    let heartbeat = shared.settings.heartbeat;
    // The first piece at once, so that the client knows that it is heard.
    let begin = Some(Ok::<_, Infallible>(COME_BACK.to_owned()));
    let state = (begin, told, closing);
    let pieces = stream::unfold(state, move |(begin, mut told, closing)| async move {
        if let Some(begin) = begin {
            return Some((begin, (None, told, closing)));
        }
        let piece = tokio::select! {
            biased;
            () = closing.cancelled() => return None,
            telling = told.next() => {
                format!("id: {}\ndata: {}\n\n", telling.position, telling.text)
            }
            () = tokio::time::sleep(heartbeat) => ":\n\n".to_owned(),
        };
        Some((Ok(piece), (None, told, closing)))
    });
    let mut response = Response::new(Body::from_stream(pieces));
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("text/event-stream");
    headers.insert(header::CONTENT_TYPE, kind);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Some proxies collect what they pass on unless they are told not to.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
