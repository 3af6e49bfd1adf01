//! Asks for the required arguments of a tool that the command line lacks.

use std::time::Duration;

use anyhow::{Context as _, anyhow};
use entreat::core::schema::import_as;
use entreat::mcp::answer::{Answer, FormQuestion, Presenter};
use entreat::mcp::rmcp::RoleClient;
use entreat::mcp::rmcp::service::Peer;
use serde_json::{Map, Value};

use super::describe;

/// How long a server may take to list its tools; afterwards the tool is called as it is.
const MAX_TIME: Duration = Duration::from_secs(3);

/// The result of asking.
pub(super) enum Completed {
    /// Nothing is missing any more, as far as the tool says what it needs.
    Done,
    Declined,
    Cancelled,
}

/// Adds missing required arguments of a tool, from a form made of its schema.
///
/// A tool that is not listed, or whose schema cannot be read, is called as it is: the server says
/// what is wrong.
pub(super) async fn complete(
    peer: &Peer<RoleClient>,
    name: &str,
    server: &str,
    presenter: &dyn Presenter,
    arguments: &mut Map<String, Value>,
) -> anyhow::Result<Completed> {
    let Ok(Some(tool)) = describe::tool(peer, name, MAX_TIME).await else {
        return Ok(Completed::Done);
    };
    let Some(schema) = missing(&tool["inputSchema"], arguments) else {
        return Ok(Completed::Done);
    };
    let title = format!("Arguments of {name}");
    let Ok(import) = import_as(&schema, "arguments", &title) else {
        return Ok(Completed::Done);
    };
    let notices = import.notices.into_iter().map(|notice| notice.message);
    let question = FormQuestion {
        server: server.to_owned(),
        message: String::new(),
        draft: import.form.normalise(&Map::new().into()),
        form: import.form,
        errors: Vec::new(),
        notices: notices.collect(),
    };
    let given = presenter.form(&question).await;
    match given.map_err(|error| anyhow!("{error}"))? {
        Answer::Accept(given) => {
            let given = Value::Object(given);
            let checked = question.form.check(&given);
            let checked = checked.context("the arguments are not valid")?;
            arguments.extend(checked.reveal().to_json());
            Ok(Completed::Done)
        }
        Answer::Decline => Ok(Completed::Declined),
        Answer::Cancel => Ok(Completed::Cancelled),
    }
}

/// Reduces a tool's schema to the required properties without an argument; `None` if there are
/// none.
fn missing(schema: &Value, arguments: &Map<String, Value>) -> Option<Value> {
    let required = schema.get("required")?.as_array()?;
    let all = schema.get("properties")?.as_object()?;
    let is_missing = |name: &&str| !arguments.contains_key(*name);
    let required: Vec<&str> = required
        .iter()
        .filter_map(Value::as_str)
        .filter(is_missing)
        .collect();
    // In the order of the schema.
    let properties: Map<String, Value> = all
        .iter()
        .filter(|(name, _)| required.contains(&name.as_str()))
        .map(|(name, property)| (name.clone(), property.clone()))
        .collect();
    if properties.is_empty() {
        return None;
    }
    let mut reduced = Map::new();
    reduced.insert("type".into(), "object".into());
    reduced.insert("required".into(), properties.keys().cloned().collect());
    reduced.insert("properties".into(), properties.into());
    // What properties may refer to.
    for shared in ["$defs", "definitions"] {
        if let Some(shared_schemas) = schema.get(shared) {
            reduced.insert(shared.into(), shared_schemas.clone());
        }
    }
    Some(reduced.into())
}

#[cfg(test)]
mod tests {
    use entreat::mcp::rmcp::ServiceExt as _;
    use serde_json::json;
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
    use tokio::time::Instant;

    use super::*;
    use crate::command::call::scripted::ScriptedAnswers;

    /// A server that answers the handshake and nothing else.
    async fn answer_the_handshake(client: DuplexStream) {
        let (lines, mut replies) = tokio::io::split(client);
        let mut lines = BufReader::new(lines).lines();
        while let Some(line) = lines.next_line().await.unwrap() {
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["method"] == "initialize" {
                let reply = json!({"jsonrpc": "2.0", "id": message["id"], "result": {
                    "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "silent", "version": "1"}}});
                let reply = format!("{reply}\n");
                replies.write_all(reply.as_bytes()).await.unwrap();
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_lists_no_tools_delays_a_call_by_three_seconds() {
        let (ours, theirs) = tokio::io::duplex(4096);
        let server = tokio::spawn(answer_the_handshake(theirs));
        let client = ().serve(ours).await.unwrap();
        let mut arguments = Map::from_iter([("version".to_owned(), json!(7))]);
        let before = Instant::now();
        let nobody = ScriptedAnswers::none();
        let done = complete(&client, "deploy", "silent", &nobody, &mut arguments);
        assert!(matches!(done.await.unwrap(), Completed::Done));
        assert_eq!(before.elapsed().as_secs(), 3);
        assert_eq!(Value::Object(arguments), json!({"version": 7}));
        nobody.check_used().unwrap();
        client.cancel().await.unwrap();
        server.await.unwrap();
    }

    #[test]
    fn only_what_is_required_and_not_given_is_asked_for() {
        let schema = json!({
            "type": "object",
            "properties": {
                "version": {"type": "integer"}, "region": {"type": "string"},
                "note": {"type": "string"},
            },
            "required": ["region", "version", "unlisted"],
        });
        let given = |arguments: Value| {
            let arguments = arguments.as_object().unwrap().clone();
            missing(&schema, &arguments).map(|schema| schema["required"].clone())
        };
        assert_eq!(given(json!({})), Some(json!(["version", "region"])));
        assert_eq!(given(json!({"version": 7})), Some(json!(["region"])));
        assert_eq!(given(json!({"version": 7, "region": null})), None);
        assert_eq!(missing(&json!({"type": "object"}), &Map::new()), None);
        assert_eq!(missing(&json!("no schema"), &Map::new()), None);
    }
}
