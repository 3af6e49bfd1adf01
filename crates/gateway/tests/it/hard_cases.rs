//! The cases that relays get wrong.

mod concurrent;
mod failures;
mod floods;
mod hostile;
mod listen;
mod lost;
mod pinned;
mod shapes;
mod tickets;
mod traps;
mod web;

use serde_json::{Value, json};

use crate::world::{Pair, World, all, complete, modern};

const L6: &str = "2025-06-18";
const L11: &str = "2025-11-25";

/// Parameters of a call, as a client of 2026-07-28 sends them.
fn call(tool: &str, arguments: Value, capabilities: Value) -> Value {
    modern(json!({"name": tool, "arguments": arguments}), capabilities)
}

/// A form with one field, in these words.
fn form(message: &str) -> Value {
    json!({"message": message, "requestedSchema": {"type": "object",
        "properties": {"name": {"type": "string", "title": "Name"}}, "required": ["name"]}})
}

fn accept(name: &str) -> Value {
    json!({"action": "accept", "content": {"name": name}})
}

/// Makes the server one of 2025, for a client of 2026-07-28 that has called a tool; returns the
/// request as it reached the server.
async fn begin_lowered(pair: &mut Pair, id: u64, params: Value) -> Value {
    pair.client.request(id, "tools/call", params).await;
    pair.lower().await;
    let asked = pair.server.next().await;
    assert_eq!(asked["method"], "tools/call");
    asked
}

/// The questions of a round that the client has got: keys and requests, and the state.
async fn next_round(world: &World, pair: &mut Pair) -> Value {
    world.pass(std::time::Duration::from_millis(50)).await;
    let round = pair.client.next().await;
    assert_eq!(round["result"]["resultType"], "input_required", "{round}");
    round["result"].clone()
}

/// The only question of a round: its key, and its parameters.
fn only_question(round: &Value) -> (String, Value) {
    let requests = round["inputRequests"].as_object().expect("questions");
    assert_eq!(requests.len(), 1, "{round}");
    let (key, request) = requests.iter().next().expect("a question");
    (key.clone(), request["params"].clone())
}

/// A retry with answers.
fn retry(params: &Value, round: &Value, answers: Value) -> Value {
    let mut params = params.clone();
    params["requestState"] = round["requestState"].clone();
    params["inputResponses"] = answers;
    params
}
