//! Streamable HTTP towards clients, in the transport of 2025 and that of 2026-07-28.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use axum::routing::any;
use bytes::Bytes;
use entreat_engine::{ActError, Asker};
use entreat_wire::headers as mcp_headers;
use futures_util::stream;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use memchr::memchr2;
use serde_json::value::RawValue;

use super::body::Bodies;
use super::live::{FrontSettings, LiveSession, Route, Sessions, Target};
use super::modern_headers;
use super::stream::{Next, Reader, Stream};
use crate::client::ClientSender;
use crate::envelope::{self, Envelope, Kind, NotAMessage, RawId};
use crate::gateway::Gateway;
use crate::incoming;
use crate::meta;
use crate::modern::declared;
use crate::observe::UpstreamStatus;
use crate::reply::{Reply, code, error_code};
use crate::session::Person;

const SESSION: HeaderName = HeaderName::from_static(mcp_headers::SESSION_ID);
const LAST_EVENT_ID: HeaderName = HeaderName::from_static(mcp_headers::LAST_EVENT_ID);
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Versions of 2025 and before that a client may name in a header.
const LEGACY_VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// From this version on, streams begin with an event that has nothing but its id.
const PRIMED_VERSION: &str = "2025-11-25";
/// How long a request may take before its response begins as a stream.
const PATIENCE: Duration = Duration::from_secs(5);
/// The interval of comments on a silent stream, so that nobody between takes it for dead.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Serves upstream servers over Streamable HTTP: each at `/mcp/NAME`, and all as one at `/mcp`.
/// Cheap to clone.
///
/// Requests need a [`Person`] among their extensions, which a layer around the router puts there
/// after it has judged who calls. Each message of a batch beyond the first is charged to the
/// [`Asker`], if there is one too.
#[derive(Clone)]
pub struct Front(Arc<Inner>);

struct Inner {
    routes: Vec<Route>,
    sessions: Arc<Sessions>,
    bodies: Bodies,
}

impl Front {
    /// Serves these upstreams.
    ///
    /// # Panics
    ///
    /// Outside a Tokio runtime.
    pub fn new(gateway: Arc<Gateway>, routes: Vec<Route>, settings: FrontSettings) -> Self {
        let bodies = Bodies::new(&settings);
        let sessions = Sessions::new(gateway, settings);
        sessions.recover();
        Self(Arc::new(Inner {
            routes,
            sessions: Arc::new(sessions),
            bodies,
        }))
    }

    /// The router with the paths of all upstreams.
    pub fn router(&self) -> Router {
        Router::new()
            .route("/mcp", any(all))
            .route("/mcp/{name}", any(named))
            .with_state(self.clone())
    }

    /// What goes on behind each upstream, by name. Without
    /// [`Builder::observed`](crate::Builder::observed), calls and questions are not counted.
    pub fn status(&self) -> Vec<UpstreamStatus> {
        let mut names: Vec<&str> = self.0.routes.iter().map(|it| it.name.as_str()).collect();
        names.sort_unstable();
        let status = |name: &str| self.0.sessions.status(name);
        names.into_iter().map(status).collect()
    }

    /// Ends all sessions, and waits until their servers are gone.
    pub async fn close(&self) {
        self.0.sessions.close().await;
    }
}

async fn all(State(front): State<Front>, request: Request) -> Response {
    match front.0.routes.as_slice() {
        [] => refuse(StatusCode::NOT_FOUND, "there is no server"),
        // Nothing is renamed where nothing can be confused.
        [route] => front.answer(Target::One(route), request).await,
        routes => front.answer(Target::All(routes), request).await,
    }
}

async fn named(State(front): State<Front>, Path(name): Path<String>, request: Request) -> Response {
    match front.0.routes.iter().find(|route| route.name == name) {
        Some(route) => front.answer(Target::One(route), request).await,
        None => refuse(StatusCode::NOT_FOUND, "there is no server of this name"),
    }
}

