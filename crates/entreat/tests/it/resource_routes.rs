//! Every route of MCP over HTTP, for every kind of visitor: with a token, with a key, with neither.
//!
//! A server that a program wraps is what `entreat mcp --listen` serves; in front of it stands a
//! gateway, whose upstream is a server over real sockets that records what it is sent.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::http::HeaderMap;
use entreat::core::schema::Era;
use entreat::gateway::front::Route;
use entreat::gateway::side::http::{Http, HttpTarget};
use entreat::gateway::side::{UpstreamReceiver, UpstreamSender};
use entreat::gateway::{Policy, Upstream, UpstreamEra};
use entreat::service::Role;
use entreat::service::resource::{
    ClientCredentials, Issuer, IssuerSettings, ProtectedResource, ResourceUrl, Respondents,
    TrustedIssuer,
};
use entreat::{AskerSettings, Entreat, GatewayOptions};
use entreat_testkit::mcp::{HttpClient, Kind, accept};
use entreat_testkit::provider::{CLIENT_SECRET, Forgery, Lie, Provider};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::asking::Server;
use crate::{KEY, LOOPBACK, get};

const RESOURCE: &str = "https://ask.example/mcp";
const OPERATOR_KEY: &str = "fedcba9876543210";
const MODERN: Era = Era::V2026_07_28;
const LEGACY: Era = Era::V2025_11_25;

/// An issuer whose opaque tokens can be looked up.
fn trusted(provider: &Provider) -> TrustedIssuer {
    let settings = IssuerSettings {
        introspection: Some(ClientCredentials {
            id: "entreat".to_owned(),
            secret: CLIENT_SECRET.to_owned().into(),
        }),
        ..IssuerSettings::default()
    };
    let issuer = Issuer::new(&provider.url(), settings).expect("it is on this machine");
    let mut trusted = TrustedIssuer::new(issuer);
    trusted.scopes = vec!["mcp".to_owned()];
    trusted
}

fn resource(providers: &[&Provider]) -> ProtectedResource {
    let url = ResourceUrl::new(RESOURCE).expect("it is a URL");
    let issuers = providers.iter().map(|it| trusted(it)).collect();
    ProtectedResource::new(url, issuers, Respondents::default())
}

/// A token of somebody; no two are the same.
fn token(provider: &Provider, subject: &str, number: u32) -> String {
    let mut claims = provider.access_claims(subject, RESOURCE);
    claims["jti"] = json!(number);
    provider.sign(&claims)
}

fn client(kind: Kind, address: SocketAddr, token: Option<&str>) -> HttpClient {
    let client = HttpClient::new(kind, address);
    match token {
        Some(token) => client.with_header("authorization", &format!("Bearer {token}")),
        None => client,
    }
}

fn asks_for_a_name() -> Server {
    Server::new(|ask| async move { Ok(ask.text("name", "Who?").await?) })
}

/// What the upstream was sent: requests with their headers.
#[derive(Clone, Default)]
struct Recorded(Arc<Mutex<Vec<u8>>>);

impl Recorded {
    fn text(&self) -> String {
        let bytes = self.0.lock().expect("nobody panicked");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn add(&self, bytes: &[u8]) {
        let mut recorded = self.0.lock().expect("nobody panicked");
        recorded.extend_from_slice(bytes);
    }

    /// Passes connections on to a server, and records what clients send.
    async fn before(&self, server: SocketAddr) -> SocketAddr {
        let listener = TcpListener::bind(LOOPBACK_HOST).await;
        let listener = listener.expect("there is a free port");
        let address = listener.local_addr().expect("it has an address");
        let recorded = self.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = TcpStream::connect(server).await else {
                    return;
                };
                tokio::spawn(recorded.clone().pass(client, server));
            }
        });
        address
    }

    async fn pass(self, client: TcpStream, server: TcpStream) {
        let (mut from_client, mut to_client) = client.into_split();
        let (mut from_server, mut to_server) = server.into_split();
        tokio::spawn(async move {
            let _ = tokio::io::copy(&mut from_server, &mut to_client).await;
        });
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = from_client.read(&mut bytes).await {
            self.add(&bytes[..count]);
            if to_server.write_all(&bytes[..count]).await.is_err() {
                return;
            }
        }
    }
}

const LOOPBACK_HOST: &str = "127.0.0.1:0";

/// A gateway in front of a server over HTTP, for holders of tokens.
struct Fronted {
    gateway: Entreat,
    upstream: Entreat,
    address: SocketAddr,
    recorded: Recorded,
}

