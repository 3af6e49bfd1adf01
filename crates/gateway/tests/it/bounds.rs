//! What one client or server can take from the gateway, and from the others.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Request, StatusCode};
use entreat_gateway::front::FrontSettings;
use entreat_gateway::{ApprovalAction, ApprovalRule, GatewaySettings, Policy};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use crate::front::{Reply, Session, Web, call};
use crate::world::{Ways, World, name_form, page_and_handle, settle, text};

const L11: &str = "2025-11-25";

fn globs(texts: &[&str]) -> Vec<entreat_gateway::Glob> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

// ---- over HTTP

/// A request whose body begins and does not end.
fn endless(session: &Session) -> Request<Body> {
    let mut request = session.request(json!({}));
    let begin = stream::iter([Ok::<_, std::io::Error>(Bytes::from(vec![b' '; 70 << 10]))]);
    *request.body_mut() = Body::from_stream(begin.chain(stream::pending()));
    request
}

#[tokio::test]
async fn large_bodies_of_one_leave_room_for_those_of_others() {
    let web = Web::new(Ways::None).await;
    let (adas, _server) = web.begin("ada", json!({})).await;
    let (bobs, mut server) = web.begin("bob", json!({})).await;
    let stuck: Vec<_> = (0..8)
        .map(|_| web.post_request(&adas, endless(&adas)))
        .collect();
    settle().await;
    let mut large = call(1);
    large["params"]["arguments"] = json!({"text": "x".repeat(100 << 10)});
    let waiting = web.post(&bobs, large);
    settle().await;
    let asked = server.next().await;
    server.reply(&asked, text("done")).await;
    assert_eq!(waiting.await.unwrap().status, StatusCode::OK);
    for it in &stuck {
        it.abort();
    }
}

#[tokio::test]
async fn each_message_of_a_batch_counts_towards_the_rate_of_its_asker() {
    let web = Web::new(Ways::None).await;
    let (session, mut server) = web.begin("ada", json!({})).await;
    let mut settings = web.world.engine.asker_settings().clone();
    settings.limits.requests_per_second = NonZeroU32::new(20);
    let asker = web.world.engine.asker_with("ada", settings);
    let sent = async |count: usize| {
        let notification = json!({"jsonrpc": "2.0", "method": "notifications/x"});
        let mut request = session.request(vec![notification; count].into());
        request.extensions_mut().insert(asker.clone());
        web.send("ada", request).await.status()
    };
    assert_eq!(sent(100).await, StatusCode::TOO_MANY_REQUESTS);
    server.nothing().await;
    web.world.clock.advance(Duration::from_secs(10));
    assert_eq!(sent(5).await, StatusCode::ACCEPTED);
    for _ in 0..5 {
        server.next().await;
    }
}

#[tokio::test]
async fn a_body_that_is_too_long_is_read_before_it_is_refused() {
    let web = Web::new(Ways::None).await;
    let (session, _server) = web.begin("ada", json!({})).await;
    for has_length in [true, false] {
        // Many clients read no response before all was sent.
        let (sent, unsent) = (Arc::new(AtomicUsize::new(0)), 20);
        let counted = sent.clone();
        let chunks = stream::iter(0..unsent).map(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            Ok::<_, std::io::Error>(Bytes::from(vec![b' '; 1 << 20]))
        });
        let mut request = session.request(json!({}));
        *request.body_mut() = Body::from_stream(chunks);
        if has_length {
            let length = HeaderValue::from(unsent << 20);
            request.headers_mut().insert("content-length", length);
        }
        let reply = web.post_request(&session, request).await.unwrap();
        assert_eq!(reply.status, StatusCode::PAYLOAD_TOO_LARGE);
        assert_eq!(sent.load(Ordering::Relaxed), unsent);
        let error = reply.json().await["error"]["message"].clone();
        assert_eq!(error, "the message is longer than 16 MiB");
    }
}

