//! Signing in at a provider over real sockets: a browser's way there and back, and everything that
//! somebody else could put in its place.

mod any_sequence;
mod assertions;
mod attacks;
mod canaries;
mod fresh;
mod hard_cases;
mod lapsed;
mod pages;
mod sign_outs;
mod table;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{Method, Request, StatusCode, header};
use bytes::Bytes;
use entreat_core::{ElicitationId, Form, Mode, Status, TimeoutBounds};
use entreat_engine::store::MemoryStore;
use entreat_engine::{Ask, Store};
use entreat_service::PageSettings;
use entreat_service::identity::{ClaimNames, Identity, OidcIdentity, OidcSettings};
use entreat_testkit::provider::{CLIENT_SECRET, Provider, SigningAlgorithm};
use entreat_wire::issuer::{Issuer, IssuerSettings};
use http_body_util::Full;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use url::Url;

use crate::pages::{Site, between, path_of, text};
use crate::wire::Answer;
use crate::world::{World, deploy};

const CLIENT: &str = "entreat";
const SIGN_IN_PAGE: &str = "Sign in to answer";
const NOT_FOUND: &str = "This link does not work";

/// A site whose visitors sign in, and their provider.
struct Realm {
    site: Site,
    provider: Provider,
}

impl Realm {
    async fn new() -> Self {
        Self::with(|_| {}).await
    }

    async fn with(change: impl FnOnce(&mut OidcSettings)) -> Self {
        let day = Duration::from_secs(86_400);
        let bounds = TimeoutBounds::new(day, Duration::from_secs(1), day).unwrap();
        let world = World::with(|settings| {
            settings.asker.timeouts.set_bounds(Mode::Form, bounds);
        });
        Self::of(world.await, change, |_| {}).await
    }

    /// With questions in a store that the test looks at.
    async fn on(store: Arc<dyn Store>) -> Self {
        Self::of(World::on(store, |_| {}).await, |_| {}, |_| {}).await
    }

    async fn of(
        world: World,
        change: impl FnOnce(&mut OidcSettings),
        change_pages: impl FnOnce(&mut PageSettings),
    ) -> Self {
        let provider = provider_in(&world).await;
        let mut settings = settings(&provider, change);
        change_pages(&mut settings);
        let site = Site::of(world, None, settings).await;
        Self { site, provider }
    }

    /// Two nodes with one store, reached under the public URL of the first.
    async fn with_two_nodes() -> (Self, Site) {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let realm = Self::on(store.clone()).await;
        let url = format!("http://{}", realm.site.server.address);
        let settings = settings(&realm.provider, |_| {});
        let world = World::on(store, |_| {}).await;
        let other = Site::of(world, Some(&url), settings).await;
        (realm, other)
    }

    async fn ask(&self, respondent: &str) -> ElicitationId {
        self.ask_with(respondent, |ask| ask).await
    }

    async fn ask_with(&self, to: &str, change: impl FnOnce(Ask) -> Ask) -> ElicitationId {
        let form = Form::from_value(&deploy()).unwrap();
        let ask = change(Ask::form(form).respondent(to));
        let asker = self.site.world.session.asker();
        asker.ask(ask).await.unwrap().id()
    }

    async fn is_live(&self, id: ElicitationId) -> bool {
        matches!(self.site.status(id).await, Status::Pending | Status::Active)
    }

    fn path(&self, id: ElicitationId) -> String {
        path_of(&self.site.pages.link(id))
    }

    fn browser(&self) -> Browser {
        Browser {
            site: format!("http://{}", self.site.server.address),
            cookies: BTreeMap::new(),
        }
    }

    /// A browser in which this person is signed in.
    async fn signed_in(&self, subject: &str) -> Browser {
        let mut browser = self.browser();
        self.sign_in(&mut browser, subject, "/inbox").await;
        browser
    }

    /// Signs a person in at a page, and returns where the browser ends up.
    async fn sign_in(&self, browser: &mut Browser, subject: &str, path: &str) -> Page {
        self.provider.sign_in_as(subject, json!({"name": subject}));
        let page = browser.open(path).await;
        let callback = browser.reach_provider(&page).await;
        browser.follow(&callback).await
    }
}

/// A provider with the time of a world.
async fn provider_in(world: &World) -> Provider {
    let clock = Arc::new(world.clock.clone());
    Provider::start_with(SigningAlgorithm::default(), clock).await
}

fn settings(provider: &Provider, change: impl FnOnce(&mut OidcSettings)) -> PageSettings {
    let issuer = Issuer::new(&provider.url(), IssuerSettings::default()).unwrap();
    let mut settings = OidcSettings {
        client_id: CLIENT.to_owned(),
        client_secret: Some(CLIENT_SECRET.to_owned().into()),
        claims: ClaimNames {
            operator: Some(("roles".to_owned(), "operator".to_owned())),
            ..ClaimNames::default()
        },
        ..OidcSettings::default()
    };
    change(&mut settings);
    PageSettings {
        identity: Identity::Oidc(Box::new(OidcIdentity::new(issuer, settings))),
        ..PageSettings::default()
    }
}

/// A browser: cookies by name, and one page after another.
#[derive(Clone)]
struct Browser {
    site: String,
    cookies: BTreeMap<String, String>,
}

