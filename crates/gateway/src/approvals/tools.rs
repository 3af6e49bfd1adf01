//! What servers say of their tools, as lists of tools go by.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::arguments::visible;
use crate::policy::is_name;

/// The maximum number of tools that are remembered.
const MAX_TOOLS: usize = 2_000;
/// The maximum number of arguments of a tool whose titles are remembered.
const MAX_TITLES: usize = 100;
/// The longest title and description that are shown, in characters.
const MAX_TITLE: usize = 120;
const MAX_DESCRIPTION: usize = 2_000;
/// How much is remembered of all tools of a server together, in bytes.
const MAX_BYTES: usize = 4 << 20;

/// The tools of one server.
#[derive(Default)]
pub(super) struct KnownTools(Mutex<Known>);

#[derive(Default)]
struct Known {
    tools: HashMap<String, Arc<Tool>>,
    bytes: usize,
}

impl Known {
    /// Notes a tool in place of the one that had its name, if there is room.
    fn insert(&mut self, name: &str, tool: Tool) {
        let size = |tool: &Tool| name.len() + tool.size();
        let before = self.tools.get(name).map_or(0, |tool| size(tool));
        let bytes = self.bytes - before + size(&tool);
        let has_place = self.tools.len() < MAX_TOOLS || before > 0;
        if has_place && bytes <= MAX_BYTES {
            self.tools.insert(name.to_owned(), Arc::new(tool));
            self.bytes = bytes;
        } else if self.tools.remove(name).is_some() {
            // What it was is not what it is.
            self.bytes -= before;
        }
    }
}

/// A tool in its server's words.
#[derive(Debug, Default)]
pub(super) struct Tool {
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    hints: Hints,
    /// The titles of arguments.
    pub(super) titles: HashMap<String, String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the names of the protocol")]
struct Hints {
    read_only_hint: Option<bool>,
    destructive_hint: Option<bool>,
    idempotent_hint: Option<bool>,
    open_world_hint: Option<bool>,
}

impl KnownTools {
    /// Notes a list of tools, which may be one of several pages.
    pub(super) fn note(&self, result: &str) {
        #[derive(Deserialize)]
        struct List<'a> {
            #[serde(borrow)]
            tools: Vec<&'a RawValue>,
        }
        let Ok(list) = serde_json::from_str::<List<'_>>(result) else {
            return;
        };
        let mut known = self.0.lock();
        for tool in list.tools {
            // A tool that is not described as the protocol says is still called by its name.
            let Ok(Value::Object(tool)) = serde_json::from_str(tool.get()) else {
                continue;
            };
            let Some(name) = tool.get("name").and_then(Value::as_str) else {
                continue;
            };
            if is_name(name) {
                known.insert(name, Tool::of(&tool));
            }
        }
    }

    /// What is known of a tool. Of one that was never listed, nothing is.
    pub(super) fn get(&self, name: &str) -> Arc<Tool> {
        self.0.lock().tools.get(name).cloned().unwrap_or_default()
    }
}

impl Tool {
    fn of(tool: &Map<String, Value>) -> Self {
        let annotations = tool.get("annotations");
        let title = tool.get("title");
        let title = title.or_else(|| annotations?.get("title"));
        let properties = tool.get("inputSchema").and_then(|it| it.get("properties"));
        let properties = properties.and_then(Value::as_object);
        let titles = properties.into_iter().flatten().take(MAX_TITLES);
        let titles = titles.filter_map(|(name, property)| {
            let title = line(property.get("title")?, MAX_TITLE)?;
            is_name(name).then(|| (name.clone(), title))
        });
        let hints = annotations.and_then(|it| Hints::deserialize(it).ok());
        let description = tool.get("description").and_then(Value::as_str);
        Self {
            title: title.and_then(|title| line(title, MAX_TITLE)),
            description: description.map(|text| cut(text.trim(), MAX_DESCRIPTION)),
            hints: hints.unwrap_or_default(),
            titles: titles.collect(),
        }
    }

