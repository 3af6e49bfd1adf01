//! A Streamable HTTP client transport that preserves messages.
//!
//! rmcp's own backend parses messages into its types directly. This one speaks the same protocol
//! over the same HTTP client, with [`Raw`] in between.

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use entreat_core::url_guard::{Policy, check_url};
use entreat_wire::MAX_MESSAGE;
use entreat_wire::http::{Client, ClientError, EventStream, ExchangeError, Request, Response};
use entreat_wire::oauth::{SecretText, SendError, SignInError, TokenSource, send_with_token};
use futures_util::{StreamExt as _, TryStreamExt as _};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, ServerJsonRpcMessage,
};
use rmcp::service::ClientInitializeError;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::http_header::{
    EVENT_STREAM_MIME_TYPE, HEADER_LAST_EVENT_ID, HEADER_SESSION_ID, JSON_MIME_TYPE,
};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, StreamableHttpClient,
    StreamableHttpClientTransportConfig, StreamableHttpError, StreamableHttpPostResponse,
};
use tokio::sync::watch;

use super::raw::Raw;

/// How many bytes of an unexpected body are quoted in the error.
const EXCERPT: usize = 256;
/// How long a request waits for the session's event stream, on which the server may ask. Servers
/// respond immediately, even if they have no stream.
const STREAM_WAIT: Duration = Duration::from_secs(2);

/// Connects to a server by URL, sending `headers` with every request.
pub fn http(
    url: &str,
    headers: HeaderMap,
) -> Result<StreamableHttpClientTransport<Http>, ClientError> {
    transport(url, headers, None)
}

/// Connects to a server by URL, with tokens where the server wants them.
pub fn http_with_tokens(
    url: &str,
    headers: HeaderMap,
    tokens: Arc<dyn TokenSource>,
) -> Result<StreamableHttpClientTransport<Http>, ClientError> {
    transport(url, headers, Some(tokens))
}

fn transport(
    url: &str,
    headers: HeaderMap,
    tokens: Option<Arc<dyn TokenSource>>,
) -> Result<StreamableHttpClientTransport<Http>, ClientError> {
    let mut client = Client::builder(url)
        .reusing_connections()
        .same_origin_redirects();
    // A proxy must not be used for this machine or the local network.
    if check_url(url, &Policy::web()).is_ok() {
        client = client.environment_proxies();
    }
    let client = Http {
        client: client.build()?,
        raw: Raw::default(),
        has_stream: Arc::default(),
        tokens,
    };
    let mut config = StreamableHttpClientTransportConfig::with_uri(url);
    config.custom_headers = headers
        .into_iter()
        .filter_map(|(name, value)| Some((name?, value)))
        .collect();
    config.max_sse_event_size = MAX_MESSAGE;
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

/// The HTTP client of a transport; see [`http()`].
#[derive(Clone)]
pub struct Http {
    client: Client,
    raw: Raw,
    /// Whether the session's event stream was opened, or cannot be.
    has_stream: Arc<watch::Sender<bool>>,
    tokens: Option<Arc<dyn TokenSource>>,
}

/// Why a request got no response.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// It could not be sent, or the response could not be read.
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    /// There is no token for it.
    #[error(transparent)]
    SignIn(#[from] SignInError),
}

impl From<SendError<ExchangeError>> for HttpError {
    fn from(error: SendError<ExchangeError>) -> Self {
        match error {
            SendError::SignIn(error) => Self::SignIn(error),
            SendError::Exchange(error) => Self::Exchange(error),
        }
    }
}

impl std::fmt::Debug for Http {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Http").finish_non_exhaustive()
    }
}

type TransportError = StreamableHttpError<HttpError>;

