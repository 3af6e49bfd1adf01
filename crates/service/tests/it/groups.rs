//! Questions for a group, and questions that become somebody else's.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{Method, StatusCode, header};
use entreat_core::{ElicitationId, Mode, Status, TimeoutBounds};
use entreat_service::Askers;
use entreat_service::identity::{Account, HostIdentity, Identity};
use entreat_service::page::PageSettings;
use serde_json::{Value, json};

use crate::pages::{NAVIGATES, Site, Visitor, between, cookie, path_of, text};
use crate::world::{World, deploy};

/// Whoever the header `x-user` names. Members of the group `ops`, and an operator.
fn account(name: &str) -> Option<Arc<Account>> {
    let groups: &[&str] = match name {
        "ada" | "bob" => &["ops"],
        "eve" | "olga" => &["sales"],
        _ => return None,
    };
    Some(Arc::new(Account {
        issuer: "https://id.example".into(),
        subject: name.into(),
        is_of_default_issuer: true,
        shown_as: format!("{}{} <b>", name[..1].to_uppercase(), &name[1..]).into(),
        email: Some(format!("{name}@example.com").into()),
        groups: groups.iter().map(|group| Box::from(*group)).collect(),
        is_operator: name == "olga",
    }))
}

/// The key of an operator, and that of an asker.
pub(crate) const OPERATOR_KEY: &str = "key-of-operations";
pub(crate) const ASKER_KEY: &str = "key-of-an-asker";

/// A site where people are known by the header `x-user`.
pub(crate) async fn site() -> Site {
    let settings = PageSettings {
        identity: Identity::Host(HostIdentity::new(|headers| {
            account(headers.get("x-user")?.to_str().ok()?)
        })),
        ..PageSettings::default()
    };
    let world = World::with(|settings| {
        let bounds = [300, 1, 86_400].map(Duration::from_secs);
        let [default, least, most] = bounds;
        let bounds = TimeoutBounds::new(default, least, most).unwrap();
        settings.asker.timeouts.set_bounds(Mode::Form, bounds);
    });
    let world = world.await;
    let askers = Askers::none()
        .with_key(ASKER_KEY, world.engine.asker("deployer"))
        .with_role(
            OPERATOR_KEY,
            world.engine.asker("night-watch"),
            entreat_service::Role::Operator,
        );
    Site::for_askers(world, None, settings, askers).await
}

/// Asks the form of these tests.
pub(crate) async fn ask(site: &Site, respondent: &str) -> ElicitationId {
    let params = json!({
        "formDefinition": deploy(), "respondent": respondent,
        "metadata": {"note": "canary-metadata"},
    });
    serde_json::from_value(site.world.create(params).await).unwrap()
}

/// Opens a question as this person, in a browser of their own.
pub(crate) async fn open(site: &Site, id: ElicitationId, user: &str) -> Visitor {
    let path = path_of(&site.pages.link(id));
    let headers = [NAVIGATES, &[("x-user", user)]].concat();
    let opened = site.get(&path, &headers).await;
    assert_eq!(opened.status, StatusCode::SEE_OTHER, "{user}");
    let cookie = cookie(&opened.headers);
    let here = opened.headers[header::LOCATION]
        .to_str()
        .unwrap()
        .to_owned();
    let page = site
        .get(&here, &[("cookie", &cookie), ("x-user", user)])
        .await;
    assert_eq!(page.status, StatusCode::OK);
    let csrf = between(&text(&page), "name=\"_csrf\" value=\"", "\"");
    Visitor { cookie, here, csrf }
}

/// What this person sees in a browser.
pub(crate) async fn see(site: &Site, visitor: &Visitor, user: &str) -> String {
    let headers = [("cookie", &*visitor.cookie), ("x-user", user)];
    text(&site.get(&visitor.here, &headers).await)
}

/// Sends a form as this person.
pub(crate) async fn send(
    site: &Site,
    visitor: &Visitor,
    user: &str,
    fields: &[(&str, &str)],
) -> StatusCode {
    let headers = [
        ("cookie", &*visitor.cookie),
        ("origin", "null"),
        ("x-user", user),
    ];
    site.post_as(visitor, &headers, fields).await.status
}

async fn inbox(site: &Site, user: &str, query: &str) -> String {
    let path = format!("/inbox/list{query}");
    text(&site.get(&path, &[("x-user", user)]).await)
}

async fn status(site: &Site, id: ElicitationId) -> Value {
    let params = json!({"elicitationId": id});
    site.world.result("elicitation/status", params).await
}

