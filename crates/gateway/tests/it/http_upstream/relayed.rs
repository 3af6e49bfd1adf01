//! Clients of both generations in front of servers of both, over HTTP.

use std::sync::Arc;

use axum::response::IntoResponse as _;
use entreat_core::schema::Era;
use entreat_engine::Engine;
use entreat_gateway::side::{Closed, UpstreamReceiver, UpstreamSender};
use entreat_gateway::{Gateway, GatewaySettings, Upstream};
use entreat_testkit::mcp::{Client, Kind, accept};
use http::StatusCode;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::DuplexStream;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::http_server::{
    Seen, Server, accepted, error_of, event, events, in_session, initialized, json_of, result_of,
    soon, streamed, until, with_status,
};
use crate::world::{Peer, with_memory};

/// Stands between a client on the returned stream and a server.
async fn wrap(server: &Server) -> (DuplexStream, JoinHandle<Closed>) {
    wrap_with(server, GatewaySettings::default()).await
}

async fn wrap_with(
    server: &Server,
    settings: GatewaySettings,
) -> (DuplexStream, JoinHandle<Closed>) {
    let (sender, receiver) = server.connect();
    let upstream = Upstream {
        era: entreat_gateway::UpstreamEra::Auto,
        is_named: false,
        sender: UpstreamSender::Http(sender),
        receiver: UpstreamReceiver::Http(receiver),
        name: "scripted".to_owned(),
        url: Some(server.url()),
        policy: entreat_gateway::Policy::default(),
    };
    let engine = Engine::builder().start().await.unwrap();
    let gateway = Gateway::builder(engine.asker("gateway"));
    let gateway = gateway.settings(settings).build();
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(theirs);
    let wrapped = tokio::spawn(async move { gateway.wrap(reader, writer, upstream).await });
    (ours, wrapped)
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// A server of 2025 whose calls ask a form on their own stream.
async fn asking() -> Server {
    let answers: Arc<Mutex<Option<Value>>> = Arc::default();
    let answered = Arc::new(Notify::new());
    Server::start(move |seen| {
        let (answers, answered) = (answers.clone(), answered.clone());
        async move {
            match seen.what().as_str() {
                "initialize" => in_session("s", initialized(&seen)),
                "response" => {
                    *answers.lock() = Some(seen.message["result"].clone());
                    answered.notify_one();
                    accepted()
                }
                "tools/list" => json_of(&result_of(&seen, json!({"tools": []}))),
                "tools/call" => {
                    let schema = json!({"type": "object",
                        "properties": {"name": {"type": "string"}}, "required": ["name"]});
                    let ask = json!({"jsonrpc": "2.0", "id": 0, "method": "elicitation/create",
                        "params": {"message": "Who?", "requestedSchema": schema}});
                    let ask = futures_util::stream::iter([event(&ask).into()]);
                    let rest = futures_util::stream::once(async move {
                        answered.notified().await;
                        let answer = answers.lock().take().unwrap();
                        event(&result_of(&seen, text(&answer.to_string()))).into()
                    });
                    streamed(futures_util::StreamExt::chain(ask, rest))
                }
                // A server that speaks only the newest version says more than that.
                "server/discover" => {
                    let error = error_of(&seen, -32000, "Bad Request: Server not initialized");
                    with_status(400, "application/json", error.to_string())
                }
                "GET" => StatusCode::METHOD_NOT_ALLOWED.into_response(),
                _ => accepted(),
            }
        }
    })
    .await
}

#[tokio::test]
async fn clients_of_every_version_answer_what_a_server_of_2025_asks() {
    for era in [Era::V2025_06_18, Era::V2025_11_25, Era::V2026_07_28] {
        let server = asking().await;
        let (stream, wrapped) = wrap(&server).await;
        let mut client = soon(Client::connect(Kind::form(era), stream)).await;
        let answer = |_: &_| accept(json!({"name": "Ada"}));
        let reply = soon(client.call("greet", json!({}), answer)).await;
        let answer: Value = serde_json::from_str(reply.text()).unwrap();
        assert_eq!(answer, accept(json!({"name": "Ada"})), "{era:?}");
        assert_eq!(server.count("tools/call"), 1);
        drop(client);
        assert_eq!(soon(wrapped).await.unwrap(), Closed::Here);
        assert_eq!(server.whats().last().unwrap(), "DELETE");
    }
}

#[tokio::test]
async fn what_a_server_sends_counts_towards_the_memory_of_its_client() {
    let server = Server::legacy(async |seen| {
        let arguments = &seen.message["params"]["arguments"];
        let long = "x".repeat(usize::try_from(arguments["bytes"].as_u64().unwrap()).unwrap());
        let response = result_of(&seen, text(&long));
        if arguments["streams"] == true {
            events(event(&response))
        } else {
            json_of(&response)
        }
    })
    .await;
    let (stream, _wrapped) = wrap_with(&server, with_memory(4 << 20)).await;
    let mut client = Peer::new(stream);
    let client_info = json!({"name": "client", "version": "1"});
    let handshake = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": client_info});
    client.request(0, "initialize", handshake).await;
    client.whole_line().await;
    client.notify("notifications/initialized", json!({})).await;
    // What is taken is given back: in the end, it would not be enough.
    for id in 1..=4 {
        let streams = id % 2 == 0;
        let too_much = json!({"bytes": 5 << 20, "streams": streams});
        client.call(id, "echo", too_much).await;
        let failed: Value = serde_json::from_str(&client.whole_line().await).unwrap();
        assert_eq!(failed["id"], id);
        assert_eq!(
            failed["error"]["data"],
            json!({"reason": "no_memory", "mayHaveRun": true})
        );
        client
            .call(id, "echo", json!({"bytes": 3 << 20, "streams": streams}))
            .await;
        let result = client.whole_line().await;
        assert!(result.len() > 3 << 20, "{}", &result[..200]);
    }
}

/// A server of 2026-07-28, and nothing else.
async fn modern_only() -> Server {
    Server::start(async |seen: Seen| {
        let is_modern = seen.header("mcp-protocol-version") == Some("2026-07-28");
        if !is_modern {
            let data = json!({"supported": ["2026-07-28"], "requested": ""});
            let mut error = error_of(&seen, -32022, "Unsupported protocol version");
            error["error"]["data"] = data;
            return with_status(400, "application/json", error.to_string());
        }
        assert_eq!(seen.header("mcp-method"), Some(seen.what().as_str()));
        let result = match seen.what().as_str() {
            "server/discover" => json!({"resultType": "complete", "capabilities": {"tools": {}},
                "supportedVersions": ["2026-07-28"], "ttlMs": 0, "cacheScope": "private",
                "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "m", "version": "1"}}}),
            "tools/list" => json!({"resultType": "complete", "tools": [], "ttlMs": 0,
                "cacheScope": "private"}),
            "tools/call" => match &seen.message["params"]["inputResponses"]["q"] {
                Value::Null => json!({"resultType": "input_required", "requestState": "s",
                    "inputRequests": {"q": {"method": "elicitation/create", "params": {
                        "mode": "form", "message": "Who?", "requestedSchema": {"type": "object",
                        "properties": {"name": {"type": "string"}}}}}}}),
                answer => {
                    let mut result = text(&answer.to_string());
                    result["resultType"] = json!("complete");
                    result
                }
            },
            _ => {
                return with_status(
                    404,
                    "application/json",
                    error_of(&seen, -32601, "no").to_string(),
                );
            }
        };
        json_of(&result_of(&seen, result))
    })
    .await
}

#[tokio::test]
async fn clients_of_every_version_answer_what_a_server_of_2026_asks() {
    for era in [Era::V2025_06_18, Era::V2025_11_25, Era::V2026_07_28] {
        let server = modern_only().await;
        let (stream, wrapped) = wrap(&server).await;
        let mut client = soon(Client::connect(Kind::form(era), stream)).await;
        let answer = |_: &_| accept(json!({"name": "Ada"}));
        let reply = soon(client.call("greet", json!({}), answer)).await;
        let answer: Value = serde_json::from_str(reply.text()).unwrap();
        assert_eq!(answer["content"], json!({"name": "Ada"}), "{era:?}");
        assert_eq!(server.count("tools/call"), 2);
        drop(client);
        assert_eq!(soon(wrapped).await.unwrap(), Closed::Here);
        assert_eq!(server.count("DELETE"), 0);
    }
}

#[tokio::test]
async fn a_client_hears_that_lists_may_have_changed_with_a_new_session() {
    let server = Server::legacy(async |seen| match seen.header("mcp-session-id") {
        Some("s1") if seen.what() == "tools/call" => StatusCode::NOT_FOUND.into_response(),
        _ => json_of(&result_of(&seen, text("done"))),
    })
    .await;
    let (stream, _wrapped) = wrap(&server).await;
    let mut client = soon(Client::connect(Kind::form(Era::V2025_11_25), stream)).await;
    let reply = soon(client.call("a", json!({}), |_: &_| accept(json!({})))).await;
    assert_eq!(reply.text(), "done");
    soon(client.hear("notifications/tools/list_changed")).await;
    assert_eq!(server.count("tools/call"), 2);
}

#[tokio::test]
async fn a_question_of_a_lost_session_is_withdrawn_and_its_answer_goes_nowhere() {
    let server = Server::start(async |seen| {
        let is_first = seen.header("mcp-session-id") == Some("s1");
        match (seen.what().as_str(), &seen.message["params"]["name"]) {
            ("initialize", _) => {
                let session = if *seen.id() == 1 { "s1" } else { "s2" };
                in_session(session, initialized(&seen))
            }
            // The connection stays, as with a proxy before a server that restarts.
            ("tools/call", name) if *name == "ask" => {
                let ask = json!({"jsonrpc": "2.0", "id": 0, "method": "elicitation/create",
                    "params": {"message": "Who?", "requestedSchema": {"type": "object",
                    "properties": {}}}});
                crate::http_server::open_events(event(&ask))
            }
            ("tools/call", _) if is_first => StatusCode::NOT_FOUND.into_response(),
            ("tools/call", _) => json_of(&result_of(&seen, text("done"))),
            ("GET", _) => StatusCode::METHOD_NOT_ALLOWED.into_response(),
            _ => accepted(),
        }
    })
    .await;
    let (stream, _wrapped) = wrap(&server).await;
    let mut client = soon(Client::connect(Kind::form(Era::V2025_11_25), stream)).await;
    client.start("ask", json!({})).await;
    let (id, _) = soon(client.question()).await;
    client.start("other", json!({})).await;
    let reply = soon(client.any_reply()).await;
    assert_eq!(reply.text(), "done");
    let withdrawn = soon(client.hear("notifications/cancelled")).await;
    assert_eq!(withdrawn["requestId"], id);
    // It was too late to be stopped.
    client.answer(id, accept(json!({}))).await;
    client.start("other", json!({})).await;
    assert_eq!(soon(client.any_reply()).await.text(), "done");
    assert_eq!(server.count("response"), 0);
}

#[tokio::test]
async fn a_client_learns_whether_a_failed_call_may_have_run() {
    let server = Server::legacy(async |_| with_status(502, "text/html", "<p>Bad Gateway")).await;
    let (stream, _wrapped) = wrap(&server).await;
    let mut client = soon(Client::connect(Kind::form(Era::V2025_11_25), stream)).await;
    client.start("a", json!({})).await;
    let reply = soon(client.any_reply()).await;
    let entreat_testkit::mcp::Reply::Error(error) = reply else {
        panic!("{reply:?}");
    };
    assert_eq!(error["code"], -32603);
    assert_eq!(
        error["data"],
        json!({"reason": "upstream_busy", "mayHaveRun": true})
    );
    until(|| server.count("tools/call") == 1).await;
}
