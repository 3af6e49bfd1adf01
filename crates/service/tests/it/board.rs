//! The board: what operators see and do.

use std::time::Duration;

use axum::http::{Method, StatusCode, header};
use entreat_core::{ElicitationId, Status};
use entreat_engine::Ask;
use entreat_testkit::CapturedLog;
use serde_json::json;

use crate::groups::{OPERATOR_KEY, ask, open, see, send, site};
use crate::pages::{Site, between, text};
use crate::world::{answer, deploy};

/// An operator by claim, in a browser.
struct Operator {
    cookie: String,
    csrf: String,
}

impl Operator {
    async fn new(site: &Site) -> Self {
        let id = ask(site, "nobody").await;
        let path = format!("/board/q/{id}");
        let page = site.get(&path, &[("x-user", "olga")]).await;
        assert_eq!(page.status, StatusCode::OK);
        let cookie = crate::pages::cookie(&page.headers);
        let csrf = between(&text(&page), "name=\"_csrf\" value=\"", "\"");
        site.world.engine.elicitation(id).decline().await.unwrap();
        Self { cookie, csrf }
    }

    async fn see(&self, site: &Site, path: &str) -> String {
        let headers = [("x-user", "olga"), ("cookie", &*self.cookie)];
        text(&site.get(path, &headers).await)
    }

    /// Sends a form; the status, and where it leads or the page.
    async fn act(&self, site: &Site, id: ElicitationId, fields: &[(&str, &str)]) -> (u16, String) {
        let headers = [("x-user", "olga"), ("cookie", &*self.cookie)];
        self.act_as(site, id, &headers, fields).await
    }

    async fn act_as(
        &self,
        site: &Site,
        id: ElicitationId,
        headers: &[(&str, &str)],
        fields: &[(&str, &str)],
    ) -> (u16, String) {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        form.append_pair("_csrf", &self.csrf).extend_pairs(fields);
        let path = format!("/board/q/{id}");
        let reply = site.send(Method::POST, &path, headers, form.finish()).await;
        let text = match reply.headers.get(header::LOCATION) {
            Some(place) => place.to_str().unwrap().to_owned(),
            None => text(&reply),
        };
        (reply.status.as_u16(), text)
    }
}

/// The titles in a list, in its order.
fn titles(page: &str) -> Vec<String> {
    let rows = page.split("<th scope=\"row\">").skip(1);
    let title = |row: &str| between(row, "dir=\"auto\">", "</a>");
    rows.map(title).collect()
}

/// Asks a form with this title.
async fn titled(site: &Site, title: &str, respondent: &str, minutes: u64) -> ElicitationId {
    let mut form = deploy();
    form["title"] = json!(title);
    let form = entreat_core::Form::from_value(&form).unwrap();
    let timeout = entreat_core::Timeout::of(Duration::from_secs(minutes * 60));
    let ask = Ask::form(form).respondent(respondent).timeout(timeout);
    let asker = site.world.session.asker();
    asker.ask(ask).await.unwrap().id()
}

#[tokio::test]
async fn an_operator_sees_everything_open_and_what_ends_soonest_first() {
    let site = site().await;
    let olga = Operator::new(&site).await;
    titled(&site, "Later", "ada", 10).await;
    titled(&site, "Last", "group:ops", 11).await;
    site.world.pass(Duration::from_secs(60)).await;
    titled(&site, "Soon", "email:bob@example.com", 2).await;
    let page = olga.see(&site, "/board").await;
    assert_eq!(titles(&page), ["Soon", "Later", "Last"]);
    assert!(page.contains("3 questions are open"), "{page}");
    assert!(page.contains("<title>(3) Board</title>"));
    assert!(page.contains("Operator: <bdi>Olga &#60;b&#62;</bdi>"));
    assert!(page.contains("<span class=\"tag\">group</span> <bdi>ops</bdi>"));
    assert!(page.contains("<bdi>deployer</bdi>") && page.contains("Not opened"));
    // Deadlines of the same moment: what has waited longest comes first.
    site.world.pass(Duration::from_secs(100)).await;
    let page = olga.see(&site, "/board/list").await;
    assert!(
        page.contains("3 questions are open, 1 ending soon"),
        "{page}"
    );
    assert!(page.contains("<tr class=\"late\"><th"), "{page}");
}

