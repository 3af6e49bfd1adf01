//! Each documented error code, with its data. Those about time are in `errors_of_time`.

use std::num::NonZeroU32;
use std::time::Duration;

use entreat_service::rpc::Session;
use serde_json::{Value, json};

use crate::world::{World, answer, deploy, nobody, request};

#[tokio::test]
async fn an_unknown_method_is_named_with_the_likely_one() {
    let world = World::new().await;
    let error = world.error("elicitation/sumbit", json!({})).await;
    assert_eq!(
        error,
        json!({"code": -32601,
            "message": "There is no method `elicitation/sumbit`; did you mean `elicitation/submit`?",
            "data": {"type": "system", "details": "unknown_method",
                     "suggestion": "elicitation/submit"}})
    );
    let error = world.error("tools/call", json!({})).await;
    assert_eq!(error["message"], "There is no method `tools/call`.");
}

#[tokio::test]
async fn parameters_that_do_not_fit_are_named() {
    let world = World::new().await;
    let id = world.ask().await;
    for (method, params, reason, message) in [
        (
            "elicitation/create",
            json!({"formDefinitoin": deploy()}),
            "unknown_param",
            "The method has no parameter `formDefinitoin`; did you mean `formDefinition`?",
        ),
        (
            "elicitation/status",
            json!({"elicitationId": id, "verbose": true}),
            "unknown_param",
            "The method has no parameter `verbose`; it takes `elicitationId`.",
        ),
        (
            "elicitation/status",
            json!({}),
            "missing_param",
            "`elicitationId` is required: Which elicitation.",
        ),
        (
            "elicitation/status",
            json!({"elicitationId": 5}),
            "invalid_param",
            "`elicitationId` must be a text; a number was sent.",
        ),
        (
            "elicitation/submit",
            json!({"elicitationId": id, "responses": []}),
            "invalid_param",
            "`responses` must be an object; a list was sent.",
        ),
        (
            "elicitation/submit",
            json!({"elicitationId": id, "responses": {}, "partial": "yes"}),
            "invalid_param",
            "`partial` must be true or false; a text was sent.",
        ),
        (
            "elicitation/list",
            json!({"limit": 201}),
            "invalid_param",
            "`limit` must be a whole number from 1 to 200; a number was sent.",
        ),
        (
            "elicitation/list",
            json!({"cursor": "abc"}),
            "invalid_param",
            "`cursor` must be the `nextCursor` of an earlier page.",
        ),
        (
            "elicitation/list",
            json!({"status": "done"}),
            "invalid_param",
            "`status` must be `pending`, `active`, `completed`, `declined`, `cancelled` or \
             `timeout`; `done` was sent.",
        ),
        (
            "elicitation/await",
            json!({"elicitationId": id, "timeout": -1}),
            "invalid_param",
            "`timeout` must be a whole number of at least 0; a number was sent.",
        ),
        (
            "elicitation/status",
            json!([id]),
            "invalid_param",
            "`params` must be an object with parameters by name.",
        ),
        (
            "elicitation/status",
            Value::Null,
            "invalid_param",
            "`params` must be an object with parameters by name.",
        ),
    ] {
        let error = world.error(method, params.clone()).await;
        assert_eq!(error["code"], -32602, "{method} {params}");
        assert_eq!(error["data"]["type"], "validation", "{method} {params}");
        assert_eq!(error["data"]["reason"], reason, "{method} {params}");
        assert_eq!(error["message"], message);
    }
}

#[tokio::test]
async fn a_bad_definition_is_told_with_all_its_problems() {
    let world = World::new().await;
    let form = json!({"id": "f", "title": "", "fields": [], "extra": 1});
    let error = world
        .error("elicitation/create", json!({"formDefinition": form}))
        .await;
    assert_eq!(error["code"], -32602);
    assert_eq!(error["data"]["type"], "validation");
    assert_eq!(error["data"]["param"], "formDefinition");
    assert_eq!(error["data"]["problems"].as_array().unwrap().len(), 3);
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("(and 2 more problems)"), "{message}");
}

