//! The HTTP client against servers that do as they like.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests: a panic is a failed test"
)]

mod issuer;
mod oauth;
mod server;

use std::net::SocketAddr;
use std::time::Duration;

use entreat_wire::http::{Client, ClientError, ExchangeError, platform_tls};
use futures_util::StreamExt as _;
use http::{Method, StatusCode};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use self::server::{Server, client_tls, identity};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

async fn get(client: &Client) -> Result<StatusCode, ExchangeError> {
    let response = client.request(Method::GET).send().await?;
    Ok(response.status())
}

#[tokio::test]
async fn a_pinned_client_asks_no_resolver_however_the_name_is_spelled() {
    for host in ["hooks.example", "hooks.example.", "HOOKS.example"] {
        let server = Server::start(OK).await;
        let url = format!("http://{host}:{}/a?b#c", server.address.port());
        let client = Client::builder(&url).pinned_to([server.address]);
        assert_eq!(get(&client.build().unwrap()).await.unwrap(), 200);
        let head = server.head().await;
        assert!(head.starts_with("GET /a?b HTTP/1.1\r\n"), "{head}");
        assert!(head.contains("host: hooks.example"), "{head}");
    }
}

#[tokio::test]
async fn a_pinned_client_goes_to_no_other_address() {
    let server = Server::start(OK).await;
    let url = format!("http://{}/", server.address);
    let elsewhere: SocketAddr = "127.0.0.2:80".parse().unwrap();
    let refused = Client::builder(&url).pinned_to([elsewhere]).build();
    assert!(matches!(refused, Err(ClientError::Unpinned(_))));
    let same = Client::builder(&url).pinned_to([server.address]);
    assert_eq!(get(&same.build().unwrap()).await.unwrap(), 200);
}

#[tokio::test]
async fn only_urls_of_http_are_taken() {
    let refused = |url| Client::builder(url).build().unwrap_err();
    assert!(matches!(refused("ask.example"), ClientError::NotAUrl(_)));
    assert!(matches!(refused("ftp://ask.example"), ClientError::Scheme));
}

#[tokio::test]
async fn what_went_wrong_is_told_in_words() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let error = get(&Client::builder(&url).build().unwrap()).await;
    let error = error.unwrap_err();
    assert!(matches!(error, ExchangeError::Connect(_)), "{error:?}");
    let words = error.to_string().to_lowercase();
    assert!(words.starts_with("connection refused"), "{words}");

    let server = Server::start("SSH-2.0-x\r\n\r\n").await;
    let error = get(&server.client()).await.unwrap_err();
    assert!(matches!(error, ExchangeError::Broken(_)), "{error:?}");
}

#[tokio::test]
async fn an_exchange_ends_at_its_timeout_with_or_without_a_head() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok";
    for (answer, has_head) in [("", false), (head, true)] {
        let server = Server::start(answer).await;
        let request = server.client().request(Method::GET);
        let response = request.timeout(Duration::from_millis(50)).send().await;
        let error = match response {
            Ok(response) if has_head => response.body(10).await.unwrap_err(),
            response => response.unwrap_err(),
        };
        assert!(matches!(error, ExchangeError::Timeout), "{error:?}");
    }
}

#[tokio::test]
async fn a_connection_that_takes_too_long_has_carried_nothing() {
    // It takes connections, but does not speak TLS.
    let server = Server::start("").await;
    let (certificate, _) = identity("hooks.example");
    let url = format!("https://{}/", server.address);
    let client = Client::builder(&url)
        .tls(client_tls(certificate))
        .connect_timeout(Duration::from_millis(50));
    let error = get(&client.build().unwrap()).await.unwrap_err();
    let expected = "connecting took too long";
    assert!(
        matches!(&error, ExchangeError::Connect(why) if why == expected),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_server_without_tls_is_called_that() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let refusal = b"HTTP/1.1 400 Bad Request\r\n\r\n";
        stream.write_all(refusal).await.unwrap();
        // Closed by the client, which would not read the rest after a reset.
        let _ = stream.read_to_end(&mut Vec::new()).await;
    });
    let (certificate, _) = identity("hooks.example");
    let client = Client::builder(&url).tls(client_tls(certificate));
    let error = get(&client.build().unwrap()).await.unwrap_err();
    assert!(matches!(error, ExchangeError::Connect(_)), "{error:?}");
    assert!(error.to_string().contains("try `http://`"), "{error}");
}

