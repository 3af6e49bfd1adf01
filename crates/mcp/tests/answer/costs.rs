//! The cost of hostile servers.

use entreat_mcp::answer::Pipe;
use entreat_mcp::rmcp::ServiceExt as _;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

#[tokio::test]
async fn a_server_that_reads_no_answers_is_not_read_from() {
    const ALL: usize = 200_000;
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(theirs);
    let client = tokio::spawn(().serve(Pipe::new(reader, writer)));
    let (from, mut to) = tokio::io::split(ours);
    let mut from = BufReader::new(from).lines();
    let line = from.next_line().await.unwrap().expect("a line");
    let hello: Value = serde_json::from_str(&line).unwrap();
    let result = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "serverInfo": {"name": "x", "version": "1"}});
    let welcome = json!({"jsonrpc": "2.0", "id": hello["id"], "result": result});
    to.write_all(format!("{welcome}\n").as_bytes())
        .await
        .unwrap();
    from.next_line().await.unwrap().expect("a line");
    let _client = client.await.unwrap().expect("they know each other");

    let (count, mut written) = tokio::sync::watch::channel(0);
    let writing = tokio::spawn(async move {
        for id in 0..ALL {
            let ping = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
            to.write_all(format!("{ping}\n").as_bytes()).await.unwrap();
            count.send_replace(id + 1);
        }
    });
    let mut before = usize::MAX;
    while *written.borrow_and_update() != before {
        before = *written.borrow();
        for _ in 0..10_000 {
            tokio::task::yield_now().await;
        }
    }
    assert!(before < ALL / 4, "{before} requests were taken");
    for _ in 0..ALL {
        let line = from.next_line().await.unwrap().expect("a line");
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert!(answer["id"].is_number(), "{answer}");
    }
    writing.await.unwrap();
}
