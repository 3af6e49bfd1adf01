//! The OpenRPC document matches the methods.

use std::collections::BTreeSet;
use std::time::Duration;

use entreat_core::Form;
use entreat_engine::SubscriptionItem;
use entreat_service::rpc::{Code, Notification, Rpc, Templates, openrpc};
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use crate::world::{Pages, World, answer, deploy, nobody};

/// A schema of the document, with its references resolved.
fn schema(document: &Value, schema: &Value) -> Value {
    let components = &document["components"];
    json!({"allOf": [schema], "components": components})
}

/// The parameters of a method as one schema.
fn params_schema(document: &Value, method: &Value) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for param in method["params"].as_array().unwrap() {
        let name = param["name"].as_str().unwrap().to_owned();
        if param["required"] == true {
            required.push(name.clone());
        }
        properties.insert(name, param["schema"].clone());
    }
    let object = json!({"type": "object", "properties": properties, "required": required,
        "additionalProperties": false});
    schema(document, &object)
}

fn method<'d>(document: &'d Value, name: &str) -> &'d Value {
    let mut methods = document["methods"].as_array().unwrap().iter();
    methods.find(|method| method["name"] == name).unwrap()
}

#[tokio::test]
async fn every_method_of_the_document_answers_and_no_other() {
    let world = World::new().await;
    let document = openrpc::document(None);
    let names: Vec<&str> = document["methods"]
        .as_array()
        .unwrap()
        .iter()
        .map(|method| method["name"].as_str().unwrap())
        .collect();
    let reference = [
        "elicitation/create",
        "elicitation/submit",
        "elicitation/complete",
        "elicitation/decline",
        "elicitation/cancel",
        "elicitation/extend_timeout",
        "elicitation/reassign",
        "elicitation/status",
        "elicitation/question",
        "elicitation/list",
        "elicitation/await",
        "elicitation/timeout_config",
        "inbox/link",
        "forms/list",
        "forms/get",
        "forms/validate",
        "rpc.discover",
    ];
    assert_eq!(names, reference);
    for name in names {
        let answer = world.call(name, json!({})).await;
        assert_ne!(answer["error"]["code"], -32601, "{name}");
    }
}

#[tokio::test]
async fn every_parameter_of_the_document_is_taken() {
    let world = World::new().await;
    let document = openrpc::document(None);
    for method in document["methods"].as_array().unwrap() {
        let name = method["name"].as_str().unwrap();
        for param in method["params"].as_array().unwrap() {
            // A type that only parameters of any type accept.
            let params = json!({param["name"].as_str().unwrap(): [[null]]});
            let answer = world.call(name, params).await;
            let reason = &answer["error"]["data"]["reason"];
            assert_ne!(reason, "unknown_param", "{name} {param}");
        }
        let answer = world.call(name, json!({"stray": 1})).await;
        assert_eq!(answer["error"]["data"]["reason"], "unknown_param", "{name}");
    }
}

#[test]
fn the_document_has_the_form_that_openrpc_asks_for() {
    let document = openrpc::document(Some("https://ask.example.com/rpc"));
    assert_eq!(document["openrpc"], "1.3.2");
    assert_eq!(document["servers"][0]["url"], "https://ask.example.com/rpc");
    assert_eq!(document["info"]["title"], "Entreat");
    let text = document.to_string();
    for reference in text.split(r##""$ref":"#"##).skip(1) {
        let pointer = reference.split('"').next().unwrap();
        assert!(document.pointer(pointer).is_some(), "{pointer}");
    }
    let codes: BTreeSet<i64> = document["components"]["errors"]
        .as_object()
        .unwrap()
        .values()
        .map(|error| error["code"].as_i64().unwrap())
        .collect();
    assert_eq!(codes.len(), Code::ALL.len());
    for method in document["methods"].as_array().unwrap() {
        assert_eq!(method["paramStructure"], "by-name");
        jsonschema::validator_for(&params_schema(&document, method)).unwrap();
        let result = schema(&document, &method["result"]["schema"]);
        jsonschema::validator_for(&result).unwrap();
    }
}

/// Calls a method, and checks the call and its response against the document.
async fn call(world: &World, document: &Value, name: &str, params: Value) -> Value {
    let method = method(document, name);
    let takes = jsonschema::validator_for(&params_schema(document, method)).unwrap();
    if let Err(error) = takes.validate(&params) {
        panic!("{name} {params}: {error}");
    }
    let result = world.result(name, params).await;
    let gives = schema(document, &method["result"]["schema"]);
    if let Err(error) = jsonschema::validator_for(&gives).unwrap().validate(&result) {
        panic!("{name} gave {result}: {error}");
    }
    result
}

