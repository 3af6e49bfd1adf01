//! Entreat's own MCP server over HTTP, from a client's token to the page of the same person.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use entreat::core::schema::Era;
use entreat::service::identity::{Identity, OidcIdentity, OidcSettings};
use entreat::service::resource::{
    Issuer, IssuerSettings, PageIssuer, ProtectedResource, ResourceUrl, Respondents, TrustedIssuer,
};
use entreat::{AskerSettings, Entreat};
use entreat_testkit::mcp::{HttpClient, Kind, Reply, visit};
use entreat_testkit::provider::{CLIENT_SECRET, Provider};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::{KEY, LOOPBACK};

const RESOURCE: &str = "https://ask.example/mcp";

/// Pages to which people sign in at the issuer of tokens, and an agent's server at an address.
async fn start(provider: &Provider) -> (Entreat, SocketAddr) {
    let issuer = Issuer::new(&provider.url(), IssuerSettings::default());
    let issuer = issuer.expect("it is on this machine");
    let settings = OidcSettings {
        client_id: "entreat".to_owned(),
        client_secret: Some(CLIENT_SECRET.to_owned().into()),
        ..OidcSettings::default()
    };
    let identity = OidcIdentity::new(issuer.clone(), settings);
    let respondents = Respondents {
        pages: Some(PageIssuer {
            issuer: provider.url(),
            subject_claim: "sub".to_owned(),
        }),
        same: Vec::new(),
    };
    let url = ResourceUrl::new(RESOURCE).expect("it is a URL");
    let resource = ProtectedResource::new(url, vec![TrustedIssuer::new(issuer)], respondents);
    let builder = Entreat::builder()
        .listen(LOOPBACK)
        .key(KEY, "robot", AskerSettings::default())
        .identity(Identity::Oidc(Box::new(identity)))
        .mcp_local_clients(false)
        .mcp_tokens(resource);
    let entreat = builder.start().await.expect("it starts");
    let listener = TcpListener::bind(("127.0.0.1", 0)).await;
    let listener = listener.expect("there is a free port");
    let address = listener.local_addr().expect("it has an address");
    let agent = entreat.ask_server();
    tokio::spawn(entreat.serve_mcp(agent, listener, std::future::pending()));
    (entreat, address)
}

/// A browser that follows no redirects by itself.
#[derive(Default)]
struct Browser(BTreeMap<String, String>);

struct Page {
    status: u16,
    location: Option<String>,
    text: String,
}

impl Page {
    fn csrf(&self) -> String {
        let (_, rest) = self
            .text
            .split_once("name=\"_csrf\" value=\"")
            .expect("it has a form");
        rest.split('"').next().expect("it ends").to_owned()
    }

    fn location(&self) -> &str {
        self.location.as_deref().expect("it is a redirect")
    }
}

impl Browser {
    async fn get(&mut self, url: &str) -> Page {
        self.send("GET", url, "").await
    }

    async fn post(&mut self, url: &str, fields: &[(&str, &str)]) -> Page {
        let pairs = fields.iter().map(|(name, value)| format!("{name}={value}"));
        let body: Vec<String> = pairs.collect();
        self.send("POST", url, &body.join("&")).await
    }

    async fn send(&mut self, method: &str, url: &str, body: &str) -> Page {
        let rest = url.strip_prefix("http://").expect("it has no TLS");
        let (host, path) = rest.split_once('/').expect("it has a path");
        let pairs = self.0.iter().map(|(name, value)| format!("{name}={value}"));
        let cookies: Vec<String> = pairs.collect();
        let request = format!(
            "{method} /{path} HTTP/1.0\r\nhost: {host}\r\ncookie: {}\r\nsec-fetch-mode: navigate\r\n\
             content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{body}",
            cookies.join("; "),
            body.len()
        );
        let mut stream = TcpStream::connect(host).await.expect("it listens");
        let sent = stream.write_all(request.as_bytes()).await;
        sent.expect("it reads");
        let mut response = String::new();
        let received = stream.read_to_string(&mut response).await;
        received.expect("it responds with text");
        let (head, text) = response.split_once("\r\n\r\n").expect("it has a body");
        let mut location = None;
        for line in head.lines() {
            match line.split_once(": ") {
                Some(("location", place)) if place.starts_with('/') => {
                    location = Some(format!("http://{host}{place}"));
                }
                Some(("location", place)) => location = Some(place.to_owned()),
                Some(("set-cookie", cookie)) => {
                    let pair = cookie.split(';').next().and_then(|it| it.split_once('='));
                    let (name, value) = pair.expect("it has a name");
                    self.0.insert(name.to_owned(), value.to_owned());
                }
                _ => {}
            }
        }
        let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
        Page {
            status: status.expect("it responds by HTTP"),
            location,
            text: text.to_owned(),
        }
    }

