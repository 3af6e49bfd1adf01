//! Each method as documented.

use std::time::Duration;

use entreat_engine::SubscriptionItem;
use entreat_service::rpc::Notification;
use serde_json::json;

use crate::world::{START, World, answer, deploy, request};

#[tokio::test]
async fn a_valid_answer_completes_and_the_asker_reads_it() {
    let world = World::new().await;
    let id = world.ask().await;
    let params = json!({"elicitationId": id, "form_id": "deploy",
        "responses": {"target": "staging", "token": "s3cret"},
        "metadata": {"user_agent": "tests", "session_id": "s1"}});
    let result = world.result("elicitation/submit", params).await;
    assert_eq!(result, json!({"status": "completed"}));

    let record = world
        .result("elicitation/status", json!({"elicitationId": id}))
        .await;
    assert_eq!(
        record,
        json!({
            "elicitationId": id, "mode": "form", "status": "completed", "shown": true,
            "createdAt": START, "timeoutAt": START + 300_000, "timeoutMs": 300_000,
            "settledAt": START, "attempts": 1, "retryLimit": 3,
            "extensions": 0, "extensionsRemaining": 2, "sizeLimit": 1_048_576,
            "submission": {"user_agent": "tests", "session_id": "s1"},
            "result": {"target": "staging", "token": "s3cret"},
        })
    );
}

#[tokio::test]
async fn a_part_of_an_answer_is_kept_and_uses_up_no_attempt() {
    let world = World::new().await;
    let id = world.ask().await;
    let params = json!({"elicitationId": id, "partial": true, "responses": {"replicas": 20}});
    let result = world.result("elicitation/submit", params).await;
    assert_eq!(result["status"], "active");
    assert_eq!(result["missing"], json!(["target"]));
    assert_eq!(result["errors"][0]["constraint"], "maximum");
    assert_eq!(result["errors"].as_array().unwrap().len(), 1);

    let record = world
        .result("elicitation/status", json!({"elicitationId": id}))
        .await;
    assert_eq!(record["status"], "active");
    assert_eq!(record["attempts"], 0);
}

#[tokio::test]
async fn what_may_be_left_out_is_told_beside_the_result() {
    let world = World::new().await;
    let mut form = deploy();
    form["allow_partial"] = true.into();
    let id = world.create(json!({"formDefinition": form})).await;
    world.submit(&id, json!({"replicas": 2})).await;
    let record = world
        .result("elicitation/await", json!({"elicitationId": id}))
        .await;
    assert_eq!(record["result"], json!({"replicas": 2}));
    assert_eq!(record["missing"], json!(["target"]));
}

#[tokio::test]
async fn inline_and_url_questions_are_completed_from_elsewhere() {
    let world = World::new().await;
    let inline = world.create(json!({"prompt": "Your name?"})).await;
    let params = json!({"elicitationId": inline, "result": "Ada"});
    let result = world.result("elicitation/complete", params).await;
    assert_eq!(result, json!({"status": "completed"}));
    let record = world
        .result("elicitation/status", json!({"elicitationId": inline}))
        .await;
    assert_eq!(record["result"], "Ada");

    let url = world
        .create(json!({"url": "https://example.com/sign-in"}))
        .await;
    let params = json!({"elicitationId": url, "result": {"user": 7}});
    world.result("elicitation/complete", params).await;
    let record = world
        .result("elicitation/status", json!({"elicitationId": url}))
        .await;
    assert_eq!(record["result"], json!({"user": 7}));

    let nothing = world
        .create(json!({"url": "https://example.com/pay"}))
        .await;
    let params = json!({"elicitationId": nothing});
    let result = world.result("elicitation/complete", params).await;
    assert_eq!(result, json!({"status": "completed"}));
}

#[tokio::test]
async fn declining_and_cancelling_give_the_record() {
    let world = World::new().await;
    let id = world.ask().await;
    let record = world
        .result("elicitation/decline", json!({"elicitationId": id}))
        .await;
    assert_eq!(record["status"], "declined");
    assert_eq!(record["settledAt"], START);

    let id = world.ask().await;
    let record = world
        .result("elicitation/cancel", json!({"elicitationId": id}))
        .await;
    assert_eq!(record["status"], "cancelled");
    assert_eq!(record["reason"], "asker_cancelled");

    let id = world.ask().await;
    let params = json!({"elicitationId": id, "reason": "user_cancelled"});
    let record = world.result("elicitation/cancel", params).await;
    assert_eq!(record["reason"], "user_cancelled");
}

