//! Edits of text, over documents as people write them and documents that nobody would write.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::format::Format;

const JSON: Format = Format::Json { key: "mcpServers" };
const JSONC: Format = Format::Jsonc { key: "mcpServers" };
const TOML: Format = Format::Toml { key: "mcp_servers" };

fn entry() -> Map<String, Value> {
    match json!({"command": "/bin/entreat", "args": ["mcp", "--plain"]}) {
        Value::Object(entry) => entry,
        _ => unreachable!(),
    }
}

fn add(format: Format, text: &str) -> String {
    format.add(text, "entreat", &entry()).unwrap()
}

#[test]
fn an_entry_is_written_as_its_neighbours_are() {
    for (before, after) in [
        // Tabs, CRLF, a comment behind the last server, no newline at the end.
        (
            "{\r\n\t\"mcpServers\": {\r\n\t\t\"x\": {} // mine\r\n\t}\r\n}",
            "{\r\n\t\"mcpServers\": {\r\n\t\t\"x\": {}, // mine\r\n\t\t\"entreat\": {\r\n\t\t\t\
             \"command\": \"/bin/entreat\",\r\n\t\t\t\"args\": [\"mcp\", \"--plain\"]\r\n\t\t}\r\n\
             \t}\r\n}",
        ),
        // Trailing commas.
        (
            "{\n    \"mcpServers\": {\n        \"x\": {},\n        // \"y\": {},\n    },\n}\n",
            "{\n    \"mcpServers\": {\n        \"x\": {},\n        // \"y\": {},\n        \
             \"entreat\": {\n            \"command\": \"/bin/entreat\",\n            \
             \"args\": [\"mcp\", \"--plain\"]\n        },\n    },\n}\n",
        ),
        // One line, with and without spaces.
        (
            r#"{"mcpServers":{"x":{}}}"#,
            r#"{"mcpServers":{"x":{},"entreat":{"command":"/bin/entreat","args":["mcp","--plain"]}}}"#,
        ),
        (
            r#"{"a": 1}"#,
            r#"{"a": 1, "mcpServers": {"entreat": {"command": "/bin/entreat", "args": ["mcp", "--plain"]}}}"#,
        ),
        (
            "{\n  \"mcpServers\": { \"x\": {} }\n}\n",
            "{\n  \"mcpServers\": { \"x\": {}, \"entreat\": {\"command\": \"/bin/entreat\", \
             \"args\": [\"mcp\", \"--plain\"]} }\n}\n",
        ),
        // Nothing there yet.
        (
            "{}\n",
            "{\n  \"mcpServers\": {\n    \"entreat\": {\n      \"command\": \"/bin/entreat\",\n      \
             \"args\": [\"mcp\", \"--plain\"]\n    }\n  }\n}\n",
        ),
        (
            "// Settings\n",
            "// Settings\n{\n  \"mcpServers\": {\n    \"entreat\": {\n      \
             \"command\": \"/bin/entreat\",\n      \"args\": [\"mcp\", \"--plain\"]\n    }\n  }\n}\n",
        ),
        (
            "{\n   \"a\": 1,\n   \"mcpServers\": {}\n}",
            "{\n   \"a\": 1,\n   \"mcpServers\": {\n      \"entreat\": {\n         \
             \"command\": \"/bin/entreat\",\n         \"args\": [\"mcp\", \"--plain\"]\n      }\n   \
             }\n}",
        ),
    ] {
        assert_eq!(add(JSONC, before), after, "{before}");
    }
}

#[test]
fn only_the_servers_of_the_client_count() {
    // The same key in a project's part, and the same name in another list.
    let before = "{\n  \"projects\": {\"/p\": {\"mcpServers\": {\"entreat\": {}}}},\n  \
                  \"entreat\": 1,\n  \"mcpServers\": {\n    \"x\": {\"entreat\": {}}\n  }\n}";
    assert!(JSON.find(before, "entreat").unwrap().is_none());
    let after = add(JSON, before);
    assert_eq!(JSON.remove(&after, "entreat").unwrap(), before);
    // A name may be written with escapes.
    let escaped = r#"{"mcpServers": {"en\u0074reat": {}}}"#;
    assert!(JSON.find(escaped, "entreat").unwrap().is_some());
}