impl Fronted {
    async fn new(resource: ProtectedResource) -> Self {
        let upstream = Entreat::builder().start().await.expect("it starts");
        let server = asks_for_a_name().listen(&upstream).await;
        let recorded = Recorded::default();
        let place = recorded.before(server).await;
        let url = format!("http://{place}/mcp");
        let connect = move || {
            let target = HttpTarget::new(&url, HeaderMap::new());
            let (sender, receiver) = Http::connect(target).map_err(std::io::Error::other)?;
            Ok(Upstream {
                sender: UpstreamSender::Http(sender),
                receiver: UpstreamReceiver::Http(receiver),
                name: "names".to_owned(),
                is_named: true,
                url: Some(url.clone()),
                policy: Policy::default(),
                era: UpstreamEra::default(),
            })
        };
        let route = Route {
            name: "names".to_owned(),
            connect: Arc::new(connect),
            per_principal: 4,
        };
        let options = GatewayOptions {
            routes: vec![route],
            ..GatewayOptions::default()
        };
        let settings = AskerSettings::default;
        let gateway = Entreat::builder()
            .listen(LOOPBACK)
            .local_without_key(false)
            .key(KEY, "robot", settings())
            .key_with_role(OPERATOR_KEY, "watch", settings(), Role::Operator)
            .gateway(options)
            .mcp_tokens(resource)
            .start()
            .await
            .expect("it starts");
        Self {
            address: gateway.local_addr().expect("it listens"),
            gateway,
            upstream,
            recorded,
        }
    }

    async fn end(self) {
        self.gateway.shutdown().await;
        self.upstream.shutdown().await;
    }
}

/// The visitors of the tables, and what they present.
fn visitors(provider: &Provider, stranger: &Provider) -> Vec<(&'static str, Option<String>)> {
    let claims = provider.access_claims("ada", RESOURCE);
    let foreign = stranger.access_claims("ada", RESOURCE);
    let mut narrow = claims.clone();
    narrow["scope"] = json!("other");
    let revoked = provider.opaque_token(&claims);
    provider.revoke(&revoked);
    let tokens = [
        ("right token", token(provider, "ada", 1)),
        ("opaque token", provider.opaque_token(&claims)),
        ("other person", token(provider, "bob", 2)),
        (
            "wrong audience",
            provider.forge(Forgery::OtherAudience, &claims),
        ),
        ("expired", provider.forge(Forgery::Expired, &claims)),
        ("wrong issuer", stranger.sign(&foreign)),
        ("too narrow", provider.sign(&narrow)),
        ("signed out", revoked),
        ("asker's key", KEY.to_owned()),
        ("operator's key", OPERATOR_KEY.to_owned()),
    ];
    let tokens = tokens.into_iter().map(|(name, it)| (name, Some(it)));
    std::iter::once(("nobody", None)).chain(tokens).collect()
}

const PATHS: [&str; 4] = [
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-protected-resource/other",
    "/files/elic_01hnmq7zq8e9vv8h2m6x3c5t0d/00000000000000000000000000000000/x",
];

const COLUMNS: [&str; 10] = [
    "POST", "GET", "DELETE", "POST*", "GET*", "DELETE*", "root", "mcp", "other", "file",
];

/// The row of one visitor at an address, with a session of Ada's to break into.
async fn row(
    address: SocketAddr,
    provider: &Provider,
    name: &str,
    presented: Option<&str>,
) -> String {
    let modern = client(Kind::form(MODERN), address, presented);
    let legacy = client(Kind::form(LEGACY), address, presented);
    let ada = token(provider, "ada", 3);
    let adas = client(Kind::form(LEGACY), address, Some(&ada));
    let adas = adas.begin().await;
    let inside = legacy.clone().in_session_of(&adas);
    let mut cells = vec![
        modern.call("t", json!({}), json!({})).await.status,
        legacy.bare("GET").await.status,
        legacy.bare("DELETE").await.status,
        inside.send("ping", json!({})).await.status,
        inside.bare("GET").await.status,
        inside.bare("DELETE").await.status,
    ];
    // Hers is there as before, unless she ended it herself.
    let still = adas.send("ping", json!({})).await.status;
    let is_ended = cells[5] < 300;
    assert_eq!(still, if is_ended { 404 } else { 200 }, "{name}");
    for path in PATHS {
        let bearer = presented.map(|it| format!("authorization: Bearer {it}\r\n"));
        let answer = get(address, path, &bearer.unwrap_or_default()).await;
        let status = answer.split(' ').nth(1).and_then(|it| it.parse().ok());
        cells.push(status.expect("it responds by HTTP"));
    }
    line(name, &cells)
}

fn line<T: std::fmt::Display>(name: &str, cells: &[T]) -> String {
    let mut line = format!("{name:<18}");
    for cell in cells {
        write!(line, "{cell:<8}").expect("texts take everything");
    }
    format!("{}\n", line.trim_end())
}