#[tokio::test]
async fn time_is_extended_from_where_the_deadline_stands() {
    let world = World::new().await;
    let id = world.ask().await;
    world.pass(Duration::from_secs(10)).await;
    let params = json!({"elicitationId": id, "extensionDuration": 60_000});
    let result = world.result("elicitation/extend_timeout", params).await;
    assert_eq!(
        result,
        json!({"newTimeoutAt": START + 360_000, "extensionsRemaining": 1})
    );
    let params = json!({"elicitationId": id});
    let result = world.result("elicitation/extend_timeout", params).await;
    assert_eq!(
        result,
        json!({"newTimeoutAt": START + 660_000, "extensionsRemaining": 0})
    );
}

#[tokio::test]
async fn a_list_comes_in_pages_newest_first_without_results() {
    let world = World::new().await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.insert(0, world.ask().await);
        world.pass(Duration::from_millis(1)).await;
    }
    world.submit(&ids[4], answer()).await;

    let mut seen = Vec::new();
    let mut params = json!({"limit": 2});
    let mut pages = 0;
    loop {
        let mut page = world.result("elicitation/list", params.clone()).await;
        for record in page["elicitations"].as_array().unwrap() {
            assert!(record.get("result").is_none());
            seen.push(record["elicitationId"].clone());
        }
        pages += 1;
        match page["nextCursor"].take() {
            serde_json::Value::Null => break,
            cursor => params["cursor"] = cursor,
        }
    }
    assert_eq!(seen, ids);
    assert_eq!(pages, 3);

    let page = world.result("elicitation/list", json!({"limit": 5})).await;
    assert!(
        page.get("nextCursor").is_none(),
        "there is nothing after it"
    );
    let page = world
        .result("elicitation/list", json!({"status": "completed"}))
        .await;
    assert_eq!(page["elicitations"][0]["elicitationId"], ids[4]);
    assert_eq!(page["elicitations"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn the_timeouts_of_a_mode_can_be_asked_for() {
    let world = World::new().await;
    let result = world
        .result("elicitation/timeout_config", json!({"mode": "terminal"}))
        .await;
    assert_eq!(
        result,
        json!({"default_ms": 600_000, "min_ms": 1000, "max_ms": 600_000,
               "config_source": "default"})
    );
    let result = world.result("elicitation/timeout_config", json!({})).await;
    assert_eq!(result["default_ms"], 30_000, "inline, when nothing is said");
}

#[tokio::test]
async fn secrets_are_sealed_for_all_but_status_and_await() {
    let world = World::new().await;
    let id = world
        .create(json!({"prompt": "Token?", "sensitive": true}))
        .await;
    let params = json!({"elicitationId": id, "result": "s3cret"});
    let completed = world.call("elicitation/complete", params).await;
    assert!(!completed.to_string().contains("s3cret"));
    let list = world.call("elicitation/list", json!({})).await;
    assert!(!list.to_string().contains("s3cret"));
    for method in ["elicitation/status", "elicitation/await"] {
        let record = world.result(method, json!({"elicitationId": id})).await;
        assert_eq!(record["result"], "s3cret", "{method}");
    }
}

#[tokio::test]
async fn large_numbers_keep_every_digit() {
    let world = World::new().await;
    let form = json!({"id": "f", "title": "F", "fields": [
        {"id": "account", "type": "number", "label": "Account"}]});
    let digits = "123456789012345678901234567890";
    let mut events = world.engine.subscribe();
    for (create, method, param) in [
        (json!({"formDefinition": form}), "submit", "responses"),
        (json!({"url": "https://example.com/"}), "complete", "result"),
    ] {
        let id = world.create(create).await;
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"elicitation/{method}","params":{{"elicitationId":{id},"{param}":{{"account":{digits}}}}}}}"#
        );
        let body = world.send(message).await.body.unwrap();
        assert!(body.contains("completed"), "{body}");
        let message = request("elicitation/status", json!({"elicitationId": id}));
        let record = world.send(message).await.body.unwrap();
        let expected = format!(r#""result":{{"account":{digits}}}"#);
        assert!(record.contains(&expected), "{record}");
        let told = loop {
            let Some(SubscriptionItem::Event(event)) = events.next().await else {
                panic!("nothing was told");
            };
            if let Some(notification) = Notification::of(&event) {
                break notification.to_text();
            }
        };
        assert!(told.contains(&expected), "{told}");
    }
}

#[tokio::test]
async fn an_answer_fits_on_a_line() {
    let world = World::new().await;
    let id = world.create(json!({"url": "https://example.com/"})).await;
    let params = json!({"elicitationId": id, "result": {"a": [1, "x\ny"]}});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "elicitation/complete",
        "params": params});
    let message = serde_json::to_string_pretty(&message).unwrap();
    world.send(message).await;
    let message = request("elicitation/status", json!({"elicitationId": id}));
    let record = world.send(message).await.body.unwrap();
    assert!(!record.contains('\n'), "{record}");
    assert!(record.contains(r#""result":{"a":[1,"x\ny"]}"#), "{record}");
}
