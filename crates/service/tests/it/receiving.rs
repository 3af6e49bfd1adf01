//! Memory for bodies being received is shared: one asker's large bodies leave room for others'.

use axum::http::{HeaderValue, StatusCode};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use crate::wire::{Server, soon};
use crate::world::World;

const LIST: &str = r#"{"jsonrpc":"2.0","id":7,"method":"forms/list"}"#;
const MIB: usize = 1 << 20;

/// Starts to send a large body that never ends.
async fn begin(server: &Server) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = format!(
        "POST /rpc HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n",
        4 * MIB
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    soon(stream.write_all(&vec![b' '; 4 * MIB - 1]))
        .await
        .unwrap();
    stream
}

#[tokio::test]
async fn one_asker_cannot_take_all_memory_for_bodies() {
    let world = World::new().await;
    let server = Server::with(&world, |settings| {
        settings.body_limit = 4 * MIB;
        settings.body_memory = 8 * MIB;
    })
    .await;
    let large = || format!("{LIST}{}", " ".repeat(3 * MIB));
    assert_eq!(server.send(server.post(large())).await.status, 200);
    let held = begin(&server).await;
    // Until the server has read everything sent so far.
    let refused = async {
        loop {
            let answer = server.send(server.post(large())).await;
            if answer.status == StatusCode::SERVICE_UNAVAILABLE {
                return answer;
            }
        }
    };
    let answer = soon(refused).await;
    let words = answer.json()["error"]["message"].take();
    assert!(words.as_str().unwrap().contains("large bodies"), "{words}");
    // Small bodies need none of it, and others have their own share.
    assert_eq!(server.send(server.post(LIST)).await.status, 200);
    let mut other = server.post(large());
    let key = HeaderValue::from_static("Bearer open-sesame");
    other.headers_mut().insert("authorization", key);
    assert_eq!(server.send(other).await.status, 200);

    let mut socket = server.web_socket().await;
    socket.send(Message::text(large())).await.unwrap();
    match soon(socket.next()).await.unwrap().unwrap() {
        Message::Close(Some(frame)) => assert_eq!(frame.code, CloseCode::Again),
        other => panic!("unexpected {other:?}"),
    }
    drop(held);
    let again = async { while server.send(server.post(large())).await.status != StatusCode::OK {} };
    soon(again).await;
}

#[tokio::test]
async fn messages_of_a_web_socket_are_forgotten_once_they_are_read() {
    let world = World::new().await;
    let server = Server::with(&world, |settings| {
        settings.body_limit = MIB;
        settings.body_memory = 2 * MIB;
    })
    .await;
    let mut socket = server.web_socket().await;
    for _ in 0..8 {
        let message = format!("{LIST}{}", " ".repeat(MIB / 2));
        socket.send(Message::text(message)).await.unwrap();
        assert_eq!(crate::wire::next_text(&mut socket).await["id"], 7);
    }
    // Pings don't add up: there may be many between messages.
    for _ in 0..20_000 {
        socket
            .feed(Message::Ping(vec![0; 125].into()))
            .await
            .unwrap();
    }
    socket.send(Message::text(LIST)).await.unwrap();
    assert_eq!(crate::wire::next_text(&mut socket).await["id"], 7);
}
