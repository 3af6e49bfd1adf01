//! Pages over plain HTTP: responses, and access.

use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use bytes::Bytes;
use entreat_core::{ElicitationId, Status};
use entreat_engine::{Ask, Engine, KeyRing};
use entreat_service::http::{Http, HttpSettings};
use entreat_service::page::{PageSettings, Pages};
use entreat_service::rpc::{Links, Rpc};
use entreat_service::{Askers, UploadSettings, Uploads};
use entreat_testkit::CapturedLog;
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::wire::{Answer, Server};
use crate::world::{World, deploy};

/// A world with pages, and a minimal browser.
pub(crate) struct Site {
    pub(crate) world: World,
    pub(crate) pages: Pages,
    pub(crate) server: Server,
}

impl Site {
    pub(crate) async fn new() -> Self {
        Self::at(None, PageSettings::default()).await
    }

    pub(crate) async fn at(url: Option<&str>, settings: PageSettings) -> Self {
        Self::of(World::new().await, url, settings).await
    }

    pub(crate) async fn of(world: World, url: Option<&str>, settings: PageSettings) -> Self {
        let askers = Askers::none().with_local(world.engine.asker("local"));
        Self::for_askers(world, url, settings, askers).await
    }

    /// A site where these askers and operators have keys.
    pub(crate) async fn for_askers(
        world: World,
        url: Option<&str>,
        settings: PageSettings,
        askers: Askers,
    ) -> Self {
        let engine = world.engine.clone();
        let (pages, server) = serve(&engine, url, settings, askers).await;
        Self {
            world,
            pages,
            server,
        }
    }

    /// Asks with a form, and opens the page.
    pub(crate) async fn visit_form(&self, form: Value) -> (ElicitationId, Visitor) {
        let form = entreat_core::Form::from_value(&form).unwrap();
        let asker = self.world.session.asker();
        let id = asker.ask(Ask::form(form)).await.unwrap().id();
        (id, self.visit(id).await)
    }

    async fn ask(&self) -> ElicitationId {
        let form = entreat_core::Form::from_value(&deploy()).unwrap();
        let asker = self.world.session.asker();
        asker.ask(Ask::form(form)).await.unwrap().id()
    }

    fn path(&self, id: ElicitationId) -> String {
        path_of(&self.pages.link(id))
    }

    pub(crate) async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.send(Method::GET, path, headers, String::new()).await
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        if !headers.iter().any(|(name, _)| *name == "host") {
            request = request.header("host", self.server.address.to_string());
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::from(body))).unwrap();
        self.server.send(request).await
    }

    /// Opens a link as a browser does.
    pub(crate) async fn visit(&self, id: ElicitationId) -> Visitor {
        let opened = self.get(&self.path(id), NAVIGATES).await;
        assert_eq!(opened.status, StatusCode::SEE_OTHER);
        let cookie = cookie(&opened.headers);
        let here = opened.headers[header::LOCATION]
            .to_str()
            .unwrap()
            .to_owned();
        let page = self.get(&here, &[("cookie", &cookie)]).await;
        assert_eq!(page.status, StatusCode::OK);
        let csrf = between(&text(&page), "name=\"_csrf\" value=\"", "\"");
        Visitor { cookie, here, csrf }
    }

    /// Opens the inbox by its link.
    pub(crate) async fn inbox(&self) -> String {
        let opened = self
            .get(&path_of(&self.pages.inbox_link()), NAVIGATES)
            .await;
        let cookie = cookie(&opened.headers);
        let list = opened.headers[header::LOCATION].to_str().unwrap();
        text(&self.get(list, &[("cookie", &cookie)]).await)
    }

    pub(crate) async fn post(&self, visitor: &Visitor, fields: &[(&str, &str)]) -> Answer {
        let headers = [("cookie", &*visitor.cookie), ("origin", "null")];
        self.post_as(visitor, &headers, fields).await
    }

    pub(crate) async fn post_as(
        &self,
        visitor: &Visitor,
        headers: &[(&str, &str)],
        fields: &[(&str, &str)],
    ) -> Answer {
        let mut pairs = url::form_urlencoded::Serializer::new(String::new());
        pairs
            .append_pair("_csrf", &visitor.csrf)
            .extend_pairs(fields);
        let form = ("content-type", "application/x-www-form-urlencoded");
        let headers: Vec<_> = headers.iter().copied().chain([form]).collect();
        self.send(Method::POST, &visitor.here, &headers, pairs.finish())
            .await
    }

    pub(crate) async fn status(&self, id: ElicitationId) -> Status {
        self.world
            .engine
            .elicitation(id)
            .status()
            .await
            .unwrap()
            .status()
    }
}