    /// How many bytes its words have.
    fn size(&self) -> usize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let titles = self.titles.iter();
        let titles = titles.map(|(name, title)| name.len() + title.len());
        size_of::<Self>() + length(&self.title) + length(&self.description) + titles.sum::<usize>()
    }

    /// Whether it may destroy something. As the protocol has it, it may unless its hints deny it.
    pub(super) fn is_destructive(&self) -> bool {
        self.hints.destructive_hint.unwrap_or(true) && self.hints.read_only_hint != Some(true)
    }

    /// What the server says of the tool, as lines.
    pub(super) fn words(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(title) = &self.title {
            lines.push(format!("Title: {title}"));
        }
        if let Some(description) = &self.description {
            lines.extend(description.split('\n').map(visible));
        }
        let hints = [
            (self.hints.read_only_hint, "only reads", "changes things"),
            (
                self.hints.destructive_hint,
                "may destroy something",
                "destroys nothing",
            ),
            (
                self.hints.idempotent_hint,
                "may be repeated",
                "must not be repeated",
            ),
            (
                self.hints.open_world_hint,
                "reaches beyond this system",
                "stays within this system",
            ),
        ];
        let hints = hints.iter().filter_map(|(hint, yes, no)| {
            let hint = (*hint)?;
            Some(if hint { *yes } else { *no })
        });
        let hints: Vec<&str> = hints.collect();
        if !hints.is_empty() {
            lines.push(format!("Hints: {}", hints.join(", ")));
        }
        lines
    }
}

/// A text of one line, if it is one.
fn line(value: &Value, limit: usize) -> Option<String> {
    let text = value.as_str()?.trim();
    (!text.is_empty()).then(|| visible(&cut(text, limit)).replace('\t', " "))
}

fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_known_by_what_their_server_says() {
        let known = KnownTools::default();
        known.note(
            r#"{"tools":[{"name":"rm","title":" Re\nmove ","description":"Deletes.\u202e",
                "annotations":{"readOnlyHint":false,"destructiveHint":true},
                "inputSchema":{"properties":{"path":{"title":"File"},"n":true}}},
                {"name":"ls","annotations":{"readOnlyHint":true}},
                {"name":"fmt","annotations":{"destructiveHint":false}},
                {"name":"odd","annotations":{"readOnlyHint":"yes"},"description":7},
                7]}"#,
        );
        let rm = known.get("rm");
        assert_eq!(
            rm.words(),
            [
                "Title: Re\\u{a}move",
                "Deletes.\\u{202e}",
                "Hints: changes things, may destroy something"
            ]
        );
        assert_eq!(rm.titles["path"], "File");
        assert!(rm.is_destructive());
        assert!(!known.get("ls").is_destructive());
        assert!(!known.get("fmt").is_destructive());
        // What says nothing may do everything.
        assert!(known.get("odd").is_destructive());
        assert!(known.get("unknown").is_destructive());
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let known = KnownTools::default();
        let tools: Vec<_> = (0..MAX_TOOLS + 5)
            .map(|n| serde_json::json!({"name": format!("t{n}"), "description": "x".repeat(9_000)}))
            .collect();
        known.note(&serde_json::json!({"tools": tools}).to_string());
        assert!(known.0.lock().tools.len() <= MAX_TOOLS);
        assert!(known.0.lock().bytes <= MAX_BYTES);
        assert_eq!(
            known.get("t0").words()[0].chars().count(),
            MAX_DESCRIPTION + 1
        );
        // Each list may have new names, of any length.
        for n in 0..10 {
            let tools = [serde_json::json!({"name": "n".repeat(n + (1 << 20)), "title": "t"})];
            known.note(&serde_json::json!({"tools": tools}).to_string());
        }
        assert!(known.0.lock().tools.keys().all(|name| name.len() < 1 << 10));
        let small: Vec<_> = (0..MAX_TOOLS + 5)
            .map(|n| serde_json::json!({"name": format!("s{n}")}))
            .collect();
        let known = KnownTools::default();
        known.note(&serde_json::json!({"tools": small}).to_string());
        assert_eq!(known.0.lock().tools.len(), MAX_TOOLS);
    }
}