impl Front {
    async fn answer(&self, target: Target<'_>, request: Request) -> Response {
        let Some(person) = request.extensions().get::<Person>().cloned() else {
            return refuse(StatusCode::UNAUTHORIZED, "it is not known who calls");
        };
        let asker = request.extensions().get::<Asker>().cloned();
        let (
            Parts {
                method, headers, ..
            },
            body,
        ) = request.into_parts();
        match method {
            Method::POST => {
                if !accepts(&headers, "application/json") && !accepts(&headers, "text/event-stream")
                {
                    let text = "Accept must have application/json and text/event-stream";
                    return refuse(StatusCode::NOT_ACCEPTABLE, text);
                }
                if !is_json(&headers) {
                    let text = "Content-Type must be application/json";
                    return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, text);
                }
                let memory = self.0.sessions.memory_of(&person);
                match self.0.bodies.read(&person, &memory, &headers, body).await {
                    Ok(body) => {
                        if let Some(refusal) = charge_batch(asker.as_ref(), &body) {
                            return refusal;
                        }
                        self.post(target, &person, &headers, body).await
                    }
                    Err(response) => response,
                }
            }
            Method::GET => self.get(target, &person, &headers),
            Method::DELETE => self.delete(target, &person, &headers),
            _ => not_allowed(),
        }
    }

    async fn post(
        &self,
        target: Target<'_>,
        person: &Person,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Response {
        let envelope = match Envelope::read(&body) {
            Ok(envelope) => envelope,
            Err(NotAMessage::NotJson) => {
                return failed(StatusCode::BAD_REQUEST, code::PARSE_ERROR, "Parse error");
            }
            Err(NotAMessage::NotRpc) => {
                return failed(
                    StatusCode::BAD_REQUEST,
                    code::INVALID_REQUEST,
                    "Invalid request",
                );
            }
        };
        let version = match header_text(headers, &modern_headers::VERSION) {
            Ok(version) => version,
            Err(response) => return *response,
        };
        let names_modern = envelope.params().is_some_and(meta::is_modern);
        if names_modern || version == Some(meta::VERSION) {
            return self
                .post_modern(target, person, headers, &envelope, &body)
                .await;
        }
        if let Some(version) = version
            && !LEGACY_VERSIONS.contains(&version)
        {
            let text = format!("the protocol version {version:?} is not supported");
            return failed(StatusCode::BAD_REQUEST, code::INVALID_REQUEST, &text);
        }
        self.post_legacy(target, person, headers, &envelope, &body)
            .await
    }

    // ---- 2026-07-28

    async fn post_modern(
        &self,
        target: Target<'_>,
        person: &Person,
        headers: &HeaderMap,
        envelope: &Envelope<'_>,
        body: &Bytes,
    ) -> Response {
        let Kind::Request { id, method, params } = &envelope.kind else {
            // There is nothing that a client could notify of or respond to.
            return empty(StatusCode::ACCEPTED);
        };
        let params = params.unwrap_or("{}");
        let id = RawId::new(id);
        let refusal = modern_headers::mismatch(headers, method, params)
            .or_else(|| meta::incomplete(params))
            .or_else(|| meta::unsupported(params));
        if let Some(refusal) = refusal {
            return json(StatusCode::BAD_REQUEST, refusal.to_message(&id));
        }
        if *method == "initialize" {
            // It would begin a session of 2025 on a connection that others share.
            let refusal = Reply::unknown_method();
            return json(StatusCode::NOT_FOUND, refusal.to_message(&id));
        }
        let live = match self.0.sessions.shared(target, person, declared(params)) {
            Ok(live) => live,
            Err(error) => return json(StatusCode::SERVICE_UNAVAILABLE, error.to_message(&id)),
        };
        if *method == "tools/call"
            && let Some(refusal) =
                modern_headers::param_mismatch(&live.service, headers, params).await
        {
            return json(StatusCode::BAD_REQUEST, refusal.to_message(&id));
        }
        let stream = Stream::cancelling().counted(&self.0.sessions.memory_of(person));
        let via = ClientSender::Stream(stream.clone()).within(headers);
        let reader = stream.read(None);
        take(&live, vec![body.clone()], via).await;
        self.respond(reader, ResponseForm::Modern, headers).await
    }

    // ---- 2025

    async fn post_legacy(
        &self,
        target: Target<'_>,
        person: &Person,
        headers: &HeaderMap,
        envelope: &Envelope<'_>,
        body: &Bytes,
    ) -> Response {
        let is_initialize =
            matches!(&envelope.kind, Kind::Request { method, .. } if method == "initialize");
        if is_initialize {
            return self
                .initialize(target, person, headers, envelope, body)
                .await;
        }
        let live = match self.session(target, person, headers) {
            Ok(live) => live,
            Err(response) => return *response,
        };
        let messages = match parts(envelope, body) {
            Ok(messages) => messages,
            Err(response) => return *response,
        };
        let requests = messages
            .iter()
            .filter(|(_, is_request)| *is_request)
            .count();
        let stream = Stream::new(requests).counted(&self.0.sessions.memory_of(person));
        let via = ClientSender::Stream(stream.clone()).within(headers);
        let reader = stream.read(None);
        let messages = messages.into_iter().map(|(message, _)| message);
        take(&live, messages.collect(), via).await;
        if requests == 0 {
            return empty(StatusCode::ACCEPTED);
        }
        let form = ResponseForm::legacy(headers, Some(live.keep(&stream)), requests == 1);
        self.respond(reader, form, headers).await
    }

    async fn initialize(
        &self,
        target: Target<'_>,
        person: &Person,
        headers: &HeaderMap,
        envelope: &Envelope<'_>,
        body: &Bytes,
    ) -> Response {
        let live = match self.0.sessions.begin(target, person) {
            Ok(live) => live,
            Err(error) => {
                let id = envelope.id().unwrap_or_else(|| RawId::new("null"));
                return json(StatusCode::SERVICE_UNAVAILABLE, error.to_message(&id));
            }
        };
        let starting = StartingSession(Some(live.clone()));
        let stream = Stream::new(1).counted(&self.0.sessions.memory_of(person));
        let reader = stream.read(None);
        let via = ClientSender::Stream(stream).within(headers);
        take(&live, vec![body.clone()], via).await;
        let Next::Message(_, message) = reader.next().await else {
            return refuse(StatusCode::BAD_GATEWAY, "the server has exited");
        };
        let is_result = Envelope::read(&message).is_ok_and(|envelope| {
            matches!(
                envelope.kind,
                Kind::Response {
                    result: Some(_),
                    ..
                }
            )
        });
        let prefers_stream = !accepts(headers, "application/json");
        let mut response = if prefers_stream {
            let mut body = Vec::new();
            write_event(&mut body, None, &message);
            event_stream(Body::from(body))
        } else {
            json(StatusCode::OK, message)
        };
        if is_result && let Ok(id) = HeaderValue::from_str(&live.id) {
            response.headers_mut().insert(SESSION, id);
            starting.succeeded();
        }
        response
    }

    fn session(
        &self,
        target: Target<'_>,
        person: &Person,
        headers: &HeaderMap,
    ) -> Result<Arc<LiveSession>, Box<Response>> {
        let Some(id) = header_text(headers, &SESSION)? else {
            let text = "Mcp-Session-Id is missing: begin with `initialize`";
            let refusal = failed(StatusCode::BAD_REQUEST, code::INVALID_REQUEST, text);
            return Err(Box::new(refusal));
        };
        // Somebody else's session does not exist for this principal.
        self.0
            .sessions
            .find(id, target.name(), person)
            .ok_or_else(|| {
                let text = "there is no such session: begin anew with `initialize`";
                Box::new(failed(StatusCode::NOT_FOUND, code::SESSION_NOT_FOUND, text))
            })
    }

    fn get(&self, target: Target<'_>, person: &Person, headers: &HeaderMap) -> Response {
        if !headers.contains_key(&SESSION) {
            return not_allowed();
        }
        if !accepts(headers, "text/event-stream") {
            return refuse(
                StatusCode::NOT_ACCEPTABLE,
                "Accept must have text/event-stream",
            );
        }
        let live = match self.session(target, person, headers) {
            Ok(live) => live,
            Err(response) => return *response,
        };
        let last = match header_text(headers, &LAST_EVENT_ID) {
            Ok(last) => last.map(event_id),
            Err(response) => return *response,
        };
        let (number, from) = match last {
            None => (0, None),
            Some(Some((number, from))) => (number, Some(from)),
            Some(None) => return refuse(StatusCode::BAD_REQUEST, "Last-Event-ID is not ours"),
        };
        let Some(stream) = live.stream(number) else {
            return refuse(StatusCode::NOT_FOUND, "that stream is gone");
        };
        let form = ResponseForm::legacy(headers, Some(number), false);
        stream_of(stream.read(from), None, form)
    }

    fn delete(&self, target: Target<'_>, person: &Person, headers: &HeaderMap) -> Response {
        if !headers.contains_key(&SESSION) {
            return not_allowed();
        }
        match self.session(target, person, headers) {
            Ok(live) => {
                live.end();
                empty(StatusCode::NO_CONTENT)
            }
            Err(response) => *response,
        }
    }

    // ---- responses

    /// Responds to a request: with JSON if the response is the first message and comes soon, else
    /// with a stream.
    async fn respond(&self, reader: Reader, form: ResponseForm, headers: &HeaderMap) -> Response {
        let may_stream = accepts(headers, "text/event-stream");
        let may_be_json = form.may_be_json() && accepts(headers, "application/json");
        if !may_be_json {
            return stream_of(reader, None, form);
        }
        loop {
            let next = tokio::select! {
                biased;
                next = reader.next() => next,
                () = tokio::time::sleep(PATIENCE), if may_stream => {
                    return stream_of(reader, None, form);
                }
            };
            let (number, message) = match next {
                Next::Message(number, message) => (number, message),
                Next::End | Next::Replaced => {
                    return refuse(StatusCode::BAD_GATEWAY, "the session has ended");
                }
            };
            let status = Envelope::read(&message)
                .ok()
                .and_then(|it| form.status(&it));
            match status {
                Some(status) => return json(status, message),
                None if may_stream => {
                    return stream_of(reader, Some((number, message)), form);
                }
                // The client takes nothing but the response.
                None => {}
            }
        }
    }
}

