//! An OpenID provider and OAuth authorization server on this machine, for tests.
//!
//! It signs people in without asking them anything, signs whatever claims a test wants, and
//! [lies](Lie) when it is told to. It counts what it is asked for.
//!
//! ```
//! use entreat_testkit::provider::{Forgery, Lie, Provider};
//! use serde_json::json;
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! let provider = Provider::start().await;
//! provider.sign_in_as("alice", json!({"name": "Alice", "email_verified": true}));
//!
//! // What an MCP client gets for a server, and what an attacker makes of it.
//! let claims = provider.access_claims("alice", "https://ask.example/mcp");
//! let token = provider.sign(&claims);
//! let forged = provider.forge(Forgery::SharedSecret, &claims);
//! assert_ne!(token, forged);
//!
//! provider.lie(Lie::HugeKeySet);
//! provider.be_honest();
//! # });
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Its endpoints, below [`Provider::url`]:
//!
//! | endpoint | what it does |
//! |---|---|
//! | `/.well-known/openid-configuration`, `/.well-known/oauth-authorization-server` | metadata |
//! | `/keys` | the key set |
//! | `/authorize` | redirects at once, with a code for the [current person](Provider::sign_in_as); to `prompt=none` without one, with the error `login_required` |
//! | `/token` | exchanges codes, once each and with PKCE (S256), and refresh tokens; takes any client id with the [secret](CLIENT_SECRET), by header or form, and any without one |
//! | `/register` | registers clients without a secret |
//! | `/introspect` | knows [opaque tokens](Provider::opaque_token); wants the client's id and [secret](CLIENT_SECRET) |
//! | `/logout` | ends the session and redirects to `post_logout_redirect_uri`, if there is one |

mod endpoints;
mod keys;
mod lie;
mod resource;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use entreat_core::UnixTime;
use entreat_engine::{Clock, SystemClock};
use parking_lot::Mutex;
use ring::hmac;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

pub use self::keys::SigningAlgorithm;
pub use self::lie::{ERROR_TEXT, Forgery, Lie};
pub use self::resource::TokenServer;

use self::keys::SigningKey;

/// The secret of every client.
pub const CLIENT_SECRET: &str = "the secret of a client & co.";

/// How long tokens are good for.
const LIFETIME: Duration = Duration::from_secs(300);

/// A provider that runs until it is dropped.
pub struct Provider {
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

/// How often something was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// Requests for metadata.
    pub metadata: usize,
    /// Requests for the key set.
    pub keys: usize,
    /// Clients that were registered.
    pub registrations: usize,
    /// Sign-ins that were begun.
    pub authorizations: usize,
    /// Codes and refresh tokens that were exchanged, or should have been.
    pub tokens: usize,
    /// Questions about opaque tokens.
    pub introspections: usize,
    /// Sign-outs.
    pub logouts: usize,
}

struct Shared {
    address: SocketAddr,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

struct State {
    algorithm: SigningAlgorithm,
    key: SigningKey,
    made_keys: usize,
    lie: Option<Lie>,
    person: Option<Session>,
    sessions: usize,
    codes: HashMap<String, Authorization>,
    made_codes: usize,
    opaque: HashMap<String, Value>,
    requests: Requests,
}

/// A person who is signed in.
#[derive(Clone)]
struct Session {
    id: String,
    subject: String,
    claims: Map<String, Value>,
    since: UnixTime,
}

/// What a code or a refresh token stands for.
#[derive(Clone)]
struct Authorization {
    client_id: String,
    redirect_uri: String,
    challenge: Option<String>,
    nonce: Option<String>,
    acr: Option<String>,
    resource: Option<String>,
    scope: Option<String>,
    session: Session,
}

impl Provider {
    /// Starts a provider that signs by ES256 and reads the system's clock.
    pub async fn start() -> Self {
        Self::start_with(
            SigningAlgorithm::default(),
            Arc::new(SystemClock::default()),
        )
        .await
    }

