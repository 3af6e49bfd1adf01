//! Errors for authors of handlers.

use entreat_mcp::rmcp::ErrorData;
use entreat_mcp::{Ask, AskError};
use entreat_testkit::mcp::{Kind, accept};
use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn a_key_is_used_once_in_every_era() {
    let world = World::new().await;
    let tool = |ask: Ask, _| async move {
        ask.text("name", "Who?").await?;
        match ask.text("name", "Who else?").await {
            Err(error @ AskError::KeyUsedTwice(_)) => Ok(error.to_string()),
            other => Ok(format!("{other:?}")),
        }
    };
    for kind in Kind::all().filter(|kind| kind.form) {
        let mut client = world.client(kind, tool).await;
        let reply = client.call("t", json!({}), |_| accept(json!({"text": "x"})));
        let told = reply.await.text().to_owned();
        assert!(
            told.starts_with("the key `name` is used twice"),
            "{kind:?}: {told}"
        );
    }
}

#[tokio::test]
async fn nothing_is_asked_within_once() {
    let world = World::new().await;
    let tool = |ask: Ask, _| async move {
        let within = ask.once("effect", async || {
            ask.text("name", "Who?").await?;
            Ok::<_, ErrorData>(())
        });
        match within.await {
            Err(error) => Ok(error.message.to_string()),
            Ok(()) => Ok("asked".to_owned()),
        }
    };
    for kind in Kind::all().filter(|kind| kind.form) {
        let mut client = world.client(kind, tool).await;
        let reply = client.call("t", json!({}), |_| accept(json!({"text": "x"})));
        let told = reply.await.text().to_owned();
        assert!(
            told.starts_with("`name` is asked within `once`"),
            "{kind:?}: {told}"
        );
    }
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_makes_a_clear_error() {
    let world = World::new().await;
    let tool = |ask: Ask, _| async move { Ok(ask.text("name", "Who?").await?) };
    for kind in Kind::all().filter(|kind| !kind.form) {
        let mut client = world.client(kind, tool).await;
        let reply = client.call("t", json!({}), |_| panic!("asked")).await;
        let sentence = "the client cannot ask `name`: it does not show forms";
        if kind.has_rounds() {
            assert_eq!(reply.error(), (-32021, sentence));
        } else {
            assert_eq!(reply.text(), sentence);
            assert_eq!(reply.result()["isError"], true);
        }
    }
}

#[tokio::test]
async fn a_template_that_is_not_there_is_named() {
    let world = World::new().await;
    let tool = |ask: Ask, _| async move {
        ask.template("t", "Who?", "nobody").await?;
        Ok("answered".to_owned())
    };
    let kind = Kind::all().next().unwrap();
    let mut client = world.client(kind, tool).await;
    let reply = client.call("t", json!({}), |_| panic!("asked")).await;
    assert_eq!(reply.error().1, "there is no template `nobody`");
}