#[tokio::test]
async fn a_body_is_json_and_says_so() {
    let web = Web::new(Ways::None).await;
    let (session, mut server) = web.begin("ada", json!({})).await;
    for kind in ["text/plain", "application/x-www-form-urlencoded", ""] {
        let mut request = session.request(call(1));
        request
            .headers_mut()
            .insert("content-type", kind.parse().unwrap());
        let response = web.send("ada", request).await;
        assert_eq!(response.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
    server.nothing().await;
    let mut request = session.request(json!({"jsonrpc": "2.0", "method": "notifications/x"}));
    let kind = "Application/JSON; charset=utf-8";
    let headers = request.headers_mut();
    headers.insert("content-type", kind.parse().unwrap());
    let response = web.send("ada", request).await;
    assert_eq!(response.status(), StatusCode::ACCEPTED);
}

#[tokio::test]
async fn a_message_of_too_many_values_is_refused_before_it_is_parsed() {
    let web = Web::new(Ways::None).await;
    let (session, mut server) = web.begin("ada", json!({})).await;
    let mut request = session.request(json!({}));
    *request.body_mut() = Body::from(format!("[{}0]", "0,".repeat(600_000)));
    let response = web.send("ada", request).await;
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
    server.nothing().await;
}

/// Posts a call and goes away when its stream has begun; returns the id of that event.
async fn left(web: &Web, session: &Session, id: u64) -> String {
    let mut request = session.request(call(id));
    let stream_only = "text/event-stream".parse().unwrap();
    request.headers_mut().insert("accept", stream_only);
    let mut body = web
        .send(&session.who, request)
        .await
        .into_body()
        .into_data_stream();
    let begin = body.next().await.unwrap().unwrap();
    let begin = String::from_utf8(begin.to_vec()).unwrap();
    begin["id: ".len()..].lines().next().unwrap().to_owned()
}

/// Comes back for a stream after an event.
async fn back(web: &Web, session: &Session, last: &str) -> Reply {
    let request = Request::get("/mcp/one")
        .header("accept", "text/event-stream")
        .header("mcp-session-id", session.id.as_deref().unwrap())
        .header("last-event-id", last)
        .body(Body::empty())
        .unwrap();
    Reply::of(web.send(&session.who, request).await)
}

#[tokio::test]
async fn responses_that_nobody_fetches_do_not_pile_up() {
    let web = Web::new(Ways::None).await;
    let (session, mut server) = web.begin("ada", json!({})).await;
    let mut events = Vec::new();
    for id in 1..=50 {
        events.push(left(&web, &session, id).await);
        let asked = server.next().await;
        server.reply(&asked, text("done")).await;
        settle().await;
    }
    let oldest = back(&web, &session, &events[0]).await;
    assert_eq!(oldest.status, StatusCode::NOT_FOUND);
    let mut newest = back(&web, &session, &events[49]).await;
    assert_eq!(newest.event().await.unwrap().1["result"], text("done"));
}

#[tokio::test]
async fn what_one_does_not_read_takes_its_own_share_of_memory() {
    let web = Web::with_memory(12 << 20).await;
    let (adas, mut server) = web.begin("ada", json!({})).await;
    let large = text(&"x".repeat(1 << 20));
    let mut events = Vec::new();
    for id in 1..=4 {
        events.push(left(&web, &adas, id).await);
        let asked = server.next().await;
        server.reply(&asked, large.clone()).await;
        settle().await;
    }
    let mut first = back(&web, &adas, &events[0]).await;
    assert_eq!(first.event().await.unwrap().1["result"], large);
    let mut last = back(&web, &adas, &events[3]).await;
    assert!(last.event().await.is_none(), "it was kept");
    let (bobs, mut server) = web.begin("bob", json!({})).await;
    let event = left(&web, &bobs, 1).await;
    let asked = server.next().await;
    server.reply(&asked, large.clone()).await;
    settle().await;
    let mut bobs = back(&web, &bobs, &event).await;
    assert_eq!(bobs.event().await.unwrap().1["result"], large);
}

#[tokio::test]
async fn open_calls_take_their_principals_share_of_memory() {
    let web = Web::with_memory(1 << 20).await;
    let (adas, mut server) = web.begin("ada", json!({})).await;
    let mut large = call(1);
    large["params"]["arguments"] = json!({"text": "x".repeat(60 << 10)});
    let open: Vec<_> = (0..3).map(|_| web.post(&adas, large.clone())).collect();
    settle().await;
    for _ in &open {
        server.next().await;
    }
    let refused = web.post(&adas, large.clone()).await.unwrap().json().await;
    assert_eq!(refused["error"]["data"]["reason"], "busy", "{refused}");
    let (bobs, mut server) = web.begin("bob", json!({})).await;
    let waiting = web.post(&bobs, large);
    settle().await;
    let asked = server.next().await;
    server.reply(&asked, text("done")).await;
    assert_eq!(waiting.await.unwrap().json().await["result"], text("done"));
}

#[tokio::test]
async fn what_waits_for_a_server_takes_its_principals_share_of_memory() {
    let web = Web::with_memory(16 << 20).await;
    let (adas, mut server) = web.begin("ada", json!({})).await;
    let large = json!({"jsonrpc": "2.0", "method": "notifications/x",
        "params": {"text": "x".repeat(1 << 20)}});
    // The server reads nothing: some are queued in front of it, the others wait.
    let mut waiting = Vec::new();
    for _ in 0..24 {
        let sent = web.post(&adas, large.clone());
        settle().await;
        if !sent.is_finished() {
            waiting.push(sent);
        }
    }
    assert_eq!(waiting.len(), 3, "a quarter of 16 MiB");
    let mut medium = call(1);
    medium["params"]["arguments"] = json!({"text": "x".repeat(60 << 10)});
    let mut refused = None;
    for _ in 0..40 {
        let sent = web.post(&adas, medium.clone());
        settle().await;
        if sent.is_finished() {
            refused = Some(sent.await.unwrap().json().await);
            break;
        }
    }
    let refused = refused.expect("there is no end");
    assert_eq!(refused["error"]["data"]["reason"], "busy", "{refused}");
    // What waits goes on when the server reads again.
    while !waiting.iter().all(tokio::task::JoinHandle::is_finished) {
        server.whole_line().await;
    }
}

#[tokio::test]
async fn large_bodies_that_wait_take_their_principals_share_of_memory() {
    let web = Web::with_memory(1 << 20).await;
    let (adas, _server) = web.begin("ada", json!({})).await;
    let stuck: Vec<_> = (0..3)
        .map(|_| web.post_request(&adas, endless(&adas)))
        .collect();
    settle().await;
    let refused = web.post_request(&adas, endless(&adas));
    settle().await;
    assert!(refused.is_finished(), "it waits");
    let refused = refused.await.unwrap();
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
    for it in &stuck {
        assert!(!it.is_finished());
        it.abort();
    }
}

/// What a client begins with.
fn hello() -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": L11, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}})
}

#[tokio::test]
async fn connections_that_have_not_ended_yet_count_too() {
    let web = Web::new(Ways::None).await;
    let mut servers = Vec::new();
    // Each session gives way to a newer one, and no server goes when it is told to. Three are
    // allowed here, and three that end.
    for _ in 0..6 {
        let (_session, server) = web.begin("ada", json!({})).await;
        servers.push(server);
    }
    let session = |who: &str| Session {
        who: who.to_owned(),
        path: "/mcp/one",
        id: None,
    };
    let refused = web.post(&session("ada"), hello());
    settle().await;
    assert!(refused.is_finished(), "another server was started");
    let refused = refused.await.unwrap();
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
    web.begin("bob", json!({})).await;
    servers.remove(0);
    settle().await;
    web.begin("ada", json!({})).await;
}

#[tokio::test]
async fn who_ends_a_server_again_and_again_does_not_take_it_from_others() {
    let web = Web::new(Ways::None).await;
    for _ in 0..5 {
        let (_session, server) = web.begin("ada", json!({})).await;
        drop(server);
        settle().await;
    }
    let session = Session {
        who: "ada".to_owned(),
        path: "/mcp/one",
        id: None,
    };
    let refused = web.post(&session, hello()).await.unwrap();
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
    web.begin("bob", json!({})).await;
}

#[tokio::test]
async fn the_oldest_session_on_any_route_gives_way_to_a_new_one() {
    let settings = FrontSettings {
        sessions_per_principal: 2,
        ..FrontSettings::default()
    };
    let web = Web::with(Ways::None, settings).await;
    let (first, _a) = web.begin("ada", json!({})).await;
    web.world.clock.advance(Duration::from_secs(1));
    let (second, _b) = web.begin("ada", json!({})).await;
    web.world.clock.advance(Duration::from_secs(1));
    let (_third, _c) = web.begin("ada", json!({})).await;
    let ping = json!({"jsonrpc": "2.0", "method": "notifications/x"});
    for (session, status) in [
        (&first, StatusCode::NOT_FOUND),
        (&second, StatusCode::ACCEPTED),
    ] {
        let reply = web.post(session, ping.clone()).await.unwrap();
        assert_eq!(reply.status, status);
    }
}

#[tokio::test]
async fn clients_that_declare_other_things_share_one_limit_of_connections() {
    let web = Web::new(Ways::None).await;
    let mut refused = 0;
    // Three connections to one server are allowed here.
    for n in 0..8_u32 {
        let mut capabilities = json!({});
        for (bit, name) in ["sampling", "roots", "elicitation"].into_iter().enumerate() {
            if n & (1 << bit) != 0 {
                capabilities[name] = json!({});
            }
        }
        let params = crate::world::modern(json!({"name": "t"}), capabilities);
        let request = crate::front::modern_request("tools/call", Some("t"), params);
        let waiting = web.send_modern(request);
        settle().await;
        if waiting.is_finished() {
            let reply = waiting.await.unwrap();
            assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
            refused += 1;
        }
    }
    assert_eq!((web.servers.lock().len(), refused), (3, 5));
}

// ---- servers

#[tokio::test]
async fn a_server_that_asks_and_does_not_read_is_not_read_any_more() {
    let world = World::new(Ways::Pages).await;
    let mut pair = world.connect();
    pair.initialize(L11, json!({})).await;
    let line = |id: u32| {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create",
            "params": name_form()});
        format!("{message}\n")
    };
    let flood: String = (0..60_000).map(line).collect();
    let mut written = 0;
    let is_read = tokio::select! {
        biased;
        () = async {
            for part in flood.as_bytes().chunks(1 << 10) {
                pair.server.writer.write_all(part).await.unwrap();
                written += part.len();
            }
        } => true,
        () = async { for _ in 0..200 { settle().await } } => false,
    };
    assert!(
        !is_read && written < 8 << 20,
        "{written} of {}",
        flood.len()
    );
}

