//! Describes a tool: its name, what it does, and its arguments.

use std::io::Write;
use std::time::Duration;

use anyhow::Context as _;
use entreat::mcp::rmcp::RoleClient;
use entreat::mcp::rmcp::model::PaginatedRequestParams;
use entreat::mcp::rmcp::service::Peer;
use serde_json::Value;

use crate::output;

/// How many pages of tools are read.
const MAX_PAGES: usize = 100;
/// How long a description may take.
pub(super) const MAX_TIME: Duration = Duration::from_secs(20);
/// The number of values of an argument that are shown.
const MAX_VALUES: usize = 10;

/// Finds a tool of a server within this time; `None` if it is not listed.
pub(super) async fn tool(
    peer: &Peer<RoleClient>,
    name: &str,
    limit: Duration,
) -> anyhow::Result<Option<Value>> {
    let found = tokio::time::timeout(limit, find(peer, name)).await;
    found.context("the server doesn't list its tools in time")?
}

async fn find(peer: &Peer<RoleClient>, name: &str) -> anyhow::Result<Option<Value>> {
    let mut params = PaginatedRequestParams::default();
    for _ in 0..MAX_PAGES {
        let page = peer.list_tools(Some(params)).await;
        let page = page.context("the server doesn't list its tools")?;
        if let Some(tool) = page.tools.iter().find(|tool| tool.name == name) {
            return Ok(Some(serde_json::to_value(tool)?));
        }
        if page.next_cursor.is_none() {
            break;
        }
        params = PaginatedRequestParams::default().with_cursor(page.next_cursor);
    }
    Ok(None)
}

/// Prints a tool for people, or as the server sent it.
pub(super) fn print(tool: &Value, as_json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    if as_json {
        return Ok(output::document(out, tool)?);
    }
    let text = |key: &str| tool.get(key).and_then(Value::as_str).unwrap_or_default();
    writeln!(out, "{}", output::sanitize(text("name")))?;
    for words in [text("title"), text("description")] {
        for line in words.lines() {
            writeln!(
                out,
                "{}",
                format!("  {}", output::sanitize(line)).trim_end()
            )?;
        }
    }
    let schema = &tool["inputSchema"];
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| {
        let mut required = required.into_iter().flatten();
        required.any(|other| other == name)
    };
    let rows: Vec<[String; 4]> = properties
        .into_iter()
        .flatten()
        .map(|(name, property)| {
            let need = if is_required(name) { "required" } else { "" };
            let about = property.get("description").or(property.get("title"));
            let about = about.and_then(Value::as_str).unwrap_or_default();
            let about = about.lines().next().unwrap_or_default();
            [name.as_str(), &kind(property), need, about]
                .map(|cell| output::sanitize(cell).into_owned())
        })
        .collect();
    writeln!(out)?;
    if rows.is_empty() {
        writeln!(out, "No arguments.")?;
    } else {
        output::table(out, ["ARGUMENT", "TYPE", "", "DESCRIPTION"], &rows)?;
    }
    Ok(())
}

/// Describes the values that an argument takes.
fn kind(property: &Value) -> String {
    let word = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let values = property.get("enum").and_then(Value::as_array);
    let mut kind = match (values, property.get("type")) {
        (Some(values), _) => {
            let shown: Vec<String> = values.iter().take(MAX_VALUES).map(word).collect();
            let more = if values.len() > MAX_VALUES {
                ", ..."
            } else {
                ""
            };
            format!("{}{more}", shown.join(", "))
        }
        (None, Some(Value::Array(types))) => {
            let types: Vec<String> = types.iter().map(word).collect();
            types.join(" or ")
        }
        (None, Some(kind)) => word(kind),
        (None, None) => "any".to_owned(),
    };
    if let Some(default) = property.get("default") {
        kind.push_str(" = ");
        kind.push_str(&word(default));
    }
    kind
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_is_described_for_people() {
        let tool = json!({
            "name": "deploy", "description": "Deploys a version.\n\u{1b}[2JFor real.",
            "inputSchema": {"type": "object", "required": ["version"], "properties": {
                "version": {"type": "integer", "description": "Which one\nexactly"},
                "region": {"enum": ["eu", "us"], "default": "eu"},
                "notes": {"type": ["string", "null"], "title": "Notes"},
                "rest": {},
            }},
        });
        let mut out = Vec::new();
        print(&tool, false, &mut out).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }
}
