//! Templates, and validation of definitions.

use entreat_core::Form;
use entreat_service::rpc::{Rpc, Templates};
use serde_json::json;

use crate::world::{World, deploy};

async fn world_with_templates() -> (World, Templates) {
    let mut world = World::new().await;
    let templates = Templates::default();
    templates.replace([
        ("deploy".to_owned(), Form::from_value(&deploy())),
        ("broken".to_owned(), Form::from_value(&json!({"id": "b"}))),
    ]);
    world.rpc = Rpc::new(world.engine.clone()).with_templates(templates.clone());
    (world, templates)
}

#[tokio::test]
async fn templates_are_listed_broken_ones_with_their_problems() {
    let (world, _) = world_with_templates().await;
    let list = world.result("forms/list", json!({})).await;
    assert_eq!(list["templates"][0]["template"], "broken");
    assert_eq!(list["templates"][0]["problems"][0]["code"], "missing_key");
    assert_eq!(
        list["templates"][1],
        json!({"template": "deploy", "id": "deploy", "title": "Deploy"})
    );
    let form = world
        .result("forms/get", json!({"template": "deploy"}))
        .await;
    assert_eq!(form, deploy());
}

#[tokio::test]
async fn a_template_is_asked_by_name_with_values() {
    let (world, templates) = world_with_templates().await;
    let params = json!({"template": "deploy", "values": {"replicas": 2}});
    let created = world.result("elicitation/create", params.clone()).await;
    assert_eq!(created["mode"], "form");
    assert_eq!(created["formDefinition"]["fields"][1]["default"], 2);

    templates.replace([]);
    let error = world.error("elicitation/create", params).await;
    assert_eq!(error["data"]["reason"], "unknown_template");
    // Existing questions keep their form.
    let answered = world
        .submit(&created["elicitationId"], json!({"target": "staging"}))
        .await;
    assert_eq!(answered["result"]["status"], "completed");
}

#[tokio::test]
async fn unknown_and_broken_templates_are_told_apart() {
    let (world, _) = world_with_templates().await;
    let error = world
        .error("forms/get", json!({"template": "depoly"}))
        .await;
    assert_eq!(error["code"], -32602);
    assert_eq!(
        error["data"],
        json!({"type": "validation", "reason": "unknown_template", "param": "template",
               "suggestion": "deploy"})
    );
    let error = world
        .error("elicitation/create", json!({"template": "broken"}))
        .await;
    assert_eq!(error["data"]["reason"], "invalid_definition");
}

#[tokio::test]
async fn a_definition_is_looked_at_without_being_asked() {
    let world = World::new().await;
    let params = json!({"formDefinition": deploy()});
    let result = world.result("forms/validate", params).await;
    assert_eq!(result, json!({"valid": true, "problems": []}));

    let mut form = deploy();
    form["titel"] = "x".into();
    let result = world
        .result("forms/validate", json!({"formDefinition": form}))
        .await;
    assert_eq!(result["valid"], false);
    assert_eq!(result["problems"][0]["pointer"], "/titel");
    assert_eq!(result["problems"][0]["suggestion"], "title");

    let result = world
        .result("forms/validate", json!({"formDefinition": 5}))
        .await;
    assert_eq!(result["valid"], false);
    assert_eq!(world.engine.live(), 0);
}