pub(crate) struct Visitor {
    pub(crate) cookie: String,
    pub(crate) here: String,
    pub(crate) csrf: String,
}

pub(crate) const NAVIGATES: &[(&str, &str)] =
    &[("sec-fetch-mode", "navigate"), ("sec-fetch-site", "none")];

async fn serve(
    engine: &Engine,
    url: Option<&str>,
    mut settings: PageSettings,
    askers: Askers,
) -> (Pages, Server) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let here = format!("http://{address}");
    settings.uploads.get_or_insert_with(|| {
        Uploads::temporary(engine.clone(), UploadSettings::default()).unwrap()
    });
    let url = url.unwrap_or(&here);
    let pages = Pages::new(engine.clone(), url, settings).unwrap();
    let rpc = Rpc::new(engine.clone()).with_links(pages.clone());
    let http = Http::with_settings(rpc, askers, HttpSettings::default()).with_pages(pages.clone());
    let server = Server::on(listener, http);
    (pages, server)
}

pub(crate) fn path_of(link: &str) -> String {
    url::Url::parse(link).unwrap().path().to_owned()
}

pub(crate) fn cookie(headers: &HeaderMap) -> String {
    let cookie = headers[header::SET_COOKIE].to_str().unwrap();
    cookie.split(';').next().unwrap().to_owned()
}

pub(crate) fn text(answer: &Answer) -> String {
    String::from_utf8(answer.body.to_vec()).unwrap()
}

pub(crate) fn between(text: &str, before: &str, after: &str) -> String {
    let (_, rest) = text.split_once(before).unwrap();
    rest.split_once(after).unwrap().0.to_owned()
}

const ANSWERS: &[(&str, &str)] = &[
    ("_f", "0"),
    ("f.target", "staging"),
    ("_f", "1"),
    ("f.replicas", "3"),
    ("_f", "2"),
    ("f.token", "canary-secret-7f3a"),
];

fn with<'a>(action: &'a str, fields: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    fields.iter().copied().chain([("_do", action)]).collect()
}

#[tokio::test]
async fn a_person_answers_and_the_asker_has_it() {
    let site = Site::new().await;
    let id = site.ask().await;
    let visitor = site.visit(id).await;
    let reviewed = site.post(&visitor, &with("review", ANSWERS)).await;
    assert_eq!(reviewed.status, StatusCode::SEE_OTHER);
    let review = reviewed.headers[header::LOCATION].to_str().unwrap();
    assert_eq!(review, format!("{}/review", visitor.here));
    let page = site.get(review, &[("cookie", &visitor.cookie)]).await;
    assert!(text(&page).contains("••••"));
    assert!(!text(&page).contains("canary-secret"));
    let sent = site.post(&visitor, &[("_do", "send")]).await;
    assert_eq!(sent.headers[header::LOCATION], visitor.here);
    let closing = site
        .get(&visitor.here, &[("cookie", &visitor.cookie)])
        .await;
    assert!(text(&closing).contains("Answer sent"));

    let asker = site.world.session.asker();
    let settled = asker.elicitation(id).status().await.unwrap();
    let result = json!({"target": "staging", "replicas": 3, "token": "canary-secret-7f3a"});
    assert_eq!(settled.result(), Some(result));
    let agent = settled
        .record()
        .answer_state
        .as_ref()
        .unwrap()
        .submission
        .clone()
        .unwrap();
    assert!(agent["submitted_at"].is_number());
    // Another browser with the link sees that there is nothing to do.
    let other = site.get(&site.path(id), &[]).await;
    assert!(text(&other).contains("Already answered"));
}

