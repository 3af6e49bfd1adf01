//! Questions that need a page, and clients that support only pages.

use std::time::Duration;

use entreat_core::schema::Era;
use entreat_mcp::Ask;
use entreat_mcp::rmcp::ErrorData;
use entreat_testkit::mcp::{Kind, Reply, decline, visit};
use serde_json::{Value, json};

use crate::world::{ApiKey, ROUNDS, World, settle};

const CANARY: &str = "canary-5f2a9c";

async fn key_length(ask: Ask) -> Result<String, ErrorData> {
    let ApiKey { key } = ask.form("key", "Your API key, please.").await?;
    let sure = ask.once("used", async || Ok::<_, ErrorData>(true));
    Ok(format!("{} {}", key.len(), sure.await?))
}

/// The link in a tool's result, and the arguments of `resume_question`.
fn link_in(reply: &Reply) -> (String, Value) {
    let text = reply.text();
    let mut words = text.split_whitespace();
    let link = words.find(|word| word.starts_with("https://"));
    let (_, rest) = text.split_once("{\"question\": \"").expect("a name");
    let (handle, _) = rest.split_once('"').expect("the end of the name");
    (
        link.expect("a link").to_owned(),
        json!({"question": handle}),
    )
}

#[tokio::test]
async fn a_secret_never_goes_by_a_form_and_is_in_no_message() {
    let world = World::with_pages().await;
    for era in [Era::V2025_11_25, ROUNDS] {
        let kind = Kind::whole(era);
        let mut client = world.client(kind, |ask, _| key_length(ask)).await;
        let mut extra = json!({});
        let text = loop {
            let Value::Object(params) = extra else {
                unreachable!()
            };
            let id = client.start_with("t", json!({}), params).await;
            let reply = if kind.has_rounds() {
                client.reply_to(id, |_| unreachable!()).await
            } else {
                let (question, asked) = client.question().await;
                assert_eq!(asked.params["mode"], "url");
                let url = asked.params["url"].as_str().unwrap().to_owned();
                let elicitation = asked.params["elicitationId"].clone();
                client.answer(question, visit()).await;
                world.answer_page(&url, json!({"key": CANARY})).await;
                let told = client.hear("notifications/elicitation/complete").await;
                assert_eq!(told["elicitationId"], elicitation);
                client.reply_to(id, |_| unreachable!()).await
            };
            let Some(question) = reply_questions(&reply).into_iter().next() else {
                break reply.text().to_owned();
            };
            assert_eq!(question["mode"], "url");
            assert_eq!(question.get("elicitationId"), None);
            let url = question["url"].as_str().unwrap();
            world.answer_page(url, json!({"key": CANARY})).await;
            extra = json!({"requestState": reply.state(), "inputResponses": {"key": visit()}});
        };
        assert_eq!(text, format!("{} true", CANARY.len()), "{era}");
        assert!(!client.transcript.concat().contains(CANARY));
    }
}

fn reply_questions(reply: &Reply) -> Vec<Value> {
    let questions = reply.questions().into_iter();
    questions.map(|question| question.params).collect()
}