/// Charges the messages of a batch to an asker, who was charged for the first already. Returns what
/// refuses the batch if there are too many.
fn charge_batch(asker: Option<&Asker>, body: &[u8]) -> Option<Response> {
    let asker = asker.filter(|_| envelope::is_batch(body))?;
    let batch = Envelope::read(body).ok()?;
    for _ in incoming::split(&batch).ok()?.iter().skip(1) {
        if let Err(ActError::RateLimited { retry_after }) = asker.charge() {
            let text = format!(
                "too many messages: try again in {} ms",
                retry_after.as_millis()
            );
            return Some(refuse(StatusCode::TOO_MANY_REQUESTS, &text));
        }
    }
    None
}

/// Responds with a stream, which begins with a message that was read already.
fn stream_of(reader: Reader, first: Option<(u64, Bytes)>, form: ResponseForm) -> Response {
    let mut begin = Vec::new();
    if let Some(id) = form.priming() {
        begin.extend_from_slice(format!("id: {id}\ndata: \n\n").as_bytes());
    }
    if let Some((number, message)) = first {
        write_event(&mut begin, form.event_id(number), &message);
    }
    if begin.is_empty() {
        // Whoever is between passes the headers on when there is something behind them.
        begin.extend_from_slice(b": waiting\n\n");
    }
    let frames = stream::unfold((reader, Some(begin)), move |(reader, begin)| async move {
        if let Some(begin) = begin {
            return Some((Ok::<_, Infallible>(Bytes::from(begin)), (reader, None)));
        }
        let frame = tokio::select! {
            biased;
            next = reader.next() => match next {
                Next::Message(number, message) => {
                    let mut frame = Vec::with_capacity(message.len() + 32);
                    write_event(&mut frame, form.event_id(number), &message);
                    frame
                }
                Next::End | Next::Replaced => return None,
            },
            () = tokio::time::sleep(HEARTBEAT) => b": waiting\n\n".to_vec(),
        };
        Some((Ok(Bytes::from(frame)), (reader, None)))
    });
    event_stream(Body::from_stream(frames))
}

