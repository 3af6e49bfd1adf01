//! `elicitation/create`: parameters and results.

use entreat_core::TextFormat;
use entreat_service::rpc::Rpc;
use serde_json::json;

use crate::world::{Pages, START, World, deploy};

#[tokio::test]
async fn a_form_is_asked_as_the_reference_has_it() {
    let mut world = World::new().await;
    world.rpc = Rpc::new(world.engine.clone()).with_links(Pages);
    let created = world
        .result(
            "elicitation/create",
            json!({"mode": "form", "formDefinition": deploy()}),
        )
        .await;
    let id = created["elicitationId"].as_str().unwrap();
    assert!(id.starts_with("elic_"));
    assert_eq!(
        created,
        json!({
            "elicitationId": id, "mode": "form", "status": "pending", "createdAt": START,
            "timeoutAt": START + 300_000, "formDefinition": deploy(),
            "page": format!("https://ask.example.com/e/{id}"),
        })
    );
}

#[tokio::test]
async fn the_mode_follows_from_what_is_asked() {
    let mut world = World::new().await;
    world.rpc = Rpc::new(world.engine.clone()).with_links(Pages);
    let script = json!([{"ask": {"id": "a", "type": "text", "label": "A"}}]);
    for (params, mode, has_form, has_page) in [
        (json!({"formDefinition": deploy()}), "form", true, true),
        (json!({"prompt": "Name?"}), "inline", false, true),
        (json!({"url": "https://example.com/"}), "url", false, false),
        (json!({"script": script}), "terminal", false, true),
        (
            json!({"formDefinition": deploy(), "mode": "terminal"}),
            "terminal",
            true,
            true,
        ),
    ] {
        let created = world.result("elicitation/create", params.clone()).await;
        assert_eq!(created["mode"], mode, "{params}");
        assert_eq!(
            created.get("formDefinition").is_some(),
            has_form,
            "{params}"
        );
        assert_eq!(created.get("page").is_some(), has_page, "{params}");
    }
}

#[tokio::test]
async fn without_links_there_is_no_page() {
    let world = World::new().await;
    let created = world
        .result("elicitation/create", json!({"prompt": "Name?"}))
        .await;
    assert!(created.get("page").is_none());
}

#[tokio::test]
async fn every_term_of_the_question_arrives() {
    let world = World::new().await;
    let params = json!({
        "formDefinition": deploy(), "message": "Version 7 is ready",
        "timeout": {"initial_timeout": 60_000, "max_extensions": 5}, "size_limit": 2048,
        "respondent": "ada", "durable": true, "callback": "https://example.com/hook",
        "metadata": {"ticket": 12_345_678_901_234_567_890_u64}, "unknown": "ignore",
        "textFormat": "plain",
    });
    let id = world.create(params).await;
    let record = world
        .result("elicitation/status", json!({"elicitationId": id}))
        .await;
    assert_eq!(record["timeoutMs"], 60_000);
    assert_eq!(record["extensionsRemaining"], 5);
    assert_eq!(record["sizeLimit"], 2048);
    assert_eq!(
        record["metadata"],
        json!({"ticket": 12_345_678_901_234_567_890_u64})
    );
    let answered = world
        .submit(&id, json!({"target": "staging", "stray": 1}))
        .await;
    assert_eq!(answered["result"]["status"], "completed", "{answered}");

    let id = id.as_str().unwrap().parse().unwrap();
    let seen = world.engine.elicitation(id).status().await.unwrap();
    let request = &seen.record().request;
    let extras = request.extras.as_ref().unwrap();
    assert!(request.durable);
    assert_eq!(extras.message.as_deref(), Some("Version 7 is ready"));
    assert_eq!(extras.respondent.as_deref(), Some("ada"));
    assert_eq!(extras.callback.as_deref(), Some("https://example.com/hook"));
    assert_eq!(request.text_format(), TextFormat::Plain);
}