#[tokio::test]
async fn errors_do_not_name_the_url() {
    let url = "http://hush@127.0.0.1:9/hush?key=hush";
    let client = Client::builder(url).build().unwrap();
    let request = client.request(Method::GET).header("bad header", "x");
    let error = request.send().await.unwrap_err();
    assert!(!format!("{error} {error:?}").contains("hush"), "{error:?}");
}

#[tokio::test]
async fn a_body_is_read_up_to_its_limit() {
    let server = Server::start(OK).await;
    let response = async || server.client().request(Method::GET).send().await.unwrap();
    assert_eq!(response().await.body(2).await.unwrap(), "ok");
    let error = response().await.body(1).await.unwrap_err();
    assert!(matches!(error, ExchangeError::TooLong(1)), "{error:?}");
}

#[tokio::test]
async fn redirects_are_followed_within_the_origin_only_and_only_if_asked_to() {
    let redirect = |status: &str, to: &str| {
        format!("HTTP/1.1 {status} Moved\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n")
    };
    let elsewhere = Server::start(OK).await;
    let foreign = format!("http://{}/", elsewhere.address);
    for (status, to, follows) in [
        ("307", "/there", true),
        ("308", "/there", true),
        ("302", "/there", false),
        ("307", &*foreign, false),
    ] {
        let moved = redirect(status, to);
        let server = Server::start_with(move |head| {
            let is_first = head.starts_with("GET / ");
            if is_first {
                moved.clone()
            } else {
                OK.to_owned()
            }
            .into()
        })
        .await;
        let url = format!("http://{}/", server.address);
        let plain = Client::builder(&url).build().unwrap();
        assert_eq!(get(&plain).await.unwrap().as_str(), status);
        let following = Client::builder(&url).same_origin_redirects();
        let found = get(&following.build().unwrap()).await.unwrap();
        assert_eq!(found == 200, follows, "{status} {to}");
    }
}

#[tokio::test]
async fn tls_is_spoken_with_whom_the_certificate_names() {
    let (certificate, key) = identity("hooks.example");
    let server = Server::start_tls(OK, certificate.clone(), key).await;
    let client = |host: &str, tls| {
        let url = format!("https://{host}:{}/", server.address.port());
        let client = Client::builder(&url).tls(tls).pinned_to([server.address]);
        client.build().unwrap()
    };
    let trusting = client_tls(certificate);
    for host in ["hooks.example", "hooks.example."] {
        let status = get(&client(host, trusting.clone())).await;
        assert_eq!(status.unwrap(), 200, "{host}");
    }
    let stranger = get(&client("other.example", trusting)).await;
    let untrusted = get(&client("hooks.example", platform_tls().unwrap())).await;
    for error in [stranger.unwrap_err(), untrusted.unwrap_err()] {
        assert!(matches!(error, ExchangeError::Connect(_)), "{error:?}");
        assert!(error.to_string().contains("certificate"), "{error}");
    }
}

#[tokio::test]
async fn events_come_as_they_are_sent() {
    let server = Server::start(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\nid: 1\ndata: a\n\ndata: b\n\n",
    )
    .await;
    let response = server.client().request(Method::GET).send().await.unwrap();
    let events = response.events().take(2);
    let events: Vec<_> = events
        .map(|event| event.unwrap().data.unwrap())
        .collect()
        .await;
    assert_eq!(events, ["a", "b"]);
}

#[tokio::test]
async fn a_response_that_is_dropped_ends_its_connection() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\n";
    let server = Server::start(head).await;
    assert_eq!(get(&server.client()).await.unwrap(), 200);
    server.disconnected().await;
}
