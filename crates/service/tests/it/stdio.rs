//! The control API over stdio.

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use crate::wire::{Pipes, soon};
use crate::world::{World, deploy, request};

#[tokio::test]
async fn lines_in_lines_out_and_blank_ones_are_nothing() {
    let world = World::new().await;
    let mut pipes = Pipes::start(&world);
    pipes.send("").await;
    pipes.send("  \r").await;
    pipes.send(&request("forms/list", json!({}))).await;
    assert_eq!(pipes.receive().await["result"], json!({"templates": []}));
    pipes.send("nonsense").await;
    assert_eq!(pipes.receive().await["error"]["code"], -32700);
    // The last line may lack its newline.
    let last = request("forms/list", json!({}));
    let mut input = pipes.input.take().unwrap();
    input.write_all(last.as_bytes()).await.unwrap();
    drop(input);
    assert_eq!(pipes.receive().await["id"], 1);
    soon(pipes.serving).await.unwrap().unwrap();
}

/// Pipes on which a question was asked, and its id.
async fn asked(world: &World) -> (Pipes, Value) {
    let mut pipes = Pipes::start(world);
    let ask = request("elicitation/create", json!({"formDefinition": deploy()}));
    pipes.send(&ask).await;
    let mut created = pipes.receive().await;
    let id = created["result"]["elicitationId"].take();
    (pipes, id)
}

#[tokio::test]
async fn the_end_of_the_input_cancels_what_was_asked_and_answers_who_waits() {
    let world = World::new().await;
    let (mut pipes, id) = asked(&world).await;
    pipes
        .send(&request("elicitation/await", json!({"elicitationId": id})))
        .await;
    drop(pipes.input.take());
    let answered = pipes.receive().await;
    assert_eq!(answered["result"]["status"], "cancelled");
    assert_eq!(answered["result"]["reason"], "client_disconnected");
    soon(pipes.serving).await.unwrap().unwrap();
}

#[tokio::test]
async fn notifications_stand_between_the_answers() {
    let world = World::new().await;
    let (mut pipes, id) = asked(&world).await;
    world
        .result("elicitation/decline", json!({"elicitationId": id}))
        .await;
    let told = pipes.receive().await;
    assert_eq!(told["method"], "notifications/elicitation/declined");
    assert_eq!(told["params"]["elicitationId"], id);
}
