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
use crate::notification_log::Position;
use crate::trace::{self, Route};

/// The reconnection delay for clients, in milliseconds.
const RECONNECT_DELAY: &str = "retry: 1000\n\n";

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
    // The span ends when the stream begins: a stream may last for days.
    let span = trace::request(&ROUTE, &headers);
    let response = open(&shared, peer, &uri, &headers);
    trace::answered(&span, &response);
    response
}

fn open(shared: &Shared, peer: SocketAddr, uri: &Uri, headers: &HeaderMap) -> Response {
    let asker = match shared.admit(peer, uri, headers) {
        Ok(caller) => &caller.asker,
        Err(refusal) => return refusal.into_response(),
    };
    if let Err(refusal) = charge(asker) {
        return refusal.into_response();
    }
    let last = headers.get("last-event-id");
    let last = last.and_then(|last| Position::parse(last.to_str().ok()?));
    let notifications = shared.notifications.stream(asker.clone(), last);
    let closing = shared.shutdown.closing.clone();
    let heartbeat = shared.settings.heartbeat;
    // Sent at once, so that the client knows that the stream is open.
    let first = Some(Ok::<_, Infallible>(RECONNECT_DELAY.to_owned()));
    let state = (first, notifications, closing);
    let chunks = stream::unfold(
        state,
        move |(first, mut notifications, closing)| async move {
            if let Some(first) = first {
                return Some((first, (None, notifications, closing)));
            }
            let chunk = tokio::select! {
                biased;
                () = closing.cancelled() => return None,
                notification = notifications.next() => {
                    format!("id: {}\ndata: {}\n\n", notification.position, notification.text)
                }
                () = tokio::time::sleep(heartbeat) => ":\n\n".to_owned(),
            };
            Some((Ok(chunk), (None, notifications, closing)))
        },
    );
    let mut response = Response::new(Body::from_stream(chunks));
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("text/event-stream");
    headers.insert(header::CONTENT_TYPE, kind);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Some proxies buffer responses without this.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