/// A form with these values, to be saved.
const TYPED: [(&str, &str); 4] = [
    ("_f", "0"),
    ("f.target", "staging"),
    ("_f", "1"),
    ("f.replicas", "7"),
];

#[tokio::test]
async fn the_first_of_a_group_to_answer_wins_and_the_others_see_who_it_was() {
    let site = site().await;
    let id = ask(&site, "group:ops").await;
    for (user, waits) in [("ada", true), ("bob", true), ("eve", false)] {
        assert_eq!(inbox(&site, user, "").await.contains("Deploy"), waits);
    }
    let (ada, bob) = (open(&site, id, "ada").await, open(&site, id, "bob").await);
    let stranger = site
        .get(&path_of(&site.pages.link(id)), &[("x-user", "eve")])
        .await;
    assert_eq!(stranger.status, StatusCode::NOT_FOUND);
    let answer = [&TYPED[..], &[("_do", "send")]].concat();
    assert_eq!(
        send(&site, &bob, "bob", &answer).await,
        StatusCode::SEE_OTHER
    );
    let late = [
        ("_f", "0"),
        ("f.target", "production"),
        ("_f", "1"),
        ("f.replicas", "1"),
        ("_do", "send"),
    ];
    assert_eq!(send(&site, &ada, "ada", &late).await, StatusCode::SEE_OTHER);

    let own = see(&site, &bob, "bob").await;
    assert!(own.contains("Answer sent") && !own.contains("Answered by"));
    let other = see(&site, &ada, "ada").await;
    assert!(other.contains("Already answered"), "{other}");
    assert!(
        other.contains("Answered by <b><bdi>Bob &#60;b&#62;</bdi></b>"),
        "{other}"
    );
    assert!(!other.contains("staging") && !other.contains("production"));
    let listed = inbox(&site, "ada", "").await;
    assert!(listed.contains("Answered by <bdi>Bob"), "{listed}");
    assert!(listed.contains("<time datetime=\"2024-02-02T15:50:00Z\" data-local>"));
    let listed = inbox(&site, "bob", "").await;
    assert!(listed.contains("answered") && !listed.contains("Answered by"));
    assert!(!inbox(&site, "eve", "").await.contains("Deploy"));

    let record = status(&site, id).await;
    let settled_by = json!({"account": "https://id.example#bob", "name": "Bob <b>"});
    assert_eq!(record["settledBy"], settled_by);
    assert_eq!(record["respondent"], "group:ops");
    assert_eq!(record["result"]["replicas"], 7);
}

#[tokio::test]
async fn each_member_of_a_group_has_a_draft_that_no_other_member_sees() {
    let site = site().await;
    let id = ask(&site, "group:ops").await;
    let (ada, bob) = (open(&site, id, "ada").await, open(&site, id, "bob").await);
    let save = [&TYPED[..], &[("_do", "save")]].concat();
    send(&site, &ada, "ada", &save).await;
    assert!(!see(&site, &bob, "bob").await.contains("value=\"7\""));
    let other = [("_f", "1"), ("f.replicas", "5"), ("_do", "save")];
    send(&site, &bob, "bob", &other).await;
    // Bob's did not replace it.
    let own = see(&site, &ada, "ada").await;
    assert!(
        own.contains("value=\"7\"") && !own.contains("value=\"5\""),
        "{own}"
    );
    assert!(see(&site, &bob, "bob").await.contains("value=\"5\""));
    // On another computer she goes on with it.
    let elsewhere = open(&site, id, "ada").await;
    assert!(see(&site, &elsewhere, "ada").await.contains("value=\"7\""));
    // Bob in the browser in which Ada typed.
    let borrowed = see(&site, &ada, "bob").await;
    assert!(borrowed.contains("value=\"5\"") && !borrowed.contains("value=\"7\""));
    assert_eq!(
        send(&site, &ada, "ada", &[("_do", "send")]).await,
        StatusCode::SEE_OTHER
    );
    assert_eq!(status(&site, id).await["result"]["replicas"], 7);
}

#[tokio::test]
async fn one_who_declines_does_so_for_the_group_and_the_others_are_told() {
    let site = site().await;
    let id = ask(&site, "group:ops").await;
    let (ada, bob) = (open(&site, id, "ada").await, open(&site, id, "bob").await);
    send(&site, &ada, "ada", &[("_do", "decline")]).await;
    assert_eq!(site.status(id).await, Status::Declined);
    let other = see(&site, &bob, "bob").await;
    assert!(
        other.contains("Somebody else chose not to answer"),
        "{other}"
    );
    assert!(other.contains("<bdi>Ada &#60;b&#62;</bdi></b> chose not to answer"));
    let own = see(&site, &ada, "ada").await;
    assert!(own.contains("You chose not to answer"), "{own}");
}

