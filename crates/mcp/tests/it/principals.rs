//! Several users of one server over HTTP: isolation and fair shares.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use entreat_core::schema::Era;
use entreat_engine::{Engine, EngineSettings};
use entreat_mcp::rmcp::transport::StreamableHttpServerConfig;
use entreat_mcp::rmcp::transport::streamable_http_server::session::{
    SessionState, SessionStore, SessionStoreError,
};
use entreat_mcp::{Ask, McpSettings};
use entreat_testkit::mcp::{HttpClient, Kind, Reply, accept};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::world::{LEGACY, Pages, ROUNDS, World, settle};

/// Every limit is eight, and each principal's share is two.
async fn world_of_eights() -> World {
    let mut engine = EngineSettings::default();
    engine.asker.limits.live = 8;
    world(engine, eights()).await
}

fn eights() -> McpSettings {
    McpSettings {
        calls: 8,
        sessions: 8,
        links: 8,
        results: 8,
        used_states: 8,
        ..McpSettings::default()
    }
}

async fn world(engine: EngineSettings, settings: McpSettings) -> World {
    let engine = Engine::builder().settings(engine);
    let build = |mcp: entreat_mcp::Builder| mcp.pages(Arc::new(Pages)).local_clients(true);
    World::on(engine, build, settings).await
}

fn user(name: &str, kind: Kind, address: SocketAddr) -> HttpClient {
    let token = format!("Bearer {name}");
    HttpClient::new(kind, address).with_header("authorization", &token)
}

fn told(reply: &Reply) -> &Value {
    &reply.result()["structuredContent"]
}

/// The id of a question that doesn't exist.
fn other_than(id: &str) -> String {
    let (start, last) = id.split_at(id.len() - 1);
    format!("{start}{}", if last == "0" { "1" } else { "0" })
}

/// The text of a reply without the id that was asked for.
fn text_without(reply: &Reply, question: &Value) -> String {
    let id = question["question"].as_str().expect("an id");
    assert!(reply.text().contains(id), "{reply:?}");
    reply.text().replace(id, "")
}

#[tokio::test]
async fn a_question_that_was_left_is_unknown_to_everybody_but_who_left_it() {
    let world = world_of_eights().await;
    let address = World::listen(world.mcp.ask_server()).await;
    for era in Era::ALL {
        let kind = Kind::none(era);
        let ada = user("ada", kind, address).begin().await;
        let eve = user("eve", kind, address).begin().await;
        let nobody = HttpClient::new(kind, address).begin().await;
        let left = json!({"prompt": "Who?", "wait": false});
        let left = ada.round("ask_user", left, json!({})).await;
        let url = told(&left)["url"].as_str().unwrap().to_owned();
        let question = json!({"question": told(&left)["question"]});
        let unknown = json!({"question": other_than(told(&left)["question"].as_str().unwrap())});
        for tool in ["ask_status", "ask_cancel"] {
            let of_none = ada.round(tool, unknown.clone(), json!({})).await;
            let of_none = text_without(&of_none, &unknown);
            for other in [&eve, &nobody] {
                let of_ada = other.round(tool, question.clone(), json!({})).await;
                assert_eq!(of_ada.result()["isError"], true);
                let of_ada = text_without(&of_ada, &question);
                assert_eq!(of_ada, of_none, "{tool} in {era}");
            }
        }
        world
            .answer_page(&url, json!({"answer": "canary-1f3b"}))
            .await;
        let of_ada = eve.round("ask_status", question.clone(), json!({})).await;
        assert!(!format!("{of_ada:?}").contains("canary"), "{of_ada:?}");
        let own = ada.round("ask_status", question, json!({})).await;
        assert_eq!(told(&own)["answers"]["answer"], "canary-1f3b");
    }
}

