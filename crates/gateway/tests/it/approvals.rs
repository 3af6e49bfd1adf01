//! Calls that wait until a person approves them.

mod binding;
mod caller;
mod forms;
mod pages;
mod rules;

use std::time::Duration;

use entreat_gateway::{ApprovalAction, ApprovalRule, GatewaySettings};
use serde_json::{Value, json};

use crate::world::{Ways, World};

/// Longer than a person takes to read nothing.
const READ: Duration = Duration::from_secs(2);

fn forms() -> Value {
    json!({"elicitation": {"form": {}}})
}

fn rule(action: ApprovalAction, tool: &str) -> ApprovalRule {
    ApprovalRule::new(action).for_tool(tool.parse().expect("a pattern"))
}

fn ask(tool: &str) -> ApprovalRule {
    rule(ApprovalAction::Ask, tool)
}

async fn world(ways: Ways, rules: Vec<ApprovalRule>) -> World {
    let settings = GatewaySettings {
        approvals: rules,
        ..GatewaySettings::default()
    };
    World::with(ways, settings).await
}

/// The text of a result that says that a call was not run.
fn refusal(message: &Value) -> String {
    let result = &message["result"];
    assert_eq!(result["isError"], true, "{message}");
    result["content"][0]["text"]
        .as_str()
        .expect("text")
        .to_owned()
}

fn yes() -> Value {
    json!({"action": "accept", "content": {"approve": true}})
}

fn no(reason: &str) -> Value {
    json!({"action": "accept", "content": {"approve": false, "reason": reason}})
}
