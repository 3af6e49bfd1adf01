//! The service over TLS.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use entreat_service::http::{Http, HttpSettings};
use entreat_service::{Askers, Tls, TlsError};
use http_body_util::Full;
use hyper_util::rt::TokioIo;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::wire::{Answer, Server, soon};
use crate::world::World;

/// Writes a certificate for `localhost` and its key into a folder.
fn certificate(folder: &Path) -> CertificateDer<'static> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(folder.join("cert.pem"), made.cert.pem()).unwrap();
    std::fs::write(folder.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
    made.cert.der().clone()
}

async fn serve(world: &World, tls: Tls) -> Server {
    let settings = HttpSettings {
        head_timeout: Duration::from_millis(300),
        ..HttpSettings::default()
    };
    let askers = Askers::none().with_local(world.session.asker().clone());
    let http = Http::with_settings(world.rpc.clone(), askers, settings).with_tls(tls);
    Server::of(http).await
}

fn client(trusted: CertificateDer<'static>) -> tokio_rustls::TlsConnector {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(trusted).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config).into()
}

async fn ask(
    server: &Server,
    client: &tokio_rustls::TlsConnector,
    request: axum::http::Request<Full<Bytes>>,
) -> Answer {
    let stream = TcpStream::connect(server.address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let stream = soon(client.connect(name, stream)).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    Answer::of(soon(sender.send_request(request)).await.unwrap()).await
}

#[tokio::test]
async fn calls_are_answered_over_tls_and_a_handshake_that_fails_harms_nobody() {
    let world = World::new().await;
    let folder = tempfile::tempdir().unwrap();
    let trusted = certificate(folder.path());
    let tls = Tls::from_files(
        folder.path().join("cert.pem"),
        folder.path().join("key.pem"),
    );
    let server = serve(&world, tls.unwrap()).await;
    let client = client(trusted);

    let mut silent = TcpStream::connect(server.address).await.unwrap();
    let mut plain = TcpStream::connect(server.address).await.unwrap();
    plain
        .write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .await
        .unwrap();
    let mut said = Vec::new();
    // Disconnected, or with a TLS alert: no HTTP either way.
    let _ = soon(plain.read_to_end(&mut said)).await;
    assert!(!said.starts_with(b"HTTP"));

    let healthy = ask(&server, &client, server.get("/healthz")).await;
    assert_eq!(
        (healthy.status.as_u16(), &*healthy.body),
        (200, &b"ok\n"[..])
    );
    let list = server.post(r#"{"jsonrpc":"2.0","id":7,"method":"forms/list"}"#);
    let listed = ask(&server, &client, list).await.json();
    assert_eq!(listed["id"], 7);
    // A client that never starts the handshake is disconnected.
    let _ = soon(silent.read_to_end(&mut said)).await;
    server.stop().await;
}

#[test]
fn files_that_do_not_do_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    certificate(folder.path());
    let load = |certificate: &str, key: &str| Tls::from_files(path(certificate), path(key)).err();
    assert!(load("cert.pem", "key.pem").is_none());
    let is = |file: &std::path::PathBuf, name: &str| *file == path(name);
    assert!(
        matches!(load("no.pem", "key.pem"), Some(TlsError::Unreadable { file, .. }) if is(&file, "no.pem"))
    );
    assert!(
        matches!(load("cert.pem", "no.pem"), Some(TlsError::Unreadable { file, .. }) if is(&file, "no.pem"))
    );
    std::fs::write(path("empty.pem"), "").unwrap();
    for other in ["empty.pem", "key.pem"] {
        assert!(
            matches!(load(other, "key.pem"), Some(TlsError::NoCertificate { file }) if is(&file, other))
        );
    }
    for other in ["empty.pem", "cert.pem"] {
        assert!(
            matches!(load("cert.pem", other), Some(TlsError::NoKey { file }) if is(&file, other))
        );
    }
    std::fs::copy(path("key.pem"), path("old.pem")).unwrap();
    certificate(folder.path());
    assert!(matches!(
        load("cert.pem", "old.pem"),
        Some(TlsError::Mismatch { .. })
    ));
}