/// Passes messages to a session, which goes on with them if the request is dropped: whether that
/// cancels anything is for the session to say.
async fn take(live: &LiveSession, messages: Vec<Bytes>, via: ClientSender) {
    live.service.take(messages, via).await;
}

/// A session until its handshake has succeeded; dropped before, it ends.
struct StartingSession(Option<Arc<LiveSession>>);

impl StartingSession {
    fn succeeded(mut self) {
        self.0 = None;
    }
}

impl Drop for StartingSession {
    fn drop(&mut self) {
        if let Some(live) = self.0.take() {
            live.end();
        }
    }
}

/// The form of a response.
#[derive(Clone, Copy, Debug)]
enum ResponseForm {
    Legacy {
        /// The number of its stream, if the client may come back for it.
        stream: Option<u64>,
        is_primed: bool,
        has_one_response: bool,
    },
    Modern,
}

impl ResponseForm {
    fn legacy(headers: &HeaderMap, stream: Option<u64>, has_one_response: bool) -> Self {
        let version = headers.get(&modern_headers::VERSION);
        Self::Legacy {
            stream,
            is_primed: version.is_some_and(|version| version == PRIMED_VERSION),
            has_one_response,
        }
    }

    fn may_be_json(self) -> bool {
        match self {
            Self::Legacy {
                has_one_response, ..
            } => has_one_response,
            Self::Modern => true,
        }
    }

