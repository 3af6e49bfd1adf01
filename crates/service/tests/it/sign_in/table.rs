//! Every address of pages and inbox, crossed with every kind of visitor.

use std::fmt::Write as _;

use entreat_testkit::{Call, FaultyStore};

use super::*;

/// A visitor, in a browser of their own.
struct Visitor {
    name: &'static str,
    browser: Browser,
}

/// A question for Ada, and her page.
struct Case {
    realm: Realm,
    link: String,
    /// The question's address in Ada's browser.
    page: String,
    /// The token of her form.
    csrf: String,
    visitors: Vec<Visitor>,
}

/// What each kind of visitor gets. The addresses of the question contain the link's key, or what
/// stands in its place for Ada's browser, which is also that of her expired and ended sessions.
///
/// - `in`: the page that leads to the sign-in
/// - `none`: the page for links that do not work for this person
/// - `to …`: a redirect
const EXPECTED: &str = "\
request                           nobody       has the link other        right        operator     expired      signed out
GET /                             200          200          200          200          200          200          200
GET link                          in           in           none         to page      none         in           in
GET page                          in           in           none         200          none         in           in
GET page/review                   in           in           none         to page      none         in           in
GET page/state                    in           in           none         200          none         in           in
GET page/again                    in           in           none         to page      none         in           in
GET page/files/0/nothing          in           in           none         404          none         in           in
GET page/unknown                  404          404          404          404          404          404          404
GET e/nothing/key                 in           in           none         none         none         in           in
GET inbox                         in           in           200          200          200          in           in
GET inbox/list                    in           in           200          200          200          in           in
GET inbox/key                     in           in           none         none         none         in           in
GET inbox/key/list                in           in           none         none         none         in           in
GET sign-in/callback              to inbox     to inbox     to inbox     to inbox     to inbox     to inbox     to inbox
GET signed-out                    200          200          200          200          200          200          200
POST page                         in           in           none         to page      none         in           in
POST page/draft                   in           in           none         200          none         403          403
POST page/files/0                 in           in           none         403          none         in           in
POST link?sign-in                 403          to provider  to provider  to provider  to provider  to provider  to provider
POST inbox?sign-in                403          to provider  to provider  to provider  to provider  to provider  to provider
POST sign-out                     403          200          200          200          200          200          200
POST sign-in/back-channel-logout  400          400          400          400          400          400          400
POST inbox                        405          405          405          405          405          405          405
";

/// The width of the first column.
const NAME: usize = 34;

#[tokio::test]
async fn every_address_shows_every_kind_of_visitor_what_is_theirs() {
    let requests = EXPECTED.lines().skip(1);
    let mut table = format!("{:<NAME$}", "request");
    for visitor in &Case::new().await.visitors {
        write!(table, "{:<13}", visitor.name).unwrap();
    }
    table = format!("{}\n", table.trim_end());
    for request in requests {
        let request = request[..NAME].trim_end();
        let (method, what) = request.split_once(' ').unwrap();
        let mut row = format!("{request:<NAME$}");
        // A case for each cell: some requests change something.
        for visitor in 0..Case::VISITORS {
            let cell = Case::new().await.cell(visitor, method, what).await;
            write!(row, "{cell:<13}").unwrap();
        }
        table.push_str(row.trim_end());
        table.push('\n');
    }
    assert_eq!(table, EXPECTED, "\n{table}");
}

impl Case {
    const VISITORS: usize = 7;