#[tokio::test]
async fn the_board_is_filtered_and_searched() {
    let site = site().await;
    let olga = Operator::new(&site).await;
    let first = titled(&site, "Deploy Ärger", "ada", 100).await;
    site.world.pass(Duration::from_secs(20 * 60)).await;
    titled(&site, "Delete <all>", "group:ops", 100).await;
    site.world.clock.advance(Duration::from_millis(1));
    let id = titled(&site, "Sign", "bob", 100).await;
    open(&site, id, "bob").await;
    site.world.engine.elicitation(id).open().await.unwrap();
    let all = ["Deploy Ärger", "Delete &#60;all&#62;", "Sign"];
    let only = first.to_string();
    for (query, expected) in [
        ("", &all[..]),
        ("?q=%C3%84RGER", &all[..1]),
        ("?q=de", &all[..]),
        (&*format!("?q={only}"), &all[..1]),
        ("?q=OPS", &all[1..2]),
        ("?q=deployer", &all[..]),
        ("?q=nothing", &[]),
        ("?for=group%3Aops", &all[1..2]),
        ("?for=ops", &[]),
        ("?asker=deployer", &all[..]),
        ("?asker=deploy", &[]),
        ("?state=active", &all[2..]),
        ("?state=pending&q=de", &all[..2]),
        ("?age=15", &all[..1]),
        ("?age=60", &[]),
        ("?page=9", &all[..]),
        ("?page=x&what=ever&age=-1", &all[..]),
    ] {
        let page = olga.see(&site, &format!("/board{query}")).await;
        assert_eq!(titles(&page), expected, "{query}");
        let list = between(&page, "data-list=\"", "\"").replace("&#38;", "&");
        assert_eq!(titles(&olga.see(&site, &list).await), expected, "{list}");
    }
    let page = olga.see(&site, "/board?q=%22%3E%3Cscript%3E").await;
    assert!(!page.contains("><script>"), "{page}");
}

