//! Posts batches to the collector, one connection per batch.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::header::{HOST, HeaderValue};
use hyper::{Request, Response, Uri};
use hyper_util::rt::TokioIo;
use opentelemetry_http::{HttpClient, HttpError};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio_rustls::TlsConnector;

/// The timeout of one batch, from connecting to the end of the response.
const TIMEOUT: Duration = Duration::from_secs(10);
/// A collector's response is short.
const MAX_RESPONSE_BYTES: usize = 64 << 10;

/// The HTTP client of the exporter, whose thread has no runtime.
#[derive(Debug)]
pub(super) struct OtlpClient {
    runtime: Handle,
    tls: Arc<ClientConfig>,
}

impl OtlpClient {
    /// Creates a client on the current runtime, with the system's root certificates.
    pub(super) fn new() -> anyhow::Result<Self> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(BuilderVerifierExt::with_platform_verifier)
            .context("the system's certificates cannot be read")?
            .with_no_client_auth();
        Ok(Self {
            runtime: Handle::current(),
            tls: Arc::new(tls),
        })
    }
}

impl HttpClient for OtlpClient {
    fn send_bytes<'client, 'request>(
        &'client self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'request>>
    where
        'client: 'request,
    {
        let tls = self.tls.clone();
        // Inside the task, since the timer needs the runtime too.
        let sending = async { tokio::time::timeout(TIMEOUT, send_request(tls, request)).await };
        let sending = self.runtime.spawn(sending);
        Box::pin(async move { sending.await?? })
    }
}

async fn send_request(
    tls: Arc<ClientConfig>,
    mut request: Request<Bytes>,
) -> Result<Response<Bytes>, HttpError> {
    let uri = request.uri().clone();
    let is_encrypted = uri.scheme_str() == Some("https");
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let port = uri
        .port_u16()
        .unwrap_or(if is_encrypted { 443 } else { 80 });
    if let Some(authority) = uri.authority() {
        let authority = HeaderValue::from_str(authority.as_str())?;
        request.headers_mut().insert(HOST, authority);
    }
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    *request.uri_mut() = Uri::try_from(path)?;
    let request = request.map(Full::new);
    let stream = TcpStream::connect((host, port)).await?;
    if is_encrypted {
        let name = ServerName::try_from(host.to_owned())?;
        return exchange(
            TlsConnector::from(tls).connect(name, stream).await?,
            request,
        )
        .await;
    }
    exchange(stream, request).await
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> Result<Response<Bytes>, HttpError> {
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let response = async move {
        let (head, body) = sender.send_request(request).await?.into_parts();
        let body = Limited::new(body, MAX_RESPONSE_BYTES).collect().await?;
        Ok(Response::from_parts(head, body.to_bytes()))
    };
    // Drives both until the response is complete; neither outlives it.
    let (mut response, mut connection) = (std::pin::pin!(response), std::pin::pin!(connection));
    tokio::select! {
            answer = &mut response => answer,
            ended = &mut connection => {
                ended?;
    response.await
            }
        }
}
