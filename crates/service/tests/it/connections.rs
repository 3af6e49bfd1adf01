//! Connections are shared: one client cannot take them all.

use std::time::Duration;

use entreat_service::http::{Http, HttpSettings};
use entreat_service::identity::{HeaderIdentity, Identity};
use entreat_service::{Askers, PageSettings, Pages};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use crate::wire::{Server, soon};
use crate::world::World;

/// Connects from one of the many loopback addresses.
async fn connect_from(last: u8, server: &Server) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, last], 0).into()).unwrap();
    soon(socket.connect(server.address)).await.unwrap()
}

/// Sends a request on a connection, and reads the start of the response.
async fn ask(stream: &mut TcpStream, head: &str) -> String {
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = vec![0; 4096];
    // A disconnect by the server may be seen as a reset.
    let length = soon(stream.read(&mut answer)).await.unwrap_or_default();
    String::from_utf8_lossy(&answer[..length]).into_owned()
}

const HEALTH: &str = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
const SOCKET: &str = "GET /ws HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\n\
    upgrade: websocket\r\nsec-websocket-version: 13\r\n\
    sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

#[tokio::test]
async fn one_address_cannot_take_every_connection() {
    let world = World::new().await;
    let server = Server::with(&world, |settings| settings.connections = 8).await;
    let mut held = Vec::new();
    for _ in 0..6 {
        let mut stream = connect_from(1, &server).await;
        assert!(ask(&mut stream, HEALTH).await.starts_with("HTTP/1.1 200"));
        held.push(stream);
    }
    // However often it connects, and whether or not it waits for a response.
    for _ in 0..200 {
        held.push(connect_from(1, &server).await);
    }
    let refused = ask(&mut connect_from(1, &server).await, HEALTH).await;
    assert!(
        refused.is_empty() || refused.starts_with("HTTP/1.1 503"),
        "{refused}"
    );
    for other in 2..=3 {
        let mut stream = connect_from(other, &server).await;
        let answer = ask(&mut stream, HEALTH).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        held.push(stream);
    }
}

#[tokio::test]
async fn whoever_has_its_share_is_told_so_and_may_come_back() {
    let world = World::new().await;
    let server = Server::with(&world, |settings| {
        settings.connections_per_address = Some(1);
    })
    .await;
    let mut first = connect_from(1, &server).await;
    assert!(ask(&mut first, HEALTH).await.starts_with("HTTP/1.1 200"));
    let refused = ask(&mut connect_from(1, &server).await, HEALTH).await;
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert!(refused.contains("retry-after: 1\r\n"), "{refused}");
    assert!(refused.contains("Too many connections from your address"));
    let (head, body) = refused.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(&format!("content-length: {}", body.len())));
    drop(first);
    let again = async {
        loop {
            let answer = ask(&mut connect_from(1, &server).await, HEALTH).await;
            if answer.starts_with("HTTP/1.1 200") {
                return;
            }
        }
    };
    soon(again).await;
}

#[tokio::test]
async fn a_web_socket_stays_a_connection() {
    let world = World::new().await;
    let server = Server::with(&world, |settings| {
        settings.connections = 8;
        settings.connections_per_address = Some(2);
    })
    .await;
    let mut sockets = Vec::new();
    for _ in 0..2 {
        let mut stream = connect_from(1, &server).await;
        let answer = ask(&mut stream, SOCKET).await;
        assert!(answer.starts_with("HTTP/1.1 101"), "{answer}");
        sockets.push(stream);
    }
    let refused = ask(&mut connect_from(1, &server).await, HEALTH).await;
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
}

/// A server that trusts a local proxy to name users.
async fn behind_a_proxy(world: &World, change: impl FnOnce(&mut HttpSettings)) -> Server {
    let proxies = vec!["127.0.0.1".parse().unwrap()];
    let pages = PageSettings {
        identity: Identity::Header(HeaderIdentity::new("x-user", proxies).unwrap()),
        ..PageSettings::default()
    };
    let pages = Pages::new(world.engine.clone(), "https://ask.example.com", pages).unwrap();
    let mut settings = HttpSettings::default();
    change(&mut settings);
    let askers = Askers::none()
        .with_key("key-of-one", world.engine.asker("one"))
        .with_key("key-of-two", world.engine.asker("two"));
    let http = Http::with_settings(world.rpc.clone(), askers, settings).with_pages(pages);
    Server::of(http).await
}

#[tokio::test]
async fn a_trusted_proxy_has_no_share_and_each_asker_and_person_behind_it_has() {
    let world = World::new().await;
    let server = behind_a_proxy(&world, |settings| {
        settings.connections = 64;
        settings.connections_per_address = Some(3);
    })
    .await;
    let events = |key: &str| {
        format!("GET /events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer key-of-{key}\r\n\r\n")
    };
    let inbox = |name: &str| format!("GET /inbox HTTP/1.1\r\nhost: x\r\nx-user: {name}\r\n\r\n");
    let mut held = Vec::new();
    let mut send = async |head: String| {
        let mut stream = connect_from(1, &server).await;
        let answer = ask(&mut stream, &head).await;
        held.push(stream);
        answer[.."HTTP/1.1 200".len()].to_owned()
    };
    for _ in 0..3 {
        assert_eq!(send(events("one")).await, "HTTP/1.1 200");
    }
    // Its streams and sockets are all open at the same time.
    assert_eq!(send(events("one")).await, "HTTP/1.1 503");
    let socket = SOCKET.replacen(
        "host: localhost",
        "host: x\r\nauthorization: Bearer key-of-two",
        1,
    );
    for _ in 0..3 {
        assert_eq!(send(socket.clone()).await, "HTTP/1.1 101");
    }
    assert_eq!(send(socket).await, "HTTP/1.1 503");
    assert_eq!(send(events("two")).await, "HTTP/1.1 503");
    // Completed requests don't count: a person may open as many pages as they like.
    for _ in 0..6 {
        assert_eq!(send(inbox("ada")).await, "HTTP/1.1 200");
    }
    // Everyone else has their own share.
    let mut stream = connect_from(2, &server).await;
    let answer = ask(&mut stream, HEALTH).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    held.clear();
    let again = async {
        loop {
            let mut stream = connect_from(1, &server).await;
            if ask(&mut stream, &events("one")).await.contains(" 200 ") {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    soon(again).await;
}