#[test]
fn what_is_not_valid_is_refused_with_its_place() {
    for (format, text, expected) in [
        (
            JSON,
            "{\n  \"a\": 1\n  \"b\": 2\n}",
            "line 2, column 9: expected comma",
        ),
        (
            JSON,
            "{\"ä\": 1,}",
            "line 1, column 8: trailing commas are not allowed",
        ),
        (
            JSON,
            "{} // no",
            "line 1, column 4: comments are not allowed",
        ),
        (JSON, "[]", "line 1, column 1: expected an object"),
        (
            JSON,
            "{\"mcpServers\": null}",
            "line 1, column 16: `mcpServers` must be an object",
        ),
        (
            JSONC,
            "{\"mcpServers\": {},\n \"mcpServers\": {}}",
            "line 2, column 2: `mcpServers` is there twice: remove one of them",
        ),
        (
            JSONC,
            "{\"mcpServers\": {\"entreat\": {}, \"entreat\": {}}}",
            "line 1, column 32: `entreat` is there twice: remove one of them",
        ),
        (
            JSONC,
            "{a: 1}",
            "line 1, column 2: expected string for object property",
        ),
        (
            JSONC,
            "{} {}",
            "line 1, column 4: text cannot contain more than one json value",
        ),
        (
            TOML,
            "a = 1\nb = \n",
            "line 2, column 5: string values must be quoted, expected literal string",
        ),
        (TOML, "[a]\n[a]\n", "line 2, column 2: duplicate key"),
        (
            TOML,
            "mcp_servers = 1\n",
            "line 1, column 15: `mcp_servers` must be a table",
        ),
        (
            TOML,
            "mcp_servers = {}\n",
            "line 1, column 15: `mcp_servers` is an inline table, which can't be extended: write it as tables, such as [mcp_servers.entreat]",
        ),
    ] {
        let found = format.find(text, "entreat");
        let added = found.and_then(|_| format.add(text, "entreat", &entry()));
        assert_eq!(added.unwrap_err().to_string(), expected, "{text}");
    }
    let deep = "[".repeat(100_000);
    let error = JSONC.add(&deep, "entreat", &entry()).unwrap_err();
    assert!(error.to_string().contains("depth"), "{error}");
}

#[test]
fn an_entry_goes_without_its_neighbours_and_comments() {
    for (before, after) in [
        (
            r#"{"mcpServers": {"entreat": {}}}"#,
            r#"{"mcpServers": {}}"#,
        ),
        (
            r#"{"mcpServers": { "entreat": {}, "x": 1 }}"#,
            r#"{"mcpServers": { "x": 1 }}"#,
        ),
        (
            "{\"mcpServers\": {\n  // ours\n  \"entreat\": {}, \"x\": 1 }}",
            "{\"mcpServers\": {\n  // ours\n   \"x\": 1 }}",
        ),
        (
            "{\"mcpServers\": {\n  \"x\": 1, // x\n  \"entreat\": {} }}",
            "{\"mcpServers\": {\n  \"x\": 1 // x\n   }}",
        ),
    ] {
        assert_eq!(JSONC.remove(before, "entreat").unwrap(), after);
    }
    let before = "a = 1\n\n# ours\n[mcp_servers.entreat] # here\ncommand = \"x\"\nargs = [\n  \"y\",\n] # end\n\
                  # below\n\n[mcp_servers.entreat.env]\nA = \"1\"\n[mcp_servers.x]\nb = 2\n[[c]]\nd = 3\n\
                  [mcp_servers.entreat.tools.ask]\ne = 4";
    let after = "a = 1\n\n# ours\n# below\n[mcp_servers.x]\nb = 2\n[[c]]\nd = 3\n";
    assert_eq!(TOML.remove(before, "entreat").unwrap(), after);
    let inline = "[mcp_servers]\nx = {}\nentreat = { command = \"y\" } # ours\nz = {}\n";
    let after = "[mcp_servers]\nx = {}\nz = {}\n";
    assert_eq!(TOML.remove(inline, "entreat").unwrap(), after);
    let dotted = "mcp_servers.entreat.command = \"x\"\n";
    let error = TOML.remove(dotted, "entreat").unwrap_err().to_string();
    assert_eq!(
        error,
        "line 1, column 13: `mcp_servers.entreat` is not written as one table: change it yourself"
    );
}

