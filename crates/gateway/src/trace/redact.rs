//! Leaves out of a message what a trace must not contain.
//!
//! - what a person answered: the `content` of answers to questions, in either era;
//! - the states of calls, which are sealed for the client or the server that wrote them;
//! - values of members, arguments and lines whose name is one of a secret, and credentials of
//!   HTTP;
//! - what follows the host in an address: a link may let people in;
//! - all but the first line of a question, since it may quote arguments.

use entreat_wire::message::CREATE;
use serde_json::{Map, Value};

use crate::secrets::names_secret;

/// What stands for something that was left out.
const LEFT_OUT: &str = "[left out]";
/// The longest name before a value on a line of a text.
const MAX_NAME: usize = 60;
/// How deep JSON within texts is read.
const MAX_NESTED: u8 = 3;
/// Members that name a schema, whose properties have names of secrets and no secrets.
const SCHEMAS: [&str; 3] = ["inputSchema", "outputSchema", "requestedSchema"];
/// Members of a property that may have a value in them.
const VALUES: [&str; 4] = ["default", "const", "example", "examples"];

/// Leaves out of a message what must not be written down.
pub(super) fn redact(message: &mut Value) {
    visit(message, Place::default());
}

/// Where a value stands.
#[derive(Clone, Copy, Default)]
struct Place {
    is_schema: bool,
    /// How often a text was read as JSON.
    nested: u8,
}