/// A key is no token here: servers that are wrapped know no askers.
const WRAPPED: &str = "\
*: Ada's session  POST    GET     DELETE  POST*   GET*    DELETE* root    mcp     other   file
nobody            401     401     401     401     401     401     200     200     404     404
right token       200     400     400     200     200     202     200     200     404     404
opaque token      200     400     400     200     200     202     200     200     404     404
other person      200     400     400     404     404     404     200     200     404     404
wrong audience    401     401     401     401     401     401     200     200     404     404
expired           401     401     401     401     401     401     200     200     404     404
wrong issuer      401     401     401     401     401     401     200     200     404     404
too narrow        403     403     403     403     403     403     200     200     404     404
signed out        401     401     401     401     401     401     200     200     404     404
asker's key       401     401     401     401     401     401     200     200     404     404
operator's key    401     401     401     401     401     401     200     200     404     404
";

const GATEWAY: &str = "\
*: Ada's session  POST    GET     DELETE  POST*   GET*    DELETE* root    mcp     other   file
nobody            401     401     401     401     401     401     200     200     404     404
right token       200     405     405     200     200     204     200     200     404     404
opaque token      200     405     405     200     200     204     200     200     404     404
other person      200     405     405     404     404     404     200     200     404     404
wrong audience    401     401     401     401     401     401     200     200     404     404
expired           401     401     401     401     401     401     200     200     404     404
wrong issuer      401     401     401     401     401     401     200     200     404     404
too narrow        403     403     403     403     403     403     200     200     404     404
signed out        401     401     401     401     401     401     200     200     404     404
asker's key       200     405     405     404     404     404     200     200     404     404
operator's key    403     403     403     403     403     403     200     200     404     404
";

#[tokio::test]
async fn every_visitor_gets_what_the_table_says_on_every_route_of_a_server() {
    let (provider, stranger) = (Provider::start().await, Provider::start().await);
    let builder = Entreat::builder().mcp_tokens(resource(&[&provider]));
    let entreat = builder.start().await.expect("it starts");
    let address = asks_for_a_name().listen(&entreat).await;
    let mut table = line("*: Ada's session", &COLUMNS);
    for (name, presented) in visitors(&provider, &stranger) {
        table += &row(address, &provider, name, presented.as_deref()).await;
    }
    assert_eq!(table, WRAPPED, "\n{table}");
    entreat.shutdown().await;
}

#[tokio::test]
async fn every_visitor_gets_what_the_table_says_on_every_route_of_a_gateway() {
    let (provider, stranger) = (Provider::start().await, Provider::start().await);
    let mut table = line("*: Ada's session", &COLUMNS);
    for (name, presented) in visitors(&provider, &stranger) {
        // One for each: wrong tokens from one address are limited.
        let fronted = Fronted::new(resource(&[&provider])).await;
        table += &row(fronted.address, &provider, name, presented.as_deref()).await;
        fronted.end().await;
    }
    assert_eq!(table, GATEWAY, "\n{table}");
}

#[tokio::test]
async fn a_clients_token_stays_at_the_gateway_and_a_renewed_one_goes_on() {
    let provider = Provider::start().await;
    let fronted = Fronted::new(resource(&[&provider])).await;
    let tokens: Vec<String> = (1..=6)
        .map(|number| {
            token(
                &provider,
                if number % 3 == 0 { "eve" } else { "ada" },
                number,
            )
        })
        .collect();
    let with = |era, index: usize| client(Kind::form(era), fronted.address, Some(&tokens[index]));

    // In the middle of a flow.
    let asked = with(MODERN, 0).round("t", json!({}), json!({})).await;
    let questions = asked.questions();
    let answer = accept(json!({"text": "Ada"}));
    let mut answers = json!({});
    answers[questions[0].key.as_deref().expect("it has a key")] = answer;
    let extra = json!({"requestState": asked.state(), "inputResponses": answers});
    let mut stolen = with(MODERN, 2).call("t", json!({}), extra.clone()).await;
    let (code, _) = stolen.reply().await.error();
    assert_eq!(code, -32602);
    provider.rotate_key();
    let renewed = token(&provider, "ada", 7);
    let ada = client(Kind::form(MODERN), fronted.address, Some(&renewed));
    assert_eq!(ada.round("t", json!({}), extra).await.text(), "Ada");

    // In a session.
    let first = client(Kind::form(LEGACY), fronted.address, Some(&renewed))
        .begin()
        .await;
    let again = token(&provider, "ada", 8);
    let next = client(Kind::form(LEGACY), fronted.address, Some(&again)).in_session_of(&first);
    assert_eq!(next.send("ping", json!({})).await.status, 200);
    let eve = token(&provider, "eve", 9);
    let eve = client(Kind::form(LEGACY), fronted.address, Some(&eve)).in_session_of(&first);
    assert_eq!(eve.send("ping", json!({})).await.status, 404);

    let sent = fronted.recorded.text();
    assert!(sent.contains("tools/call"), "{sent}");
    assert!(!sent.to_lowercase().contains("authorization"), "{sent}");
    for token in tokens.iter().chain([&renewed, &again]) {
        for part in token.split('.') {
            assert!(!sent.contains(part), "{part} in {sent}");
        }
    }
    fronted.end().await;
}