#[tokio::test]
async fn a_server_that_requests_without_end_is_refused_beyond_a_thousand() {
    let world = World::new(Ways::None).await;
    let mut pair = world.connect();
    pair.initialize(L11, json!({"sampling": {}})).await;
    for id in 0..1_001 {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "sampling/createMessage",
            "params": {}});
        pair.server.send(request).await;
        if id < 1_000 {
            pair.client.next().await;
        }
    }
    let refused = pair.server.next().await;
    assert_eq!(refused["error"]["data"]["reason"], "busy", "{refused}");
    pair.client.nothing().await;
}

#[tokio::test]
async fn a_question_of_more_than_a_mebibyte_is_not_asked() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    pair.initialize(L11, json!({"elicitation": {}})).await;
    let mut form = name_form();
    form["message"] = json!("x".repeat(1 << 20));
    pair.server.ask(0, form).await;
    let refused = pair.server.next().await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    pair.client.nothing().await;
    world.nothing_opened().await;
}

// ---- tools that are not offered

#[tokio::test]
async fn tools_that_are_denied_are_called_by_no_spelling() {
    let world = World::new(Ways::Pages).await;
    let policy = Policy {
        allow: globs(&["read_*"]),
        ..Policy::default()
    };
    let mut pair = world.connect_with(policy);
    pair.initialize(L11, json!({})).await;
    for params in [
        r#"{"name":"delete_all"}"#,
        r#"{"name":"read_a","name":"delete_all"}"#,
        r#"{"name":"delete_all","name":"read_a"}"#,
        r#"{"name":"read_a","\u006eame":"delete_all"}"#,
        r#"{"name":["delete_all"]}"#,
        r#"["delete_all"]"#,
    ] {
        let call = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        pair.client.raw(&call).await;
        let refused = pair.client.next().await;
        assert_eq!(refused["error"]["code"], -32602, "{params}: {refused}");
        let batch = format!("[{call}]");
        pair.client.raw(&batch).await;
        assert!(pair.client.next().await[0]["error"].is_object(), "{params}");
        // Without an id, nobody is told.
        let call = format!(r#"{{"jsonrpc":"2.0","method":"tools/call","params":{params}}}"#);
        pair.client.raw(&call).await;
    }
    pair.server.nothing().await;
    pair.client.call(2, "read_a", json!({})).await;
    assert_eq!(pair.server.next().await["params"]["name"], "read_a");
}

#[tokio::test]
async fn the_tool_that_resumes_calls_is_offered_whatever_is_allowed() {
    let world = World::new(Ways::Pages).await;
    let policy = Policy {
        allow: globs(&["read_*"]),
        ..Policy::default()
    };
    let mut pair = world.connect_with(policy);
    pair.initialize(L11, json!({})).await;
    pair.client.request(1, "tools/list", json!({})).await;
    let asked = pair.server.next().await;
    let list = json!({"tools": [{"name": "read_a", "inputSchema": {"type": "object"}}]});
    pair.server.reply(&asked, list).await;
    let listed = pair.client.next().await;
    assert_eq!(listed["result"]["tools"][1]["name"], "resume_question");
    let arguments = json!({"question": "0"});
    pair.client.call(2, "resume_question", arguments).await;
    let told: Value = pair.client.next().await;
    let said = told["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_default();
    assert!(said.contains("no waiting question"), "{told}");
}

// ---- what is over

#[tokio::test]
async fn calls_behind_links_leave_nothing_behind_when_they_are_over() {
    let settings = GatewaySettings {
        // For some twenty calls.
        memory: 100 << 10,
        approvals: vec![ApprovalRule::new(ApprovalAction::Ask).for_tool("t".parse().unwrap())],
        ..GatewaySettings::default()
    };
    let world = World::with(Ways::Pages, settings).await;
    let mut pair = world.connect();
    pair.initialize(L11, json!({})).await;
    pair.client.request(1, "tools/list", json!({})).await;
    let asked = pair.server.next().await;
    pair.server.reply(&asked, json!({"tools": []})).await;
    pair.client.next().await;
    for id in 0..40 {
        pair.client.call(id, "t", json!({})).await;
        let (page, handle) = page_and_handle(&pair.client.next().await);
        world.answer(&page, json!({"approve": true})).await;
        let asked = pair.server.next().await;
        pair.server.reply(&asked, text("done")).await;
        settle().await;
        let arguments = json!({"question": handle});
        pair.client
            .call(1_000 + id, "resume_question", arguments)
            .await;
        assert_eq!(pair.client.next().await["result"], text("done"));
    }
}
