//! Clients that are slow, silent, large or strange are disconnected, while others are served.

use std::time::Duration;

use axum::http::StatusCode;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::wire::{Server, soon};
use crate::world::World;

const LIST: &str = r#"{"jsonrpc":"2.0","id":7,"method":"forms/list"}"#;

/// Writes this and reads until the server disconnects.
async fn raw(server: &Server, text: &str) -> String {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // If the server disconnects with data in flight, the client sees a reset.
    let _ = soon(stream.read_to_end(&mut answer)).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn bodies_are_bounded_in_size_and_time() {
    let world = World::new().await;
    let server = Server::with(&world, |settings| {
        settings.body_limit = 1000;
        settings.body_timeout = Duration::from_millis(200);
    })
    .await;
    let fits = format!("{LIST}{}", " ".repeat(1000 - LIST.len()));
    assert_eq!(server.send(server.post(fits.clone())).await.status, 200);
    let large = server.send(server.post(format!("{fits} "))).await;
    assert_eq!(large.status, StatusCode::PAYLOAD_TOO_LARGE);
    let message = large.json()["error"]["message"].take();
    assert_eq!(message, "The body must not be larger than 1000 bytes.");

    let head = "POST /rpc HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    // With a huge content length, and without an end.
    let announced = format!("{head}content-length: 100000000\r\n\r\n");
    assert!(raw(&server, &announced).await.starts_with("HTTP/1.1 413"));
    let slow = format!("{head}content-length: 500\r\n\r\n{{");
    assert!(raw(&server, &slow).await.starts_with("HTTP/1.1 408"));
    let endless = format!("{head}transfer-encoding: chunked\r\n\r\n5\r\n     \r\n");
    assert!(raw(&server, &endless).await.starts_with("HTTP/1.1 408"));
}

#[tokio::test]
async fn heads_are_bounded_in_size_and_time() {
    let world = World::new().await;
    let server = Server::with(&world, |settings| {
        settings.head_timeout = Duration::from_millis(200);
    })
    .await;
    // Sends nothing; sends half; goes silent after a complete request.
    assert_eq!(raw(&server, "").await, "");
    assert!(
        !raw(&server, "POST /rpc HTTP/1.1\r\nhost: loc")
            .await
            .contains(" 200 ")
    );
    let polite = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    assert!(raw(&server, polite).await.starts_with("HTTP/1.1 200"));
    let long = format!(
        "GET /healthz HTTP/1.1\r\nx: {}\r\n\r\n",
        "y".repeat(2_000_000)
    );
    // The response may be lost if the request was not read completely.
    let answer = raw(&server, &long).await;
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 431"),
        "{answer}"
    );
    for strange in [
        "\r\n\r\n\r\n",
        "HELO example.com\r\n\r\n",
        "\u{16}\u{3}\u{1}\0\0\r\n\r\n",
    ] {
        let answer = raw(&server, strange).await;
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 400"),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn connections_are_bounded_and_the_next_one_waits() {
    let world = World::new().await;
    let server = Server::with(&world, |settings| {
        settings.connections = 2;
        settings.connections_per_address = Some(2);
        settings.head_timeout = Duration::from_millis(300);
    })
    .await;
    let silent = [
        TcpStream::connect(server.address).await.unwrap(),
        TcpStream::connect(server.address).await.unwrap(),
    ];
    // Served once the silent ones are disconnected.
    let answer = server.send(server.get("/healthz")).await;
    assert_eq!(answer.status, 200);
    drop(silent);
}

#[tokio::test]
async fn a_client_that_does_not_read_is_cut_off() {
    let world = World::new().await;
    let server = Server::with(&world, |settings| {
        settings.write_timeout = Duration::from_millis(200);
        settings.grace = Duration::from_secs(60);
    })
    .await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let get = "GET /openrpc.json HTTP/1.1\r\nhost: localhost\r\n\r\n";
    // Sends requests until neither side can buffer more.
    let flood = async {
        loop {
            if stream.write_all(get.as_bytes()).await.is_err() {
                return;
            }
        }
    };
    soon(flood).await;
    server.stop().await;
}

#[tokio::test]
async fn deep_and_numerous_is_refused_within_bounds() {
    let world = World::new().await;
    let server = Server::start(&world).await;
    let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
    let answer = server.send(server.post(deep)).await;
    assert_eq!(answer.status, 400);
    let many = format!("[{}]", vec![LIST; 10_000].join(","));
    let answer = server.send(server.post(many)).await;
    assert_eq!(answer.status, 400);
    assert_eq!(answer.json()["error"]["code"], -32600);
    let batch = format!("[{}]", vec![LIST; 1000].join(","));
    let answer = server.send(server.post(batch)).await;
    assert_eq!(answer.json().as_array().unwrap().len(), 1000);
}

#[tokio::test]
async fn an_end_waits_for_nobody_for_ever() {
    let world = World::new().await;
    let server = Server::with(&world, |settings| {
        settings.grace = Duration::from_millis(100);
    })
    .await;
    // Half a request, which never continues.
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let half = "POST /rpc HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                content-length: 10\r\n\r\n{";
    stream.write_all(half.as_bytes()).await.unwrap();
    assert_eq!(server.send(server.get("/healthz")).await.status, 200);
    server.stop().await;
    let mut rest = Vec::new();
    let _ = soon(stream.read_to_end(&mut rest)).await;
    assert!(rest.is_empty());
}
