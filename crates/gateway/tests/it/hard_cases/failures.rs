//! Servers and clients that break: each request has one end, in words.

use std::time::Duration;

use serde_json::{Value, json};

use super::web::{Caller, Web};
use super::{L11, all, begin_lowered, call, complete, next_round};
use crate::world::{Pair, Ways, World, modern, name_form, settle, text};

/// The pairs of eras.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Eras {
    Legacy,
    Raised,
    Modern,
    Lowered,
}

impl Eras {
    const ALL: [Self; 4] = [Self::Legacy, Self::Raised, Self::Modern, Self::Lowered];

    fn has_modern_client(self) -> bool {
        matches!(self, Self::Modern | Self::Lowered)
    }

    fn has_modern_server(self) -> bool {
        matches!(self, Self::Modern | Self::Raised)
    }

    /// A call that has reached the server; returns that.
    async fn begin(self, pair: &mut Pair, capabilities: &Value) -> Value {
        match self {
            Self::Legacy => drop(pair.initialize(L11, capabilities.clone()).await),
            Self::Raised => drop(pair.initialize_raised(L11, capabilities.clone()).await),
            Self::Modern | Self::Lowered => {}
        }
        self.call(pair, 1, capabilities).await;
        match self {
            Self::Modern => drop(pair.discover().await),
            Self::Lowered => drop(pair.lower().await),
            Self::Legacy | Self::Raised => {}
        }
        pair.server.next().await
    }

    async fn call(self, pair: &mut Pair, id: u64, capabilities: &Value) {
        let params = json!({"name": "t", "arguments": {}});
        let params = if self.has_modern_client() {
            modern(params, capabilities.clone())
        } else {
            params
        };
        pair.client.request(id, "tools/call", params).await;
    }

    /// Has the server ask for a name on a call.
    async fn ask(self, pair: &mut Pair, asked: &Value) {
        if self.has_modern_server() {
            let entry = json!({"method": "elicitation/create", "params": name_form()});
            let round = json!({"resultType": "input_required", "inputRequests": {"k": entry}});
            pair.server.reply(asked, round).await;
        } else {
            pair.server.ask("q", name_form()).await;
        }
    }

    fn result(self, result: Value) -> Value {
        if self.has_modern_server() {
            complete(result)
        } else {
            result
        }
    }

    fn told(self, result: Value) -> Value {
        if self.has_modern_client() {
            complete(result)
        } else {
            result
        }
    }
}

#[tokio::test]
async fn a_server_that_dies_fails_every_call_that_may_have_run() {
    for eras in Eras::ALL {
        for shows in [json!({}), all()] {
            let world = World::new(Ways::Browser).await;
            let mut pair = world.connect();
            let asked = eras.begin(&mut pair, &shows).await;
            eras.call(&mut pair, 2, &shows).await;
            let second = pair.server.next().await;
            assert_ne!(asked["id"], second["id"]);
            drop(pair.server);
            let mut ids = Vec::new();
            for _ in 0..2 {
                let failed = pair.client.next().await;
                assert_eq!(failed["error"]["code"], -32603, "{eras:?}: {failed}");
                let data = json!({"reason": "upstream_exited", "mayHaveRun": true});
                assert_eq!(failed["error"]["data"], data, "{eras:?}");
                ids.push(failed["id"].as_u64().unwrap());
            }
            ids.sort_unstable();
            assert_eq!(ids, [1, 2], "{eras:?}");
            assert_eq!(pair.client.line().await, "", "nothing follows");
        }
    }
}

#[tokio::test]
async fn a_server_that_dies_before_the_handshake_fails_the_call_at_once() {
    for declines in [false, true] {
        let world = World::new(Ways::None).await;
        let web = Web::new(&world);
        let params = modern(json!({}), json!({}));
        let waiting = web.request(&Caller::new("ada", "/mcp/one"), "tools/list", &params);
        let mut server = web.server().await;
        let asked = server.next().await;
        assert_eq!(asked["method"], "server/discover");
        if declines {
            let error = json!({"code": -32601, "message": "Method not found"});
            server.fail(&asked, error).await;
            assert_eq!(server.next().await["method"], "initialize");
        }
        drop(server);
        // No time passes.
        settle().await;
        assert!(waiting.is_finished(), "{declines}");
        let failed = waiting.await.unwrap().message().await.unwrap();
        let reason = &failed["error"]["data"]["reason"];
        assert_eq!(reason, "upstream_exited", "{failed}");
    }
}