#[test]
fn a_table_is_appended_with_the_line_ends_of_the_file() {
    let table =
        "[mcp_servers.entreat]\ncommand = \"/bin/entreat\"\nargs = [\"mcp\", \"--plain\"]\n";
    for before in [
        "model = \"o\" # best\n",
        "mcp_servers.x.command = \"y\"\n",
        "[mcp_servers]\nx = {}\n\n# the end\n",
    ] {
        let after = add(TOML, before);
        assert_eq!(after, format!("{before}\n{table}"));
        assert_eq!(TOML.remove(&after, "entreat").unwrap(), before);
    }
    assert_eq!(add(TOML, ""), table);
    assert_eq!(add(TOML, "a = 1"), format!("a = 1\n\n{table}"));
    let windows = "a = 1\r\n[mcp_servers.x]\r\ncommand = 'y'\r\n";
    let after = add(TOML, windows);
    assert_eq!(
        after,
        format!("{windows}\r\n{}", table.replace('\n', "\r\n"))
    );
    assert_eq!(TOML.remove(&after, "entreat").unwrap(), windows);
}

/// Space and comments that may be between tokens.
fn space() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => Just(" "), 4 => Just("\n"), 2 => Just("\t"), 2 => Just("\r\n"),
        1 => Just("// a \"b\": {}, ]\n"), 1 => Just("/* {\n, */"), 1 => Just("/**/"),
    ];
    proptest::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat())
}

/// A list with separators, spaces between everything, and perhaps a trailing comma.
fn listed(
    item: impl Strategy<Value = String>,
    (open, close): (&'static str, &'static str),
) -> impl Strategy<Value = String> {
    let items = proptest::collection::vec((space(), item, space()), 0..4);
    (items, any::<bool>(), space()).prop_map(move |(items, trailing, last)| {
        let comma = if trailing && !items.is_empty() {
            ","
        } else {
            ""
        };
        let items = items
            .iter()
            .map(|(before, item, after)| format!("{before}{item}{after}"));
        let items: Vec<_> = items.collect();
        format!("{open}{}{comma}{last}{close}", items.join(","))
    })
}

fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("1.50"),
        Just("null"),
        Just("\"\""),
        Just("\"mcpServers\""),
        Just("\"// }\\\"\""),
        Just("\"ü\\u0000\""),
        Just("-0"),
        Just("true"),
    ];
    leaf.prop_map(str::to_owned)
        .prop_recursive(4, 24, 3, |inner| {
            prop_oneof![listed(inner.clone(), ("[", "]")), members(inner)]
        })
}

fn members(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let name = prop_oneof![Just("\"a\""), Just("\"é {\""), Just("\"\\u0062\"")];
    let member = (name, space(), space(), value)
        .prop_map(|(name, before, after, value)| format!("{name}{before}:{after}{value}"));
    listed(member, ("{", "}"))
}

/// An object with members before and after the servers, whose names may repeat as people's do.
fn document() -> impl Strategy<Value = String> {
    let around = || (space(), value(), space());
    let parts = (
        around(),
        members(value()),
        around(),
        space(),
        any::<[bool; 4]>(),
    );
    parts.prop_map(
        |((a, before, b), servers, (c, after, d), outer, [first, last, has, mark])| {
            let mut members = Vec::new();
            if first {
                members.push(format!("{a}\"first\": {before}{b}"));
            }
            if has {
                members.push(format!("{b}\"mcpServers\":{a}{servers}{c}"));
            }
            if last {
                members.push(format!("{c}\"last\":{after}"));
            }
            let comma = if mark && !members.is_empty() { "," } else { "" };
            format!("{outer}{{{}{comma}{d}}}{a}", members.join(","))
        },
    )
}

proptest! {
    #[test]
    fn whatever_the_document_everything_else_stays(document in document()) {
        let after = add(JSONC, &document);
        let found = JSONC.find(&after, "entreat").unwrap().unwrap();
        prop_assert_eq!(found.value, Value::Object(entry()));
        let back = JSONC.remove(&after, "entreat").unwrap();
        let servers = super::json::meaning(&document).unwrap()["mcpServers"].clone();
        if servers.as_object().is_some_and(|servers| !servers.is_empty()) {
            prop_assert_eq!(back, document);
        } else {
            // All that was there is there, in order, but for space between two braces.
            let mut rest = after.chars();
            let is_kept = |c: char| c.is_whitespace() || rest.any(|other| other == c);
            prop_assert!(document.chars().all(is_kept), "{}", after);
        }
    }

    #[test]
    fn a_replaced_entry_is_the_only_change(document in document()) {
        let entry_of_others = json!({"command": "x", "env": {"A": "b"}});
        let Value::Object(others) = entry_of_others else { unreachable!() };
        let before = JSONC.add(&document, "entreat", &others).unwrap();
        let after = JSONC.replace(&before, "entreat", &entry()).unwrap();
        prop_assert_eq!(
            JSONC.remove(&before, "entreat").unwrap(),
            JSONC.remove(&after, "entreat").unwrap()
        );
    }
}