/// The headers of every page response, whatever its status.
fn assert_protected(answer: &Answer, what: &str) {
    let has = |name: &str, part: &str| {
        let value = answer
            .headers
            .get(name)
            .map(|value| value.to_str().unwrap());
        assert!(
            value.is_some_and(|value| value.contains(part)),
            "{what}: {name} is {value:?}"
        );
    };
    for part in [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    ] {
        has("content-security-policy", part);
    }
    has("x-content-type-options", "nosniff");
    has("x-frame-options", "DENY");
    has("referrer-policy", "no-referrer");
    has("cross-origin-opener-policy", "same-origin");
    let policy = answer.headers["content-security-policy"].to_str().unwrap();
    assert!(!policy.contains("unsafe"), "{what}");
    let is_asset = what.contains("/assets/") && answer.status == StatusCode::OK;
    has(
        "cache-control",
        if is_asset { "immutable" } else { "no-store" },
    );
    if let Some(cookie) = answer.headers.get(header::SET_COOKIE) {
        let cookie = cookie.to_str().unwrap();
        for part in ["HttpOnly", "SameSite=Lax", "Path=/"] {
            assert!(cookie.contains(part), "{what}: {cookie}");
        }
        assert!(!cookie.contains("Domain"), "{what}: {cookie}");
    }
}

#[tokio::test]
async fn every_route_and_status_is_protected() {
    let site = Site::new().await;
    let id = site.ask().await;
    let visitor = site.visit(id).await;
    let here = &visitor.here;
    let question = path_of(&site.pages.link(id));
    let inbox = path_of(&site.pages.inbox_link());
    let stranger = format!("/e/{id}/{}", "A".repeat(43));
    let page = text(&site.get(here, &[("cookie", &visitor.cookie)]).await);
    let style = between(&page, "rel=\"stylesheet\" href=\"", "\"");
    let script = between(&page, "script src=\"", "\"");

    let paths = [
        "/".to_owned(),
        question,
        here.clone(),
        format!("{here}?check"),
        format!("{here}?test=1"),
        format!("{here}/review"),
        format!("{here}/state"),
        format!("{here}/draft"),
        format!("{here}/files/0"),
        format!("{here}/files/0/x"),
        format!("{here}/files/x"),
        format!("{here}/more"),
        stranger,
        "/e/nothing/here".to_owned(),
        "/e/".to_owned(),
        inbox.clone(),
        format!("{inbox}/list"),
        "/inbox".to_owned(),
        "/inbox/nothing".to_owned(),
        style,
        script,
        "/assets/accent-aa3300.css".to_owned(),
        "/assets/none.css".to_owned(),
    ];
    let mut seen = std::collections::BTreeSet::new();
    for path in &paths {
        for method in [
            Method::GET,
            Method::HEAD,
            Method::OPTIONS,
            Method::POST,
            Method::DELETE,
        ] {
            for headers in [
                vec![],
                vec![("cookie", &*visitor.cookie)],
                vec![
                    ("cookie", &*visitor.cookie),
                    ("origin", "https://evil.example"),
                ],
                vec![("host", "evil.example")],
            ] {
                let what = format!("{method} {path} {headers:?}");
                let answer = site
                    .send(method.clone(), path, &headers, String::new())
                    .await;
                seen.insert(answer.status.as_u16());
                assert!(
                    !answer.status.is_server_error(),
                    "{what}: {}",
                    answer.status
                );
                assert_protected(&answer, &what);
            }
        }
    }
    for status in [200, 303, 403, 404, 405, 429] {
        assert!(seen.contains(&status), "{status} of {seen:?}");
    }
    assert_eq!(site.status(id).await, Status::Pending);
}