#[tokio::test]
async fn answers_to_another_form_are_refused_and_cost_no_attempt() {
    let world = World::new().await;
    let id = world.ask().await;
    let params = json!({"elicitationId": id, "form_id": "other", "responses": answer()});
    let error = world.error("elicitation/submit", params).await;
    assert_eq!(
        error,
        json!({"code": -32602,
            "message": "`form_id` is `other`, but the form that was asked is `deploy`.",
            "data": {"type": "submission", "reason": "form_id_mismatch", "param": "form_id",
                     "expected": "deploy", "actual": "other"}})
    );
    let record = world
        .result("elicitation/status", json!({"elicitationId": id}))
        .await;
    assert_eq!(record["attempts"], 0);
}

#[tokio::test]
async fn a_method_for_another_mode_is_refused() {
    let world = World::new().await;
    let form = world.ask().await;
    let params = json!({"elicitationId": form, "result": 1});
    let error = world.error("elicitation/complete", params).await;
    assert_eq!(error["code"], -32602);
    assert_eq!(
        error["data"],
        json!({"type": "submission", "reason": "wrong_mode", "mode": "form"})
    );
    let url = world.create(json!({"url": "https://example.com/"})).await;
    let error = world.submit(&url, json!({})).await;
    assert_eq!(error["error"]["data"]["mode"], "url");
}

#[tokio::test]
async fn invalid_answers_are_told_and_the_last_attempt_settles() {
    let world = World::new().await;
    let id = world.ask().await;
    let wrong = json!({"target": "moon", "replicas": 20, "token": "s3cret"});
    for count in 1..=2 {
        let answer = world.submit(&id, wrong.clone()).await;
        let error = &answer["error"];
        assert_eq!(error["code"], -32007);
        assert_eq!(
            error["message"],
            "2 answers are not valid; correct and submit again."
        );
        let data = &error["data"];
        assert_eq!(data["type"], "validation");
        assert_eq!(data["errors"][0]["field"], "target");
        assert_eq!(data["errors"][1]["expected"], 9);
        assert_eq!(data["retry_allowed"], true);
        assert_eq!(data["retry_limit"], 3);
        assert_eq!(data["retry_count"], count);
    }
    let answer = world.submit(&id, wrong).await;
    assert!(!answer.to_string().contains("s3cret"));
    assert_eq!(answer["error"]["code"], -32015);
    assert_eq!(answer["error"]["data"]["type"], "validation");
    assert_eq!(answer["error"]["data"]["retry_allowed"], false);
    assert_eq!(answer["error"]["data"]["retry_count"], 3);

    let record = world
        .result("elicitation/status", json!({"elicitationId": id}))
        .await;
    assert_eq!(record["status"], "cancelled");
    assert_eq!(record["reason"], "max_retries_exceeded");
    assert_eq!(record["previousErrors"][0]["field"], "target");
}

#[tokio::test]
async fn what_has_settled_names_its_state() {
    let world = World::new().await;
    let completed = world.ask().await;
    world.submit(&completed, answer()).await;
    let declined = world.ask().await;
    world
        .call("elicitation/decline", json!({"elicitationId": declined}))
        .await;
    let cancelled = world.ask().await;
    world
        .call("elicitation/cancel", json!({"elicitationId": cancelled}))
        .await;
    for (id, state) in [
        (completed, "completed"),
        (declined, "declined"),
        (cancelled, "cancelled"),
    ] {
        let error = world.submit(&id, answer()).await["error"].take();
        assert_eq!(error["code"], -32009);
        assert_eq!(
            error["data"],
            json!({"type": "submission", "state": state, "reason": format!("already_{state}")})
        );
        let params = json!({"elicitationId": id});
        for method in ["decline", "cancel", "extend_timeout"] {
            let method = format!("elicitation/{method}");
            let error = world.error(&method, params.clone()).await;
            assert_eq!(error["code"], -32009, "{method}");
        }
    }
}

#[tokio::test]
async fn asking_too_fast_and_too_much_are_told_apart() {
    let world = World::with(|settings| {
        settings.asker.limits.creations_per_minute = NonZeroU32::new(2);
    })
    .await;
    world.ask().await;
    world.ask().await;
    let params = json!({"formDefinition": deploy()});
    let error = world.error("elicitation/create", params).await;
    assert_eq!(error["code"], -32010);
    assert_eq!(
        error["data"],
        json!({"type": "system", "details": "rate_limited", "retry_after_ms": 30_000})
    );

    let world = World::with(|settings| {
        settings.asker.limits.live = 1;
    })
    .await;
    let first = world.ask().await;
    let params = json!({"formDefinition": deploy()});
    let error = world.error("elicitation/create", params).await;
    assert_eq!(error["code"], -32011);
    assert_eq!(
        error["data"],
        json!({"type": "system", "details": "too_many_live", "limit": 1})
    );
    world.submit(&first, answer()).await;
    world.ask().await;
}

