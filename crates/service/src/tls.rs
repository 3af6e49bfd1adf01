//! TLS with a certificate and key from files.
//!
//! The files are read once, at startup. Errors name the file.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// The TLS configuration of a server. Cheap to clone.
#[derive(Clone)]
pub struct Tls(Arc<ServerConfig>);

/// Why TLS cannot be set up with these files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The file cannot be read.
    #[error("cannot read {}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// The file contains no PEM certificate.
    #[error("{} contains no certificate: it should be PEM, with BEGIN CERTIFICATE", file.display())]
    NoCertificate {
        /// The file.
        file: PathBuf,
    },
    /// The file contains no PEM private key.
    #[error("{} contains no private key: it should be PEM, with BEGIN PRIVATE KEY", file.display())]
    NoKey {
        /// The file.
        file: PathBuf,
    },
    /// The key does not match the certificate, or its type is not supported.
    #[error("the key in {} does not match the certificate in {}", key.display(), certificate.display())]
    Mismatch {
        /// The certificate file.
        certificate: PathBuf,
        /// The key file.
        key: PathBuf,
        /// The error of rustls.
        source: rustls::Error,
    },
}

impl Tls {
    /// Reads a certificate chain, leaf first, and its private key, both in PEM.
    pub fn from_files(
        certificate: impl AsRef<Path>,
        key: impl AsRef<Path>,
    ) -> Result<Self, TlsError> {
        let (certificate, key) = (certificate.as_ref(), key.as_ref());
        let chain = read_chain(certificate)?;
        let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| match error {
            pem::Error::Io(source) => unreadable(key, source),
            _ => TlsError::NoKey { file: key.into() },
        })?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|config| config.with_no_client_auth().with_single_cert(chain, secret));
        let mut config = config.map_err(|source| TlsError::Mismatch {
            certificate: certificate.into(),
            key: key.into(),
            source,
        })?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(Arc::new(config)))
    }

    /// Performs the handshake.
    pub(crate) async fn accept<S>(&self, stream: S) -> io::Result<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        TlsAcceptor::from(self.0.clone()).accept(stream).await
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

fn read_chain(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let failed = |error| match error {
        pem::Error::Io(source) => unreadable(file, source),
        _ => TlsError::NoCertificate { file: file.into() },
    };
    let chain = CertificateDer::pem_file_iter(file).map_err(failed)?;
    let chain: Vec<_> = chain.collect::<Result<_, _>>().map_err(failed)?;
    if chain.is_empty() {
        return Err(TlsError::NoCertificate { file: file.into() });
    }
    Ok(chain)
}

fn unreadable(file: &Path, source: io::Error) -> TlsError {
    TlsError::Unreadable {
        file: file.into(),
        source,
    }
}
