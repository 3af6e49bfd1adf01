//! Sides that do not read, and messages that are too long.

use std::time::Duration;

use serde_json::{Value, json};

use super::web::Web;
use super::{L11, all, begin_lowered, call, complete};
use crate::world::{Pair, Ways, World, name_form, settle, text};

fn progress(token: &str, value: usize) -> Value {
    json!({"progressToken": token, "progress": value})
}

#[tokio::test]
async fn a_question_overtakes_the_progress_that_a_client_does_not_read() {
    for (method, params) in [
        ("elicitation/create", name_form()),
        ("sampling/createMessage", json!({"x": 1})),
        ("roots/list", json!({})),
    ] {
        let world = World::new(Ways::None).await;
        let web = Web::new(&world);
        let (caller, mut server) = web.begin("ada", all()).await;
        let tool = json!({"name": "t", "arguments": {}, "_meta": {"progressToken": "p"}});
        let waiting = web.request(&caller, "tools/call", &tool);
        settle().await;
        let asked = server.next().await;
        server
            .notify("notifications/progress", progress("p", 1))
            .await;
        let mut stream = waiting.await.unwrap();
        assert_eq!(stream.message().await.unwrap()["params"], progress("p", 1));
        // From here on, the client reads nothing.
        for value in 2..=10_000 {
            server
                .notify("notifications/progress", progress("p", value))
                .await;
            let log = json!({"level": "info", "data": value});
            server.notify("notifications/message", log).await;
        }
        server.request("q", method, params.clone()).await;
        settle().await;
        // Others do not notice.
        let (other, mut others) = web.begin("bob", all()).await;
        let ping = web.request(&other, "ping", &json!({}));
        let pinged = others.next().await;
        others.reply(&pinged, json!({})).await;
        assert_eq!(
            ping.await.unwrap().message().await.unwrap()["result"],
            json!({})
        );

        let first = stream.message().await.unwrap();
        assert_eq!(
            (&first["method"], &first["params"]),
            (&json!(method), &params)
        );
        world.clock.advance(Duration::from_secs(1));
        let answer = json!({"jsonrpc": "2.0", "id": first["id"],
            "result": {"action": "accept", "content": {"name": "Ada"}}});
        web.post(&caller, &answer).await.unwrap();
        assert_eq!(server.next().await["id"], "q");
        server.reply(&asked, text("done")).await;
        let (mut count, mut newest) = (0, 1);
        let result = loop {
            let message = stream.message().await.unwrap();
            match message["method"].as_str() {
                None => break message["result"].clone(),
                Some("notifications/progress") => {
                    let value = message["params"]["progress"].as_u64().unwrap();
                    assert!(value > newest, "{value} after {newest}");
                    newest = value;
                }
                Some(_) => {}
            }
            count += 1;
        };
        assert_eq!(result, text("done"));
        assert_eq!(newest, 10_000);
        assert!(count < 600, "{count} messages were kept");
    }
}

#[tokio::test]
async fn a_flood_stops_at_a_client_that_reads_nothing_and_ends_with_it() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    pair.initialize(L11, all()).await;
    let params = json!({"name": "t", "arguments": {}, "_meta": {"progressToken": "p"}});
    pair.client.request(1, "tools/call", params).await;
    let asked = pair.server.next().await;
    let Pair { client, server } = pair;
    let count = 10_000;
    let filling = "x".repeat(1_000);
    let flood = tokio::spawn(async move {
        let mut server = server;
        for value in 1..=count {
            let mut report = progress("p", value);
            report["message"] = json!(filling);
            server.notify("notifications/progress", report).await;
        }
        server
            .request("q", "sampling/createMessage", json!({}))
            .await;
        server
    });
    settle().await;
    // Ten megabytes do not fit into what is queued on the way.
    assert!(!flood.is_finished(), "the server was not stopped");
    let mut client = client;
    // It goes on writing.
    for id in 2..200 {
        client.request(id, "ping", json!({})).await;
    }
    for value in 1..=count {
        assert_eq!(client.next().await["params"]["progress"], value);
    }
    let sample = client.next().await;
    assert_eq!(sample["method"], "sampling/createMessage");
    client.reply(&sample, json!({"role": "assistant"})).await;
    let mut server = flood.await.unwrap();
    for id in 2..200 {
        let ping = server.next().await;
        assert_eq!(ping["id"], id);
        server.reply(&ping, json!({})).await;
        assert_eq!(client.next().await["id"], id);
    }
    let sampled = server.next().await;
    assert_eq!(sampled["id"], "q");
    server.reply(&asked, text("done")).await;
    assert_eq!(client.next().await["result"], text("done"));
}