#[tokio::test]
async fn a_flood_is_stopped_whatever_it_consists_of() {
    for (method, params) in [
        ("elicitation/await", json!({"elicitationId": nobody()})),
        ("elicitation/status", json!({"elicitationId": "x"})),
        ("elicitation/create", json!({})),
        ("elicitation/nothing", json!({})),
        ("elicitation/timeout_config", json!({})),
        ("forms/list", json!({})),
        ("forms/get", json!({"template": "x"})),
        ("forms/validate", json!({"formDefinition": {}})),
    ] {
        let world = World::with(|settings| {
            settings.asker.limits.requests_per_second = NonZeroU32::new(3);
        })
        .await;
        for _ in 0..3 {
            let answer = world.call(method, params.clone()).await;
            assert_ne!(answer["error"]["code"], -32010, "{method}");
        }
        let error = world.error(method, params.clone()).await;
        assert_eq!(error["code"], -32010, "{method}");
        world.pass(Duration::from_secs(1)).await;
        let answer = world.call(method, params).await;
        assert_ne!(answer["error"]["code"], -32010, "{method}");
    }
}

#[tokio::test]
async fn not_yours_not_there_and_not_an_id_are_the_same_to_the_byte() {
    let world = World::new().await;
    let id = world.ask().await;
    let stranger = Session::new(world.engine.asker("stranger"));
    for method in [
        "submit",
        "complete",
        "decline",
        "cancel",
        "extend_timeout",
        "status",
        "await",
    ] {
        let mut bodies = Vec::new();
        for id in [&id, &nobody(), &json!("elic_x"), &json!(""), &json!("💥")] {
            let mut params = json!({"elicitationId": id});
            if method == "submit" {
                params["responses"] = answer();
                params["form_id"] = "other".into();
            }
            let message = request(&format!("elicitation/{method}"), params);
            let answered = world.rpc.answer(&stranger, message.as_bytes()).await;
            bodies.push(answered.body.unwrap());
        }
        bodies.dedup();
        assert_eq!(
            bodies,
            [
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32012,"message":"There is no such elicitation; its id may be wrong, or it was deleted.","data":{"type":"submission","reason":"not_found"}}}"#
            ],
            "{method}"
        );
    }
    let list = world
        .call_as(&stranger, "elicitation/list", json!({}))
        .await;
    assert_eq!(list["result"], json!({"elicitations": []}));
}

#[tokio::test]
async fn a_result_that_is_too_large_leaves_the_question_open() {
    let world = World::new().await;
    let id = world
        .create(json!({"url": "https://example.com/", "size_limit": 10}))
        .await;
    let params = json!({"elicitationId": id, "result": "x".repeat(20)});
    let error = world.error("elicitation/complete", params).await;
    assert_eq!(error["code"], -32013);
    assert_eq!(
        error["data"],
        json!({"type": "submission", "reason": "too_large", "size": 22, "limit": 10})
    );
    assert_eq!(world.engine.live(), 1);

    for size in [0, 16 * 1024 * 1024 + 1] {
        let params = json!({"prompt": "Name?", "size_limit": size});
        let error = world.error("elicitation/create", params).await;
        assert_eq!(error["code"], -32602);
        assert_eq!(
            error["data"],
            json!({"type": "validation", "reason": "size_limit", "param": "size_limit",
                   "requested": size, "minimum": 1, "maximum": 16 * 1024 * 1024})
        );
    }
}

#[tokio::test]
async fn unsafe_urls_are_refused_with_the_reason() {
    let world = World::new().await;
    for (params, reason) in [
        (json!({"url": "http://10.0.0.1/"}), "private_address"),
        (json!({"url": "https://inside.example.com/"}), "dns_private"),
        (
            json!({"prompt": "Name?", "callback": "http://localhost/"}),
            "localhost",
        ),
    ] {
        let error = world.error("elicitation/create", params.clone()).await;
        assert_eq!(error["code"], -32014, "{params}");
        assert_eq!(error["data"]["type"], "validation");
        assert_eq!(error["data"]["reason"], reason, "{params}");
    }
}