#[tokio::test]
async fn a_session_is_unknown_to_everybody_but_who_began_it() {
    let world = World::new().await;
    let address = world
        .listen_tool(|ask: Ask, _| async move { Ok(ask.text("name", "Who?").await?) })
        .await;
    for era in LEGACY {
        let kind = Kind::form(era);
        let ada = user("ada", kind, address).begin().await;
        let mut call = ada.call("t", json!({}), json!({})).await;
        let question = call.next().await.unwrap();
        let answer = accept(json!({"text": "Eve"}));
        let nowhere = user("ada", kind, address).in_session("0b2e8f6e-0000-4000-8000-000000000000");
        for other in [user("eve", kind, address), HttpClient::new(kind, address)] {
            let other = other.in_session_of(&ada);
            for method in ["GET", "DELETE"] {
                let mut of_ada = other.bare(method).await;
                let mut of_none = nowhere.bare(method).await;
                assert_eq!(of_ada.status, 404, "{method} in {era}");
                assert_eq!(of_none.status, 404, "{method} in {era}");
                assert_eq!(of_ada.text().await, of_none.text().await);
            }
            let mut of_ada = other.call("t", json!({}), json!({})).await;
            let mut of_none = nowhere.call("t", json!({}), json!({})).await;
            assert_eq!((of_ada.status, of_none.status), (404, 404), "{era}");
            assert_eq!(of_ada.text().await, of_none.text().await);
            other.answer(&question["id"], &answer).await;
            other
                .notify("notifications/cancelled", json!({"requestId": 1}))
                .await;
        }
        // None of these attempts had an effect.
        ada.answer(&question["id"], &accept(json!({"text": "Ada"})))
            .await;
        assert_eq!(call.reply().await.text(), "Ada");
        assert_eq!(ada.bare("DELETE").await.status, 202);
        assert_eq!(ada.call("t", json!({}), json!({})).await.status, 404);
    }
}

/// A store of sessions that several processes share.
#[derive(Default)]
struct SharedSessions(Mutex<HashMap<String, SessionState>>);

type Stored<'a, T> = Pin<Box<dyn Future<Output = Result<T, SessionStoreError>> + Send + 'a>>;

fn stored<'a, T: Send + 'a>(value: T) -> Stored<'a, T> {
    Box::pin(std::future::ready(Ok(value)))
}

impl SessionStore for SharedSessions {
    fn load<'a, 'b, 'c>(&'a self, id: &'b str) -> Stored<'c, Option<SessionState>>
    where
        'a: 'c,
        'b: 'c,
    {
        stored(self.0.lock().get(id).cloned())
    }

