//! Entreat as a server: an agent asks its user.

use std::sync::Arc;

use entreat_core::Form;
use entreat_core::schema::Era;
use entreat_mcp::Forms;
use entreat_testkit::mcp::{Client, Kind, accept, decline};
use serde_json::{Value, json};
use tokio::io::DuplexStream;

use crate::world::{Pages, World};

struct Known;

impl Forms for Known {
    fn find(&self, name: &str) -> Option<Form> {
        let fields = json!([
            {"id": "target", "type": "text", "label": "Target", "required": true},
            {"id": "key", "type": "text", "label": "Key", "sensitive": true},
        ]);
        let definition = json!({"id": "deploy", "title": "Deploy?", "fields": fields});
        (name == "deploy").then(|| Form::from_value(&definition).expect("a sound form"))
    }

    fn names(&self) -> Vec<String> {
        vec!["deploy".to_owned()]
    }
}

async fn connect(world: &World, kind: Kind) -> Client<DuplexStream> {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let server = world.mcp.ask_server();
    tokio::spawn(async move {
        if let Ok(running) = server.serve(theirs).await {
            let _ = running.waiting().await;
        }
    });
    Client::connect(kind, ours).await
}

async fn world() -> World {
    World::built(|mcp| mcp.pages(Arc::new(Pages)).templates(Known)).await
}

#[tokio::test]
async fn an_agent_asks_a_line_of_text_or_a_form_in_every_era() {
    let world = world().await;
    for kind in Kind::all().filter(|kind| kind.form) {
        let mut client = connect(&world, kind).await;
        let arguments = json!({"prompt": "What is your name?"});
        let reply = client.call("ask_user", arguments, |question| {
            assert_eq!(question.message(), "What is your name?");
            accept(json!({"answer": "Ada"}))
        });
        let answered = json!({"status": "answered", "answers": {"answer": "Ada"}});
        let reply = reply.await;
        assert_eq!(reply.result()["structuredContent"], answered);
        assert_eq!(
            serde_json::from_str::<Value>(reply.text()).unwrap(),
            answered
        );

        let field = json!({"id": "n", "type": "number", "label": "Number", "required": true});
        let form = json!({"id": "f", "title": "F", "fields": [field]});
        let arguments = json!({"form": form, "message": "How many?"});
        let reply = client.call("ask_user", arguments.clone(), |_| accept(json!({"n": 3})));
        assert_eq!(reply.await.result()["structuredContent"]["answers"]["n"], 3);
        let reply = client.call("ask_user", arguments, |_| decline()).await;
        assert_eq!(reply.result()["structuredContent"]["status"], "declined");
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_question_is_told() {
    let world = world().await;
    let mut client = connect(&world, Kind::form(Era::V2025_11_25)).await;
    for (arguments, message) in [
        (json!({}), "give one of `prompt`, `form` and `template`"),
        (json!({"prompt": "x", "template": "deploy"}), "give one of"),
        (
            json!({"template": "nothing"}),
            "there is no template `nothing`",
        ),
        (json!({"form": {"id": "f"}}), "the form is not valid"),
        (
            json!({"prompt": "x", "timeout_seconds": 0}),
            "`timeout_seconds`",
        ),
    ] {
        let reply = client.round("ask_user", arguments, json!({})).await;
        let (code, told) = reply.error();
        assert_eq!(code, -32602);
        assert!(told.contains(message), "{told}");
    }
}

#[tokio::test]
async fn a_question_can_be_left_to_its_page_and_looked_after() {
    let world = world().await;
    let mut client = connect(&world, Kind::none(Era::V2025_11_25)).await;
    let arguments = json!({"template": "deploy", "wait": false});
    let reply = client.round("ask_user", arguments.clone(), json!({})).await;
    let left = reply.result()["structuredContent"].clone();
    let question = json!({"question": left["question"]});
    let reply = client
        .round("ask_status", question.clone(), json!({}))
        .await;
    assert_eq!(
        reply.result()["structuredContent"],
        json!({"status": "pending"})
    );

    let answers = json!({"target": "staging", "key": "canary-77aa"});
    world
        .answer_page(left["url"].as_str().unwrap(), answers)
        .await;
    let reply = client.round("ask_status", question, json!({})).await;
    let status = &reply.result()["structuredContent"];
    assert_eq!(status["status"], "completed");
    assert_eq!(status["answers"]["target"], "staging");
    // The agent learns that there is a secret, but not its value.
    assert!(status["answers"]["key"].is_string());
    assert!(!client.transcript.concat().contains("canary-77aa"));

    let reply = client.round("ask_user", arguments, json!({})).await;
    let question = json!({"question": reply.result()["structuredContent"]["question"]});
    let reply = client.round("ask_cancel", question, json!({})).await;
    assert_eq!(
        reply.result()["structuredContent"],
        json!({"status": "cancelled"})
    );
    let reply = client
        .round("ask_status", json!({"question": "x"}), json!({}))
        .await;
    assert_eq!(reply.error().0, -32602);
}

#[tokio::test]
async fn a_template_is_a_prompt_that_asks() {
    let world = world().await;
    let mut client = connect(&world, Kind::url(Era::V2025_11_25)).await;
    let id = client.send("prompts/list", json!({})).await;
    let listed = client.reply_to(id, |_| unreachable!()).await;
    assert_eq!(listed.result()["prompts"][0]["name"], "deploy");
    let id = client.send("prompts/get", json!({"name": "deploy"})).await;
    let (question, asked) = client.question().await;
    client.answer(question, json!({"action": "accept"})).await;
    let url = asked.params["url"].as_str().unwrap();
    world.answer_page(url, json!({"target": "staging"})).await;
    let reply = client.reply_to(id, |_| unreachable!()).await;
    let text = reply.result()["messages"][0]["content"]["text"].as_str();
    assert_eq!(text, Some("Deploy?\n\n- Target: staging"));
}