    async fn new() -> Self {
        let short = Duration::from_secs(60);
        let realm = Realm::with(|settings| settings.session = short).await;
        let id = realm.ask("ada").await;
        let link = realm.path(id);
        let mut ada = realm.browser();
        let page = realm.sign_in(&mut ada, "ada", &link).await;
        let expired = ada.clone();
        realm.site.world.pass(short).await;
        // In the same browser, where her address works.
        let mut right = ada.clone();
        right.cookies.remove("entreat-session");
        let mut signed_out = right.clone();
        realm.sign_in(&mut signed_out, "ada", "/inbox").await;
        let inbox = signed_out.open("/inbox").await;
        let cookies = signed_out.cookies.clone();
        let csrf = inbox.csrf();
        signed_out.post("/sign-out", &[("_csrf", &csrf)]).await;
        signed_out.cookies = cookies;
        realm.sign_in(&mut right, "ada", "/inbox").await;
        let other = realm.signed_in("bob").await;
        realm
            .provider
            .sign_in_as("root", json!({"roles": ["operator"]}));
        let mut operator = realm.browser();
        let start = operator.open("/inbox").await;
        let callback = operator.reach_provider(&start).await;
        operator.follow(&callback).await;
        let mut seen = realm.browser();
        seen.open(&link).await;
        let visitors = [
            ("nobody", realm.browser()),
            ("has the link", seen),
            ("other", other),
            ("right", right),
            ("operator", operator),
            ("expired", expired),
            ("signed out", signed_out),
        ];
        Self {
            csrf: page.csrf(),
            page: page.path,
            link,
            visitors: visitors
                .map(|(name, browser)| Visitor { name, browser })
                .into(),
            realm,
        }
    }

    async fn cell(mut self, visitor: usize, method: &str, what: &str) -> String {
        let browser = &mut self.visitors[visitor].browser;
        let path = match what.split_once(['/', '?']) {
            _ if what.starts_with('/') => what.to_owned(),
            None if what == "link" => self.link.clone(),
            None if what == "page" => self.page.clone(),
            Some(("link", rest)) => format!("{}?{rest}", self.link),
            Some(("page", rest)) => format!("{}/{rest}", self.page),
            _ => format!("/{what}"),
        };
        let answer = if method == "GET" {
            browser.get(&path).await
        } else {
            let csrf = match what {
                "page" | "page/draft" => self.csrf.clone(),
                // The token of a page that this browser gets.
                _ if browser.cookies.is_empty() => String::new(),
                _ => {
                    let mut guest = browser.clone();
                    guest.cookies.remove("entreat-session");
                    guest.get("/inbox").await.csrf()
                }
            };
            browser.post(&path, &answers(&csrf, "save")).await
        };
        let to = answer.headers.get(header::LOCATION);
        let to = to.map(|to| to.to_str().unwrap());
        let provider = self.realm.provider.url();
        match to {
            Some(to) if to.starts_with(&provider) => "to provider".to_owned(),
            Some(to) if to.starts_with(&self.page) => "to page".to_owned(),
            Some(to) if to.starts_with("/inbox") => "to inbox".to_owned(),
            Some(to) => format!("to {to}"),
            None if answer.is_sign_in() => "in".to_owned(),
            None if answer.text.contains("Use another account") => "none".to_owned(),
            None => answer.status.as_str().to_owned(),
        }
    }
}

/// How often pages ask the store for something.
fn asked(store: &FaultyStore<MemoryStore>) -> [usize; 4] {
    let calls = [Call::Load, Call::List, Call::Claim, Call::FindClaim];
    calls.map(|call| store.calls(call))
}

#[tokio::test]
async fn the_link_of_somebody_else_and_one_that_nobody_has_are_one_page_and_cost_the_same() {
    let store = Arc::new(FaultyStore::new(MemoryStore::new()));
    let realm = Realm::on(store.clone()).await;
    let id = realm.ask("alice").await;
    let link = realm.path(id);
    let (address, key) = link.rsplit_once('/').unwrap();
    let wrong_key = format!("{address}/{}", key.chars().rev().collect::<String>());
    let no_id = ElicitationId::new(entreat_core::UnixTime::from_millis(1), [3; 10]);
    let unknown = format!("/e/{no_id}/{key}");
    for subject in ["bob", "nobody"] {
        let mut browser = if subject == "bob" {
            realm.signed_in(subject).await
        } else {
            realm.browser()
        };
        browser.get("/inbox").await;
        let mut seen = Vec::new();
        for path in [&link, &wrong_key, &unknown] {
            let before = asked(&store);
            let page = browser.get(path).await;
            let mut headers = page.headers;
            headers.remove("date");
            let after = asked(&store);
            let calls: Vec<usize> = after.iter().zip(before).map(|(a, b)| a - b).collect();
            seen.push((page.status, headers, page.text, calls));
        }
        assert_eq!(seen[0], seen[1], "{subject}");
        assert_eq!(seen[0], seen[2], "{subject}");
        let loads = usize::from(subject == "bob");
        assert_eq!(seen[0].3, [loads, 0, 0, 0], "{subject}");
    }
}