#[tokio::test]
async fn a_proxy_that_names_nobody_lets_nobody_in() {
    let site = Site::at(Some("https://ask.example.com"), PageSettings::default()).await;
    let id = site.ask().await;
    let path = path_of(&site.pages.link(id));
    // From a proxy that adds no forwarding headers.
    for path in [path, path_of(&site.pages.inbox_link())] {
        let page = site.get(&path, &[("host", "localhost")]).await;
        assert_eq!(page.status, StatusCode::FORBIDDEN, "{path}");
        assert!(!text(&page).contains("Who are you?"));
    }
    // So no one is sent there.
    assert_eq!(Links::page(&site.pages, id), None);
}

#[tokio::test]
async fn over_tls_the_cookie_belongs_to_the_host_and_tls_stays() {
    let site = Site::at(Some("https://localhost/sub"), PageSettings::default()).await;
    let id = site.ask().await;
    let link = site.pages.link(id);
    assert!(link.starts_with("https://localhost/sub/e/elic_"), "{link}");
    // The proxy in front strips `/sub`.
    let path = path_of(&link).replacen("/sub", "", 1);
    let page = site.get(&path, &[("host", "localhost")]).await;
    assert_eq!(page.status, StatusCode::OK);
    let cookie = page.headers[header::SET_COOKIE].to_str().unwrap();
    assert!(
        cookie.starts_with("__Host-entreat=") && cookie.contains("; Secure"),
        "{cookie}"
    );
    assert!(page.headers.contains_key(header::STRICT_TRANSPORT_SECURITY));
    assert!(text(&page).contains("href=\"/sub/assets/"));
    assert!(text(&page).contains("action=\"/sub/e/"));

    let plain = Site::new().await;
    let id = plain.ask().await;
    let page = plain.get(&plain.path(id), &[]).await;
    let cookie = page.headers[header::SET_COOKIE].to_str().unwrap();
    assert!(
        cookie.starts_with("entreat=") && !cookie.contains("Secure"),
        "{cookie}"
    );
    assert!(!page.headers.contains_key(header::STRICT_TRANSPORT_SECURITY));
}

#[tokio::test]
async fn whoever_only_looks_changes_nothing() {
    let site = Site::new().await;
    let id = site.ask().await;
    let path = site.path(id);
    let bots: [&[(&str, &str)]; 4] = [
        &[("user-agent", "Slackbot-LinkExpanding 1.0")],
        &[("user-agent", "MailScanner/5.0"), ("accept", "*/*")],
        &[("sec-purpose", "prefetch"), ("sec-fetch-mode", "navigate")],
        &[("purpose", "prefetch"), ("sec-fetch-mode", "no-cors")],
    ];
    for headers in bots {
        for method in [Method::GET, Method::HEAD, Method::OPTIONS] {
            site.send(method.clone(), &path, headers, String::new())
                .await;
            for act in [
                "?_do=decline",
                "?_do=cancel",
                "?decline",
                "/review",
                "/state",
                "?test=0",
            ] {
                let path = format!("{path}{act}");
                site.send(method.clone(), &path, headers, String::new())
                    .await;
            }
        }
    }
    let snapshot = site.world.engine.elicitation(id).status().await.unwrap();
    assert_eq!(snapshot.status(), Status::Pending);
    assert_eq!(serde_json::to_value(&snapshot).unwrap()["shown"], "unknown");
}

#[tokio::test]
async fn an_address_that_a_browser_was_sent_to_opens_in_no_other() {
    let site = Site::new().await;
    let id = site.ask().await;
    let visitor = site.visit(id).await;
    let missing = site.get(&format!("/e/{id}/{}", "x".repeat(43)), &[]).await;
    let nowhere = site
        .get("/e/elic_00000000000000000000000000/abc", &[])
        .await;
    let without = site.get(&visitor.here, &[]).await;
    let other = format!("entreat={}", "B".repeat(43));
    let with_other = site.get(&visitor.here, &[("cookie", &other)]).await;
    for answer in [&missing, &nowhere, &without, &with_other] {
        assert_eq!(answer.status, StatusCode::NOT_FOUND);
        assert_eq!(answer.body, missing.body);
        assert!(!text(answer).contains("Deploy"));
    }
    // The pass contains neither the token nor the cookie.
    assert!(
        !visitor
            .here
            .contains(site.path(id).rsplit('/').next().unwrap())
    );
    assert!(
        !visitor
            .here
            .contains(visitor.cookie.split('=').nth(1).unwrap())
    );
}

