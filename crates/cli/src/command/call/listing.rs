//! Lists the tools, prompts and resources of a server.

use std::io::Write;

use anyhow::Context as _;
use entreat::mcp::rmcp::RoleClient;
use entreat::mcp::rmcp::model::ErrorCode;
use entreat::mcp::rmcp::service::{Peer, ServiceError};
use serde::Serialize;
use serde_json::{Value, json};

use crate::output;

/// Prints the tools, prompts and resources.
pub(super) async fn list(
    peer: &Peer<RoleClient>,
    as_json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let tools = listed(peer.list_all_tools().await)?;
    let prompts = listed(peer.list_all_prompts().await)?;
    let resources = listed(peer.list_all_resources().await)?;
    if as_json {
        let all = json!({"tools": tools, "prompts": prompts, "resources": resources});
        return Ok(output::document(out, &all)?);
    }
    let mut rows = Vec::new();
    for (kind, list, name) in [
        ("tool", &tools, "name"),
        ("prompt", &prompts, "name"),
        ("resource", &resources, "uri"),
    ] {
        for item in list {
            let of = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
            let about = of("description").lines().next().unwrap_or_default();
            let cells = [kind, of(name), about];
            rows.push(cells.map(|cell| output::sanitize(cell).into_owned()));
        }
    }
    output::table(out, ["KIND", "NAME", "DESCRIPTION"], &rows)?;
    Ok(())
}

/// Converts a list to JSON; empty if the server does not support the method.
fn listed<T: Serialize>(list: Result<Vec<T>, ServiceError>) -> anyhow::Result<Vec<Value>> {
    let list = match list {
        Ok(list) => list,
        Err(ServiceError::McpError(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error).context("the server doesn't list what it offers"),
    };
    let items = list.iter().map(serde_json::to_value);
    Ok(items.collect::<Result<_, _>>()?)
}
