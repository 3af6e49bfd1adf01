//! Limits of the listener for MCP clients.

use std::time::Duration;

use entreat::Entreat;
use entreat::core::schema::Era;
use entreat::service::http::HttpSettings;
use entreat_testkit::mcp::{HttpClient, Kind};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::asking::Server;

#[tokio::test]
async fn half_heads_do_not_stay_open_and_others_are_served_meanwhile() {
    let settings = HttpSettings {
        head_timeout: Duration::from_millis(200),
        ..HttpSettings::default()
    };
    let entreat = Entreat::builder().http(settings).start().await.unwrap();
    let server = Server::new(|_| async move { Ok("done".to_owned()) });
    let address = server.listen(&entreat).await;
    let mut halves = Vec::new();
    for _ in 0..300 {
        let mut half = TcpStream::connect(address).await.unwrap();
        half.write_all(b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n")
            .await
            .unwrap();
        halves.push(half);
    }
    let client = HttpClient::new(Kind::form(Era::V2026_07_28), address);
    assert_eq!(client.round("t", json!({}), json!({})).await.text(), "done");
    for mut half in halves {
        // With a response, or disconnected without one.
        let mut rest = Vec::new();
        let _ = half.read_to_end(&mut rest).await;
    }
    entreat.shutdown().await;
}