#[tokio::test]
async fn while_a_page_is_open_rounds_have_a_state_and_nothing_else() {
    let world = World::with_pages().await;
    let mut client = world
        .client(Kind::url(ROUNDS), |ask, _| key_length(ask))
        .await;
    let reply = client.round("t", json!({}), json!({})).await;
    let url = reply_questions(&reply)[0]["url"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut extra = json!({"requestState": reply.state(), "inputResponses": {"key": visit()}});
    for _ in 0..3 {
        let Value::Object(params) = extra else {
            unreachable!()
        };
        let id = client.start_with("t", json!({}), params).await;
        world.pass(Duration::from_secs(20)).await;
        let reply = client.reply_to(id, |_| unreachable!()).await;
        assert_eq!(reply.result()["resultType"], "input_required");
        assert_eq!(reply.result().get("inputRequests"), None);
        extra = json!({"requestState": reply.state()});
    }
    // An answer while a round waits ends the wait immediately.
    let Value::Object(params) = extra else {
        unreachable!()
    };
    let id = client.start_with("t", json!({}), params).await;
    settle().await;
    world.answer_page(&url, json!({"key": CANARY})).await;
    let reply = client.reply_to(id, |_| unreachable!()).await;
    assert_eq!(reply.text(), format!("{} true", CANARY.len()));
}

#[tokio::test]
async fn a_client_with_urls_only_answers_any_form_on_a_page() {
    let world = World::with_pages().await;
    let tool = |ask: Ask, _| async move { Ok(ask.text("name", "Who?").await?) };
    for era in [Era::V2025_11_25, ROUNDS] {
        let mut client = world.client(Kind::url(era), tool).await;
        let reply = client.call("t", json!({}), |_| decline()).await;
        assert_eq!(reply.text(), "the person declined to answer `name`");
    }
}

#[tokio::test]
async fn a_page_can_be_asked_for_by_an_error_and_the_next_call_has_the_answer() {
    let world = World::with_pages().await;
    let tool = |ask: Ask, _| async move {
        let ApiKey { key } = ask.form("key", "Your API key?").by_error().await?;
        Ok(format!("{}", key.len()))
    };
    let kind = Kind::whole(Era::V2025_11_25);
    let mut client = world.client(kind, tool).await;
    let mut asked = Vec::new();
    for _ in 0..2 {
        let reply = client.round("t", json!({"x": 1}), json!({})).await;
        let Reply::Error(error) = reply else {
            panic!("{reply:?}")
        };
        assert_eq!(error["code"], -32042);
        asked.push(error["data"]["elicitations"][0].clone());
    }
    // A repeated call doesn't ask again.
    assert_eq!(asked[0], asked[1]);
    assert_eq!(asked[0]["mode"], "url");
    let url = asked[0]["url"].as_str().unwrap();
    world.answer_page(url, json!({"key": CANARY})).await;
    let told = client.hear("notifications/elicitation/complete").await;
    assert_eq!(told["elicitationId"], asked[0]["elicitationId"]);
    let reply = client.round("t", json!({"x": 1}), json!({})).await;
    assert_eq!(reply.text(), CANARY.len().to_string());
    // Other arguments make it another call.
    let reply = client.round("t", json!({"x": 2}), json!({})).await;
    assert_eq!(reply.error().0, -32042);
}

#[tokio::test]
async fn a_local_server_opens_the_page_in_the_browser() {
    let world = World::with_browser().await;
    for era in Era::ALL {
        let mut client = world
            .client(Kind::none(era), |ask, _| key_length(ask))
            .await;
        let id = client.start("t", json!({})).await;
        settle().await;
        let url = world.opened.lock().pop().unwrap();
        world.answer_page(&url, json!({"key": CANARY})).await;
        let reply = client.reply_to(id, |_| unreachable!()).await;
        assert_eq!(reply.text(), format!("{} true", CANARY.len()), "{era}");
        assert!(world.opened.lock().is_empty());
    }
}

#[tokio::test]
async fn a_client_that_shows_nothing_gets_a_link_and_goes_on_by_a_tool() {
    let world = World::with_pages().await;
    // Once its call returned a link, a client with forms gets no more forms for it.
    let kinds = Era::ALL
        .into_iter()
        .flat_map(|era| [Kind::none(era), Kind::form(era)]);
    for kind in kinds {
        let tool = |ask: Ask, _| async move {
            let ApiKey { key } = ask.form("key", "Your API key?").await?;
            let name = ask.text("name", "And your name?").await?;
            Ok(format!("{name} {}", key.len()))
        };
        let mut client = world.client(kind, tool).await;
        let id = client.send("tools/list", json!({})).await;
        let listed = client.reply_to(id, |_| unreachable!()).await;
        let tools = listed.result()["tools"].to_string();
        assert!(tools.contains("resume_question"), "{tools}");

        let reply = client.round("t", json!({}), json!({})).await;
        let (url, question) = link_in(&reply);
        assert!(reply.text().contains("Your API key?"));
        // Nobody has answered yet.
        let id = client.start("resume_question", question.clone()).await;
        world.pass(Duration::from_secs(20)).await;
        let reply = client.reply_to(id, |_| unreachable!()).await;
        assert_eq!(link_in(&reply).0, url);

        world.answer_page(&url, json!({"key": CANARY})).await;
        let reply = client
            .round("resume_question", question.clone(), json!({}))
            .await;
        let (url, _) = link_in(&reply);
        assert!(reply.text().contains("And your name?"), "{}", reply.text());
        world.answer_page(&url, json!({"text": "Ada"})).await;
        let reply = client
            .round("resume_question", question.clone(), json!({}))
            .await;
        assert_eq!(reply.text(), format!("Ada {}", CANARY.len()));
        assert!(!client.transcript.concat().contains(CANARY));

        let reply = client.round("resume_question", question, json!({})).await;
        assert!(
            reply.text().starts_with("There is no waiting question"),
            "{}",
            reply.text()
        );
    }
}

#[tokio::test]
async fn a_question_that_was_not_seen_can_go_down_the_ladder() {
    let settings = entreat_mcp::McpSettings {
        fall_back_when_unshown: true,
        ..entreat_mcp::McpSettings::default()
    };
    let world = World::with_settings(settings).await;
    let tool = |ask: Ask, _| async move { Ok(ask.text("name", "Who?").await?) };
    for era in [Era::V2025_11_25, ROUNDS] {
        let kind = Kind::form(era);
        let mut client = world.client(kind, tool).await;
        let reply = client.call("t", json!({}), |_| decline()).await;
        let (url, question) = link_in(&reply);
        world.answer_page(&url, json!({"text": "Ada"})).await;
        let reply = client.round("resume_question", question, json!({})).await;
        assert_eq!(reply.text(), "Ada");
    }
}
