//! Entreat as a server: an agent asks its user.

use std::sync::Arc;
use std::time::Duration;

use entreat_core::Form;
use entreat_core::schema::Era;
use entreat_engine::Snapshot;
use entreat_mcp::Forms;
use entreat_testkit::mcp::{Client, Kind, Reply, accept, cancel, decline};
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

/// A call that a model plausibly makes: the arguments, the message that the client shows, the
/// user's answer, and the answers that the model gets.
type RightCall = (Value, &'static str, Value, Value);

fn right_calls() -> Vec<RightCall> {
    let field = json!({"id": "n", "type": "number", "label": "Number", "required": true});
    let form = json!({"title": "Numbers", "description": "Whole ones.", "fields": [field]});
    let schema = json!({"type": "object", "properties": {
        "mail": {"type": "string", "format": "email"}}, "required": ["mail"]});
    let titled = json!([{"value": "eu", "title": "Europe", "description": "near you"},
        {"value": "us", "title": "United States"}]);
    let three = json!({"n": 3});
    let ada = json!({"answer": "Ada"});
    let mail = json!({"mail": "ada@example.com"});
    vec![
        (
            json!({"question": "What is your name?"}),
            "What is your name?",
            ada.clone(),
            ada.clone(),
        ),
        (
            json!({"question": "Your name?", "context": "It goes on the badge."}),
            "Your name?\n\nIt goes on the badge.",
            ada.clone(),
            ada.clone(),
        ),
        // The earlier names.
        (
            json!({"prompt": "Your name?", "message": "It goes on the badge."}),
            "Your name?\n\nIt goes on the badge.",
            ada.clone(),
            ada.clone(),
        ),
        // Models write null for "none".
        (
            json!({"question": "Your name?", "choices": null, "confirm": false, "wait": true}),
            "Your name?",
            ada.clone(),
            ada,
        ),
        (
            json!({"question": "Which one?", "choices": ["red", "green"], "default": "green"}),
            "Which one?",
            json!({"answer": "red"}),
            json!({"answer": "red"}),
        ),
        (
            json!({"question": "Where?", "choices": titled}),
            "Where?",
            json!({"answer": "eu"}),
            json!({"answer": "eu"}),
        ),
        // JSON in a text, and numbers where texts are expected.
        (
            json!({"question": "Which?", "choices": "[1, 2, 3]", "multiple": "true"}),
            "Which?",
            json!({"answer": ["1", "3"]}),
            json!({"answer": ["1", "3"]}),
        ),
        (
            json!({"question": "Which?", "choices": [1, 2], "default": 2}),
            "Which?",
            json!({"answer": "1"}),
            json!({"answer": "1"}),
        ),
        (
            json!({"question": "Which port?", "default": 8080}),
            "Which port?",
            json!({"answer": "80"}),
            json!({"answer": "80"}),
        ),
        (
            json!({"question": "Deploy now?", "confirm": true}),
            "Deploy now?",
            json!({"answer": false}),
            json!({"answer": false}),
        ),
        (
            json!({"form": form}),
            "Numbers\n\nWhole ones.",
            three.clone(),
            three.clone(),
        ),
        (
            json!({"question": "How many?", "context": "For lunch.", "form": form}),
            "How many?\n\nFor lunch.\n\nNumbers\n\nWhole ones.",
            three.clone(),
            three,
        ),
        (
            json!({"question": "How do we reach you?", "schema": schema}),
            "How do we reach you?",
            mail.clone(),
            mail,
        ),
        (
            json!({"question": "Say when", "timeout_seconds": "60"}),
            "Say when",
            json!({"answer": "now"}),
            json!({"answer": "now"}),
        ),
    ]
}

#[tokio::test]
async fn calls_that_a_model_gets_right_are_answered_in_every_era() {
    let world = world().await;
    for kind in Kind::all().filter(|kind| kind.form) {
        let mut client = connect(&world, kind).await;
        for (arguments, message, answer, answers) in right_calls() {
            // The first version has no lists, so they are asked on a page.
            if kind.era == Era::V2025_06_18 && answer["answer"].is_array() {
                continue;
            }
            let reply = client.call("ask_user", arguments.clone(), |question| {
                assert_eq!(question.message(), message, "{arguments}");
                accept(answer.clone())
            });
            let reply = reply.await;
            let expected = json!({"status": "completed", "answers": answers});
            assert_eq!(reply.result()["structuredContent"], expected, "{arguments}");
            // Clients without structured results read the same as text.
            let text: Value = serde_json::from_str(reply.text()).unwrap();
            assert_eq!(text, expected, "{arguments}");
        }
    }
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table")]
async fn what_a_model_gets_wrong_is_told_so_that_it_can_mend_it() {
    let world = world().await;
    let field = json!({"id": "a", "type": "string", "label": "A"});
    let wrong = [
        (json!({}), vec!["`question` is required"]),
        (json!({"question": "  "}), vec!["`question` is empty"]),
        (
            json!({"question": 5}),
            vec!["`question` must be a string; a number was sent"],
        ),
        (
            json!({"question": "a", "options": ["x"]}),
            vec!["no argument `options`; did you mean `choices`? It takes `question`, "],
        ),
        (
            json!({"question": "a", "timeout": 5}),
            vec!["did you mean `timeout_seconds`?"],
        ),
        (
            json!({"question": "a", "chioces": ["x"]}),
            vec!["did you mean `choices`?"],
        ),
        (
            json!({"question": "a", "zzz": 1}),
            vec!["no argument `zzz`. It takes"],
        ),
        (
            json!({"question": "a", "prompt": "b"}),
            vec!["`question` is given twice"],
        ),
        (
            json!({"question": "a", "choices": ["x"], "confirm": true}),
            vec!["`choices` and `confirm` exclude each other"],
        ),
        (
            json!({"question": "a", "multiple": true}),
            vec!["`multiple` needs `choices`"],
        ),
        (
            json!({"question": "a", "choices": "x, y"}),
            vec!["`choices` must be a list"],
        ),
        (
            json!({"question": "a", "choices": []}),
            vec!["`choices` needs at least one choice."],
        ),
        (
            json!({"question": "a", "choices": ["x", "x"]}),
            vec!["cannot be asked. Another option already has the value `x`."],
        ),
        (
            json!({"question": "a", "timeout_seconds": "5 minutes"}),
            vec!["`timeout_seconds` must be a whole number from 1 to 300; a string was sent."],
        ),
        (
            json!({"question": "a", "choices": [{"label": "x"}]}),
            vec!["`choices[0]` has the key `label`; did you mean `title`? A choice has `value`, "],
        ),
        (
            json!({"question": "a", "choices": [{"value": "x", "zzz": 1}]}),
            vec!["has the key `zzz`. A choice has"],
        ),
        (
            json!({"question": "a", "choices": ["x"], "default": "y"}),
            vec!["`default` must be the value of one of the `choices`: x."],
        ),
        (
            json!({"question": "a", "choices": ["x", {"value": "y"}], "multiple": true,
                   "default": ["y", "z"]}),
            vec!["`default` must be a list of values of `choices`: x, y."],
        ),
        (
            json!({"question": "a", "confirm": true, "default": true}),
            vec!["`confirm` has no `default`"],
        ),
        (
            json!({"template": "nothing"}),
            vec!["There is no template `nothing`; there are `deploy`."],
        ),
        (
            json!({"form": {"title": "F", "fields": [field]}}),
            vec!["/fields/0/type", "text", "multi_select"],
        ),
        (
            json!({"form": {"fields": [{"id": "a", "type": "text", "label": "A", "show_if": "b"}]}}),
            vec![
                "/fields/0/show_if",
                "The keys here are `id`, `type`, `label`",
            ],
        ),
        (
            json!({"form": "Name?"}),
            vec!["`form` must be an object; a string was sent. Several questions at once."],
        ),
        (
            json!({"schema": {"type": "object"}}),
            vec!["`schema` needs `properties`"],
        ),
        (
            json!({"question": "a", "schema": {"name": {"type": "string"}}}),
            vec!["{\"type\": \"object\", \"properties\": {\"name\""],
        ),
        (
            json!({"question": "a", "schema": {"type": "object", "properties": {
                "b": {"type": "string"}, "c": {"type": "object", "properties": {}}}}}),
            vec!["`schema` must be flat", "`c` contains other values"],
        ),
        (
            json!({"question": "a", "schema": {"type": "object", "properties": {
                "d": {"type": "array", "items": {"type": "string"}}}}}),
            vec!["`schema` must be flat", "`d`"],
        ),
        (
            json!({"question": "a", "schema": {"type": "object", "properties": {
                "e": {"$ref": "#/$defs/e"}}, "$defs": {"e": {"type": "string"}}}}),
            vec!["`schema` must be flat", "`e`"],
        ),
        (
            json!({"question": "a", "timeout_seconds": 0}),
            vec!["`timeout_seconds` must be a whole number from 1 to 300; 0 was sent"],
        ),
        (
            json!({"question": "a", "timeout_seconds": 1e300}),
            vec!["from 1 to 300"],
        ),
        (
            json!({"question": "a", "context": "b".repeat(16 * 1024)}),
            vec!["may have 16384 characters together; these have 16387. Shorten `context`"],
        ),
        (
            json!({"question": "a", "secret_to": {"file": ".env", "name": "A"}}),
            vec!["no argument `secret_to`"],
        ),
    ];
    for kind in Kind::all().filter(|kind| kind.form) {
        let mut client = connect(&world, kind).await;
        for (arguments, told) in &wrong {
            let reply = client.round("ask_user", arguments.clone(), json!({})).await;
            assert_eq!(reply.result()["isError"], true, "{arguments}");
            for needle in told {
                assert!(
                    reply.text().contains(needle),
                    "{arguments}: {}",
                    reply.text()
                );
            }
        }
    }
}

#[tokio::test]
async fn arguments_that_are_no_object_and_other_bad_parameters_are_told_as_such() {
    let world = world().await;
    for era in Era::ALL {
        let mut client = connect(&world, Kind::form(era)).await;
        for (arguments, sent) in [(json!("Which?"), "a string"), (json!(["Which?"]), "a list")] {
            let call = json!({"name": "ask_user", "arguments": arguments});
            let id = client.send("tools/call", call).await;
            let reply = client.reply_to(id, |_| panic!("nothing was asked")).await;
            let expected =
                format!("The arguments of `ask_user` must be an object; {sent} was sent.");
            assert_eq!(reply.text(), expected, "{era}");
            assert_eq!(reply.result()["isError"], true, "{era}");
        }
        for (method, params) in [
            ("tools/call", json!({})),
            ("prompts/get", json!({"name": 7})),
        ] {
            let id = client.send(method, params).await;
            let reply = client.reply_to(id, |_| panic!("nothing was asked")).await;
            let expected = format!("the parameters of `{method}` are not valid");
            assert_eq!(reply.error(), (-32602, &*expected), "{era}");
        }
    }
}

#[tokio::test]
async fn the_example_in_the_tool_has_every_type_and_can_be_asked() {
    let world = world().await;
    let mut client = connect(&world, Kind::none(Era::V2025_11_25)).await;
    let id = client.send("tools/list", json!({})).await;
    let listed = client.reply_to(id, |_| unreachable!()).await;
    let tools = listed.result()["tools"].as_array().unwrap().clone();
    let ask_user = tools
        .iter()
        .find(|tool| tool["name"] == "ask_user")
        .unwrap();
    let properties = &ask_user["inputSchema"]["properties"];
    assert_eq!(properties["template"]["enum"], json!(["deploy"]));
    let form = &properties["form"];
    let example = form["examples"][0].clone();
    let types = form["properties"]["fields"]["items"]["properties"]["type"]["enum"].clone();
    let used: Vec<_> = example["fields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["type"])
        .collect();
    assert_eq!(json!(used), types);
    assert_eq!(used.len(), 8);
    let arguments = json!({"form": example, "wait": false});
    let reply = client.round("ask_user", arguments, json!({})).await;
    assert_eq!(reply.result()["structuredContent"]["status"], "pending");
}

#[tokio::test]
async fn outcomes_have_the_words_of_the_control_api_and_say_what_they_mean() {
    let world = world().await;
    for kind in Kind::all().filter(|kind| kind.form) {
        let mut client = connect(&world, kind).await;
        let arguments = json!({"question": "Sure?"});
        let reply = client
            .call("ask_user", arguments.clone(), |_| decline())
            .await;
        let result = &reply.result()["structuredContent"];
        assert_eq!(result["status"], "declined");
        let note = result["note"].as_str().unwrap();
        assert!(note.contains("neither a yes nor a no"), "{note}");
        assert!(note.contains("`shown` is "), "{note}");

        let reply = client.call("ask_user", arguments, |_| cancel()).await;
        let result = &reply.result()["structuredContent"];
        assert_eq!(result["status"], "cancelled");
        assert_eq!(result["reason"], "user_cancelled");
    }
}

#[tokio::test]
async fn after_the_last_bad_answer_the_errors_are_told() {
    let world = world().await;
    for kind in Kind::all().filter(|kind| kind.form) {
        let mut client = connect(&world, kind).await;
        let field = json!({"id": "n", "type": "number", "label": "Number", "required": true,
            "validation": {"maximum": 5}});
        let arguments = json!({"form": {"title": "F", "fields": [field]}});
        let reply = client
            .call("ask_user", arguments, |_| accept(json!({"n": 9})))
            .await;
        let result = &reply.result()["structuredContent"];
        assert_eq!(result["reason"], "max_retries_exceeded");
        assert_eq!(result["errors"], json!(["Number must be 5 or less"]));
    }
}

/// A model that gets a JSON-RPC error can't tell what to try next.
#[tokio::test]
async fn a_client_that_fails_to_show_the_question_is_told_with_another_way() {
    let world = world().await;
    let mut client = connect(&world, Kind::form(Era::V2025_11_25)).await;
    let call = client.start("ask_user", json!({"question": "Name?"})).await;
    let (id, _) = client.question().await;
    client.fail(id, "no window").await;
    let reply = client.reply_to(call, |_| cancel()).await;
    assert_eq!(reply.result()["isError"], true);
    assert_eq!(
        reply.text(),
        "The client answered with an error: no window. Call again with `wait: false` to ask on a \
         page instead."
    );
}

#[tokio::test]
async fn members_that_were_not_asked_for_are_left_out() {
    let world = world().await;
    for kind in Kind::all().filter(|kind| kind.form) {
        let mut client = connect(&world, kind).await;
        let mut times = 0;
        let reply = client.call("ask_user", json!({"question": "Name?"}), |_| {
            times += 1;
            accept(json!({"answer": "Ada", "_meta": {}, "extra": 1}))
        });
        let answers = json!({"answer": "Ada"});
        assert_eq!(
            reply.await.result()["structuredContent"]["answers"],
            answers
        );
        assert_eq!(times, 1);
    }
}

/// The question that a reply left open.
async fn left(world: &World, reply: &Reply) -> Snapshot {
    let id = reply.result()["structuredContent"]["question"].as_str();
    let id = id.expect("an open question").parse().expect("an id");
    let question = world.engine.elicitation(id);
    question
        .outcome_within(Duration::ZERO)
        .await
        .expect("its state")
}

#[tokio::test]
async fn the_client_asks_in_its_own_name() {
    let world = world().await;
    let mut client = connect(&world, Kind::none(Era::V2025_11_25)).await;
    let arguments = json!({"question": "Name?", "wait": false});
    let reply = client.round("ask_user", arguments, json!({})).await;
    let snapshot = left(&world, &reply).await;
    let extras = snapshot.record().request.extras.clone().unwrap();
    assert_eq!(extras.introduced_as.as_deref(), Some("entreat-testkit"));
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
    let pending = &reply.result()["structuredContent"];
    assert_eq!(pending["status"], "pending");
    let next = pending["next"].as_str().unwrap();
    assert!(next.contains("`wait_seconds`, up to 50"), "{next}");

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
    let reply = client
        .round("ask_cancel", question.clone(), json!({}))
        .await;
    assert_eq!(
        reply.result()["structuredContent"],
        json!({"status": "cancelled"})
    );
    let reply = client.round("ask_cancel", question, json!({})).await;
    assert_eq!(reply.result()["structuredContent"]["status"], "cancelled");
    let ended = json!({"question": left["question"]});
    let reply = client.round("ask_cancel", ended, json!({})).await;
    let completed = json!({"status": "completed", "note": "The question had already ended."});
    assert_eq!(reply.result()["structuredContent"], completed);
    for arguments in [json!({"question": "x"}), json!({}), json!({"id": "x"})] {
        let reply = client.round("ask_status", arguments, json!({})).await;
        assert_eq!(reply.result()["isError"], true);
        assert!(reply.text().contains("`question`") || reply.text().contains("no question `x`"));
    }
}

#[tokio::test]
async fn a_status_can_wait_for_the_answer() {
    let world = world().await;
    let mut client = connect(&world, Kind::none(Era::V2025_11_25)).await;
    let arguments = json!({"question": "Name?", "wait": false});
    let reply = client.round("ask_user", arguments, json!({})).await;
    let left = reply.result()["structuredContent"].clone();
    assert!(
        left["next"]
            .as_str()
            .unwrap()
            .contains("ends when this server stops")
    );
    let question = &left["question"];
    let arguments = json!({"question": question, "wait_seconds": 51});
    let reply = client.round("ask_status", arguments, json!({})).await;
    assert!(reply.text().contains("from 0 to 50"), "{}", reply.text());

    let arguments = json!({"question": question, "wait_seconds": 50});
    let id = client.start("ask_status", arguments).await;
    // A later call without it is answered before.
    let arguments = json!({"question": question});
    let reply = client.round("ask_status", arguments, json!({})).await;
    assert_eq!(reply.result()["structuredContent"]["status"], "pending");
    let url = left["url"].as_str().unwrap();
    world.answer_page(url, json!({"answer": "Ada"})).await;
    let reply = client.reply_to(id, |_| unreachable!()).await;
    assert_eq!(
        reply.result()["structuredContent"]["answers"]["answer"],
        "Ada"
    );
}

#[tokio::test]
async fn a_question_that_nobody_waits_for_has_a_day_where_the_bounds_allow_it() {
    let world = world().await;
    let mut client = connect(&world, Kind::none(Era::V2025_11_25)).await;
    let reply = client.round(
        "ask_user",
        json!({"question": "Name?", "wait": false}),
        json!({}),
    );
    let reply = reply.await;
    let snapshot = left(&world, &reply).await;
    // The maximum of this asker.
    assert_eq!(snapshot.lifecycle().timeout().as_secs(), 300);
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