#[tokio::test]
async fn what_is_for_somebody_else_now_is_gone_for_the_first_person() {
    let site = site().await;
    let id = ask(&site, "ada").await;
    let ada = open(&site, id, "ada").await;
    let save = [&TYPED[..], &[("_do", "save")]].concat();
    send(&site, &ada, "ada", &save).await;
    let params = json!({"elicitationId": id, "respondent": "eve"});
    let record = site.world.result("elicitation/reassign", params).await;
    assert_eq!(record["respondent"], "eve");
    let nothing = path_of(&site.pages.link(id)).replace(&id.to_string()[5..], "x");
    let nothing = text(&site.get(&nothing, &[("x-user", "ada")]).await);
    assert_eq!(
        see(&site, &ada, "ada").await,
        nothing,
        "as for an unknown link"
    );
    assert_eq!(send(&site, &ada, "ada", &save).await, StatusCode::NOT_FOUND);
    let state = format!("{}/state", ada.here);
    let headers = [("cookie", &*ada.cookie), ("x-user", "ada")];
    assert_eq!(
        site.get(&state, &headers).await.status,
        StatusCode::NOT_FOUND
    );
    assert!(!inbox(&site, "ada", "").await.contains("Deploy"));
    assert!(inbox(&site, "eve", "").await.contains("Deploy"));
    let eve = open(&site, id, "eve").await;
    assert!(!see(&site, &eve, "eve").await.contains("value=\"7\""));
    send(
        &site,
        &eve,
        "eve",
        &[&TYPED[..], &[("_do", "send")]].concat(),
    )
    .await;
    assert_eq!(status(&site, id).await["settledBy"]["name"], "Eve <b>");
    let params = json!({"elicitationId": id, "respondent": "ada"});
    let error = site.world.error("elicitation/reassign", params).await;
    assert_eq!(error["code"], -32009);
}

#[tokio::test]
async fn an_asker_reassigns_its_own_questions_alone_and_to_somebody() {
    let site = site().await;
    let id = ask(&site, "ada").await;
    let other = entreat_service::rpc::Session::new(site.world.engine.asker("other"));
    let params = json!({"elicitationId": id, "respondent": "eve"});
    let refused = site
        .world
        .call_as(&other, "elicitation/reassign", params)
        .await;
    assert_eq!(refused["error"]["code"], -32012);
    for respondent in [json!(""), json!(7), json!("x".repeat(1025))] {
        let params = json!({"elicitationId": id, "respondent": respondent});
        let error = site.world.error("elicitation/reassign", params).await;
        assert_eq!(error["code"], -32602);
    }
    assert_eq!(status(&site, id).await["respondent"], "ada");
    site.world.pass(Duration::from_secs(3600)).await;
    let params = json!({"elicitationId": id, "respondent": "eve"});
    let error = site.world.error("elicitation/reassign", params).await;
    assert_eq!(error["code"], -32009, "it has timed out: {error}");
}

#[tokio::test]
async fn an_inbox_finds_a_persons_questions_among_those_of_many_others() {
    let site = site().await;
    for number in 0..600 {
        ask(&site, &format!("somebody-{number}")).await;
    }
    let mut own = Vec::new();
    for _ in 0..25 {
        site.world.clock.advance(Duration::from_millis(1));
        own.push(ask(&site, "email:Ada@example.com").await);
    }
    for number in 600..1200 {
        ask(&site, &format!("somebody-{number}")).await;
    }
    let listed = inbox(&site, "ada", "").await;
    assert_eq!(listed.matches("class=\"card\" data-id").count(), 25);
    for id in &own {
        site.world.engine.elicitation(*id).decline().await.unwrap();
    }
    // By page, newest first.
    let first = inbox(&site, "ada", "").await;
    assert_eq!(first.matches("class=\"card\"").count(), 20);
    let older = between(&first, "rel=\"next\" href=\"/inbox", "\"");
    let second = inbox(&site, "ada", &older).await;
    assert_eq!(second.matches("class=\"card\"").count(), 5);
    assert!(!second.contains("rel=\"next\""));
    let path = format!("/inbox{older}");
    let page = site.send(Method::GET, &path, &[("x-user", "ada")], String::new());
    assert!(text(&page.await).contains("data-list=\"/inbox/list?before="));
}