#[tokio::test]
async fn who_presents_a_question_is_told_how_its_texts_are_formatted() {
    let world = World::new().await;
    for (params, format) in [
        (json!({"formDefinition": deploy()}), "markdown"),
        (
            json!({"formDefinition": deploy(), "textFormat": "plain"}),
            "plain",
        ),
    ] {
        let id = world.create(params).await;
        let asked = world
            .result("elicitation/question", json!({"elicitationId": id}))
            .await;
        assert_eq!(asked["textFormat"], format);
    }
    let html = json!({"formDefinition": deploy(), "textFormat": "html"});
    let error = world.error("elicitation/create", html).await;
    let error = error.to_string();
    assert!(error.contains("`markdown` or `plain`"), "{error}");
}

#[tokio::test]
async fn the_same_key_again_returns_the_first_one() {
    let world = World::new().await;
    let params = json!({"prompt": "Name?", "idempotencyKey": "order-7"});
    let first = world.result("elicitation/create", params.clone()).await;
    let id = &first["elicitationId"];
    let again = world.result("elicitation/create", params.clone()).await;
    assert_eq!(again, first);

    let done = json!({"elicitationId": id, "result": "Ada"});
    world.result("elicitation/complete", done).await;
    let again = world.result("elicitation/create", params).await;
    assert_eq!(&again["elicitationId"], id);
    assert_eq!(again["status"], "completed", "it is told as it stands");
}

#[tokio::test]
async fn values_are_what_the_person_sees_first() {
    let world = World::new().await;
    let mut form = deploy();
    form["fields"][0]["default"] = "staging".into();
    let params = json!({"formDefinition": form,
        "values": {"replicas": 4, "target": null}});
    let created = world.result("elicitation/create", params).await;
    assert_eq!(created["status"], "pending", "nobody has begun to answer");
    let fields = &created["formDefinition"]["fields"];
    assert_eq!(fields[1]["default"], 4);
    assert!(fields[0].get("default").is_none(), "null is no value");

    let id = &created["elicitationId"];
    world.submit(id, json!({"target": "production"})).await;
    let record = world
        .result("elicitation/status", json!({"elicitationId": id}))
        .await;
    assert_eq!(
        record["result"],
        json!({"target": "production", "replicas": 4})
    );
}

#[tokio::test]
async fn values_must_be_answers_to_fields_of_the_form() {
    let world = World::new().await;
    let refused = |values: serde_json::Value| {
        let params = json!({"formDefinition": deploy(), "values": values});
        let world = &world;
        async move { world.error("elicitation/create", params).await }
    };
    let error = refused(json!({"replica": 4})).await;
    assert_eq!(
        error["message"],
        "`values` contains `replica`, but the form has no such field; did you mean `replicas`?"
    );
    assert_eq!(
        error["data"],
        json!({"type": "validation", "reason": "unknown_field", "param": "values",
               "field": "replica", "suggestion": "replicas"})
    );
    let error = refused(json!({"replicas": 400})).await;
    assert_eq!(error["data"]["problems"][0]["pointer"], "/fields/1/default");
    let error = refused(json!({"token": "abc"})).await;
    assert_eq!(error["data"]["reason"], "sensitive_value");
    assert!(!error.to_string().contains("abc"));
}

#[tokio::test]
async fn exactly_one_thing_is_asked_in_a_mode_that_suits_it() {
    let world = World::new().await;
    let url = "https://example.com/";
    for (params, reason) in [
        (json!({}), "no_subject"),
        (json!({"mode": "form"}), "no_subject"),
        (json!({"prompt": "Name?", "url": url}), "two_subjects"),
        (json!({"mode": "form", "prompt": "Name?"}), "mode_mismatch"),
        (json!({"mode": "terminal", "url": url}), "mode_mismatch"),
        (
            json!({"mode": "inline", "formDefinition": deploy()}),
            "mode_mismatch",
        ),
        (json!({"mode": "popup", "prompt": "Name?"}), "invalid_param"),
        (json!({"prompt": "Name?", "values": {}}), "stray_param"),
        (json!({"url": url, "sensitive": true}), "stray_param"),
        (json!({"prompt": ""}), "invalid_definition"),
        (json!({"script": [{"say": "x"}]}), "invalid_definition"),
        (json!({"formDefinition": {"id": "f"}}), "invalid_definition"),
    ] {
        let error = world.error("elicitation/create", params.clone()).await;
        assert_eq!(error["code"], -32602, "{params}");
        assert_eq!(error["data"]["reason"], reason, "{params}: {error}");
    }
    assert_eq!(world.engine.live(), 0);
}