    /// Starts a provider with another algorithm or clock.
    ///
    /// # Panics
    ///
    /// If it cannot listen on this machine.
    pub async fn start_with(algorithm: SigningAlgorithm, clock: Arc<dyn Clock>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("a port is free");
        let shared = Arc::new(Shared {
            address: listener.local_addr().expect("it listens"),
            clock,
            state: Mutex::new(State {
                algorithm,
                key: SigningKey::new(algorithm, 0),
                made_keys: 1,
                lie: None,
                person: None,
                sessions: 0,
                codes: HashMap::new(),
                made_codes: 0,
                opaque: HashMap::new(),
                requests: Requests::default(),
            }),
        });
        let router = endpoints::router(shared.clone());
        let server = tokio::spawn(async move {
            // It ends with the test.
            let _ = axum::serve(listener, router).await;
        });
        Self { shared, server }
    }

    /// Returns its URL, which is its identifier as an issuer.
    pub fn url(&self) -> String {
        self.shared.url()
    }

    /// Signs a person in who has these claims, beside those of every token. Every sign-in from now
    /// on is theirs.
    pub fn sign_in_as(&self, subject: &str, claims: Value) {
        let Value::Object(claims) = claims else {
            panic!("claims are an object, not {claims}");
        };
        let since = self.shared.clock.wall();
        let mut state = self.shared.state.lock();
        state.sessions += 1;
        state.person = Some(Session {
            id: format!("session-{}", state.sessions),
            subject: subject.to_owned(),
            claims,
            since,
        });
    }

    /// Returns the `sid` of the current person's session.
    pub fn session(&self) -> Option<String> {
        let state = self.shared.state.lock();
        state.person.as_ref().map(|person| person.id.clone())
    }

    /// Tells it to lie, instead of what it was told before.
    pub fn lie(&self, lie: Lie) {
        self.shared.state.lock().lie = Some(lie);
    }

    /// Tells it to stop lying.
    pub fn be_honest(&self) {
        self.shared.state.lock().lie = None;
    }

    /// Takes back all codes and refresh tokens.
    pub fn revoke_grants(&self) {
        self.shared.state.lock().codes.clear();
    }

    /// Makes a new key with a new id, and publishes it in place of the old one.
    pub fn rotate_key(&self) {
        self.shared.state.lock().rotate();
    }

    /// Makes a new key with the id of the old one.
    pub fn replace_key(&self) {
        let mut state = self.shared.state.lock();
        let id = state.key.id.clone();
        state.rotate();
        state.key.id = id;
    }

    /// Returns how often it was asked for what.
    pub fn requests(&self) -> Requests {
        self.shared.state.lock().requests
    }

    /// The claims of an access token for a resource.
    pub fn access_claims(&self, subject: &str, resource: &str) -> Value {
        let mut claims = self.shared.claims(subject, resource);
        claims["client_id"] = json!("an-agent");
        claims["scope"] = json!("mcp");
        claims
    }

    /// The claims of an ID token for a client, of a sign-in with this nonce.
    pub fn id_claims(&self, subject: &str, client_id: &str, nonce: &str) -> Value {
        let mut claims = self.shared.claims(subject, client_id);
        claims["nonce"] = json!(nonce);
        claims
    }

    /// The claims of a logout token for a client, which ends a session, or all of a person.
    pub fn logout_claims(
        &self,
        client_id: &str,
        session: Option<&str>,
        subject: Option<&str>,
    ) -> Value {
        let mut claims = self.shared.claims("", client_id);
        let members = claims.as_object_mut().expect("claims are an object");
        members.remove("sub");
        let named = [("sid", session), ("sub", subject)];
        for (name, value) in named {
            if let Some(value) = value {
                members.insert(name.to_owned(), json!(value));
            }
        }
        let mut state = self.shared.state.lock();
        state.made_codes += 1;
        claims["jti"] = json!(format!("logout-{}", state.made_codes));
        claims["events"] = json!({"http://schemas.openid.net/event/backchannel-logout": {}});
        claims
    }

