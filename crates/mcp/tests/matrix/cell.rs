//! One cell: a client of one kind calls the tool, and the question ends in one way.

use std::sync::Arc;

use entreat_core::Outcome;
use entreat_core::schema::Era;
use rmcp::model::{CallToolRequestParams, CallToolResult, ClientConfig};
use serde_json::json;
use tokio::sync::{Notify, watch};

use crate::axes::{Ending, Kind, Transport};
use crate::person::{Log, Person};
use crate::rule::{Seen, Shown};
use crate::world::{Client, PATIENCE, World};

/// Runs a cell. The expectation only determines how much to wait for.
pub(crate) async fn run(
    era: Era,
    kind: Kind,
    transport: Transport,
    ending: Ending,
    expected: &Seen,
) -> Seen {
    let (world, wire) = World::new(transport).await;
    let log = watch::Sender::new(Log::default());
    let wakes = Arc::new(Notify::new());
    let person = Person {
        config: ClientConfig::default(),
        ending,
        world: world.clone(),
        log: log.clone(),
        wakes: wakes.clone(),
    };
    let client = Arc::new(world.connect((era, kind, wire), person).await);
    let calling = tokio::spawn(call(client.clone(), "ask", None));
    let said = if expected.shown == [Shown::Link] {
        let linked = calling.await.unwrap();
        log.send_modify(|log| log.shown.push(Shown::Link));
        let (url, question) = link_of(&linked);
        world.visit(url, ending).await;
        if ending == Ending::Timeout {
            world.advance(PATIENCE).await;
        }
        if ending == Ending::Disconnect {
            None
        } else {
            let arguments = json!({"question": question});
            Some(call(client.clone(), "resume_question", Some(arguments)).await)
        }
    } else {
        if matches!(ending, Ending::Timeout | Ending::Disconnect) {
            until(&log, |log| !log.shown.is_empty()).await;
        }
        if ending == Ending::Disconnect {
            calling.abort();
            None
        } else {
            if ending == Ending::Timeout {
                world.advance(PATIENCE).await;
                if !expected.is_closed {
                    wakes.notify_one();
                }
            }
            Some(calling.await.unwrap())
        }
    };
    if ending == Ending::Disconnect {
        client.cancellation_token().cancel();
        world.is_left().await;
        if expected.kept == [Outcome::TimedOut] {
            world.advance(PATIENCE).await;
        }
    }
    until(&log, |log| {
        log.is_closed >= expected.is_closed && log.is_completed >= expected.is_completed
    })
    .await;
    let kept = world.end(expected.kept.len()).await;
    let log = log.borrow();
    // An answer on the page may overtake the client's own reply; its dialog is then closed.
    let may_be_overtaken = expected.is_completed && !expected.is_closed;
    Seen {
        shown: log.shown.clone(),
        is_closed: log.is_closed && !may_be_overtaken,
        is_completed: log.is_completed,
        said,
        kept,
    }
}

async fn call(
    client: Arc<Client>,
    tool: &'static str,
    arguments: Option<serde_json::Value>,
) -> String {
    let mut params = CallToolRequestParams::new(tool);
    params.arguments = arguments.and_then(|it| it.as_object().cloned());
    match client.call_tool(params).await {
        Ok(result) => text_of(&result),
        Err(error) => format!("failed: {error}"),
    }
}

fn text_of(result: &CallToolResult) -> String {
    let text = result.content.first().and_then(|block| block.as_text());
    text.unwrap().text.clone()
}

/// The link in the result of a tool, and the id of its question.
fn link_of(text: &str) -> (&str, &str) {
    let after = |mark: &str| text.split(mark).nth(1).unwrap_or_else(|| panic!("{text}"));
    let url = after("open this link: ").split_whitespace().next().unwrap();
    let question = after("{\"question\": \"").split('"').next().unwrap();
    (url, question)
}

/// Waits until a condition is true.
async fn until<T>(shared: &watch::Sender<T>, holds: impl FnMut(&T) -> bool) {
    shared.subscribe().wait_for(holds).await.unwrap();
}