/// A page in a browser.
struct Page {
    /// The path, with its query.
    path: String,
    status: StatusCode,
    headers: header::HeaderMap,
    text: String,
}

impl Page {
    fn csrf(&self) -> String {
        between(&self.text, "name=\"_csrf\" value=\"", "\"")
    }

    fn location(&self) -> &str {
        self.headers[header::LOCATION].to_str().unwrap()
    }

    fn is_sign_in(&self) -> bool {
        self.status == StatusCode::FORBIDDEN && self.text.contains(SIGN_IN_PAGE)
    }

    fn is_not_found(&self) -> bool {
        self.status == StatusCode::NOT_FOUND && self.text.contains(NOT_FOUND)
    }
}

impl Browser {
    /// Opens an address, and follows redirects within the site.
    async fn open(&mut self, path: &str) -> Page {
        let mut page = self.get(path).await;
        while page.status == StatusCode::SEE_OTHER {
            let next = page.location().to_owned();
            page = self.get(&next).await;
        }
        page
    }

    async fn get(&mut self, path: &str) -> Page {
        let address = format!("{}{path}", self.site);
        self.fetch(Method::GET, &address, None).await
    }

    async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Page {
        let mut pairs = url::form_urlencoded::Serializer::new(String::new());
        pairs.extend_pairs(fields);
        let address = format!("{}{path}", self.site);
        self.fetch(Method::POST, &address, Some(pairs.finish()))
            .await
    }

    /// Presses the button of a page that leads to the provider; returns the address there.
    async fn start(&mut self, page: &Page) -> String {
        let (path, _) = page.path.split_once('?').unwrap_or((&page.path, ""));
        let csrf = page.csrf();
        let mut fields = vec![("_csrf", &*csrf)];
        if page.text.contains("name=\"account\" value=\"other\"") {
            fields.push(("account", "other"));
        }
        let started = self.post(&format!("{path}?sign-in"), &fields).await;
        assert_eq!(started.status, StatusCode::SEE_OTHER, "{}", started.text);
        started.location().to_owned()
    }

    /// Signs in at the provider; returns the address that it sends the browser back to.
    async fn reach_provider(&mut self, page: &Page) -> String {
        let address = self.start(page).await;
        self.at_provider(&address).await
    }

    async fn at_provider(&self, address: &str) -> String {
        let answer = send(Method::GET, address, "", None).await;
        assert_eq!(answer.status, StatusCode::FOUND, "{}", text(&answer));
        answer.headers[header::LOCATION]
            .to_str()
            .unwrap()
            .to_owned()
    }

    /// Goes where the provider sends the browser, and where that leads.
    async fn follow(&mut self, callback: &str) -> Page {
        let done = self.fetch(Method::GET, callback, None).await;
        assert_eq!(done.status, StatusCode::SEE_OTHER, "{}", done.text);
        let next = done.location().to_owned();
        self.open(&next).await
    }

    async fn fetch(&mut self, method: Method, address: &str, body: Option<String>) -> Page {
        let cookies = self.cookies.iter();
        let cookies: Vec<String> = cookies.map(|(name, it)| format!("{name}={it}")).collect();
        let answer = send(method, address, &cookies.join("; "), body).await;
        for set in answer.headers.get_all(header::SET_COOKIE) {
            let set = set.to_str().unwrap();
            let (name, rest) = set.split_once('=').unwrap();
            let (value, attributes) = rest.split_once(';').unwrap();
            if attributes.contains("Max-Age=0;") {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        let url = Url::parse(address).unwrap();
        let query = url.query().map(|query| format!("?{query}"));
        Page {
            path: format!("{}{}", url.path(), query.unwrap_or_default()),
            status: answer.status,
            text: text(&answer),
            headers: answer.headers,
        }
    }

    /// Whether anybody is signed in.
    fn has_session(&self) -> bool {
        self.cookies.contains_key("entreat-session")
    }
}

/// Sends a request as a browser does, on its own connection.
async fn send(method: Method, address: &str, cookies: &str, body: Option<String>) -> Answer {
    let url = Url::parse(address).unwrap();
    let host = format!("{}:{}", url.host_str().unwrap(), url.port().unwrap());
    let target = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let mut request = Request::builder()
        .method(method)
        .uri(target)
        .header("host", &host)
        .header("sec-fetch-mode", "navigate");
    if !cookies.is_empty() {
        request = request.header("cookie", cookies);
    }
    if body.is_some() {
        request = request
            .header("origin", "null")
            .header("content-type", "application/x-www-form-urlencoded");
    }
    let body = Full::new(Bytes::from(body.unwrap_or_default()));
    let stream = TcpStream::connect(&host).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    let response = sender.send_request(request.body(body).unwrap());
    Answer::of(crate::wire::soon(response).await.unwrap()).await
}

/// The fields of the form, filled in.
const ANSWERS: [(&str, &str); 6] = [
    ("_f", "0"),
    ("f.target", "staging"),
    ("_f", "1"),
    ("f.replicas", "3"),
    ("_f", "2"),
    ("f.token", "typed-secret"),
];

fn answers<'a>(csrf: &'a str, action: &'a str) -> Vec<(&'a str, &'a str)> {
    let mut fields = vec![("_csrf", csrf)];
    fields.extend(ANSWERS);
    fields.push(("_do", action));
    fields
}