fn visit(value: &mut Value, place: Place) {
    match value {
        Value::Object(members) => object(members, place),
        Value::Array(items) => items.iter_mut().for_each(|item| visit(item, place)),
        Value::String(text) => {
            if let Some(changed) = text_of(text, place) {
                *text = changed;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn object(members: &mut Map<String, Value>, place: Place) {
    let is_answer = matches!(
        members.get("action").and_then(Value::as_str),
        Some("accept" | "decline" | "cancel")
    );
    if is_answer {
        leave_out(members, "content");
    }
    leave_out(members, "requestState");
    // An argument of a completion, or a variable.
    let names_own_value = members
        .get("name")
        .and_then(Value::as_str)
        .is_some_and(names_secret);
    if names_own_value {
        leave_out(members, "value");
    }
    if members.get("method").and_then(Value::as_str) == Some(CREATE)
        && let Some(Value::Object(params)) = members.get_mut("params")
    {
        shorten(params);
    }
    if let Some(Value::Object(answers)) = members.get_mut("inputResponses") {
        for answer in answers.values_mut() {
            if let Value::Object(answer) = answer {
                leave_out(answer, "content");
            }
        }
    }
    for (name, value) in members {
        if is_secret(name, value) {
            if !(place.is_schema && value.is_object()) {
                *value = LEFT_OUT.into();
                continue;
            }
            if let Value::Object(property) = value {
                for name in VALUES {
                    leave_out(property, name);
                }
            }
        }
        let is_schema = place.is_schema || SCHEMAS.contains(&name.as_str());
        visit(value, Place { is_schema, ..place });
    }
}

fn leave_out(members: &mut Map<String, Value>, name: &str) {
    if let Some(value) = members.get_mut(name) {
        *value = LEFT_OUT.into();
    }
}

/// Keeps the first line of a question.
fn shorten(params: &mut Map<String, Value>) {
    if let Some(Value::String(message)) = params.get_mut("message")
        && let Some((first, _)) = message.split_once('\n')
    {
        *message = format!("{first} {LEFT_OUT}");
    }
}

/// Whether a member's value may be a secret.
fn is_secret(name: &str, value: &Value) -> bool {
    // Yes and no are none, and nothing is none.
    if matches!(value, Value::Null | Value::Bool(_)) || name == "progressToken" {
        return false;
    }
    // Counts of a model's tokens.
    let is_count = value.is_number() && name.ends_with("okens");
    !is_count && (names_secret(name) || is_credential(name))
}

fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.contains("authorization") || name.contains("cookie")
}

/// A text without what must not be written; `None` if it stays.
fn text_of(text: &str, place: Place) -> Option<String> {
    let trimmed = text.trim_start();
    if place.nested < MAX_NESTED
        && trimmed.starts_with(['{', '['])
        && let Ok(mut inner) = serde_json::from_str::<Value>(trimmed)
    {
        let nested = place.nested + 1;
        visit(&mut inner, Place { nested, ..place });
        return Some(inner.to_string());
    }
    let changed: Vec<String> = text.split('\n').map(line_of).collect();
    let changed = changed.join("\n");
    (changed != text).then_some(changed)
}

/// A line of a text.
fn line_of(line: &str) -> String {
    if let Some(end) = line.find(['=', ':'])
        && end <= MAX_NAME
        && !line[end + 1..].trim().is_empty()
        && (names_secret(&line[..end]) || is_credential(&line[..end]))
    {
        return format!("{} {LEFT_OUT}", &line[..=end]);
    }
    let mut kept = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((start, length)) = next_found(rest) {
        kept.push_str(&rest[..start]);
        let found = &rest[start..start + length];
        kept.push_str(&shortened(found));
        rest = &rest[start + length..];
    }
    kept.push_str(rest);
    kept
}

/// The next address or credential of a line: where it is, and how long.
fn next_found(line: &str) -> Option<(usize, usize)> {
    let lower = line.to_ascii_lowercase();
    let starts = ["http://", "https://", "bearer ", "basic "];
    let start = starts.iter().filter_map(|start| lower.find(start)).min()?;
    let prefix = starts
        .iter()
        .find(|prefix| lower[start..].starts_with(**prefix))?;
    let rest = &line[start + prefix.len()..];
    let end = rest
        .find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '`' | '\\'))
        .unwrap_or(rest.len());
    Some((start, prefix.len() + end))
}

/// An address up to its host, or a kind of credential without it.
fn shortened(found: &str) -> String {
    let Some((scheme, rest)) = found.split_once("://") else {
        let (kind, credential) = found.split_once(' ').unwrap_or((found, ""));
        // A word of a sentence.
        return if credential.len() < 8 {
            found.to_owned()
        } else {
            format!("{kind} {LEFT_OUT}")
        };
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    if path.trim_end_matches(['.', ',', ')', ';']).len() <= 1 {
        return format!("{scheme}://{host}{path}");
    }
    format!("{scheme}://{host}/{LEFT_OUT}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const CANARY: &str = "canary-7f3a91";

    fn redacted(mut message: Value) -> Value {
        redact(&mut message);
        message
    }

    #[test]
    fn nothing_secret_is_left() {
        let inner = json!({"password": CANARY}).to_string();
        for message in [
            json!({"id": 1, "result": {"action": "accept", "content": {"name": CANARY}}}),
            json!({"id": 1, "result": {"action": "decline", "content": CANARY}}),
            json!({"params": {"inputResponses": {"q1": {"action": "accept",
                "content": {"a": [CANARY]}}, "q2": {"role": "user", "content": CANARY}}}}),
            json!({"params": {"requestState": CANARY}}),
            json!({"result": {"resultType": "input_required", "requestState": {"a": CANARY}}}),
            json!({"params": {"arguments": {"apiKey": CANARY, "deep": [{"db_password": CANARY}]}}}),
            json!({"params": {"arguments": {"credentials": {"user": CANARY}}}}),
            json!({"params": {"headers": {"Authorization": CANARY, "Set-Cookie": CANARY}}}),
            json!({"params": {"argument": {"name": "token", "value": CANARY}}}),
            json!({"params": {"data": format!("Authorization: Bearer {CANARY}")}}),
            json!({"params": {"data": format!("sent with bearer {CANARY}, twice")}}),
            json!({"result": {"content": [{"type": "text",
                "text": format!("open https://ask.example/e/{CANARY}.")}]}}),
            json!({"params": {"url": format!("https://user:{CANARY}@a.example/x?{CANARY}")}}),
            json!({"params": {"url": format!("HTTP://a.example?{CANARY}")}}),
            json!({"result": {"content": [{"type": "text", "text": inner}]}}),
            json!({"result": {"content": [{"type": "text",
                "text": format!("HOME=/root\nAPI_KEY={CANARY}\n  password : {CANARY}")}]}}),
            json!({"method": "elicitation/create", "params": {
                "message": format!("Run t?\n\nArguments:\n| x: {CANARY}")}}),
            json!({"result": {"inputRequests": {"q1": {"method": "elicitation/create",
                "params": {"message": format!("Run t?\n{CANARY}")}}}}}),
            json!({"result": {"tools": [{"inputSchema": {"properties": {
                "token": {"type": "string", "default": CANARY}}}}]}}),
            json!([{"id": 1, "result": {"action": "accept", "content": {"name": CANARY}}}]),
        ] {
            let shown = message.to_string();
            let left = redacted(message).to_string();
            assert!(!left.contains(CANARY), "{shown}\n{left}");
            assert!(left.contains(LEFT_OUT), "{left}");
        }
    }

    #[test]
    fn what_is_no_secret_stays() {
        for message in [
            json!({"id": 1, "method": "tools/call", "params": {"name": "t",
                "arguments": {"path": "/tmp/a", "hasToken": true, "key": "k", "url": "file:///a"},
                "_meta": {"progressToken": 7}}}),
            json!({"params": {"maxTokens": 100}}),
            json!({"result": {"content": [{"type": "text", "text": "Note: it works\na = b"}]}}),
            json!({"result": {"tools": [{"inputSchema": {"properties": {
                "token": {"type": "string", "title": "Token"}}}}]}}),
            json!({"params": {"uri": "https://a.example/"}}),
            json!({"params": {"text": "a bearer of news and basic things"}}),
        ] {
            assert_eq!(redacted(message.clone()), message);
        }
        assert_eq!(
            redacted(json!("see https://a.example/x/y (or http://b.example)")),
            json!("see https://a.example/[left out] (or http://b.example)")
        );
    }
}
