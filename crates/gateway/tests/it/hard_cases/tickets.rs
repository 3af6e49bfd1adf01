//! Tickets of parked calls in the wrong hands.

use entreat_engine::{Engine, KeyRing};
use entreat_testkit::SeededEntropy;
use serde_json::{Value, json};

use super::lost::text_of;
use super::web::{Caller, Web};
use super::{accept, all, begin_lowered, call, form, next_round, only_question, retry};
use crate::world::{Peer, Ways, World};

/// Parks a call of a principal at a server of 2025; returns its round.
async fn park(world: &World, web: &Web, caller: &Caller, params: &Value) -> (Value, Peer) {
    let waiting = web.request(caller, "tools/call", params);
    let mut server = web.server().await;
    lower(&mut server).await;
    server.next().await;
    server
        .request("q", "elicitation/create", form("Whose card?"))
        .await;
    world.pass(std::time::Duration::from_millis(50)).await;
    let round = waiting.await.unwrap().message().await.unwrap();
    (round["result"].clone(), server)
}

/// Makes a server one of 2025.
async fn lower(server: &mut Peer) {
    let asked = server.next().await;
    assert_eq!(asked["method"], "server/discover", "{asked}");
    let error = json!({"code": -32601, "message": "Method not found"});
    server.fail(&asked, error).await;
    let told = server.next().await;
    let result = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
        "serverInfo": {"name": "files", "version": "1"}});
    server.reply(&told, result).await;
    server.next().await;
}

#[tokio::test]
async fn a_ticket_is_refused_for_everybody_and_everything_else() {
    let world = World::new(Ways::None).await;
    let web = Web::new(&world);
    let ada = Caller::new("ada", "/mcp/one");
    let params = call("charge", json!({"n": 1}), all());
    let (round, mut server) = park(&world, &web, &ada, &params).await;
    let (key, _) = only_question(&round);
    let good = retry(&params, &round, json!({key: accept("Eve")}));

    // Others have the same kind of call open.
    let bob = Caller::new("bob", "/mcp/one");
    let (_, mut bobs) = park(&world, &web, &bob, &params).await;
    let elsewhere = Caller::new("ada", "/mcp/two");
    let (_, mut other) = park(&world, &web, &elsewhere, &params).await;

    let mut attempts = vec![(bob, good.clone()), (elsewhere, good.clone())];
    let mut change = |change: &dyn Fn(&mut Value)| {
        let mut changed = good.clone();
        change(&mut changed);
        attempts.push((ada.clone(), changed));
    };
    change(&|it| it["name"] = json!("refund"));
    change(&|it| it["arguments"] = json!({"n": 2}));
    change(&|it| it["arguments"] = json!({"n": "1"}));
    change(&|it| it["arguments"]["m"] = json!(null));
    change(&|it| drop(it.as_object_mut().unwrap().remove("arguments")));
    let state = good["requestState"].as_str().unwrap();
    for (at, old) in state.bytes().enumerate() {
        for bit in 0..7 {
            let new = old ^ (1 << bit);
            if new.is_ascii_graphic() {
                let mut bytes = state.as_bytes().to_vec();
                bytes[at] = new;
                let flipped = String::from_utf8(bytes).unwrap();
                change(&|it| it["requestState"] = json!(flipped));
            }
        }
    }
    for length in [0, 1, 9, 40, state.len() - 1] {
        change(&|it| it["requestState"] = json!(state[..length]));
    }
    let count = attempts.len();
    assert!(count > 1_000, "{count}");
    for (caller, params) in attempts {
        let mut response = web.request(&caller, "tools/call", &params).await.unwrap();
        let refused = response.message().await.unwrap();
        assert_eq!(refused["error"]["code"], -32602, "{params}");
        // One message for all reasons.
        assert_eq!(
            refused["error"]["message"],
            "the request state is not valid"
        );
    }
    for server in [&mut server, &mut bobs, &mut other] {
        server.nothing().await;
    }
    // It was none of them that made it useless.
    world.clock.advance(std::time::Duration::from_secs(1));
    let waiting = web.request(&ada, "tools/call", &good);
    assert_eq!(server.next().await["result"], accept("Eve"));
    drop(waiting);
}

#[tokio::test]
async fn a_ticket_of_a_key_that_is_gone_is_refused() {
    let entropy = SeededEntropy::new(1);
    let mut old = KeyRing::generate(&entropy);
    let start = async |keys: &str| {
        let engine = Engine::builder().keys(KeyRing::from_text(keys).unwrap());
        World::on(Ways::None, engine, |gateway| gateway).await
    };
    let first = start(&text_of(&old)).await;
    let mut pair = first.connect();
    let params = call("charge", json!({}), all());
    begin_lowered(&mut pair, 1, params.clone()).await;
    pair.server.ask("q", form("Whose card?")).await;
    let round = next_round(&first, &mut pair).await;
    let (key, _) = only_question(&round);
    let good = retry(&params, &round, json!({key: accept("Ada")}));

    old.add_newest(&entropy).unwrap();
    let both = text_of(&old);
    let newest = both.lines().max().unwrap();
    for (keys, expected) in [(both.as_str(), -32603), (newest, -32602)] {
        let world = start(keys).await;
        let mut next = world.connect();
        next.client.request(2, "tools/call", good.clone()).await;
        next.lower().await;
        let refused = next.client.next().await;
        assert_eq!(refused["error"]["code"], expected, "{refused}");
        next.server.nothing().await;
    }
}