#[tokio::test]
async fn real_calls_and_answers_fit_the_document() {
    let mut world = World::new().await;
    let templates = Templates::default();
    templates.replace([
        ("deploy".to_owned(), Form::from_value(&deploy())),
        ("broken".to_owned(), Form::from_value(&json!({}))),
    ]);
    world.rpc = Rpc::new(world.engine.clone())
        .with_templates(templates)
        .with_links(Pages);
    let document = openrpc::document(None);
    let call = |name: &'static str, params: Value| call(&world, &document, name, params);

    let all = json!({"mode": "form", "formDefinition": deploy(), "values": {"replicas": 1},
        "message": "m", "timeout": {"initial_timeout": 60_000}, "size_limit": 1000,
        "respondent": "ada", "durable": true, "callback": "https://example.com/",
        "metadata": {"a": 1}, "unknown": "ignore", "sensitive": false, "idempotencyKey": "k"});
    let id = call("elicitation/create", all).await["elicitationId"].take();
    let part = json!({"elicitationId": id, "responses": {"replicas": 20}, "partial": true});
    call("elicitation/submit", part).await;
    let asked = call("elicitation/question", json!({"elicitationId": id})).await;
    assert_eq!(asked["formDefinition"]["id"], "deploy");
    assert_eq!(asked["message"], "m");
    assert_eq!(asked["draft"]["replicas"], 20);
    world.submit(&id, json!({})).await;
    let params = json!({"elicitationId": id, "extensionDuration": 5000});
    call("elicitation/extend_timeout", params).await;
    call("elicitation/status", json!({"elicitationId": id})).await;
    let whole = json!({"elicitationId": id, "form_id": "deploy", "responses": answer(),
        "metadata": {"submitted_at": "now"}});
    call("elicitation/submit", whole).await;
    let params = json!({"elicitationId": id, "timeout": 5});
    call("elicitation/await", params).await;

    for create in [
        json!({"template": "deploy", "timeout": 5000}),
        json!({"prompt": "Name?", "sensitive": true}),
        json!({"url": "https://example.com/"}),
        json!({"script": [{"ask": {"id": "a", "type": "text", "label": "A"}}]}),
    ] {
        let id = call("elicitation/create", create).await["elicitationId"].take();
        let params = json!({"elicitationId": id, "reason": "user_cancelled"});
        call("elicitation/cancel", params).await;
    }
    let id = world.create(json!({"prompt": "Name?"})).await;
    let params = json!({"elicitationId": id, "result": "Ada"});
    call("elicitation/complete", params).await;
    let id = world.ask().await;
    call("elicitation/decline", json!({"elicitationId": id})).await;
    let params = json!({"status": "cancelled", "limit": 2});
    let page = call("elicitation/list", params).await;
    let params = json!({"cursor": page["nextCursor"]});
    call("elicitation/list", params).await;
    call("elicitation/timeout_config", json!({"mode": "url"})).await;
    call("forms/list", json!({})).await;
    call("forms/get", json!({"template": "deploy"})).await;
    call("forms/validate", json!({"formDefinition": {}})).await;
    assert_eq!(call("rpc.discover", json!({})).await, document);
}

#[tokio::test]
async fn every_notification_of_the_document_is_told_as_it_says_and_no_other() {
    let world = World::new().await;
    let document = openrpc::document(None);
    let described = document["x-notifications"].as_array().unwrap();
    let mut events = world.session.asker().subscribe();

    let ask = json!({"formDefinition": deploy()});
    for (method, more) in [
        ("elicitation/submit", json!({"responses": answer()})),
        ("elicitation/decline", json!({})),
        ("elicitation/cancel", json!({"reason": "user_cancelled"})),
    ] {
        let mut params = more;
        params["elicitationId"] = world.create(ask.clone()).await;
        world.result(method, params).await;
    }
    let id = world.create(json!({"url": "https://example.com/"})).await;
    world
        .result("elicitation/complete", json!({"elicitationId": id}))
        .await;
    world.create(ask).await;
    world.pass(Duration::from_secs(241)).await;
    world.pass(Duration::from_secs(60)).await;

    let mut told = BTreeSet::new();
    while let Ok(Some(SubscriptionItem::Event(event))) =
        timeout(Duration::ZERO, events.next()).await
    {
        let Some(notification) = Notification::of(&event) else {
            continue;
        };
        let method = notification.method();
        let kind = described.iter().find(|kind| kind["name"] == method);
        let kind = kind.unwrap_or_else(|| panic!("{method} is not described"));
        let validator = jsonschema::validator_for(&params_schema(&document, kind)).unwrap();
        if let Err(error) = validator.validate(&notification.params()) {
            panic!("{method} {}: {error}", notification.params());
        }
        told.insert(method);
    }
    let names = described.iter().map(|kind| kind["name"].as_str().unwrap());
    assert_eq!(told, names.collect::<BTreeSet<_>>());
}

#[tokio::test]
async fn errors_are_those_that_the_document_lists() {
    let world = World::new().await;
    let document = openrpc::document(None);
    let answer = world
        .call("elicitation/status", json!({"elicitationId": nobody()}))
        .await;
    let errors = method(&document, "elicitation/status")["errors"]
        .as_array()
        .unwrap()
        .iter();
    let codes: Vec<Value> = errors
        .map(|error| {
            let pointer = error["$ref"].as_str().unwrap().trim_start_matches('#');
            document.pointer(pointer).unwrap()["code"].clone()
        })
        .collect();
    assert!(codes.contains(&answer["error"]["code"]));
}