    fn store<'a, 'b, 'c, 'd>(&'a self, id: &'b str, state: &'c SessionState) -> Stored<'d, ()>
    where
        'a: 'd,
        'b: 'd,
        'c: 'd,
    {
        self.0.lock().insert(id.to_owned(), state.clone());
        stored(())
    }

    fn delete<'a, 'b, 'c>(&'a self, id: &'b str) -> Stored<'c, ()>
    where
        'a: 'c,
        'b: 'c,
    {
        self.0.lock().remove(id);
        stored(())
    }
}

#[tokio::test]
async fn a_session_of_another_process_is_restored_for_who_began_it_alone() {
    let world = World::new().await;
    let sessions = Arc::new(SharedSessions::default());
    let listen = async || {
        let mut settings = StreamableHttpServerConfig::default();
        settings.session_store = Some(sessions.clone());
        World::listen_with(world.mcp.ask_server(), settings).await
    };
    let (here, there) = (listen().await, listen().await);
    let works = async |client: &HttpClient| {
        let answer = client.send("tools/list", json!({})).await;
        answer.status == 200
    };
    for era in LEGACY {
        let kind = Kind::form(era);
        let mut ada = user("ada", kind, here).begin().await;
        ada.address = there;
        let eve = user("eve", kind, there).in_session_of(&ada);
        assert!(!works(&eve).await, "{era}");
        eve.bare("DELETE").await;
        assert!(works(&ada).await, "{era}");
        assert!(!works(&eve).await, "{era}");
        // Ended by its own principal, it is restored nowhere.
        ada.bare("DELETE").await;
        ada.address = here;
        ada.bare("DELETE").await;
        assert!(!works(&ada).await, "{era}");
    }
}

#[tokio::test]
async fn a_request_with_two_authorizations_is_refused() {
    let world = World::new().await;
    let address = world
        .listen_tool(|_, _| async { Ok("done".to_owned()) })
        .await;
    for era in Era::ALL {
        let ada = user("ada", Kind::form(era), address).begin().await;
        assert_eq!(ada.call("t", json!({}), json!({})).await.status, 200);
        let both = ada.clone().with_header("Authorization", "Bearer eve");
        let mut refused = both.call("t", json!({}), json!({})).await;
        assert_eq!(refused.status, 400);
        assert!(refused.text().await.contains("more than one Authorization"));
        // The same header twice is no better.
        let twice = ada.clone().with_header("authorization", "Bearer ada");
        assert_eq!(twice.bare("GET").await.status, 400);
    }
}

#[tokio::test]
async fn sessions_are_shared_and_only_ones_own_idle_sessions_make_way() {
    let world = world_of_eights().await;
    let address = world
        .listen_tool(|_, _| async { Ok("done".to_owned()) })
        .await;
    let kind = Kind::form(Era::V2025_11_25);
    let works = async |client: &HttpClient| {
        let answer = client.call("t", json!({}), json!({})).await;
        answer.status == 200
    };
    let ada = user("ada", kind, address).begin().await;
    let mut begun = Vec::new();
    for _ in 0..20 {
        begun.push(user("eve", kind, address).begin().await);
    }
    assert!(works(&ada).await);
    for old in &begun[..18] {
        assert!(!works(old).await);
    }
    // The most recently used one stays.
    assert!(works(&begun[19]).await);
    assert!(works(&begun[18]).await);
    let newest = user("eve", kind, address).begin().await;
    assert!(works(&begun[18]).await);
    assert!(!works(&begun[19]).await);

    // Sessions with requests in progress stay, so there is no room for another.
    let streams = [begun[18].bare("GET").await, newest.bare("GET").await];
    assert!(streams.iter().all(|stream| stream.status == 200));
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"}});
    let mut refused = user("eve", kind, address)
        .send("initialize", hello.clone())
        .await;
    assert_eq!(refused.status, 503);
    assert!(refused.header("retry-after").is_some());
    assert!(refused.text().await.contains("too many sessions"));
    assert!(works(&ada).await && works(&newest).await);

    // When all are taken, a new principal gets none, and replaces nobody's.
    let mut others = Vec::new();
    for name in ["b", "b", "c", "c", "d"] {
        others.push(user(name, kind, address).begin().await);
    }
    let late = user("late", kind, address).send("initialize", hello).await;
    assert_eq!(late.status, 503);
    for client in others.iter().chain([&ada, &newest]) {
        assert!(works(client).await);
    }
}

#[tokio::test]
async fn a_session_is_not_idle_while_a_call_runs_that_nobody_listens_to() {
    let world = world_of_eights().await;
    let address = world
        .listen_tool(|ask: Ask, _| async move { Ok(ask.text("name", "Who?").await?) })
        .await;
    let kind = Kind::form(Era::V2025_11_25);
    let busy = user("eve", kind, address).begin().await;
    let mut call = busy.call("t", json!({}), json!({})).await;
    call.next().await.unwrap();
    drop(call);
    for _ in 0..3 {
        user("eve", kind, address).begin().await;
    }
    assert_eq!(busy.send("ping", json!({})).await.status, 200);
}

#[tokio::test]
async fn a_session_that_is_idle_for_long_ends() {
    let settings = McpSettings {
        session_idle: Duration::from_millis(50),
        ..McpSettings::default()
    };
    let world = World::with_settings(settings).await;
    let address = world
        .listen_tool(|_, _| async { Ok("done".to_owned()) })
        .await;
    let ada = user("ada", Kind::form(Era::V2025_11_25), address)
        .begin()
        .await;
    let mut stream = ada.bare("GET").await;
    // It ends with the session.
    while stream.next().await.is_some() {}
    assert_eq!(ada.call("t", json!({}), json!({})).await.status, 404);
}

#[tokio::test]
async fn a_call_under_way_takes_a_place_of_its_principal_alone() {
    let world = world_of_eights().await;
    let address = world
        .listen_tool(|ask: Ask, _| async move { Ok(ask.text("name", "Who?").await?) })
        .await;
    let kind = Kind::form(Era::V2025_11_25);
    let eve = user("eve", kind, address).begin().await;
    let mut open = Vec::new();
    for id in 0..2 {
        let mut call = eve.call_as(id, "t", json!({})).await;
        let question = call.next().await.unwrap();
        open.push((call, question));
    }
    let refused = eve.call_as(7, "t", json!({})).await.reply().await;
    let (_, message) = refused.error();
    assert!(
        message.contains("too many calls are in flight"),
        "{message}"
    );
    let ada = user("ada", kind, address).begin().await;
    assert!(
        ada.call("t", json!({}), json!({}))
            .await
            .next()
            .await
            .is_some()
    );
    let (mut call, question) = open.remove(0);
    eve.answer(&question["id"], &accept(json!({"text": "x"})))
        .await;
    assert_eq!(call.reply().await.text(), "x");
    assert!(eve.call_as(8, "t", json!({})).await.next().await.is_some());
}

fn link(reply: &Reply) -> (String, Value) {
    let text = reply.text();
    let url = text
        .split_whitespace()
        .find(|it| it.starts_with("https://"));
    let handle = text.split('"').nth(3).expect("a handle");
    (url.expect("a link").to_owned(), json!({"question": handle}))
}

#[tokio::test]
async fn a_place_for_a_link_is_free_again_when_its_question_ends() {
    let mut settings = eights();
    settings.calls = 100;
    let world = world(EngineSettings::default(), settings).await;
    let address = world
        .listen_tool(|ask: Ask, _| async move { Ok(ask.text("name", "Who?").await?) })
        .await;
    for era in Era::ALL {
        let kind = Kind::none(era);
        let ada = user("ada", kind, address).begin().await;
        let eve = user("eve", kind, address).begin().await;
        let kept = link(&ada.round("t", json!({}), json!({})).await);
        world.answer_page(&kept.0, json!({"text": "Ada"})).await;
        let mut results = Vec::new();
        // Many more than the limit, one after the other; nobody fetches the results.
        for number in 0..20 {
            let (url, handle) = link(&eve.round("t", json!({}), json!({})).await);
            world
                .answer_page(&url, json!({"text": number.to_string()}))
                .await;
            settle().await;
            results.push(handle);
        }
        // The newest wait to be fetched, and what is another's was not touched.
        for old in [0, 17] {
            let evicted = eve
                .round("resume_question", results[old].clone(), json!({}))
                .await;
            assert!(
                evicted.text().contains("There is no waiting question"),
                "{}",
                evicted.text()
            );
        }
        let newest = eve
            .round("resume_question", results[19].clone(), json!({}))
            .await;
        assert_eq!(newest.text(), "19");
        let of_ada = eve
            .round("resume_question", kept.1.clone(), json!({}))
            .await;
        assert!(
            of_ada.text().contains("There is no waiting question"),
            "{}",
            of_ada.text()
        );
        let own = ada.round("resume_question", kept.1, json!({})).await;
        assert_eq!(own.text(), "Ada");
    }
}

#[tokio::test]
async fn results_beyond_the_limit_make_way_and_each_principal_keeps_some() {
    let mut settings = eights();
    settings.calls = 100;
    let world = world(EngineSettings::default(), settings).await;
    let address = world
        .listen_tool(|ask: Ask, _| async move { Ok(ask.text("name", "Who?").await?) })
        .await;
    let mut results = Vec::new();
    for name in ["a", "a", "b", "b", "c", "c", "d", "d", "late"] {
        let client = user(name, Kind::none(ROUNDS), address);
        let (url, handle) = link(&client.round("t", json!({}), json!({})).await);
        world.answer_page(&url, json!({"text": name})).await;
        settle().await;
        results.push((name, client, handle));
    }
    let mut kept = Vec::new();
    for (name, client, handle) in results {
        let reply = client.round("resume_question", handle, json!({})).await;
        if reply.text() == name {
            kept.push(name);
        }
    }
    assert_eq!(kept.len(), 8);
    kept.dedup();
    assert_eq!(kept, ["a", "b", "c", "d", "late"]);
}

#[tokio::test]
async fn one_principal_cannot_take_all_places_for_links() {
    let mut settings = eights();
    settings.calls = 100;
    let world = world(EngineSettings::default(), settings).await;
    let address = world
        .listen_tool(|ask: Ask, _| async move { Ok(ask.text("name", "Who?").await?) })
        .await;
    let kind = Kind::none(ROUNDS);
    let (ada, eve) = (user("ada", kind, address), user("eve", kind, address));
    let (first, _) = link(&eve.round("t", json!({}), json!({})).await);
    link(&eve.round("t", json!({}), json!({})).await);
    let refused = eve.round("t", json!({}), json!({})).await;
    assert!(refused.error().1.contains("try again later"), "{refused:?}");
    link(&ada.round("t", json!({}), json!({})).await);
    world.answer_page(&first, json!({"text": "x"})).await;
    settle().await;
    link(&eve.round("t", json!({}), json!({})).await);
    // Rejected calls ask nobody.
    settle().await;
    assert_eq!(world.engine.live(), 3);
}

fn answers(state: &str, text: &str) -> Value {
    json!({"requestState": state, "inputResponses": {"name": accept(json!({"text": text}))}})
}

#[tokio::test]
async fn no_used_state_is_forgotten_before_its_end_and_each_principal_has_a_share() {
    let world = world_of_eights().await;
    let address = world
        .listen_tool(|ask: Ask, _| async move { Ok(ask.text("name", "Who?").await?) })
        .await;
    let kind = Kind::form(ROUNDS);
    let (ada, eve) = (user("ada", kind, address), user("eve", kind, address));
    let mut states = Vec::new();
    for _ in 0..3 {
        let asked = eve.round("t", json!({}), json!({})).await;
        states.push(asked.state().to_owned());
    }
    for state in &states[..2] {
        let reply = eve.round("t", json!({}), answers(state, "x")).await;
        assert_eq!(reply.text(), "x");
    }
    for _ in 0..3 {
        let late = eve.round("t", json!({}), answers(&states[2], "x")).await;
        assert!(late.error().1.contains("try again later"), "{late:?}");
    }
    for state in &states[..2] {
        let other = eve.round("t", json!({}), answers(state, "y")).await;
        assert_eq!(other.error().0, -32602);
        let same = eve.round("t", json!({}), answers(state, "x")).await;
        assert_eq!(same.text(), "x");
    }
    let asked = ada.round("t", json!({}), json!({})).await;
    let reply = ada.round("t", json!({}), answers(asked.state(), "z")).await;
    assert_eq!(reply.text(), "z");
    // Once they have ended, there is room for others.
    world.clock.advance(Duration::from_secs(300 + 3600));
    let asked = eve.round("t", json!({}), json!({})).await;
    let reply = eve.round("t", json!({}), answers(asked.state(), "x")).await;
    assert_eq!(reply.text(), "x");
}

#[tokio::test]
async fn a_state_is_good_for_its_principal_alone() {
    let world = World::new().await;
    let address = world
        .listen_tool(|ask: Ask, _| async move { Ok(ask.text("name", "Who?").await?) })
        .await;
    let kind = Kind::form(ROUNDS);
    let ada = user("ada", kind, address);
    let asked = ada.round("t", json!({}), json!({})).await;
    let answered = answers(asked.state(), "x");
    for other in [user("eve", kind, address), HttpClient::new(kind, address)] {
        let refused = other.round("t", json!({}), answered.clone()).await;
        assert_eq!(refused.error().0, -32602);
    }
    assert_eq!(ada.round("t", json!({}), answered).await.text(), "x");
}

#[tokio::test]
async fn a_client_on_its_own_connection_has_all_that_there_is() {
    let world = world_of_eights().await;
    let tool = |ask: Ask, _| async move { Ok(ask.text("name", "Who?").await?) };
    let mut client = world.client(Kind::form(ROUNDS), tool).await;
    let mut states = Vec::new();
    for number in 0..9 {
        let asked = client.round("t", json!({}), json!({})).await;
        let state = asked.state().to_owned();
        let reply = client.round("t", json!({}), answers(&state, "x")).await;
        if number < 8 {
            assert_eq!(reply.text(), "x");
        } else {
            assert!(reply.error().1.contains("try again later"), "{reply:?}");
        }
        states.push(state);
    }
    for state in &states[..8] {
        let reply = client.round("t", json!({}), answers(state, "y")).await;
        assert_eq!(reply.error().0, -32602, "a state was forgotten");
    }
    let mut client = world.client(Kind::none(ROUNDS), tool).await;
    for _ in 0..8 {
        link(&client.round("t", json!({}), json!({})).await);
    }
    let refused = client.round("t", json!({}), json!({})).await;
    assert!(matches!(refused, Reply::Error(_)), "{refused:?}");
}

#[tokio::test]
async fn one_principal_cannot_take_all_live_questions() {
    let world = world_of_eights().await;
    let address = World::listen(world.mcp.ask_server()).await;
    for era in Era::ALL {
        let kind = Kind::none(era);
        let ada = user("ada", kind, address).begin().await;
        let eve = user("eve", kind, address).begin().await;
        let left = json!({"prompt": "Who?", "wait": false});
        let mut urls = Vec::new();
        for _ in 0..2 {
            let reply = eve.round("ask_user", left.clone(), json!({})).await;
            urls.push(told(&reply)["url"].as_str().unwrap().to_owned());
        }
        let refused = eve.round("ask_user", left.clone(), json!({})).await;
        assert_eq!(refused.result()["isError"], true);
        assert!(refused.text().contains("which is the limit"), "{refused:?}");
        let reply = ada.round("ask_user", left.clone(), json!({})).await;
        urls.push(told(&reply)["url"].as_str().unwrap().to_owned());
        for url in urls {
            world.answer_page(&url, json!({"answer": "x"})).await;
        }
    }
}