    /// The id of the event with which a stream begins.
    fn priming(self) -> Option<String> {
        match self {
            Self::Legacy {
                stream: Some(stream),
                is_primed: true,
                ..
            } => Some(format!("{stream}-0")),
            Self::Legacy { .. } | Self::Modern => None,
        }
    }

    fn event_id(self, number: u64) -> Option<String> {
        match self {
            Self::Legacy {
                stream: Some(stream),
                ..
            } => Some(format!("{stream}-{}", number + 1)),
            Self::Legacy { .. } | Self::Modern => None,
        }
    }

    /// The status with which a response is sent as JSON; `None` if the message is no response.
    fn status(self, message: &Envelope<'_>) -> Option<StatusCode> {
        let Kind::Response { error, .. } = message.kind else {
            return None;
        };
        let code = error
            .and_then(error_code)
            .and_then(|code| i32::try_from(code).ok());
        Some(match (self, code) {
            (Self::Modern, Some(code::METHOD_NOT_FOUND)) => StatusCode::NOT_FOUND,
            (
                Self::Modern,
                Some(code::HEADER_MISMATCH | code::MISSING_CAPABILITY | code::UNSUPPORTED_VERSION),
            ) => StatusCode::BAD_REQUEST,
            (Self::Modern | Self::Legacy { .. }, _) => StatusCode::OK,
        })
    }
}

/// The stream and the message from which on to resume, as our event ids say it.
fn event_id(text: &str) -> Option<(u64, u64)> {
    let (stream, number) = text.split_once('-')?;
    Some((stream.parse().ok()?, number.parse().ok()?))
}

