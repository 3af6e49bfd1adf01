//! A batch posted to the collector, on a connection of its own.

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

/// How long a collector may take, from the connection to the end of its answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// What a collector answers is a few words.
const LONGEST_ANSWER: usize = 64 << 10;

/// Posts for the exporter, whose thread has no runtime.
#[derive(Debug)]
pub(super) struct Poster {
    runtime: Handle,
    tls: Arc<ClientConfig>,
}

impl Poster {
    /// Posts on the runtime that this is called from, and trusts what the system trusts.
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

impl HttpClient for Poster {
    fn send_bytes<'poster, 'sent>(
        &'poster self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'sent>>
    where
        'poster: 'sent,
    {
        let tls = self.tls.clone();
        // The clock, too, is the runtime's.
        let posting = async { tokio::time::timeout(PATIENCE, post(tls, request)).await };
        let posting = self.runtime.spawn(posting);
        Box::pin(async move { posting.await?? })
    }
}

async fn post(
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
        return send(
            TlsConnector::from(tls).connect(name, stream).await?,
            request,
        )
        .await;
    }
    send(stream, request).await
}

async fn send(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> Result<Response<Bytes>, HttpError> {
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let exchange = async move {
        let (head, body) = sender.send_request(request).await?.into_parts();
        let body = Limited::new(body, LONGEST_ANSWER).collect().await?;
        Ok(Response::from_parts(head, body.to_bytes()))
    };
    // Both go on until the answer is whole, and neither outlives it.
    let (mut exchange, mut connection) = (std::pin::pin!(exchange), std::pin::pin!(connection));
    tokio::select! {
        answer = &mut exchange => answer,
        ended = &mut connection => {
            ended?;
            exchange.await
        }
    }
}
