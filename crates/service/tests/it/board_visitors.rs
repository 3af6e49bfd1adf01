//! Every route of the board, for every kind of visitor.

use std::time::Duration;

use axum::http::Method;
use entreat_core::ElicitationId;

use crate::groups::{ASKER_KEY, OPERATOR_KEY, ask, site};
use crate::pages::{NAVIGATES, Site, between, cookie, path_of, text};

/// A browser, and who uses it.
struct Visitor {
    name: &'static str,
    headers: Vec<(&'static str, String)>,
    csrf: String,
}

impl Visitor {
    /// Opens the board once, and keeps the cookie and the token of its form, whichever page it is.
    async fn new(site: &Site, name: &'static str, user: Option<&str>) -> Self {
        let mut headers: Vec<_> = user
            .map(|user| ("x-user", user.to_owned()))
            .into_iter()
            .collect();
        let page = get(site, "/board", &headers).await;
        headers.push(("cookie", page.2.expect("a new browser gets a cookie")));
        let path = format!("/board/q/{}", ask(site, "nobody").await);
        let (_, page, _) = get(site, &path, &headers).await;
        let csrf = between(&page, "name=\"_csrf\" value=\"", "\"");
        Self {
            name,
            headers,
            csrf,
        }
    }

    /// Adds a session that began with a key.
    async fn with_session(mut self, site: &Site) -> Self {
        let form = format!("_csrf={}&key={OPERATOR_KEY}", self.csrf);
        let reply = post(site, "/board/key", &self.headers, form).await;
        assert_eq!(reply.0, 303);
        let (_, cookies) = &mut self.headers[0];
        *cookies = format!("{cookies}; {}", reply.2.expect("a session"));
        self
    }

    async fn get(&self, site: &Site, path: &str) -> (u16, String) {
        let (status, page, _) = get(site, path, &self.headers).await;
        (status, page)
    }

    async fn post(&self, site: &Site, path: &str, rest: &str) -> u16 {
        let form = format!("_csrf={}&{rest}", self.csrf);
        post(site, path, &self.headers, form).await.0
    }
}

type Reply = (u16, String, Option<String>);

async fn get(site: &Site, path: &str, headers: &[(&str, String)]) -> Reply {
    request(site, Method::GET, path, headers, String::new()).await
}

async fn post(site: &Site, path: &str, headers: &[(&str, String)], form: String) -> Reply {
    request(site, Method::POST, path, headers, form).await
}

async fn request(
    site: &Site,
    method: Method,
    path: &str,
    headers: &[(&str, String)],
    body: String,
) -> Reply {
    let headers: Vec<_> = headers
        .iter()
        .map(|(name, value)| (*name, &**value))
        .collect();
    let reply = site.send(method, path, &headers, body).await;
    let set = reply.headers.contains_key("set-cookie");
    let set = set.then(|| cookie(&reply.headers));
    (reply.status.as_u16(), text(&reply), set)
}

/// What each route answers, in the order of `routes`.
const TABLE: [(&str, [u16; 12]); 8] = [
    // board list history question unknown | extend reassign cancel | key asker-key leave | page
    (
        "nobody",
        [403, 403, 403, 403, 403, 403, 403, 403, 303, 403, 303, 403],
    ),
    (
        "link holder",
        [403, 403, 403, 403, 403, 403, 403, 403, 303, 403, 303, 403],
    ),
    (
        "other person",
        [403, 403, 403, 403, 403, 403, 403, 403, 303, 403, 303, 404],
    ),
    (
        "right person",
        [403, 403, 403, 403, 403, 403, 403, 403, 303, 403, 303, 200],
    ),
    (
        "operator by claim",
        [200, 200, 200, 200, 404, 303, 303, 303, 303, 403, 303, 404],
    ),
    (
        "operator by key",
        [200, 200, 200, 200, 404, 303, 303, 303, 303, 403, 303, 403],
    ),
    (
        "asker's key",
        [403, 403, 403, 403, 403, 403, 403, 403, 303, 403, 303, 403],
    ),
    (
        "expired",
        [403, 403, 403, 403, 403, 403, 403, 403, 303, 403, 303, 403],
    ),
];

/// Visits every route, with a question of its own for each change.
async fn routes(site: &Site, visitor: &Visitor) -> [u16; 12] {
    let fresh = || ask(site, "ada");
    let path = |id: ElicitationId| format!("/board/q/{id}");
    let asked = fresh().await;
    let mut seen = Vec::new();
    for path in [
        "/board".to_owned(),
        "/board/list".to_owned(),
        "/board/history".to_owned(),
        path(asked),
        "/board/q/nothing".to_owned(),
    ] {
        let (status, page) = visitor.get(site, &path).await;
        let is_open = status == 200 || status == 404;
        let name = visitor.name;
        assert!(
            is_open || !page.contains("Deploy"),
            "{name} reads {path}:\n{page}"
        );
        assert!(is_open || !page.contains("deployer"), "{name} reads {path}");
        seen.push(status);
    }
    for act in [
        "_do=extend",
        "_do=reassign&to=bob",
        "_do=cancel&reason=asker_cancelled",
    ] {
        let id = fresh().await;
        let before = site.world.engine.elicitation(id).status().await.unwrap();
        let status = visitor.post(site, &path(id), act).await;
        let after = site.world.engine.elicitation(id).status().await.unwrap();
        let changed = before.record().version != after.record().version;
        assert_eq!(changed, status == 303, "{} {act}", visitor.name);
        seen.push(status);
    }
    for (path, rest) in [
        ("/board/key", format!("key={OPERATOR_KEY}")),
        ("/board/key", format!("key={ASKER_KEY}")),
        ("/board/leave", String::new()),
    ] {
        seen.push(visitor.post(site, path, &rest).await);
    }
    let link = path_of(&site.pages.link(asked));
    seen.push(visitor.get(site, &link).await.0);
    seen.try_into().unwrap()
}

#[tokio::test]
async fn every_visitor_gets_what_the_table_says_on_every_route_of_the_board() {
    let site = site().await;
    let expired = Visitor::new(&site, "expired", None).await;
    let expired = expired.with_session(&site).await;
    site.world.pass(Duration::from_secs(8 * 3600)).await;
    let by_key = Visitor::new(&site, "operator by key", None).await;
    let mut asker = Visitor::new(&site, "asker's key", None).await;
    let bearer = ("authorization", format!("Bearer {ASKER_KEY}"));
    asker.headers.push(bearer);
    let link_holder = Visitor::new(&site, "link holder", None).await;
    let path = path_of(&site.pages.link(ask(&site, "ada").await));
    let own = link_holder.headers.iter();
    let own: Vec<_> = own.map(|(name, value)| (*name, &**value)).collect();
    let headers = [NAVIGATES, &own].concat();
    assert_eq!(site.get(&path, &headers).await.status.as_u16(), 403);
    let visitors = [
        Visitor::new(&site, "nobody", None).await,
        link_holder,
        Visitor::new(&site, "other person", Some("bob")).await,
        Visitor::new(&site, "right person", Some("ada")).await,
        Visitor::new(&site, "operator by claim", Some("olga")).await,
        by_key.with_session(&site).await,
        asker,
        expired,
    ];
    for (visitor, (name, expected)) in visitors.iter().zip(TABLE) {
        assert_eq!(visitor.name, name);
        assert_eq!(routes(&site, visitor).await, expected, "{name}");
    }
}