    /// Signs claims.
    pub fn sign(&self, claims: &Value) -> String {
        self.sign_as("JWT", claims)
    }

    /// Signs claims as a token of this type: `at+jwt`, for example.
    pub fn sign_as(&self, kind: &str, claims: &Value) -> String {
        let state = self.shared.state.lock();
        state.sign(&json!({ "typ": kind }), claims)
    }

    /// Signs texts as header and claims, whatever they are.
    pub fn sign_texts(&self, header: &str, claims: &str) -> String {
        self.shared.state.lock().sign_texts(header, claims)
    }

    /// Makes a token of these claims that nobody may accept.
    pub fn forge(&self, forgery: Forgery, claims: &Value) -> String {
        let now = self.shared.clock.wall();
        self.shared.state.lock().forge(forgery, claims, now)
    }

    /// Makes an opaque token, of which the provider says this when it is asked. `active` is added.
    pub fn opaque_token(&self, claims: &Value) -> String {
        let mut state = self.shared.state.lock();
        let token = format!("opaque-{}", state.opaque.len());
        let mut response = claims.clone();
        response["active"] = json!(true);
        state.opaque.insert(token.clone(), response);
        token
    }

    /// Takes an opaque token back.
    pub fn revoke(&self, token: &str) {
        let mut state = self.shared.state.lock();
        state
            .opaque
            .insert(token.to_owned(), json!({"active": false}));
    }

    /// Posts a logout token to an address on this machine, and returns the status of the response.
    ///
    /// # Panics
    ///
    /// If there is no response.
    pub async fn send_logout(&self, url: &str, token: &str) -> u16 {
        let rest = url.strip_prefix("http://").expect("an address without TLS");
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let body = format!("logout_token={token}");
        let request = format!(
            "POST /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\
             content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let stream = TcpStream::connect(host).await;
        let mut stream = stream.expect("something listens there");
        let sent = stream.write_all(request.as_bytes()).await;
        sent.expect("it reads the request");
        let mut response = String::new();
        let received = stream.read_to_string(&mut response).await;
        received.expect("it responds with text");
        let status = response.split(' ').nth(1).and_then(|it| it.parse().ok());
        status.expect("it responds by HTTP")
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl std::fmt::Debug for Provider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Provider")
            .field("address", &self.shared.address)
            .finish_non_exhaustive()
    }
}

impl Shared {
    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The claims of every token.
    fn claims(&self, subject: &str, audience: &str) -> Value {
        let now = seconds(self.clock.wall());
        json!({
            "iss": self.url(),
            "sub": subject,
            "aud": audience,
            "iat": now,
            "exp": now + LIFETIME.as_secs(),
        })
    }
}

impl State {
    fn rotate(&mut self) {
        self.key = SigningKey::new(self.algorithm, self.made_keys);
        self.made_keys += 1;
    }

    /// Signs claims, with this in the header beside algorithm and key.
    fn sign(&self, header: &Value, claims: &Value) -> String {
        let mut header = header.clone();
        header["alg"] = json!(self.key.algorithm());
        if header.get("kid").is_none() {
            header["kid"] = json!(self.key.id);
        }
        self.sign_texts(&header.to_string(), &claims.to_string())
    }