/// A line of this many bytes, with the id first or last.
fn long(id: &str, member: &str, id_is_first: bool) -> String {
    let filling = "x".repeat(20 << 20);
    if id_is_first {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"{member}":{{"content":"{filling}"}}}}"#)
    } else {
        format!(r#"{{"{member}":{{"content":"{filling}"}},"jsonrpc":"2.0","id":{id}}}"#)
    }
}

#[tokio::test]
async fn a_result_of_20_mib_fails_its_call_and_the_session_goes_on() {
    for id_is_first in [true, false] {
        let world = World::new(Ways::Browser).await;
        let mut pair = world.connect();
        pair.initialize(L11, all()).await;
        let asked = pair.called(7, "t", json!({})).await;
        pair.server
            .raw(&long(&asked["id"].to_string(), "result", id_is_first))
            .await;
        let failed = pair.client.next().await;
        assert_eq!(failed["id"], 7);
        assert_eq!(failed["error"]["code"], -32603);
        let data = json!({"reason": "upstream_unexpected", "mayHaveRun": true});
        assert_eq!(failed["error"]["data"], data);
        let message = failed["error"]["message"].as_str().unwrap();
        assert!(message.contains("more than 16 MiB"), "{message}");
        let asked = pair.called(8, "t", json!({})).await;
        pair.server.reply(&asked, text("short")).await;
        assert_eq!(pair.client.next().await["result"], text("short"));
    }
}

#[tokio::test]
async fn a_result_of_20_mib_fails_calls_between_the_eras_too() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    let params = call("t", json!({}), all());
    let asked = begin_lowered(&mut pair, 1, params.clone()).await;
    pair.server
        .raw(&long(&asked["id"].to_string(), "result", false))
        .await;
    let failed = pair.client.next().await;
    assert_eq!(failed["error"]["data"]["reason"], "upstream_unexpected");
    pair.client.request(2, "tools/call", params).await;
    let asked = pair.server.next().await;
    pair.server.reply(&asked, text("short")).await;
    assert_eq!(pair.client.next().await["result"], complete(text("short")));

    let mut pair = world.connect();
    pair.initialize_raised(L11, all()).await;
    let asked = pair.called(1, "t", json!({})).await;
    pair.server
        .raw(&long(&asked["id"].to_string(), "result", true))
        .await;
    let failed = pair.client.next().await;
    assert_eq!(failed["error"]["data"]["reason"], "upstream_unexpected");
}

#[tokio::test]
async fn a_message_of_20_mib_from_the_client_is_refused_and_the_session_goes_on() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    pair.initialize(L11, all()).await;
    for id_is_first in [true, false] {
        let line = long("9", "params", id_is_first);
        let line = line.replacen('{', r#"{"method":"tools/call","#, 1);
        pair.client.raw(&line).await;
        let refused = pair.client.next().await;
        assert_eq!(
            (&refused["id"], &refused["error"]["code"]),
            (&json!(9), &json!(-32600))
        );
    }
    // So is an answer, whose question would wait for ever.
    pair.called(1, "t", json!({})).await;
    pair.server
        .request("q", "sampling/createMessage", json!({}))
        .await;
    let sample = pair.client.next().await;
    pair.client
        .raw(&long(&sample["id"].to_string(), "result", true))
        .await;
    let answered = pair.server.next().await;
    assert_eq!(
        (&answered["id"], &answered["error"]["code"]),
        (&json!("q"), &json!(-32600))
    );
    pair.server.nothing().await;
}