#[tokio::test]
async fn the_tokens_of_several_issuers_are_each_good_for_their_own_people() {
    let (staff, partners) = (Provider::start().await, Provider::start().await);
    let entreat = Entreat::builder().mcp_tokens(resource(&[&staff, &partners]));
    let entreat = entreat.start().await.expect("it starts");
    let address = asks_for_a_name().listen(&entreat).await;
    let metadata = get(address, PATHS[1], "").await;
    let (_, metadata) = metadata.split_once("\r\n\r\n").expect("it has a body");
    let metadata: Value = serde_json::from_str(metadata).expect("it is JSON");
    let servers = json!([staff.url(), partners.url()]);
    assert_eq!(metadata["authorization_servers"], servers);

    let status = async |token: &str| {
        let client = client(Kind::form(MODERN), address, Some(token));
        client.call("t", json!({}), json!({})).await.status
    };
    for provider in [&staff, &partners] {
        assert_eq!(status(&token(provider, "ada", 1)).await, 200);
        let claims = provider.access_claims("ada", RESOURCE);
        assert_eq!(status(&provider.opaque_token(&claims)).await, 200);
    }
    // One that names the other issuer, whose key did not sign it.
    let claims = partners.access_claims("ada", RESOURCE);
    assert_eq!(status(&staff.sign(&claims)).await, 401);

    // Two people of one name, each with an issuer of their own.
    let kind = Kind::form(LEGACY);
    let ours = token(&staff, "ada", 2);
    let first = client(kind, address, Some(&ours)).begin().await;
    let theirs = token(&partners, "ada", 3);
    let other = client(kind, address, Some(&theirs)).in_session_of(&first);
    assert_eq!(other.send("ping", json!({})).await.status, 404);
    let opaque = staff.opaque_token(&staff.access_claims("ada", RESOURCE));
    let same = client(kind, address, Some(&opaque)).in_session_of(&first);
    assert_eq!(same.send("ping", json!({})).await.status, 200);
    entreat.shutdown().await;
}

#[tokio::test]
async fn an_opaque_token_is_not_called_invalid_while_an_issuer_is_down() {
    let (staff, partners) = (Provider::start().await, Provider::start().await);
    let entreat = Entreat::builder().mcp_tokens(resource(&[&staff, &partners]));
    let entreat = entreat.start().await.expect("it starts");
    let address = asks_for_a_name().listen(&entreat).await;
    let status = async |token: &str| {
        let client = client(Kind::form(MODERN), address, Some(token));
        client.call("t", json!({}), json!({})).await.status
    };
    // Opaque tokens of both have the same form; this one is of the first.
    drop(staff.opaque_token(&staff.access_claims("x", RESOURCE)));
    let opaque = staff.opaque_token(&staff.access_claims("ada", RESOURCE));
    staff.lie(Lie::Down);
    assert_eq!(status(&opaque).await, 503);
    entreat.shutdown().await;
}

#[tokio::test]
async fn what_an_issuer_says_of_another_kind_of_token_admits_nobody() {
    let provider = Provider::start().await;
    let entreat = Entreat::builder().mcp_tokens(resource(&[&provider]));
    let entreat = entreat.start().await.expect("it starts");
    let address = asks_for_a_name().listen(&entreat).await;
    let with = |name: &str, value: Value| {
        let mut claims = provider.access_claims("ada", RESOURCE);
        claims[name] = value;
        provider.opaque_token(&claims)
    };
    for (token, status) in [
        (with("token_type", json!("Bearer")), 200),
        (with("token_type", json!("bearer")), 200),
        (with("token_type", json!("access_token")), 200),
        (with("token_type", json!("refresh_token")), 401),
        (with("token_type", json!("DPoP")), 401),
        (with("token_type", json!(7)), 401),
        (with("typ", json!("Refresh")), 401),
        (with("nonce", json!("n")), 401),
        (with("cnf", json!({"jkt": "x"})), 401),
        (with("aud", json!("https://other.example")), 401),
        (with("iss", json!("https://other.example")), 401),
    ] {
        let client = client(Kind::form(MODERN), address, Some(&token));
        let answer = client.call("t", json!({}), json!({})).await;
        assert_eq!(answer.status, status, "{token}");
    }
    entreat.shutdown().await;
}
