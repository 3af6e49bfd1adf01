//! Each error code of the reference, over each transport.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use entreat_engine::MemoryStore;
use entreat_service::rpc::{Code, openrpc};
use entreat_testkit::{Call, Fault, FaultyStore};
use serde_json::{Value, json};

use crate::wire::Wire;
use crate::world::{World, answer, deploy, nobody};

/// Provokes one code, and returns the error.
async fn provoke(code: i32, name: &str) -> Value {
    let store = Arc::new(FaultyStore::new(MemoryStore::new()));
    let world = World::on(store.clone(), |settings| match code {
        -32010 => settings.asker.limits.creations_per_minute = NonZeroU32::new(1),
        -32011 => settings.asker.limits.live = 1,
        _ => {}
    })
    .await;
    let wire = &mut Wire::open(name, &world).await;
    let ask = json!({"formDefinition": deploy()});
    let mut created = wire.call("elicitation/create", ask.clone()).await;
    let id = created["result"]["elicitationId"].take();
    let submit = |responses: Value| json!({"elicitationId": id, "responses": responses});
    let on_it = json!({"elicitationId": id});
    let mut answered = match code {
        -32700 => wire.exchange("{\"jsonrpc\": \"2.0\", ").await,
        -32600 => {
            wire.exchange("{\"id\": 1, \"method\": \"forms/list\"}")
                .await
        }
        -32601 => wire.call("elicitation/ask", json!({})).await,
        -32602 => wire.call("elicitation/create", json!({"prompt": 5})).await,
        -32603 => {
            store.inject(Fault::of(Call::Load).times(1));
            wire.call("elicitation/status", on_it).await
        }
        -32007 => wire.call("elicitation/submit", submit(json!({}))).await,
        -32009 => {
            wire.call("elicitation/submit", submit(answer())).await;
            wire.call("elicitation/submit", submit(answer())).await
        }
        -32010 | -32011 => wire.call("elicitation/create", ask).await,
        -32012 => {
            let params = json!({"elicitationId": nobody()});
            wire.call("elicitation/status", params).await
        }
        -32013 => {
            let small = json!({"prompt": "Name?", "size_limit": 20});
            let created = wire.call("elicitation/create", small).await;
            let id = &created["result"]["elicitationId"];
            let params = json!({"elicitationId": id, "result": "x".repeat(100)});
            wire.call("elicitation/complete", params).await
        }
        -32014 => {
            let params = json!({"url": "http://169.254.169.254/latest"});
            wire.call("elicitation/create", params).await
        }
        -32015 => {
            wire.call("elicitation/submit", submit(json!({}))).await;
            wire.call("elicitation/submit", submit(json!({}))).await;
            wire.call("elicitation/submit", submit(json!({}))).await
        }
        -32016 => {
            world.clock.advance(Duration::from_secs(301));
            wire.call("elicitation/submit", submit(answer())).await
        }
        -32017 => {
            let params = json!({"elicitationId": id, "extensionDuration": 999_999});
            wire.call("elicitation/extend_timeout", params).await
        }
        other => panic!("{other} is not provoked here"),
    };
    answered["error"].take()
}

#[tokio::test]
async fn every_code_comes_over_every_transport() {
    for code in Code::ALL {
        let code = code.as_i32();
        let mut told = Vec::new();
        for name in Wire::NAMES {
            let error = provoke(code, name).await;
            assert_eq!(error["code"], code, "{name}: {error}");
            assert!(
                error["message"]
                    .as_str()
                    .is_some_and(|text| !text.is_empty())
            );
            told.push(error);
        }
        // The message is the same over every transport.
        assert_eq!(told[0], told[1]);
        assert_eq!(told[1], told[2]);
    }
}

#[tokio::test]
async fn every_method_works_over_every_transport() {
    for name in Wire::NAMES {
        let world = World::new().await;
        let wire = &mut Wire::open(name, &world).await;
        let mut result = async |method: &str, params: Value| {
            let mut answered = wire.call(method, params).await;
            assert!(
                answered.get("error").is_none(),
                "{name} {method}: {answered}"
            );
            answered["result"].take()
        };
        let ask = json!({"formDefinition": deploy()});
        let mut ids = Vec::new();
        for _ in 0..4 {
            let mut created = result("elicitation/create", ask.clone()).await;
            ids.push(created["elicitationId"].take());
        }
        let on = |at: usize| json!({"elicitationId": ids[at]});
        assert_eq!(
            result("elicitation/status", on(0)).await["status"],
            "pending"
        );
        assert!(result("elicitation/extend_timeout", on(0)).await["newTimeoutAt"].is_u64());
        let wait = json!({"elicitationId": ids[0], "timeout": 0});
        assert_eq!(result("elicitation/await", wait).await["status"], "pending");
        let responses = json!({"elicitationId": ids[0], "responses": answer()});
        assert_eq!(
            result("elicitation/submit", responses).await["status"],
            "completed"
        );
        assert_eq!(result("elicitation/await", on(0)).await["result"], answer());
        assert_eq!(
            result("elicitation/decline", on(1)).await["status"],
            "declined"
        );
        assert_eq!(
            result("elicitation/cancel", on(2)).await["reason"],
            "asker_cancelled"
        );
        let listed = result("elicitation/list", json!({"status": "pending"})).await;
        assert_eq!(listed["elicitations"][0]["elicitationId"], ids[3]);
        let inline = result("elicitation/create", json!({"prompt": "Name?"})).await;
        let complete = json!({"elicitationId": inline["elicitationId"], "result": "Ada"});
        assert_eq!(
            result("elicitation/complete", complete).await["status"],
            "completed"
        );
        let config = result("elicitation/timeout_config", json!({"mode": "form"})).await;
        assert_eq!(config["default_ms"], 300_000);
        assert_eq!(
            result("forms/list", json!({})).await,
            json!({"templates": []})
        );
        let checked = result("forms/validate", ask).await;
        assert_eq!(checked["valid"], true);
        let document = result("rpc.discover", json!({})).await;
        assert_eq!(document, openrpc::document(None));
    }
}