    fn sign_texts(&self, header: &str, claims: &str) -> String {
        let message = message(header, claims);
        let signature = self.key.sign(message.as_bytes());
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    fn forge(&self, forgery: Forgery, claims: &Value, now: UnixTime) -> String {
        let mut claims = claims.clone();
        let (algorithm, id) = (self.key.algorithm(), &self.key.id);
        let plain = json!({ "alg": algorithm, "kid": id });
        match forgery {
            Forgery::Unsigned => {
                let message = message(r#"{"alg":"none"}"#, &claims.to_string());
                return format!("{message}.");
            }
            Forgery::SharedSecret => {
                let header = json!({ "alg": "HS256", "kid": id }).to_string();
                let message = message(&header, &claims.to_string());
                let secret = hmac::Key::new(hmac::HMAC_SHA256, &self.key.public());
                let tag = hmac::sign(&secret, message.as_bytes());
                return format!("{message}.{}", URL_SAFE_NO_PAD.encode(tag.as_ref()));
            }
            Forgery::UnknownAlgorithm => {
                let header = json!({ "alg": "ES512", "kid": id });
                return self.sign_texts(&header.to_string(), &claims.to_string());
            }
            Forgery::ForeignKey => {
                let mut other = SigningKey::new(self.algorithm, self.made_keys);
                other.id.clone_from(id);
                let message = message(&plain.to_string(), &claims.to_string());
                let signature = other.sign(message.as_bytes());
                return format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature));
            }
            Forgery::UnknownKey => return self.sign(&json!({"kid": "no-such-key"}), &claims),
            Forgery::Altered => {
                let genuine = self.sign(&plain, &claims);
                let (_, signature) = genuine.rsplit_once('.').expect("tokens have dots");
                claims["sub"] = json!("mallory");
                let message = message(&plain.to_string(), &claims.to_string());
                return format!("{message}.{signature}");
            }
            Forgery::CriticalHeader => {
                let header = json!({"crit": ["b64"], "b64": true});
                return self.sign(&header, &claims);
            }
            Forgery::Nested => {
                let inner = self.sign(&plain, &claims);
                let header = json!({ "alg": algorithm, "kid": id, "cty": "JWT" });
                return self.sign_texts(&header.to_string(), &inner);
            }
            Forgery::TwoAlgorithms => {
                let header = format!(r#"{{"alg":"none","alg":"{algorithm}","kid":"{id}"}}"#);
                return self.sign_texts(&header, &claims.to_string());
            }
            Forgery::TwoSubjects => {
                let claims = claims.to_string();
                let claims = claims.replacen('{', r#"{"sub":"mallory","#, 1);
                return self.sign_texts(&plain.to_string(), &claims);
            }
            Forgery::TextualExpiry
            | Forgery::NoExpiry
            | Forgery::Expired
            | Forgery::FromTheFuture
            | Forgery::OtherIssuer
            | Forgery::SlashAfterIssuer
            | Forgery::OtherAudience
            | Forgery::NoSubject
            | Forgery::Huge => change_claims(forgery, &mut claims, seconds(now)),
        }
        let members = claims.as_object_mut().expect("claims are an object");
        members.retain(|_, value| !value.is_null());
        self.sign(&plain, &claims)
    }
}

/// Makes claims wrong that are then signed as they should be; null takes one away.
fn change_claims(forgery: Forgery, claims: &mut Value, now: u64) {
    let (name, value) = match forgery {
        Forgery::TextualExpiry => ("exp", json!((now + LIFETIME.as_secs()).to_string())),
        Forgery::NoExpiry => ("exp", Value::Null),
        Forgery::Expired => ("exp", json!(now - 61)),
        Forgery::FromTheFuture => ("iat", json!(now + 3600)),
        Forgery::OtherIssuer => ("iss", json!("https://mallory.example")),
        Forgery::SlashAfterIssuer => {
            let issuer = claims["iss"].as_str().unwrap_or_default();
            ("iss", json!(format!("{issuer}/")))
        }
        Forgery::OtherAudience => ("aud", json!("https://mallory.example")),
        Forgery::NoSubject => ("sub", Value::Null),
        Forgery::Huge => ("padding", json!("x".repeat(1 << 20))),
        // These are wrong outside the claims.
        Forgery::Unsigned
        | Forgery::SharedSecret
        | Forgery::UnknownAlgorithm
        | Forgery::ForeignKey
        | Forgery::UnknownKey
        | Forgery::Altered
        | Forgery::CriticalHeader
        | Forgery::Nested
        | Forgery::TwoAlgorithms
        | Forgery::TwoSubjects => return,
    };
    claims[name] = value;
}

/// What is signed.
fn message(header: &str, claims: &str) -> String {
    let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
    format!("{}.{}", encode(header), encode(claims))
}

fn seconds(time: UnixTime) -> u64 {
    time.as_millis() / 1000
}