impl Http {
    /// Sends a request with these headers, and with a token if there is one.
    async fn send(
        &self,
        request: impl Fn() -> Request,
        headers: HeaderMap,
    ) -> Result<Response, TransportError> {
        let send = |token: Option<SecretText>| {
            let mut request = request().headers(headers.clone());
            if let Some(token) = &token {
                request = request.bearer(token.expose());
            }
            request.send()
        };
        // A header that somebody chose goes before what we could get.
        match &self.tokens {
            Some(tokens) if !headers.contains_key(AUTHORIZATION) => {
                let outcome = send_with_token(&**tokens, send).await;
                outcome.map_err(|error| TransportError::Client(error.into()))
            }
            _ => send(None).await.map_err(failed),
        }
    }

    /// Waits until the session's event stream is open. Some servers ask on it, and a question sent
    /// before that is lost, leaving the call hanging.
    async fn stream_opened(&self) {
        let mut has_stream = self.has_stream.subscribe();
        // Continue without a stream that is slow to open: it may never be used.
        let _ = tokio::time::timeout(STREAM_WAIT, has_stream.wait_for(|has| *has)).await;
    }

    /// The events of a response, rewritten by [`Raw`].
    fn events(&self, response: Response) -> EventStream {
        let raw = self.raw.clone();
        let events = response.events().map_ok(move |mut event| {
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
        let body = response.body(MAX_MESSAGE).await.map_err(failed)?;
        let Ok(message) = self.raw.read(&body) else {
            return Err(unexpected(StatusCode::OK, &body));
        };
        Ok(serde_json::from_value(message)?)
    }
}

impl StreamableHttpClient for Http {
    type Error = HttpError;

    async fn post_message(
        &self,
        _: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, TransportError> {
        self.raw.note_sent(&message);
        let has_session = session_id.is_some();
        let wants_reply = matches!(message, JsonRpcMessage::Request(_));
        if has_session && wants_reply {
            self.stream_opened().await;
        }
        let body = Bytes::from(serde_json::to_vec(&message)?);
        let mut headers = headers_of(session_id, custom_headers);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON_MIME_TYPE));
        let request = || self.client.request(Method::POST).body(body.clone());
        let response = self.send(request, headers).await?;
        let status = response.status();
        let session = response.header(HEADER_SESSION_ID).map(str::to_owned);
        check_authorization(&response)?;
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && has_session {
            return Err(TransportError::SessionExpired);
        }
        let kind = response.header(CONTENT_TYPE.as_str()).unwrap_or_default();
        let kind = kind.to_owned();
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
        _: Arc<str>,
        session_id: Arc<str>,
        _: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), TransportError> {
        let headers = headers_of(Some(session_id), custom_headers);
        let mut request = self.client.request(Method::DELETE);
        // Nobody signs in to say goodbye.
        if let Some(tokens) = &self.tokens
            && !headers.contains_key(AUTHORIZATION)
            && let Ok(Some(token)) = tokens.token().await
        {
            request = request.bearer(token.expose());
        }
        let response = request.headers(headers).send().await.map_err(failed)?;
        if response.status() == StatusCode::METHOD_NOT_ALLOWED {
            return Ok(());
        }
        check_status(&response)
    }

    async fn get_stream(
        &self,
        _: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<EventStream, TransportError> {
        let mut headers = headers_of(session_id, custom_headers);
        if let Some(last) = last_event_id {
            insert(&mut headers, HEADER_LAST_EVENT_ID, &last);
        }
        let request = || self.client.request(Method::GET);
        let response = self.send(request, headers).await;
        self.has_stream.send_replace(true);
        let response = response?;
        check_authorization(&response)?;
        if response.status() == StatusCode::METHOD_NOT_ALLOWED {
            return Err(TransportError::ServerDoesNotSupportSse);
        }
        if let Some(error) = busy(&response) {
            return Err(error.into());
        }
        check_status(&response)?;
        let kind = response.header(CONTENT_TYPE.as_str());
        if kind.is_some_and(|kind| kind.starts_with(EVENT_STREAM_MIME_TYPE)) {
            return Ok(self.events(response));
        }
        let kind = kind.map(str::to_owned);
        Err(TransportError::UnexpectedContentType(kind))
    }
}

fn headers_of(session: Option<Arc<str>>, custom: HashMap<HeaderName, HeaderValue>) -> HeaderMap {
    let mut headers: HeaderMap = custom.into_iter().collect();
    let accepted = format!("{EVENT_STREAM_MIME_TYPE}, {JSON_MIME_TYPE}");
    insert(&mut headers, ACCEPT.as_str(), &accepted);
    if let Some(session) = session {
        insert(&mut headers, HEADER_SESSION_ID, &session);
    }
    headers
}

/// Adds a header, unless a server chose what no header can carry.
fn insert(headers: &mut HeaderMap, name: &str, value: &str) {
    if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
        headers.insert(name, value);
    }
}

fn failed(error: ExchangeError) -> TransportError {
    TransportError::Client(error.into())
}

/// Maps 401 and 403 responses with a challenge to rmcp's errors.
fn check_authorization(response: &Response) -> Result<(), TransportError> {
    let Some(challenge) = response.header(WWW_AUTHENTICATE.as_str()) else {
        return Ok(());
    };
    match response.status() {
        StatusCode::UNAUTHORIZED => Err(TransportError::AuthRequired(AuthRequiredError::new(
            challenge.to_owned(),
        ))),
        StatusCode::FORBIDDEN => {
            let error = InsufficientScopeError::new(challenge.to_owned(), None);
            Err(TransportError::InsufficientScope(error))
        }
        _ => Ok(()),
    }
}

fn busy(response: &Response) -> Option<HttpStatusError> {
    let status = response.status();
    let is_busy = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
    let after = || response.header(RETRY_AFTER.as_str()).map(str::to_owned);
    is_busy.then(|| HttpStatusError::new(status.as_u16(), after()))
}

/// Handles an error status, whose body may still be a JSON-RPC response.
async fn error_status(
    message: &ClientJsonRpcMessage,
    has_session: bool,
    response: Response,
) -> Result<StreamableHttpPostResponse, TransportError> {
    let (status, busy) = (response.status(), busy(&response));
    let body = response.body(MAX_MESSAGE).await.map_err(failed)?;
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

fn check_status(response: &Response) -> Result<(), TransportError> {
    let status = response.status();
    if status.is_client_error() || status.is_server_error() {
        return Err(unexpected(status, b""));
    }
    Ok(())
}

fn unexpected(status: StatusCode, body: &[u8]) -> TransportError {
    let excerpt = String::from_utf8_lossy(&body[..body.len().min(EXCERPT)]);
    TransportError::UnexpectedServerResponse(format!("HTTP {status}: {excerpt}").into())
}

/// Why there is no connection to a server, in words for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectionFailure {
    /// Nothing responds at the address.
    Connect(String),
    /// The response is not what an MCP server sends, or the connection broke.
    Broken(String),
    /// There is no token for it.
    SignIn(SignInError),
}

/// Returns why connecting over [`http()`] failed; `None` for errors of the protocol and of other
/// transports.
pub fn connection_failure(error: &ClientInitializeError) -> Option<ConnectionFailure> {
    let error = match error {
        ClientInitializeError::TransportError { error, .. } => error,
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
            return connection_failure(fallback);
        }
        _ => return None,
    };
    // The layers in between name types of the library.
    let mut cause: &(dyn Error + 'static) = &*error.error;
    loop {
        match cause.downcast_ref::<TransportError>() {
            Some(TransportError::Client(HttpError::Exchange(ExchangeError::Connect(why)))) => {
                return Some(ConnectionFailure::Connect(why.clone()));
            }
            Some(TransportError::Client(HttpError::SignIn(error))) => {
                return Some(ConnectionFailure::SignIn(error.clone()));
            }
            Some(TransportError::Client(error)) => {
                return Some(ConnectionFailure::Broken(error.to_string()));
            }
            Some(error) => return Some(ConnectionFailure::Broken(error.to_string())),
            None => cause = cause.source()?,
        }
    }
}
