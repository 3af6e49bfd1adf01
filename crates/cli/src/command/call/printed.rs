//! Prints results as text, for people and scripts.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write};

use serde_json::Value;

/// Prints the text of a tool's result, a prompt or a resource.
pub(super) fn text(out: &mut dyn Write, result: &Value) -> io::Result<()> {
    let text = text_of(result);
    // Scripts get the text unchanged; for a terminal it is sanitized.
    if io::stdout().is_terminal() {
        out.write_all(sanitized(&text).as_bytes())
    } else {
        out.write_all(text.as_bytes())
    }
}

fn text_of(result: &Value) -> String {
    let mut text = String::new();
    let list = |key: &str| result.get(key).and_then(Value::as_array);
    for block in list("content").into_iter().flatten() {
        push_block(&mut text, block);
    }
    for message in list("messages").into_iter().flatten() {
        let role = message.get("role").and_then(Value::as_str);
        // Writing to a string cannot fail.
        let _ = write!(text, "{}: ", role.unwrap_or("unknown"));
        push_block(&mut text, message.get("content").unwrap_or(&Value::Null));
    }
    for contents in list("contents").into_iter().flatten() {
        push_resource(&mut text, contents);
    }
    if text.is_empty()
        && let Some(structured) = result.get("structuredContent")
    {
        let _ = writeln!(text, "{structured}");
    }
    text
}

fn push_block(text: &mut String, block: &Value) {
    let of = |key: &str| block.get(key).and_then(Value::as_str);
    match of("type") {
        Some("text") => push_line(text, of("text").unwrap_or_default()),
        Some("resource") => push_resource(text, &block["resource"]),
        Some("resource_link") => push_line(text, &format!("[{}]", of("uri").unwrap_or_default())),
        Some(kind) => {
            let media = of("mimeType").unwrap_or("unknown type");
            let bytes = of("data").map_or(0, |data| data.len() / 4 * 3);
            push_line(
                text,
                &format!("[{kind}, {media}, {bytes} bytes: see --json]"),
            );
        }
        None => {}
    }
}

fn push_resource(text: &mut String, contents: &Value) {
    let of = |key: &str| contents.get(key).and_then(Value::as_str);
    if let Some(words) = of("text") {
        return push_line(text, words);
    }
    let bytes = of("blob").map_or(0, |blob| blob.len() / 4 * 3);
    let uri = of("uri").unwrap_or_default();
    push_line(text, &format!("[{uri}, {bytes} bytes: see --json]"));
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    if !line.ends_with('\n') {
        text.push('\n');
    }
}

/// Sanitizes text for the terminal and keeps its lines.
fn sanitized(text: &str) -> String {
    let lines = text.lines().map(crate::output::sanitize);
    lines.fold(String::new(), |mut all, line| {
        all.push_str(&line);
        all.push('\n');
        all
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_kind_of_result_has_its_text() {
        let tool = json!({"content": [{"type": "text", "text": "a"},
            {"type": "image", "mimeType": "image/png", "data": "AAAA"},
            {"type": "resource", "resource": {"uri": "u", "text": "b\n"}},
            {"type": "resource_link", "uri": "file:///x"}]});
        let told = "a\n[image, image/png, 3 bytes: see --json]\nb\n[file:///x]\n";
        assert_eq!(text_of(&tool), told);
        let prompt = json!({"messages": [{"role": "user",
            "content": {"type": "text", "text": "hi"}}]});
        assert_eq!(text_of(&prompt), "user: hi\n");
        let resource = json!({"contents": [{"uri": "u", "blob": "AAAA"}]});
        assert_eq!(text_of(&resource), "[u, 3 bytes: see --json]\n");
        let structured = json!({"content": [], "structuredContent": {"n": 1}});
        assert_eq!(text_of(&structured), "{\"n\":1}\n");
    }

    #[test]
    fn a_terminal_gets_nothing_to_act_on() {
        assert_eq!(sanitized("a\u{1b}[2J\nb"), "a\\u{1b}[2J\nb\n");
    }
}