/// The messages of a body, and whether they are requests.
fn parts(envelope: &Envelope<'_>, body: &Bytes) -> Result<Vec<(Bytes, bool)>, Box<Response>> {
    let invalid = |text| Box::new(failed(StatusCode::BAD_REQUEST, code::INVALID_REQUEST, text));
    let is_request = |envelope: &Envelope<'_>| matches!(envelope.kind, Kind::Request { .. });
    if !matches!(envelope.kind, Kind::Batch) {
        return Ok(vec![(body.clone(), is_request(envelope))]);
    }
    let messages = incoming::split(envelope).map_err(invalid)?;
    let read = |message: &RawValue| {
        let text = message.get();
        match Envelope::read(text.as_bytes()) {
            Ok(envelope) if !matches!(envelope.kind, Kind::Batch) => Ok((
                Bytes::copy_from_slice(text.as_bytes()),
                is_request(&envelope),
            )),
            _ => Err(invalid("Invalid request")),
        }
    };
    messages.into_iter().map(read).collect()
}

fn write_event(frame: &mut Vec<u8>, id: Option<String>, message: &[u8]) {
    if let Some(id) = id {
        frame.extend_from_slice(b"id: ");
        frame.extend_from_slice(id.as_bytes());
        frame.push(b'\n');
    }
    frame.extend_from_slice(b"data: ");
    let start = frame.len();
    frame.extend_from_slice(message);
    // Within JSON, newlines are white space; within an event, they would end the field.
    if memchr2(b'\n', b'\r', message).is_some() {
        for byte in &mut frame[start..] {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
    frame.extend_from_slice(b"\n\n");
}

/// The single value of a header.
fn header_text<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'a str>, Box<Response>> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value
            .to_str()
            .map(Some)
            .map_err(|_| Box::new(refuse(StatusCode::BAD_REQUEST, "a header is not readable"))),
        (Some(_), Some(_)) => Err(Box::new(refuse(
            StatusCode::BAD_REQUEST,
            "a header is there twice",
        ))),
    }
}

/// Whether a body is JSON, as its sender says: a page of another site can send other types without
/// being asked.
fn is_json(headers: &HeaderMap) -> bool {
    let Ok(Some(kind)) = header_text(headers, &header::CONTENT_TYPE) else {
        return false;
    };
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

/// Whether a client takes a type; one that does not say takes all.
fn accepts(headers: &HeaderMap, wanted: &str) -> bool {
    let mut values = headers.get_all(header::ACCEPT).iter().peekable();
    if values.peek().is_none() {
        return true;
    }
    let (kind, _) = wanted.split_once('/').unwrap_or((wanted, ""));
    values.filter_map(|value| value.to_str().ok()).any(|value| {
        value.split(',').any(|range| {
            let range = range.split(';').next().unwrap_or_default().trim();
            range.eq_ignore_ascii_case(wanted)
                || range == "*/*"
                || range
                    .strip_suffix("/*")
                    .is_some_and(|it| it.eq_ignore_ascii_case(kind))
        })
    })
}

fn json(status: StatusCode, message: impl Into<Body>) -> Response {
    let mut response = Response::new(message.into());
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

fn event_stream(body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache"),
        (BUFFERING, "no"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn failed(status: StatusCode, code: i32, text: &str) -> Response {
    json(
        status,
        Reply::error(code, text).to_message(&RawId::new("null")),
    )
}

pub(super) fn refuse(status: StatusCode, text: &str) -> Response {
    failed(status, code::INVALID_REQUEST, text)
}

fn not_allowed() -> Response {
    let mut response = refuse(StatusCode::METHOD_NOT_ALLOWED, "the method is not allowed");
    let allowed = HeaderValue::from_static("POST");
    response.headers_mut().insert(header::ALLOW, allowed);
    response
}

fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

impl fmt::Debug for Front {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Front").finish_non_exhaustive()
    }
}
