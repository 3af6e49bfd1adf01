//! Callbacks over real sockets, checked by an independent Standard Webhooks library.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use entreat_core::UnixTime;
use entreat_core::url_guard::Policy;
use entreat_engine::{Ask, Engine, EngineSettings, Limits, MemoryStore};
use entreat_service::{CallbackError, Callbacks, SigningSecret};
use entreat_testkit::{CapturedLog, ScriptedResolver, SeededEntropy, VirtualClock};
use rustls::pki_types::PrivatePkcs8KeyDer;
use serde_json::{Value, json};
use standardwebhooks::Webhook;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::wire::soon;

const OLD: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const NEW: &str = "whsec_////////////////////////////////////////////";

/// A request as it arrived.
type Arrived = (HeaderMap, Bytes);

/// A receiver of callbacks that responds with these statuses, and then with 204.
struct Receiver {
    port: u16,
    arrived: mpsc::UnboundedReceiver<Arrived>,
}

type Door = Arc<(mpsc::UnboundedSender<Arrived>, std::sync::Mutex<Vec<u16>>)>;

async fn take(
    State(door): State<Door>,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, HeaderMap) {
    let status = door.1.lock().unwrap().pop().unwrap_or(204);
    door.0.send((headers, body)).unwrap();
    let mut answer = HeaderMap::new();
    if status == 302 {
        answer.insert("location", "/elsewhere".parse().unwrap());
    }
    (StatusCode::from_u16(status).unwrap(), answer)
}

fn door(statuses: &[u16]) -> (axum::Router, mpsc::UnboundedReceiver<Arrived>) {
    let (sender, arrived) = mpsc::unbounded_channel();
    let statuses = statuses.iter().rev().copied().collect();
    let state = Arc::new((sender, std::sync::Mutex::new(statuses)));
    let router = axum::Router::new().fallback(take).with_state(state);
    (router, arrived)
}

impl Receiver {
    async fn open(statuses: &[u16]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (router, arrived) = door(statuses);
        let http = hyper_util::service::TowerToHyperService::new(router);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let io = hyper_util::rt::TokioIo::new(stream);
                let http = http.clone();
                tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(io, http));
            }
        });
        Self { port, arrived }
    }

    async fn next(&mut self) -> Arrived {
        soon(self.arrived.recv()).await.unwrap()
    }
}

async fn engine(callbacks: Callbacks, clock: &VirtualClock) -> Engine {
    let mut settings = EngineSettings::default();
    settings.asker.limits = Limits::none();
    settings.callbacks = Policy::web().block_localhost(false);
    let resolver = ScriptedResolver::new().answers("hooks.example.com", &["127.0.0.1"]);
    Engine::builder()
        .store(MemoryStore::new())
        .clock(clock.clone())
        .entropy(SeededEntropy::new(7))
        .resolver(resolver)
        .settings(settings)
        .callback_sender(callbacks)
        .start()
        .await
        .unwrap()
}

/// Today: the library checks timestamps against the machine's clock.
#[expect(clippy::disallowed_methods, reason = "as above")]
fn today() -> VirtualClock {
    let now = std::time::SystemTime::now();
    let since_1970 = now.duration_since(std::time::UNIX_EPOCH).unwrap();
    VirtualClock::new(UnixTime::default().after(since_1970))
}

fn callbacks() -> Callbacks {
    let secrets: Vec<SigningSecret> = vec![NEW.parse().unwrap(), OLD.parse().unwrap()];
    Callbacks::new(secrets).unwrap()
}

fn verify((headers, body): &Arrived, secret: &str) -> Result<(), standardwebhooks::WebhookError> {
    let webhook = Webhook::new(secret)?;
    webhook.verify(body, headers)
}

#[tokio::test]
async fn an_outcome_arrives_signed_by_both_secrets_and_without_its_secrets() {
    let clock = today();
    let engine = engine(callbacks(), &clock).await;
    let mut receiver = Receiver::open(&[]).await;
    let form = entreat_core::Form::from_value(&crate::world::deploy()).unwrap();
    let url = format!("http://127.0.0.1:{}/hook/here?a=b#c", receiver.port);
    let ask = Ask::form(form).callback(&url).metadata(json!({"job": 5}));
    let question = engine.asker("deployer").ask(ask).await.unwrap();
    let answers = json!({"target": "staging", "token": "hunter2"});
    question.submit(&answers).await.unwrap();

    let arrived = receiver.next().await;
    for secret in [OLD, NEW] {
        verify(&arrived, secret).unwrap();
    }
    let stranger = "whsec_AQECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    assert!(verify(&arrived, stranger).is_err());
    let (headers, body) = arrived;
    assert_eq!(headers["host"], format!("127.0.0.1:{}", receiver.port));
    assert_eq!(headers["webhook-id"], question.id().to_string());
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["type"], "elicitation.completed");
    assert_eq!(body["data"]["status"], "completed");
    assert_eq!(body["data"]["result"]["token"], "[sealed]");
    assert_eq!(body["data"]["metadata"], json!({"job": 5}));
    let at: jiff::Timestamp = body["timestamp"].as_str().unwrap().parse().unwrap();
    assert_eq!(
        at.as_millisecond(),
        body["data"]["settledAt"].as_i64().unwrap()
    );
}