#[tokio::test]
async fn a_form_from_elsewhere_is_refused_and_changes_nothing() {
    let site = Site::new().await;
    let id = site.ask().await;
    let visitor = site.visit(id).await;
    let stranger = site.visit(id).await;
    let cookie = ("cookie", &*visitor.cookie);
    let decline = [("_do", "decline")];
    let mut refused = Vec::new();
    for headers in [
        vec![],
        vec![cookie, ("origin", "https://evil.example")],
        vec![cookie, ("origin", "http://localhost:1")],
        vec![cookie, ("sec-fetch-site", "cross-site")],
        vec![cookie, ("sec-fetch-site", "same-site")],
        vec![cookie, ("origin", "null"), ("sec-fetch-site", "cross-site")],
        vec![cookie, ("host", "evil.example")],
        vec![cookie, ("x-forwarded-for", "203.0.113.9")],
    ] {
        refused.push(site.post_as(&visitor, &headers, &decline).await.status);
    }
    assert!(
        refused
            .iter()
            .all(|status| matches!(status.as_u16(), 403 | 404)),
        "{refused:?}"
    );
    let forged = Visitor {
        csrf: stranger.csrf,
        cookie: visitor.cookie.clone(),
        here: visitor.here.clone(),
    };
    assert_eq!(
        site.post(&forged, &decline).await.status,
        StatusCode::FORBIDDEN
    );
    let token = path_of(&site.pages.link(id));
    let by_link = Visitor {
        here: token,
        ..visitor
    };
    assert_eq!(site.status(id).await, Status::Pending);
    // The same request from its own browser is accepted, and with the link as well.
    let declined = site.post(&by_link, &decline).await;
    assert_eq!(declined.status, StatusCode::SEE_OTHER);
    assert_eq!(site.status(id).await, Status::Declined);
}

