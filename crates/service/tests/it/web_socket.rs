//! WebSockets: concurrent calls, notifications in between, and the effects of closing.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use crate::wire::{Server, next_text, soon};
use crate::world::{World, answer, deploy};

fn call(id: u32, method: &str, params: serde_json::Value) -> Message {
    let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    Message::text(message.to_string())
}

#[tokio::test]
async fn an_await_holds_up_nothing_and_notifications_come_in_between() {
    let world = World::new().await;
    let server = Server::start(&world).await;
    let mut socket = server.web_socket().await;
    let ask = call(1, "elicitation/create", json!({"formDefinition": deploy()}));
    socket.send(ask).await.unwrap();
    let created = next_text(&mut socket).await;
    let id = &created["result"]["elicitationId"];
    let wait = call(2, "elicitation/await", json!({"elicitationId": id}));
    socket.send(wait).await.unwrap();
    let submit = json!({"elicitationId": id, "responses": answer()});
    socket
        .send(call(3, "elicitation/submit", submit))
        .await
        .unwrap();
    let mut seen = Vec::new();
    for _ in 0..3 {
        let received = next_text(&mut socket).await;
        let name = received.get("method").unwrap_or(&received["id"]);
        seen.push(name.to_string());
    }
    seen.sort();
    assert_eq!(seen, ["\"notifications/elicitation/complete\"", "2", "3"]);
}

#[tokio::test]
async fn what_was_asked_goes_with_the_connection_unless_it_is_durable() {
    let world = World::new().await;
    let server = Server::start(&world).await;
    let mut socket = server.web_socket().await;
    let mut ids = Vec::new();
    for (number, durable) in [(1, false), (2, true)] {
        let params = json!({"formDefinition": deploy(), "durable": durable});
        socket
            .send(call(number, "elicitation/create", params))
            .await
            .unwrap();
        let mut created = next_text(&mut socket).await;
        ids.push(created["result"]["elicitationId"].take());
    }
    drop(socket);
    let gone = world.result("elicitation/await", json!({"elicitationId": ids[0]}));
    assert_eq!(soon(gone).await["reason"], "client_disconnected");
    let kept = world.result("elicitation/status", json!({"elicitationId": ids[1]}));
    assert_eq!(kept.await["status"], "pending");
}

/// Sends something that closes the connection, and returns the close code.
async fn ends_with(server: &Server, message: Message) -> CloseCode {
    let mut socket = server.web_socket().await;
    socket.send(message).await.unwrap();
    loop {
        match soon(socket.next()).await {
            Some(Ok(Message::Close(Some(frame)))) => return frame.code,
            Some(Ok(_)) => {}
            other => panic!("unexpected {other:?}"),
        }
    }
}

#[tokio::test]
async fn strange_messages_end_it_with_the_reason() {
    let world = World::new().await;
    let server = Server::with(&world, |settings| settings.body_limit = 1000).await;
    let large = Message::text(" ".repeat(2000));
    assert_eq!(ends_with(&server, large).await, CloseCode::Size);
    let binary = Message::binary(vec![1, 2, 3]);
    assert_eq!(ends_with(&server, binary).await, CloseCode::Unsupported);
    // Invalid JSON gets an error response, and the connection stays open.
    let mut socket = server.web_socket().await;
    socket.send(Message::text("{")).await.unwrap();
    assert_eq!(next_text(&mut socket).await["error"]["code"], -32700);
    socket.send(call(1, "forms/list", json!({}))).await.unwrap();
    assert_eq!(next_text(&mut socket).await["id"], 1);
}

#[tokio::test]
async fn a_silent_client_is_pinged_and_let_go() {
    let world = World::new().await;
    let server = Server::with(&world, |settings| {
        settings.heartbeat = Duration::from_millis(30);
    })
    .await;
    // Responds to pings, because it is polled.
    let mut alive = server.web_socket().await;
    let pinged = async {
        let mut pings = 0;
        while pings < 8 {
            if soon(alive.next()).await.unwrap().unwrap().is_ping() {
                pings += 1;
            }
        }
    };
    pinged.await;
    // Not polled, so it doesn't respond; the server closes after a few pings.
    let mut silent = server.web_socket().await;
    tokio::time::sleep(Duration::from_millis(400)).await;
    let mut last = None;
    while let Some(Ok(message)) = soon(silent.next()).await {
        last = Some(message);
    }
    assert!(matches!(last, Some(Message::Close(Some(frame))) if frame.code == CloseCode::Away));
}

#[tokio::test]
async fn an_end_is_announced() {
    let world = World::new().await;
    let server = Server::start(&world).await;
    let mut socket = server.web_socket().await;
    socket.send(call(1, "forms/list", json!({}))).await.unwrap();
    next_text(&mut socket).await;
    server.end.cancel();
    loop {
        match soon(socket.next()).await {
            Some(Ok(Message::Close(Some(frame)))) => {
                assert_eq!(frame.code, CloseCode::Away);
                break;
            }
            Some(Ok(_)) => {}
            other => panic!("unexpected {other:?}"),
        }
    }
    drop(socket);
    server.stop().await;
}
