//! A Streamable HTTP client transport that preserves messages.
//!
//! rmcp's own backend parses messages into its types directly. This one speaks the same protocol
//! over the same HTTP client, with [`Raw`] in between.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _};
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, RequestBuilder, Response};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, ServerJsonRpcMessage,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::http_header::{
    EVENT_STREAM_MIME_TYPE, HEADER_LAST_EVENT_ID, HEADER_SESSION_ID, JSON_MIME_TYPE,
};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpClient,
    StreamableHttpClientTransportConfig, StreamableHttpError, StreamableHttpPostResponse,
};
use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt;
use sse_stream::{Sse, SseStream};
use tokio::sync::watch;
use url::Url;

use super::raw::Raw;

/// The maximum length of an event or body, in bytes.
const MAX_MESSAGE: usize = 64 << 20;
/// How many bytes of an unexpected body are quoted in the error.
const EXCERPT: usize = 256;
/// How long a request waits for the session's event stream, on which the server may ask. Servers
/// respond immediately, even if they have no stream.
const STREAM_WAIT: Duration = Duration::from_secs(2);
const MAX_REDIRECTS: usize = 5;

/// Why a connection to a server cannot be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// Not a URL.
    #[error("`{0}` is not a URL")]
    NotAUrl(String),
    /// Not an HTTP URL.
    #[error("the URL of a server begins with http:// or https://")]
    Scheme,
    /// The platform's certificate verifier is unavailable.
    #[error("cannot set up encrypted connections")]
    Tls(#[source] rustls::Error),
    /// The HTTP client cannot be built.
    #[error("cannot set up the HTTP client")]
    Client(#[source] reqwest::Error),
}

/// Connects to a server by URL, sending `headers` with every request.
pub fn http(
    url: &str,
    headers: HeaderMap,
) -> Result<StreamableHttpClientTransport<Http>, HttpError> {
    let parsed = Url::parse(url).map_err(|_| HttpError::NotAUrl(url.to_owned()))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(HttpError::Scheme);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(BuilderVerifierExt::with_platform_verifier)
        .map_err(HttpError::Tls)?
        .with_no_client_auth();
    let mut builder = Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(Policy::custom(redirect_policy))
        // Messages are small, and latency matters.
        .tcp_nodelay(true);
    if entreat_core::url_guard::check_url(url, &entreat_core::url_guard::Policy::web()).is_err() {
        // A proxy must not be used for this machine or the local network.
        builder = builder.no_proxy();
    }
    let client = Http {
        client: builder.build().map_err(HttpError::Client)?,
        raw: Raw::default(),
        has_stream: Arc::default(),
    };
    let mut config = StreamableHttpClientTransportConfig::with_uri(url);
    config.custom_headers = headers
        .into_iter()
        .filter_map(|(name, value)| Some((name?, value)))
        .collect();
    config.max_sse_event_size = MAX_MESSAGE;
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

/// Follows redirects within one origin only, and only those that preserve the method and body.
fn redirect_policy(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let keeps_message = matches!(
        attempt.status(),
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
    );
    let previous = attempt.previous();
    let same_origin = previous
        .last()
        .is_some_and(|before| before.origin() == attempt.url().origin());
    if keeps_message && same_origin && previous.len() <= MAX_REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

/// The HTTP client of a transport; see [`http()`].
#[derive(Clone)]
pub struct Http {
    client: Client,
    raw: Raw,
    /// Whether the session's event stream was opened, or cannot be.
    has_stream: Arc<watch::Sender<bool>>,
}

impl std::fmt::Debug for Http {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Http").finish_non_exhaustive()
    }
}

type TransportError = StreamableHttpError<reqwest::Error>;
type Events = BoxStream<'static, Result<Sse, SseError>>;

impl Http {
    /// Waits until the session's event stream is open. Some servers ask on it, and a question sent
    /// before that is lost, leaving the call hanging.
    async fn stream_opened(&self) {
        let mut has_stream = self.has_stream.subscribe();
        // Continue without a stream that is slow to open: it may never be used.
        let _ = tokio::time::timeout(STREAM_WAIT, has_stream.wait_for(|has| *has)).await;
    }

    /// The events of a response, rewritten by [`Raw`].
    fn events(&self, response: Response) -> Events {
        let raw = self.raw.clone();
        let limited = limited(response.bytes_stream().map_err(io::Error::other));
        let events = SseStream::from_bytes_stream(limited).map_ok(move |mut event| {
            if let Some(data) = &event.data
                && let Ok(message) = raw.read(data.as_bytes())
            {
                event.data = Some(message.to_string());
            }
            event
        });
        events.boxed()
    }

    async fn read_message(
        &self,
        response: Response,
    ) -> Result<ServerJsonRpcMessage, TransportError> {
        let body = body_of(response).await?;
        let Ok(message) = self.raw.read(&body) else {
            return Err(unexpected(StatusCode::OK, &body));
        };
        Ok(serde_json::from_value(message)?)
    }
}

impl StreamableHttpClient for Http {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, TransportError> {
        self.raw.note_sent(&message);
        let has_session = session_id.is_some();
        let wants_reply = matches!(message, JsonRpcMessage::Request(_));
        if has_session && wants_reply {
            self.stream_opened().await;
        }
        let request = self.client.post(&*uri);
        let response = with_headers(request, session_id, auth_header, custom_headers)
            .header(CONTENT_TYPE, JSON_MIME_TYPE)
            .body(serde_json::to_vec(&message)?)
            .send()
            .await
            .map_err(TransportError::Client)?;
        let status = response.status();
        let session = header(&response, HEADER_SESSION_ID);
        check_authorization(&response)?;
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && has_session {
            return Err(TransportError::SessionExpired);
        }
        let kind = header(&response, CONTENT_TYPE.as_str()).unwrap_or_default();
        if !status.is_success() {
            return error_status(&message, has_session, response).await;
        }
        if kind.starts_with(EVENT_STREAM_MIME_TYPE) {
            let events = self.events(response);
            return Ok(StreamableHttpPostResponse::Sse(events, session));
        }
        match self.read_message(response).await {
            Ok(reply) if kind.starts_with(JSON_MIME_TYPE) => {
                Ok(StreamableHttpPostResponse::Json(reply, session))
            }
            // Some servers send a body with their acknowledgement.
            _ if !wants_reply => Ok(StreamableHttpPostResponse::Accepted),
            Ok(_) => Err(TransportError::UnexpectedContentType(Some(kind))),
            Err(error) => Err(error),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), TransportError> {
        let request = self.client.delete(&*uri);
        let request = with_headers(request, Some(session_id), auth_header, custom_headers);
        let response = request.send().await.map_err(TransportError::Client)?;
        if response.status() == StatusCode::METHOD_NOT_ALLOWED {
            return Ok(());
        }
        response
            .error_for_status()
            .map_err(TransportError::Client)?;
        Ok(())
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Events, TransportError> {
        let request = self.client.get(&*uri);
        let mut request = with_headers(request, session_id, auth_header, custom_headers);
        if let Some(last) = last_event_id {
            request = request.header(HEADER_LAST_EVENT_ID, last);
        }
        let response = request.send().await;
        self.has_stream.send_replace(true);
        let response = response.map_err(TransportError::Client)?;
        check_authorization(&response)?;
        if response.status() == StatusCode::METHOD_NOT_ALLOWED {
            return Err(TransportError::ServerDoesNotSupportSse);
        }
        if let Some(error) = busy(&response) {
            return Err(error.into());
        }
        let response = response
            .error_for_status()
            .map_err(TransportError::Client)?;
        let kind = header(&response, CONTENT_TYPE.as_str());
        if kind
            .as_deref()
            .is_some_and(|kind| kind.starts_with(EVENT_STREAM_MIME_TYPE))
        {
            return Ok(self.events(response));
        }
        Err(TransportError::UnexpectedContentType(kind))
    }
}

fn with_headers(
    request: RequestBuilder,
    session: Option<Arc<str>>,
    token: Option<String>,
    headers: HashMap<HeaderName, HeaderValue>,
) -> RequestBuilder {
    let accepted = format!("{EVENT_STREAM_MIME_TYPE}, {JSON_MIME_TYPE}");
    let mut request = request.headers(headers.into_iter().collect());
    request = request.header(ACCEPT, accepted);
    if let Some(session) = session {
        request = request.header(HEADER_SESSION_ID, &*session);
    }
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    request
}

fn header(response: &Response, name: &str) -> Option<String> {
    let value = response.headers().get(name)?;
    value.to_str().ok().map(str::to_owned)
}

/// Maps 401 and 403 responses with a challenge to rmcp's errors.
fn check_authorization(response: &Response) -> Result<(), TransportError> {
    let Some(challenge) = header(response, WWW_AUTHENTICATE.as_str()) else {
        return Ok(());
    };
    match response.status() {
        StatusCode::UNAUTHORIZED => Err(TransportError::AuthRequired(AuthRequiredError::new(
            challenge,
        ))),
        StatusCode::FORBIDDEN => {
            let error = InsufficientScopeError::new(challenge, None);
            Err(TransportError::InsufficientScope(error))
        }
        _ => Ok(()),
    }
}

fn busy(response: &Response) -> Option<HttpStatusError> {
    let status = response.status();
    let is_busy = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
    let after = || header(response, RETRY_AFTER.as_str());
    is_busy.then(|| HttpStatusError::new(status.as_u16(), after()))
}

/// Handles an error status, whose body may still be a JSON-RPC response.
async fn error_status(
    message: &ClientJsonRpcMessage,
    has_session: bool,
    response: Response,
) -> Result<StreamableHttpPostResponse, TransportError> {
    let (status, busy) = (response.status(), busy(&response));
    let body = body_of(response).await?;
    let reported = match serde_json::from_slice(&body) {
        Ok(ServerJsonRpcMessage::Error(error)) => Some(error),
        _ => None,
    };
    let is_authorization = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    if !is_authorization
        && !has_session
        && status.is_client_error()
        && let JsonRpcMessage::Request(request) = message
        && matches!(request.request, ClientRequest::DiscoverRequest(_))
    {
        // Older servers reject the unknown `discover` request in various ways. Passed on as a
        // response, the error makes rmcp fall back to the older handshake.
        let error = match reported {
            Some(error) => error.error,
            None => ErrorData::invalid_request(format!("HTTP {status}"), None),
        };
        let message = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
        return Ok(StreamableHttpPostResponse::Json(message, None));
    }
    match (reported, busy) {
        (Some(error), _) if !is_authorization => {
            let message = ServerJsonRpcMessage::Error(error);
            Ok(StreamableHttpPostResponse::Json(message, None))
        }
        (_, Some(busy)) => Err(busy.into()),
        _ => Err(unexpected(status, &body)),
    }
}

fn unexpected(status: StatusCode, body: &[u8]) -> TransportError {
    let excerpt = String::from_utf8_lossy(&body[..body.len().min(EXCERPT)]);
    TransportError::UnexpectedServerResponse(format!("HTTP {status}: {excerpt}").into())
}

async fn body_of(response: Response) -> Result<Vec<u8>, TransportError> {
    let mut stream = response.bytes_stream();
    let mut body = Vec::new();
    while let Some(chunk) = stream.next().await {
        body.extend_from_slice(&chunk.map_err(TransportError::Client)?);
        if body.len() > MAX_MESSAGE {
            return Err(too_long().into());
        }
    }
    Ok(body)
}

/// Fails if an event gets too long.
fn limited(
    stream: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    let mut event = EventLength::default();
    stream.map(move |chunk| {
        let chunk = chunk?;
        event.read(&chunk);
        if event.length > MAX_MESSAGE {
            return Err(too_long());
        }
        Ok(chunk)
    })
}

/// Measures the current event, which ends with an empty line.
#[derive(Default)]
struct EventLength {
    length: usize,
    line: usize,
    last: u8,
}

impl EventLength {
    fn read(&mut self, chunk: &[u8]) {
        for byte in chunk {
            self.length += 1;
            match (self.last, byte) {
                // The second byte of a line ending.
                (b'\r', b'\n') => {}
                (_, b'\r' | b'\n') => {
                    if self.line == 0 {
                        self.length = 0;
                    }
                    self.line = 0;
                }
                _ => self.line += 1,
            }
            self.last = *byte;
        }
    }
}

fn too_long() -> io::Error {
    io::Error::other(format!("a message is longer than {MAX_MESSAGE} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_ends_with_an_empty_line_however_lines_end() {
        for end in ["\n", "\r\n", "\r"] {
            let text = format!("data: a{end}data: b{end}{end}data: c{end}");
            let left = format!("data: c{end}").len();
            for cut in 0..text.len() {
                let mut event = EventLength::default();
                event.read(&text.as_bytes()[..cut]);
                event.read(&text.as_bytes()[cut..]);
                let slack = end.len() - 1;
                assert!(
                    (left..=left + slack).contains(&event.length),
                    "{end:?} {cut}"
                );
            }
        }
    }

    #[tokio::test]
    async fn an_event_of_any_number_of_lines_is_cut_off() {
        let line = Bytes::from(format!("data: {}\n", "x".repeat(1 << 20)));
        let endless = futures_util::stream::repeat_with(move || Ok(line.clone()));
        let mut taken = 0;
        let mut events = std::pin::pin!(limited(endless));
        while let Some(Ok(chunk)) = events.next().await {
            taken += chunk.len();
            assert!(taken <= 2 * MAX_MESSAGE, "it is never cut off");
        }
        assert!(taken > MAX_MESSAGE / 2);
    }
}
