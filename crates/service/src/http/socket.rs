//! `GET /ws`: calls and notifications on one WebSocket.
//!
//! Calls run concurrently and are answered in order of completion. When the connection closes, its
//! questions are cancelled unless they are durable.

mod metered;

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream::FuturesUnordered;
use futures_util::{SinkExt as _, StreamExt as _};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};

use self::metered::MeteredStream;
use super::Shared;
use super::proxied::InFlightPermit;
use super::refusal::{Refusal, charge};
use crate::askers::Caller;
use crate::rpc::Session;
use crate::trace::{self, Context, Route};

type Socket = WebSocketStream<MeteredStream<TokioIo<Upgraded>>>;

/// A client that stays silent for this many heartbeats is considered dead.
const MAX_SILENT_BEATS: u32 = 3;
/// Timeout of the closing handshake.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Header size of a control frame from a client, in bytes.
const CONTROL_FRAME_HEADER: usize = 6;

const ROUTE: Route = Route {
    method: "GET",
    path: "/ws",
    name: "GET /ws",
};

pub(super) async fn open(
    State(shared): State<Arc<Shared>>,
    Extension(peer): Extension<SocketAddr>,
    request: Request<Body>,
) -> Response {
    let span = trace::request(&ROUTE, request.headers());
    let response = upgrade(&shared, peer, request, trace::context(&span));
    trace::answered(&span, &response);
    response
}

fn upgrade(
    shared: &Arc<Shared>,
    peer: SocketAddr,
    mut request: Request<Body>,
    context: Context,
) -> Response {
    let caller = match shared.admit(peer, request.uri(), request.headers()) {
        Ok(caller) => caller.clone(),
        Err(refusal) => return refusal.into_response(),
    };
    let Some(accept) = accept_key(request.headers()) else {
        return Refusal::UpgradeRequired.into_response();
    };
    if let Err(refusal) = charge(&caller.asker) {
        return refusal.into_response();
    }
    let upgrade = hyper::upgrade::on(&mut request);
    let permit = request.extensions().get::<InFlightPermit>().cloned();
    let serving = serve(shared.clone(), upgrade, caller, context);
    shared.shutdown.tasks.spawn(async move {
        serving.await;
        drop(permit);
    });
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    response
}

/// Returns the accept key of a handshake; `None` if the request is not one.
fn accept_key(headers: &HeaderMap) -> Option<HeaderValue> {
    let names = |name: header::HeaderName, word: &str| {
        let values = headers.get_all(name).iter();
        let mut message = values.flat_map(|value| value.to_str().unwrap_or_default().split(','));
        message.any(|found| found.trim().eq_ignore_ascii_case(word))
    };
    let is_handshake = names(header::CONNECTION, "upgrade")
        && names(header::UPGRADE, "websocket")
        && headers.get(header::SEC_WEBSOCKET_VERSION)? == "13";
    let key = headers.get(header::SEC_WEBSOCKET_KEY)?;
    let accept = derive_accept_key(key.as_bytes());
    is_handshake.then(|| HeaderValue::from_str(&accept).ok())?
}

async fn serve(shared: Arc<Shared>, upgrade: OnUpgrade, caller: Caller, context: Context) {
    let upgraded = match upgrade.await {
        Ok(upgraded) => upgraded,
        Err(error) => {
            tracing::debug!(%error, "a WebSocket was not opened");
            return;
        }
    };
    let limit = shared.settings.body_limit;
    let config = WebSocketConfig::default()
        .max_message_size(Some(limit))
        .max_frame_size(Some(limit))
        .read_buffer_size(4096)
        .write_buffer_size(4096);
    let io = MeteredStream {
        stream: TokioIo::new(upgraded),
        reservation: shared.memory.reserve_for(caller.asker.name().into()),
    };
    let mut socket = WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await;
    let close_frame = run(&shared, &mut socket, caller, &context).await;
    if let Some(frame) = close_frame {
        let closing_handshake = async {
            socket.close(Some(frame)).await?;
            while socket.next().await.transpose()?.is_some() {}
            Ok::<_, Error>(())
        };
        // Best effort.
        drop(tokio::time::timeout(CLOSE_TIMEOUT, closing_handshake).await);
    }
}

/// Serves calls and notifications until the connection ends; returns the close frame to send.
async fn run(
    shared: &Shared,
    socket: &mut Socket,
    caller: Caller,
    context: &Context,
) -> Option<CloseFrame> {
    let Caller { asker, role } = caller;
    let mut notifications = shared.notifications.stream(asker.clone(), None);
    let session = Session::connected(asker).with_role(role);
    let mut calls = FuturesUnordered::new();
    let mut beat = tokio::time::interval(shared.settings.heartbeat);
    let mut silent_beats = 0;
    loop {
        let has_room = calls.len() < shared.settings.calls_per_socket;
        let text: Utf8Bytes = tokio::select! {
            biased;
            () = shared.shutdown.closing.cancelled() => {
                return Some(close(CloseCode::Away, "the service is shutting down; reconnect later"));
            }
            Some(body) = calls.next() => match body {
                Some(body) => Utf8Bytes::from(body),
                None => continue,
            },
            notification = notifications.next() => Utf8Bytes::from(&*notification.text),
            received = socket.next(), if has_room => {
                silent_beats = 0;
                match received? {
                    Ok(Message::Text(text)) => {
                        socket.get_mut().reservation.reset();
                        let begin = || shared.rpc.answer(&session, text.as_bytes());
                        let answering = trace::within(context, begin);
                        calls.push(async move { answering.await.body });
                    }
                    Ok(Message::Binary(_)) => {
                        return Some(close(CloseCode::Unsupported, "messages must be text"));
                    }
                    Ok(Message::Ping(payload) | Message::Pong(payload)) => {
                        let bytes = CONTROL_FRAME_HEADER + payload.len();
                        socket.get_mut().reservation.discount(bytes);
                    }
                    Ok(_) => {}
                    Err(Error::Io(error)) if error.kind() == ErrorKind::OutOfMemory => {
                        let message = "too many large messages at once";
                        return Some(close(CloseCode::Again, message));
                    }
                    Err(Error::Capacity(_)) => {
                        return Some(close(CloseCode::Size, "the message is too large"));
                    }
                    Err(Error::Utf8(_)) => {
                        return Some(close(CloseCode::Invalid, "messages must be UTF-8"));
                    }
                    Err(Error::Protocol(_)) => {
                        return Some(close(CloseCode::Protocol, "not a WebSocket frame"));
                    }
                    Err(error) => {
                        tracing::debug!(%error, "a WebSocket broke");
                        return None;
                    }
                }
                continue;
            }
            _ = beat.tick() => {
                silent_beats += 1;
                if silent_beats > MAX_SILENT_BEATS {
                    return Some(close(CloseCode::Away, "no response to a ping"));
                }
                let ping = Message::Ping(bytes::Bytes::new());
                if !send(shared, socket, ping).await {
                    return None;
                }
                continue;
            }
        };
        if !send(shared, socket, Message::Text(text)).await {
            return None;
        }
    }
}

/// Sends a message; false if it fails or times out.
async fn send(shared: &Shared, socket: &mut Socket, message: Message) -> bool {
    let sent = tokio::time::timeout(shared.settings.write_timeout, socket.send(message)).await;
    matches!(sent, Ok(Ok(())))
}

fn close(code: CloseCode, reason: &'static str) -> CloseFrame {
    CloseFrame {
        code,
        reason: reason.into(),
    }
}