#[tokio::test]
async fn guessing_links_gets_slow_and_harms_nobody_else() {
    let site = Site::new().await;
    let id = site.ask().await;
    let mut statuses = Vec::new();
    for guess in 0..60 {
        let path = format!("/e/{id}/{guess:043}");
        statuses.push(site.get(&path, &[]).await.status);
    }
    assert!(statuses.contains(&StatusCode::TOO_MANY_REQUESTS));
    assert_eq!(site.get(&site.path(id), &[]).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_link_outlives_a_rotation_of_keys_and_not_their_removal() {
    const ONE: &str = "v1 jOlZzQnMC4pSbwVDYpJZjFL0m2zHNDQ3qp5sxJyqqUI=";
    const TWO: &str = "v2 oBPQQDFvCkoIJwMYpG5F0rBwzXzIIqEZN3mvU3sRp1A=";
    let engine = async |keys: &str| {
        let keys = KeyRing::from_text(keys).unwrap();
        Engine::builder().keys(keys).start().await.unwrap()
    };
    let link = |pages: &Pages| {
        let id = "elic_00000000000000000000000000".parse().unwrap();
        path_of(&pages.link(id))
    };
    let (old, _one) = serve(
        &engine(ONE).await,
        None,
        PageSettings::default(),
        Askers::none(),
    )
    .await;
    let both = format!("{ONE}\n{TWO}");
    let (new, both) = serve(
        &engine(&both).await,
        None,
        PageSettings::default(),
        Askers::none(),
    )
    .await;
    let (gone, two) = serve(
        &engine(TWO).await,
        None,
        PageSettings::default(),
        Askers::none(),
    )
    .await;
    assert_ne!(link(&old), link(&new));
    assert_eq!(link(&new), link(&gone));
    // There is no such question; the limit on guesses shows whether the token was accepted.
    let refused = async |server: &Server| {
        let mut statuses = Vec::new();
        for _ in 0..40 {
            statuses.push(server.send(server.get(&link(&old))).await.status);
        }
        statuses.contains(&StatusCode::TOO_MANY_REQUESTS)
    };
    assert!(!refused(&both).await);
    assert!(refused(&two).await);
}

#[tokio::test]
async fn no_log_has_a_token_a_cookie_or_an_answer() {
    let (log, _guard) = CapturedLog::of_this_thread(tracing::Level::TRACE);
    let site = Site::new().await;
    let id = site.ask().await;
    let visitor = site.visit(id).await;
    let answers = with(
        "review",
        &[
            ("_f", "0"),
            ("f.target", "canary-wrong-91"),
            ANSWERS[4],
            ANSWERS[5],
        ],
    );
    site.post(&visitor, &answers).await;
    site.get(
        &format!("{}?check", visitor.here),
        &[("cookie", &visitor.cookie)],
    )
    .await;
    site.post(&visitor, &with("send", ANSWERS)).await;
    site.get(&format!("/e/{id}/{}", "C".repeat(43)), &[]).await;
    let log = log.text();
    assert!(log.contains(&id.to_string()), "{log}");
    let token = site.path(id);
    for secret in [
        token.rsplit('/').next().unwrap(),
        visitor.here.rsplit('/').next().unwrap(),
        visitor.cookie.split('=').nth(1).unwrap(),
        &visitor.csrf,
        "canary-",
    ] {
        assert!(!log.contains(secret), "{secret} in\n{log}");
    }
}

/// The destination of a log.
#[tokio::test]
async fn create_names_the_page_of_what_can_be_answered_on_one() {
    let site = Site::new().await;
    let rpc = site.world.rpc.clone().with_links(site.pages.clone());
    let create = async |params: Value| {
        let message = crate::world::request("elicitation/create", params);
        let answered = rpc.answer(&site.world.session, message.as_bytes()).await;
        crate::world::parsed(&answered)["result"].clone()
    };
    for params in [
        json!({"formDefinition": deploy()}),
        json!({"prompt": "Your name?"}),
        json!({"mode": "terminal", "formDefinition": deploy()}),
    ] {
        let created = create(params).await;
        let page = created["page"].as_str().unwrap();
        let shown = site.get(&path_of(page), &[]).await;
        assert_eq!(shown.status, StatusCode::OK, "{created}");
        assert!(
            !page.contains(&*format!("{}\"", created["elicitationId"])),
            "{page}"
        );
    }
    assert_eq!(
        create(json!({"url": "https://example.com/"})).await["page"],
        Value::Null
    );
}

#[tokio::test]
async fn a_page_weighs_little() {
    let site = Site::new().await;
    let form = entreat_testkit::samples::comprehensive();
    let id = site
        .world
        .session
        .asker()
        .ask(Ask::form(form))
        .await
        .unwrap()
        .id();
    let page = site.get(&site.path(id), &[]).await;
    let html = text(&page);
    let mut weight = packed(html.as_bytes());
    for (before, what) in [
        ("rel=\"stylesheet\" href=\"", "style"),
        ("script src=\"", "script"),
    ] {
        let asset = site
            .get(
                &between(&html, before, "\""),
                &[("accept-encoding", "gzip")],
            )
            .await;
        assert_eq!(asset.headers[header::CONTENT_ENCODING], "gzip", "{what}");
        weight += asset.body.len();
    }
    assert!(weight < 40_000, "{weight} bytes");
    // The page is usable before the script loads.
    assert!(html.contains(" defer>"));
    assert!(!html.contains("<style") && !html.contains(" style=") && !html.contains(" onclick"));
}

fn packed(bytes: &[u8]) -> usize {
    use std::io::Write as _;
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap().len()
}