#[tokio::test]
async fn a_server_that_dies_while_a_person_answers_ends_the_call_and_its_page() {
    for eras in Eras::ALL {
        let world = World::new(Ways::Browser).await;
        let mut pair = world.connect();
        let asked = eras.begin(&mut pair, &json!({})).await;
        eras.ask(&mut pair, &asked).await;
        let page = world.opened().await;
        drop(pair.server);
        let failed = pair.client.next().await;
        assert_eq!(
            (&failed["id"], &failed["error"]["code"]),
            (&json!(1), &json!(-32603))
        );
        settle().await;
        let late = world.question(&page).submit(&json!({"name": "Ada"})).await;
        assert!(late.is_err(), "{eras:?}");
    }
}

#[tokio::test]
async fn what_is_no_response_to_anything_changes_nothing() {
    for eras in Eras::ALL {
        let world = World::new(Ways::None).await;
        let mut pair = world.connect();
        let asked = eras.begin(&mut pair, &all()).await;
        let result = eras.result(text("forged"));
        for line in [
            "Server listening on stdio".to_owned(),
            "{\"jsonrpc\":\"2.0\"".to_owned(),
            "{}".to_owned(),
            "[]".to_owned(),
            "null".to_owned(),
            "\u{0}\u{7f}".to_owned(),
            json!({"jsonrpc": "2.0", "id": 77, "result": result}).to_string(),
            json!({"jsonrpc": "2.0", "id": "e-x-1", "result": result}).to_string(),
            json!({"jsonrpc": "2.0", "id": null, "result": result}).to_string(),
            json!({"jsonrpc": "2.0", "id": asked["id"].to_string(), "result": result}).to_string(),
            json!({"jsonrpc": "2.0", "id": asked["id"], "result": result, "error": {}}).to_string(),
            json!({"jsonrpc": "2.0", "id": asked["id"]}).to_string(),
        ] {
            pair.server.raw(&line).await;
        }
        pair.client.nothing().await;
        pair.server.reply(&asked, eras.result(text("done"))).await;
        // A second one is late.
        pair.server.reply(&asked, result).await;
        let done = pair.client.next().await;
        assert_eq!(
            (&done["id"], &done["result"]),
            (&json!(1), &eras.told(text("done"))),
            "{eras:?}"
        );
        pair.client.nothing().await;
    }
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up_before_its_handshake_only() {
    let world = World::new(Ways::None).await;
    let mut pair = world.connect();
    pair.client
        .request(1, "tools/call", call("t", json!({}), all()))
        .await;
    assert_eq!(pair.server.next().await["method"], "server/discover");
    world.pass(Duration::from_secs(5)).await;
    // It may only be slow to start, so its response to the first one counts too.
    assert_eq!(pair.server.next().await["method"], "initialize");
    pair.server.nothing().await;
    world.pass(Duration::from_secs(29)).await;
    pair.client.nothing().await;
    world.pass(Duration::from_secs(1)).await;
    let failed = pair.client.next().await;
    assert_eq!(
        failed["error"]["data"],
        json!({"reason": "upstream_silent"})
    );

    // Calls have no limit of their own.
    let mut pair = world.connect();
    let asked = Eras::Legacy.begin(&mut pair, &all()).await;
    world.pass(Duration::from_secs(24 * 60 * 60)).await;
    pair.client.nothing().await;
    pair.server.reply(&asked, text("done")).await;
    assert_eq!(pair.client.next().await["result"], text("done"));
}

#[tokio::test]
async fn a_server_that_cannot_be_started_is_named_and_has_run_nothing() {
    let world = World::new(Ways::None).await;
    let web = Web::down(&world);
    let caller = Caller::new("ada", "/mcp/one");
    let params = call("t", json!({}), all());
    for method in ["tools/call", "initialize"] {
        let params = if method == "initialize" {
            json!({"protocolVersion": L11, "capabilities": {}})
        } else {
            params.clone()
        };
        let mut response = web.request(&caller, method, &params).await.unwrap();
        assert_eq!(response.status, 503);
        let failed = response.message().await.unwrap();
        assert_eq!(
            failed["error"]["data"],
            json!({"reason": "upstream_unreachable"})
        );
        let message = failed["error"]["message"].as_str().unwrap();
        assert!(
            message.contains("\"one\"") && message.contains("no such program"),
            "{message}"
        );
    }
}

#[tokio::test]
async fn a_client_that_goes_away_withdraws_what_it_asked_for() {
    for eras in Eras::ALL {
        let world = World::new(Ways::Browser).await;
        let mut pair = world.connect();
        let asked = eras.begin(&mut pair, &json!({})).await;
        eras.ask(&mut pair, &asked).await;
        let page = world.opened().await;
        drop(pair.client);
        settle().await;
        let late = world.question(&page).submit(&json!({"name": "Ada"})).await;
        assert!(late.is_err(), "{eras:?}");
        // Its connection is closed, whatever else it is told.
        while !pair.server.line().await.is_empty() {}
    }
}

#[tokio::test]
async fn calls_of_one_id_that_all_ask_get_their_own_answers() {
    let world = World::new(Ways::None).await;
    let web = Web::new(&world);
    let (caller, mut server) = web.begin("ada", all()).await;
    let mut waiting = Vec::new();
    let mut calls = Vec::new();
    for number in 0..3 {
        let params = json!({"name": "t", "arguments": {"n": number}});
        waiting.push(web.request(&caller, "tools/call", &params));
        settle().await;
        calls.push(server.next().await);
    }
    for (number, asked) in calls.iter().enumerate().rev() {
        server.reply(asked, text(&number.to_string())).await;
    }
    for (number, waiting) in waiting.into_iter().enumerate() {
        let reply = waiting.await.unwrap().message().await.unwrap();
        assert_eq!(reply["id"], 1);
        assert_eq!(reply["result"], text(&number.to_string()));
    }
    // Of 2026-07-28, on one connection: each has rounds of its own.
    let mut pair = world.connect();
    let params = |number: u64| call("t", json!({"n": number}), all());
    let first = begin_lowered(&mut pair, 1, params(0)).await;
    pair.server.ask("q", name_form()).await;
    let round = next_round(&world, &mut pair).await;
    pair.client.request(1, "tools/call", params(1)).await;
    let second = pair.server.next().await;
    pair.server.reply(&second, text("1")).await;
    assert_eq!(pair.client.next().await["result"], complete(text("1")));
    let (key, _) = super::only_question(&round);
    world.clock.advance(Duration::from_secs(1));
    let answers = json!({key: super::accept("Ada")});
    pair.client
        .request(1, "tools/call", super::retry(&params(0), &round, answers))
        .await;
    assert_eq!(pair.server.next().await["result"], super::accept("Ada"));
    pair.server.reply(&first, text("0")).await;
    assert_eq!(pair.client.next().await["result"], complete(text("0")));
}

#[tokio::test]
async fn a_batch_is_answered_as_one_whether_or_not_the_server_knows_batches() {
    for is_batch in [false, true] {
        let world = World::new(Ways::None).await;
        let mut pair = world.connect();
        pair.initialize("2025-03-26", json!({})).await;
        pair.client
            .raw(
                r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"t","arguments":{"n":1.50}}},{"no":"message"},{"jsonrpc":"2.0","id":3,"method":"ping"}]"#,
            )
            .await;
        let ping = pair.server.next().await;
        assert_eq!(pair.server.next().await["method"], "notifications/x");
        let line = pair.server.line().await;
        assert!(line.contains(r#""arguments":{"n":1.50}"#), "{line}");
        let called: Value = serde_json::from_str(&line).unwrap();
        let last = pair.server.next().await;
        pair.client.nothing().await;
        let response =
            |to: &Value, result: Value| json!({"jsonrpc": "2.0", "id": to["id"], "result": result});
        let responses = [
            response(&called, text("done")),
            response(&ping, json!({})),
            response(&last, json!({})),
        ];
        if is_batch {
            pair.server.send(json!(responses)).await;
        } else {
            for response in responses {
                pair.server.send(response).await;
            }
        }
        let together = pair.client.next().await;
        let mut together = together.as_array().expect("a batch").clone();
        assert_eq!(together.len(), 4);
        together.sort_by_key(|it| it["id"].to_string());
        assert_eq!(together[0]["result"], text("done"));
        assert_eq!(together[1]["id"], 1);
        assert_eq!(together[2]["id"], 3);
        assert_eq!(together[3]["error"]["code"], -32600);
        pair.client.nothing().await;
    }
}

#[tokio::test]
async fn a_batch_is_complete_without_what_was_cancelled() {
    let world = World::new(Ways::None).await;
    let mut pair = world.connect();
    pair.initialize("2025-03-26", json!({})).await;
    pair.client
        .raw(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#)
        .await;
    let first = pair.server.next().await;
    pair.server.next().await;
    pair.client
        .notify("notifications/cancelled", json!({"requestId": 2}))
        .await;
    pair.server.next().await;
    pair.server.reply(&first, json!({})).await;
    let together = pair.client.next().await;
    assert_eq!(together.as_array().unwrap().len(), 1, "{together}");
    for line in ["[]", "[[]]", "[1]"] {
        pair.client.raw(line).await;
        let refused = pair.client.next().await;
        let refused = refused.as_array().map_or(&refused, |all| &all[0]);
        assert_eq!(refused["error"]["code"], -32600, "{line}");
    }
    pair.server.nothing().await;
}