    /// Opens an address, signs in there, and returns where that leads.
    async fn sign_in(&mut self, url: &str) -> String {
        let page = self.get(url).await;
        assert!(page.text.contains("Sign in to answer"), "{}", page.text);
        let csrf = page.csrf();
        let start = format!("{url}?sign-in");
        let begun = self.post(&start, &[("_csrf", &csrf)]).await;
        let begun = begun.location().to_owned();
        let back = self.get(&begun).await.location().to_owned();
        self.get(&back).await.location().to_owned()
    }

    async fn open(&mut self, url: &str) -> (String, Page) {
        let mut url = url.to_owned();
        loop {
            let page = self.get(&url).await;
            match &page.location {
                Some(next) => url.clone_from(next),
                None => return (url, page),
            }
        }
    }
}

fn client(address: SocketAddr, token: &str) -> HttpClient {
    let kind = Kind::url(Era::V2026_07_28);
    HttpClient::new(kind, address).with_header("authorization", &format!("Bearer {token}"))
}

fn token(provider: &Provider, subject: &str, number: u32) -> String {
    let mut claims = provider.access_claims(subject, RESOURCE);
    claims["jti"] = json!(number);
    provider.sign(&claims)
}

/// The key and the page of the only question of a round.
fn page_of(reply: &Reply) -> (String, String) {
    let questions = reply.questions();
    let [question] = questions.as_slice() else {
        panic!("{reply:?}");
    };
    let url = question.params["url"].as_str().expect("it has a page");
    let key = question.key.clone().expect("it has a key");
    (key, url.to_owned())
}

#[tokio::test]
async fn a_question_of_an_agent_is_answered_on_the_page_of_its_tokens_person() {
    let provider = Provider::start().await;
    let (entreat, address) = start(&provider).await;
    let arguments = json!({"question": "Which region?", "choices": ["eu", "us"]});
    let ada = client(address, &token(&provider, "ada", 1));
    let asked = ada.round("ask_user", arguments.clone(), json!({})).await;
    let (key, url) = page_of(&asked);

    // Eve has the link, and is signed in.
    provider.sign_in_as("eve", json!({"name": "Eve"}));
    let mut eve = Browser::default();
    let there = eve.sign_in(&url).await;
    let (_, foreign) = eve.open(&there).await;
    let (place, token_of_link) = url.rsplit_once('/').expect("it has a token");
    let turned: String = token_of_link.chars().rev().collect();
    let (_, unknown) = eve.open(&format!("{place}/{turned}")).await;
    assert_eq!(foreign.status, 404);
    let same = (unknown.status, &unknown.text);
    assert_eq!((foreign.status, &foreign.text), same);
    assert!(!foreign.text.contains("region"), "{}", foreign.text);

    // Ada answers there.
    provider.sign_in_as("ada", json!({"name": "Ada"}));
    let mut browser = Browser::default();
    let there = browser.sign_in(&url).await;
    let (here, page) = browser.open(&there).await;
    assert!(page.text.contains("Which region?"), "{}", page.text);
    let csrf = page.csrf();
    let fields = [
        ("_csrf", &*csrf),
        ("_f", "0"),
        ("f.answer", "us"),
        ("_do", "send"),
    ];
    let sent = browser.post(&here, &fields).await;
    assert_eq!(sent.status, 303, "{}", sent.text);

    // With the next token of hers, and with nobody else's.
    let extra = |visited: Value| {
        let mut responses = json!({});
        responses[key.as_str()] = visited;
        json!({"requestState": asked.state(), "inputResponses": responses})
    };
    let thief = client(address, &token(&provider, "eve", 2));
    let refused = thief.round("ask_user", arguments.clone(), extra(visit()));
    assert_eq!(refused.await.error().0, -32602);
    let renewed = client(address, &token(&provider, "ada", 3));
    let done = renewed.round("ask_user", arguments, extra(visit())).await;
    let answers = &done.result()["structuredContent"]["answers"];
    assert_eq!(answers, &json!({"answer": "us"}), "{done:?}");
    entreat.shutdown().await;
}