#[tokio::test]
async fn what_is_refused_comes_again_as_the_same_message_and_redirects_are_not_followed() {
    let clock = today();
    let engine = engine(callbacks(), &clock).await;
    let mut receiver = Receiver::open(&[500, 302, 200]).await;
    let url = format!("http://hooks.example.com:{}/", receiver.port);
    let ask = Ask::inline("Name?").unwrap().callback(&url);
    let question = engine.asker("deployer").ask(ask).await.unwrap();
    question.decline().await.unwrap();
    let (first, first_body) = receiver.next().await;
    for _ in 0..2 {
        let again = async {
            loop {
                // Longer than any retry delay or lease.
                clock.advance(Duration::from_secs(40));
                engine.catch_up().await.unwrap();
                tokio::time::sleep(Duration::from_millis(5)).await;
                if let Ok(arrived) = receiver.arrived.try_recv() {
                    return arrived;
                }
            }
        };
        let (headers, body) = soon(again).await;
        assert_eq!(headers["webhook-id"], first["webhook-id"]);
        assert_eq!(headers["host"], first["host"]);
        assert_eq!(body, first_body);
        assert_ne!(headers["webhook-timestamp"], first["webhook-timestamp"]);
    }
    let body: Value = serde_json::from_slice(&first_body).unwrap();
    assert_eq!(body["type"], "elicitation.declined");
}

#[tokio::test]
async fn a_callback_over_tls_goes_to_whom_it_was_meant_for() {
    let clock = today();
    let identity = rcgen::generate_simple_self_signed(["hooks.example.com".to_owned()]).unwrap();
    let certificate = identity.cert.der().clone();
    let key = PrivatePkcs8KeyDer::from(identity.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let server = rustls::ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key.into())
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(server));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (router, mut arrived) = door(&[]);
    let http = hyper_util::service::TowerToHyperService::new(router);
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let Ok(stream) = acceptor.accept(stream).await else {
                continue;
            };
            let io = hyper_util::rt::TokioIo::new(stream);
            tokio::spawn(
                hyper::server::conn::http1::Builder::new().serve_connection(io, http.clone()),
            );
        }
    });
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).unwrap();
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let secrets: Vec<SigningSecret> = vec![NEW.parse().unwrap()];
    let engine = engine(Callbacks::with_tls(secrets, tls).unwrap(), &clock).await;
    let asker = engine.asker("deployer");
    // The certificate doesn't match, so nothing is sent.
    let stranger = Ask::inline("Name?").unwrap();
    let stranger = stranger.callback(&format!("https://127.0.0.1:{port}/"));
    asker.ask(stranger).await.unwrap().decline().await.unwrap();
    let ask = Ask::inline("Name?").unwrap();
    let ask = ask.callback(&format!("https://hooks.example.com:{port}/"));
    let question = asker.ask(ask).await.unwrap();
    question.decline().await.unwrap();
    let (headers, _) = soon(arrived.recv()).await.unwrap();
    assert_eq!(headers["webhook-id"], question.id().to_string());
    assert!(arrived.try_recv().is_err());
}

#[test]
fn secrets_are_long_enough_and_never_shown() {
    for bad in [
        "",
        "whsec_",
        "whsec_AAAA",
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
        "whsec_!",
    ] {
        assert!(bad.parse::<SigningSecret>().is_err(), "{bad}");
    }
    let callbacks = callbacks();
    assert!(!format!("{callbacks:?}").contains("//"));
    let none: Vec<SigningSecret> = Vec::new();
    assert!(matches!(Callbacks::new(none), Err(CallbackError::NoSecret)));
}

#[tokio::test]
async fn a_failed_callback_is_logged_by_its_host_and_reason() {
    let (log, _guard) = CapturedLog::of_this_thread(tracing::Level::INFO);
    let clock = today();
    let engine = engine(callbacks(), &clock).await;
    let mut receiver = Receiver::open(&[500]).await;
    let url = format!("http://127.0.0.1:{}/hook?token=hunter2", receiver.port);
    let ask = Ask::inline("Name?").unwrap().callback(&url);
    let question = engine.asker("deployer").ask(ask).await.unwrap();
    question.decline().await.unwrap();
    receiver.next().await;
    let logged = async {
        loop {
            let text = log.text();
            if let Some(line) = text.lines().find(|line| line.contains("a callback failed")) {
                return line.to_owned();
            }
            tokio::task::yield_now().await;
        }
    };
    let line = soon(logged).await;
    for part in [
        "WARN",
        "asker=\"deployer\"",
        "host=\"127.0.0.1\"",
        "reason=\"status 500\"",
        "count=1",
    ] {
        assert!(line.contains(part), "{part} in {line}");
    }
    assert!(!log.text().contains("hunter2"), "{}", log.text());
}