#[tokio::test]
async fn the_board_comes_in_pages() {
    let site = site().await;
    let olga = Operator::new(&site).await;
    for number in 0..120 {
        titled(&site, &format!("Number {number}"), "ada", 100).await;
        site.world.clock.advance(Duration::from_millis(1));
    }
    let mut seen = Vec::new();
    let mut path = "/board?q=number".to_owned();
    loop {
        let page = olga.see(&site, &path).await;
        seen.extend(titles(&page));
        if !page.contains("rel=\"next\"") {
            break;
        }
        path = between(&page, "rel=\"next\" href=\"", "\"").replace("&#38;", "&");
    }
    let expected: Vec<_> = (0..120).map(|number| format!("Number {number}")).collect();
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn an_operator_extends_reassigns_and_cancels_and_each_is_logged() {
    let (log, _guard) = CapturedLog::of_this_thread(tracing::Level::INFO);
    let site = site().await;
    let olga = Operator::new(&site).await;
    let id = ask(&site, "ada").await;
    let ada = open(&site, id, "ada").await;
    let deadline = |id| {
        let engine = site.world.engine.clone();
        async move {
            engine
                .elicitation(id)
                .status()
                .await
                .unwrap()
                .lifecycle()
                .deadline()
        }
    };
    let before = deadline(id).await;
    let done = |what: &str| (303, format!("/board/q/{id}?{what}"));
    assert_eq!(
        olga.act(&site, id, &[("_do", "extend")]).await,
        done("extended")
    );
    assert!(deadline(id).await > before);
    let to = [("_do", "reassign"), ("to", " group:sales ")];
    assert_eq!(olga.act(&site, id, &to).await, done("reassigned"));
    let page = olga.see(&site, &format!("/board/q/{id}?reassigned")).await;
    assert!(
        page.contains("The question has a new respondent."),
        "{page}"
    );
    assert!(page.contains("<bdi>sales</bdi>"));
    assert!(
        see(&site, &ada, "ada")
            .await
            .contains("This link does not work")
    );
    let eve = open(&site, id, "eve").await;
    let cancel = [("_do", "cancel"), ("reason", "form_invalidated")];
    assert_eq!(olga.act(&site, id, &cancel).await, done("cancelled"));
    assert_eq!(site.status(id).await, Status::Cancelled);
    let page = olga.see(&site, &format!("/board/q/{id}")).await;
    assert!(
        page.contains("The question is wrong or out of date"),
        "{page}"
    );
    assert!(page.contains("<bdi>Olga &#60;b&#62;</bdi> <span class=\"tag\">operator</span>"));
    assert!(
        !page.contains("<form method=\"post\"><"),
        "there is nothing left to do"
    );
    assert!(see(&site, &eve, "eve").await.contains("Question withdrawn"));
    let params = json!({"elicitationId": id});
    let record = site.world.result("elicitation/status", params).await;
    let settled_by =
        json!({"account": "https://id.example#olga", "name": "Olga <b>", "operator": true});
    assert_eq!(record["settledBy"], settled_by);
    // Too late.
    for act in [&cancel[..], &to, &[("_do", "extend")]] {
        let (status, place) = olga.act(&site, id, act).await;
        assert_eq!((status, &*place), (303, &*format!("/board/q/{id}")));
    }
    let log = log.text();
    for act in ["extended", "reassigned", "cancelled"] {
        let is_it = |line: &&str| {
            line.contains(&format!("act=\"{act}\""))
                && line.contains("operator=\"https://id.example#olga\"")
                && line.contains(&id.to_string())
                && line.contains("INFO")
        };
        assert_eq!(log.lines().filter(is_it).count(), 1, "{act}: {log}");
    }
    assert!(!log.contains("Olga"), "{log}");
}

#[tokio::test]
async fn what_an_operator_leaves_out_is_asked_for_and_changes_nothing() {
    let site = site().await;
    let olga = Operator::new(&site).await;
    let id = ask(&site, "ada").await;
    let long = "x".repeat(1025);
    for (fields, text) in [
        (&[("_do", "cancel"), ("reason", "")][..], "Choose a reason."),
        (
            &[("_do", "cancel"), ("reason", "user_cancelled")],
            "Choose a reason.",
        ),
        (
            &[("_do", "reassign"), ("to", "  ")],
            "Enter the new respondent.",
        ),
        (
            &[("_do", "reassign"), ("to", &long)],
            "Enter the new respondent.",
        ),
    ] {
        let (status, page) = olga.act(&site, id, fields).await;
        assert_eq!(status, 422);
        assert!(page.contains(text), "{page}");
    }
    let (status, _) = olga.act(&site, id, &[("_do", "dance")]).await;
    assert_eq!(status, 303);
    // No other site's form, none of another browser, and none too large.
    let cookie = ("cookie", &*olga.cookie);
    let cancel = [("_do", "cancel"), ("reason", "asker_cancelled")];
    for headers in [
        &[
            ("x-user", "olga"),
            cookie,
            ("origin", "https://evil.example"),
        ][..],
        &[("x-user", "olga"), cookie, ("sec-fetch-site", "same-site")],
        &[("x-user", "olga"), ("cookie", "entreat=AAAA")],
        &[("x-user", "olga")],
    ] {
        let (status, page) = olga.act_as(&site, id, headers, &cancel).await;
        assert_eq!(status, 403, "{headers:?}");
        assert!(page.contains("This form was not sent from our page"));
    }
    let pad = "x".repeat(70_000);
    let padded = [&cancel[..], &[("pad", &*pad)]].concat();
    assert_eq!(olga.act(&site, id, &padded).await.0, 403);
    assert_eq!(site.status(id).await, Status::Pending);
}

#[tokio::test]
async fn the_board_never_shows_what_somebody_typed_or_what_an_asker_attached() {
    let site = site().await;
    let olga = Operator::new(&site).await;
    let mut ids = Vec::new();
    for number in 0..3 {
        let id = ask(&site, "ada").await;
        let ada = open(&site, id, "ada").await;
        let fields = [
            ("_f", "0"),
            ("f.target", "staging"),
            ("_f", "1"),
            ("f.replicas", if number == 1 { "99" } else { "3" }),
            ("_f", "2"),
            ("f.token", "canary-secret"),
            ("_do", if number == 0 { "save" } else { "send" }),
        ];
        send(&site, &ada, "ada", &fields).await;
        ids.push(id);
    }
    assert_eq!(site.status(ids[2]).await, Status::Completed);
    let mut pages = vec![
        "/board".to_owned(),
        "/board/list".into(),
        "/board/history".into(),
    ];
    pages.extend(ids.iter().map(|id| format!("/board/q/{id}")));
    for path in pages {
        for query in ["", "?q=7", "?state=active"] {
            let page = olga.see(&site, &format!("{path}{query}")).await;
            for canary in ["staging", "canary-", "replicas", "Replicas", "Token"] {
                assert!(!page.contains(canary), "{path}{query}: {canary}\n{page}");
            }
        }
        for query in ["?q=staging", "?q=canary", "?q=replicas"] {
            if !path.contains("/q/") {
                let found = titles(&olga.see(&site, &format!("{path}{query}")).await);
                assert_eq!(found, [""; 0], "what was typed is not searched");
            }
        }
    }
}

#[tokio::test]
async fn the_history_says_how_each_question_ended_and_by_whom() {
    let site = site().await;
    let olga = Operator::new(&site).await;
    let answered = titled(&site, "Answered", "ada", 10).await;
    let ada = open(&site, answered, "ada").await;
    let fields = [("_f", "0"), ("f.target", "staging"), ("_do", "send")];
    send(&site, &ada, "ada", &fields).await;
    let by_program = titled(&site, "Program", "bob", 10).await;
    let elicitation = site.world.session.asker().elicitation(by_program);
    elicitation.submit(&answer()).await.unwrap();
    let cancelled = titled(&site, "Cancelled", "group:ops", 10).await;
    let cancel = [("_do", "cancel"), ("reason", "asker_cancelled")];
    olga.act(&site, cancelled, &cancel).await;
    titled(&site, "Late", "ada", 1).await;
    site.world.pass(Duration::from_secs(120)).await;
    titled(&site, "Open", "ada", 10).await;
    let all = ["Late", "Cancelled", "Program", "Answered"];
    for (query, expected) in [
        (
            "?q=a&asker=deployer",
            &["Late", "Cancelled", "Program", "Answered"][..],
        ),
        ("?state=completed", &all[2..]),
        ("?state=timeout", &all[..1]),
        ("?state=cancelled", &all[1..2]),
        ("?for=group%3Aops", &all[1..2]),
        ("?for=ada", &["Late", "Answered"]),
        ("?q=olga", &all[1..2]),
        ("?asker=nobody", &[]),
    ] {
        let page = olga.see(&site, &format!("/board/history{query}")).await;
        let mut found = titles(&page);
        found.sort();
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(found, expected, "{query}");
    }
    let page = olga.see(&site, "/board/history").await;
    assert!(page.contains("<bdi>Ada &#60;b&#62;</bdi></td>"), "{page}");
    assert!(page.contains("<time datetime=\"2024-02-02T15:50:00Z\" data-local>"));
}

#[tokio::test]
async fn a_key_opens_the_board_until_the_session_ends() {
    let site = site().await;
    let page = site.get("/board", &[]).await;
    assert_eq!(page.status, StatusCode::FORBIDDEN);
    let browser = crate::pages::cookie(&page.headers);
    let csrf = between(&text(&page), "name=\"_csrf\" value=\"", "\"");
    let enter = async |cookie: &str, key: &str| {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        form.append_pair("_csrf", &csrf).append_pair("key", key);
        let headers = [("cookie", cookie)];
        site.send(Method::POST, "/board/key", &headers, form.finish())
            .await
    };
    let wrong = enter(&browser, "guess").await;
    assert_eq!(wrong.status, StatusCode::FORBIDDEN);
    assert!(text(&wrong).contains("This is not an operator’s key."));
    assert!(!text(&wrong).contains("guess"));
    assert_eq!(
        enter("entreat=AAAA", OPERATOR_KEY).await.status,
        StatusCode::FORBIDDEN
    );
    let entered = enter(&browser, OPERATOR_KEY).await;
    assert_eq!(entered.status, StatusCode::SEE_OTHER);
    assert_eq!(entered.headers[header::LOCATION], "/board");
    let set = entered.headers[header::SET_COOKIE].to_str().unwrap();
    assert!(
        set.contains("HttpOnly; SameSite=Lax") && set.contains("Max-Age=28800"),
        "{set}"
    );
    assert!(!set.contains(OPERATOR_KEY));
    let session = crate::pages::cookie(&entered.headers);
    let status = async |cookies: &str| site.get("/board", &[("cookie", cookies)]).await.status;
    let both = format!("{browser}; {session}");
    let page = text(&site.get("/board", &[("cookie", &both)]).await);
    assert!(page.contains("Operator: <bdi>night-watch</bdi>"), "{page}");
    assert!(page.contains("action=\"/board/leave\"") && page.contains(">Leave</button>"));
    // Not in another browser, not without one, not changed.
    let other = site.get("/board", &[]).await;
    let other = crate::pages::cookie(&other.headers);
    assert_eq!(
        status(&format!("{other}; {session}")).await,
        StatusCode::FORBIDDEN
    );
    assert_eq!(status(&session).await, StatusCode::FORBIDDEN);
    for place in 0..session.len() {
        let mut changed = session.clone().into_bytes();
        changed[place] = if changed[place] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        let status = status(&format!("{browser}; {changed}")).await;
        // The last character has bits that don't count.
        assert!(
            status == StatusCode::FORBIDDEN || place + 1 == session.len(),
            "{place}"
        );
    }
    // Leaving takes a form of the board.
    let leave = |form: String| {
        let (site, both) = (&site, &both);
        async move {
            let headers = [("cookie", &**both)];
            site.send(Method::POST, "/board/leave", &headers, form)
                .await
        }
    };
    assert_eq!(leave(String::new()).await.status, StatusCode::FORBIDDEN);
    let left = leave(format!("_csrf={csrf}")).await;
    assert!(
        left.headers[header::SET_COOKIE]
            .to_str()
            .unwrap()
            .contains("Max-Age=0")
    );
    // The cookie is worth nothing any more, however its last character is written.
    assert_eq!(status(&both).await, StatusCode::FORBIDDEN);
    let (start, _) = both.split_at(both.len() - 1);
    for last in ('A'..='Z').chain('a'..='z').chain('0'..='9') {
        let cookies = format!("{start}{last}");
        assert_eq!(status(&cookies).await, StatusCode::FORBIDDEN, "{last}");
    }
    // A session ends by itself, too.
    site.world.pass(Duration::from_secs(1)).await;
    let entered = enter(&browser, OPERATOR_KEY).await;
    let session = crate::pages::cookie(&entered.headers);
    let both = format!("{browser}; {session}");
    site.world.pass(Duration::from_secs(8 * 3600 - 1)).await;
    assert_eq!(status(&both).await, StatusCode::OK);
    site.world.pass(Duration::from_secs(1)).await;
    assert_eq!(status(&both).await, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn guesses_of_keys_are_limited() {
    let site = site().await;
    let page = site.get("/board", &[]).await;
    let browser = crate::pages::cookie(&page.headers);
    let csrf = between(&text(&page), "name=\"_csrf\" value=\"", "\"");
    let enter = async |key: &str| {
        let form = format!("_csrf={csrf}&key={key}");
        let headers = [("cookie", &*browser)];
        let reply = site.send(Method::POST, "/board/key", &headers, form);
        reply.await.status
    };
    let mut limited = 0;
    for number in 0..40 {
        let status = enter(&format!("guess-{number}")).await;
        limited += usize::from(status == StatusCode::TOO_MANY_REQUESTS);
    }
    assert_eq!(limited, 10);
    // Whoever has the key is not locked out.
    assert_eq!(enter(OPERATOR_KEY).await, StatusCode::SEE_OTHER);
}
