//! A server that answers every request with bytes of the test's choice, and then stays silent.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use entreat_wire::http::Client;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::{Mutex, mpsc};
use tokio_rustls::TlsAcceptor;

type Answer = dyn Fn(&str) -> Cow<'static, str> + Send + Sync;

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    heads: Mutex<mpsc::UnboundedReceiver<String>>,
    ends: Mutex<mpsc::UnboundedReceiver<()>>,
}

impl Server {
    pub(crate) async fn start(answer: &'static str) -> Self {
        Self::start_with(move |_| answer.into()).await
    }

    pub(crate) async fn start_with(
        answer: impl Fn(&str) -> Cow<'static, str> + Send + Sync + 'static,
    ) -> Self {
        Self::listen(Arc::new(answer), None).await
    }

    pub(crate) async fn start_tls(
        answer: &'static str,
        certificate: CertificateDer<'static>,
        key: PrivateKeyDer<'static>,
    ) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        let tls = TlsAcceptor::from(Arc::new(tls));
        Self::listen(Arc::new(move |_: &str| answer.into()), Some(tls)).await
    }

    async fn listen(answer: Arc<Answer>, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (head_sender, heads) = mpsc::unbounded_channel();
        let (end_sender, ends) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (answer, tls) = (answer.clone(), tls.clone());
                let (heads, ends) = (head_sender.clone(), end_sender.clone());
                tokio::spawn(async move {
                    match tls {
                        None => serve(stream, &*answer, &heads).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, &*answer, &heads).await;
                            }
                        }
                    }
                    // The test may be over.
                    let _ = ends.send(());
                });
            }
        });
        Self {
            address,
            heads: heads.into(),
            ends: ends.into(),
        }
    }

    pub(crate) fn client(&self) -> Client {
        let url = format!("http://{}/", self.address);
        Client::builder(&url).build().unwrap()
    }

    /// The head of the next request.
    pub(crate) async fn head(&self) -> String {
        soon(self.heads.lock().await.recv()).await.unwrap()
    }

    /// Waits until a client hangs up.
    pub(crate) async fn disconnected(&self) {
        soon(self.ends.lock().await.recv()).await.unwrap();
    }
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    let timeout = tokio::time::timeout(Duration::from_secs(10), future);
    timeout.await.expect("it takes too long")
}

async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    answer: &Answer,
    heads: &mpsc::UnboundedSender<String>,
) {
    let mut received = Vec::new();
    while let Ok(1..) = stream.read_buf(&mut received).await {
        if received.ends_with(b"\r\n\r\n") {
            let head = String::from_utf8(std::mem::take(&mut received)).unwrap();
            if stream.write_all(answer(&head).as_bytes()).await.is_err() {
                return;
            }
            let _ = heads.send(head);
        }
    }
}

/// A certificate of a host, and its key.
pub(crate) fn identity(host: &str) -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
    let identity = rcgen::generate_simple_self_signed([host.to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(identity.signing_key.serialize_der());
    (identity.cert.der().clone(), key.into())
}

/// A configuration that trusts one certificate.
pub(crate) fn client_tls(certificate: CertificateDer<'static>) -> rustls::ClientConfig {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth()
}
