//! `x-mcp-header`: arguments of tools that are repeated in headers, towards servers and from clients.

use std::borrow::Cow;
use std::collections::HashMap;

use entreat_wire::headers::{PARAM_PREFIX, decode};
use http::{HeaderMap, HeaderName};
use memchr::memmem;
use parking_lot::Mutex;
use serde_json::value::RawValue;

use crate::json::RawObject;
use crate::log::LineThrottle;

const ANNOTATION: &str = "x-mcp-header";
/// How many tools with such arguments are remembered.
const MAX_TOOLS: usize = 4_096;
/// How many bytes their names have together.
const MAX_BYTES: usize = 4 << 20;
/// How many of its arguments a tool may have repeated, and how deep they may be.
const MAX_HEADERS: usize = 64;
const MAX_DEPTH: usize = 32;
/// The integers that every peer reads alike.
const SAFE: f64 = 9_007_199_254_740_991.0;

/// What the lists of tools that went by said about headers.
#[derive(Debug, Default)]
pub(crate) struct ToolHeaders(Mutex<Known>, LineThrottle);

#[derive(Debug, Default)]
struct Known {
    tools: HashMap<String, Vec<Repeated>>,
    bytes: usize,
}

impl Known {
    fn remove(&mut self, name: &str) {
        if let Some((name, repeated)) = self.tools.remove_entry(name) {
            self.bytes -= size(&name, &repeated);
        }
    }

    /// Remembers a tool; returns whether there is room for it.
    fn insert(&mut self, name: String, repeated: Vec<Repeated>) -> bool {
        self.remove(&name);
        let bytes = self.bytes + size(&name, &repeated);
        let has_room = self.tools.len() < MAX_TOOLS && bytes <= MAX_BYTES;
        if has_room {
            self.bytes = bytes;
            self.tools.insert(name, repeated);
        }
        has_room
    }
}

/// How many bytes a tool takes.
fn size(name: &str, repeated: &[Repeated]) -> usize {
    let paths = repeated.iter().map(|it| {
        let path = it.path.iter().map(String::len).sum::<usize>();
        it.header.as_str().len() + path
    });
    name.len() + paths.sum::<usize>()
}

/// An argument that is repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Repeated {
    header: HeaderName,
    path: Vec<String>,
}

impl ToolHeaders {
    /// Returns the headers of a call.
    pub(crate) fn values(
        &self,
        tool: &str,
        arguments: &RawObject<'_>,
    ) -> Vec<(HeaderName, String)> {
        let known = self.0.lock();
        let Some(repeated) = known.tools.get(tool) else {
            return Vec::new();
        };
        let values = repeated.iter().filter_map(|it| {
            let value = value_at(arguments, &it.path)?;
            Some((it.header.clone(), value.text))
        });
        values.collect()
    }

    /// Whether no tool has such arguments.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().tools.is_empty()
    }

    /// Compares the headers of a call with its arguments: each is there with the argument's value,
    /// or both are absent. Returns what differs.
    pub(crate) fn mismatch(
        &self,
        tool: &str,
        arguments: &RawObject<'_>,
        headers: &HeaderMap,
    ) -> Option<String> {
        let known = self.0.lock();
        known.tools.get(tool)?.iter().find_map(|repeated| {
            let name = &repeated.header;
            let mut values = headers.get_all(name).iter();
            let found = values.next().map(|value| decode(value.to_str().ok()?));
            let is_single = values.next().is_none();
            match (value_at(arguments, &repeated.path), found) {
                (None, None) => None,
                (None, Some(_)) => Some(format!("the header {name} must not be there")),
                (Some(value), Some(Some(found))) if is_single && value.is_same(&found) => None,
                (Some(_), _) => Some(format!(
                    "the header {name} must be there once, as the argument {:?} says",
                    repeated.path.join(".")
                )),
            }
        })
    }

    /// Reads a result of `tools/list`. Returns it without the tools whose annotations are invalid,
    /// if there are any: a client has to exclude them.
    pub(crate) fn learn(&self, result: &str) -> Option<String> {
        let has_annotations = memmem::find(result.as_bytes(), ANNOTATION.as_bytes()).is_some();
        if !has_annotations && self.is_empty() {
            return None;
        }
        let mut list = RawObject::parse(result)?;
        let tools: Vec<&RawValue> = serde_json::from_str(list.get("tools")?).ok()?;
        let count = tools.len();
        let mut kept = Vec::with_capacity(count);
        let mut problem = None;
        for tool in tools {
            match self.learn_tool(tool.get()) {
                Ok(()) => kept.push(tool.get()),
                Err(found) => problem = problem.or(Some(found)),
            }
        }
        let problem = problem?;
        // One line, however many there are.
        let count = count - kept.len();
        if let Some(times) = self.1.count() {
            tracing::warn!(
                count,
                times,
                "tools are left out, the first because {problem}"
            );
        }
        let kept = format!("[{}]", kept.join(","));
        list.set("tools", Cow::Owned(kept));
        Some(list.to_string())
    }

    /// Remembers a tool, if it is valid.
    fn learn_tool(&self, tool: &str) -> Result<(), &'static str> {
        // What is no tool is for the client to judge.
        let Some(tool) = RawObject::parse(tool) else {
            return Ok(());
        };
        let Some(name) = tool.string("name") else {
            return Ok(());
        };
        let mut repeated = Vec::new();
        if let Some(schema) = tool.get("inputSchema")
            && let Err(problem) = read_schema(schema, &mut Vec::new(), &mut repeated)
        {
            self.0.lock().remove(&name);
            return Err(problem);
        }
        let mut known = self.0.lock();
        if repeated.is_empty() {
            known.remove(&name);
            return Ok(());
        }
        // Without its headers, each call would have the list read again.
        if !known.insert(name, repeated) {
            return Err("too many others have arguments in headers");
        }
        Ok(())
    }
}

/// Collects the annotations of a schema, which stand only where nothing but `properties` leads.
fn read_schema(
    schema: &str,
    path: &mut Vec<String>,
    repeated: &mut Vec<Repeated>,
) -> Result<(), &'static str> {
    // Without the word, there is nothing to find, however deep it goes.
    if memmem::find(schema.as_bytes(), ANNOTATION.as_bytes()).is_none() {
        return Ok(());
    }
    if path.len() > MAX_DEPTH {
        return Err("its schema is nested too deeply");
    }
    let Some(schema) = RawObject::parse(schema) else {
        return Ok(());
    };
    if let Some(annotation) = schema.get(ANNOTATION) {
        let is_primitive = matches!(
            schema.get("type"),
            Some(r#""string""# | r#""integer""# | r#""boolean""#)
        );
        if path.is_empty() || !is_primitive {
            return Err("`x-mcp-header` is on something else than a string, integer or boolean");
        }
        add(annotation, path, repeated)?;
    }
    for (keyword, value) in schema.iter() {
        match keyword {
            "properties" => {
                let Some(properties) = RawObject::parse(value) else {
                    continue;
                };
                for (name, property) in properties.iter() {
                    path.push(name.to_owned());
                    read_schema(property, path, repeated)?;
                    path.pop();
                }
            }
            // Data, in which the word means nothing.
            ANNOTATION | "default" | "const" | "enum" | "examples" | "title" | "description" => {}
            _ if has_annotation(value, 0) => {
                return Err("`x-mcp-header` is not reachable through `properties` alone");
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether a value has the annotation as a member, at any depth.
fn has_annotation(value: &str, depth: usize) -> bool {
    if depth > MAX_DEPTH || memmem::find(value.as_bytes(), ANNOTATION.as_bytes()).is_none() {
        return false;
    }
    if let Some(object) = RawObject::parse(value) {
        return object
            .iter()
            .any(|(name, value)| name == ANNOTATION || has_annotation(value, depth + 1));
    }
    match serde_json::from_str::<Vec<&RawValue>>(value) {
        Ok(items) => items.iter().any(|it| has_annotation(it.get(), depth + 1)),
        Err(_) => false,
    }
}

fn add(
    annotation: &str,
    path: &[String],
    repeated: &mut Vec<Repeated>,
) -> Result<(), &'static str> {
    let name: String = serde_json::from_str(annotation).map_err(|_| "`x-mcp-header` is no text")?;
    if name.is_empty() {
        return Err("`x-mcp-header` is empty");
    }
    let header = HeaderName::try_from(format!("{PARAM_PREFIX}{name}"));
    let header = header.map_err(|_| "`x-mcp-header` is not the name of a header")?;
    if repeated.iter().any(|it| it.header == header) {
        return Err("two arguments have the same `x-mcp-header`");
    }
    if repeated.len() == MAX_HEADERS {
        return Err("it has too many `x-mcp-header`");
    }
    let path = path.to_vec();
    repeated.push(Repeated { header, path });
    Ok(())
}

/// Returns an argument as a header shows it; `None` if it is absent, null, or nothing that a header
/// can show.
fn value_at(arguments: &RawObject<'_>, path: &[String]) -> Option<HeaderText> {
    let (first, rest) = path.split_first()?;
    let value = arguments.get(first)?;
    if !rest.is_empty() {
        return value_at(&RawObject::parse(value)?, rest);
    }
    let is_number = matches!(value.as_bytes().first()?, b'-' | b'0'..=b'9');
    let text = match value.as_bytes().first()? {
        b'"' => serde_json::from_str(value).ok()?,
        b't' | b'f' => value.to_owned(),
        _ if is_number => integer(value).unwrap_or_else(|| value.to_owned()),
        _ => return None,
    };
    Some(HeaderText { text, is_number })
}

/// An argument as a header shows it.
struct HeaderText {
    text: String,
    is_number: bool,
}

impl HeaderText {
    /// Whether a header has this value. Numbers may be written in several ways.
    fn is_same(&self, found: &str) -> bool {
        let number = || integer(found).is_some_and(|found| found == self.text);
        self.text == found || self.is_number && number()
    }
}

/// Writes an integer without fraction and exponent.
fn integer(text: &str) -> Option<String> {
    if !text.contains(['.', 'e', 'E']) {
        return None;
    }
    let number: f64 = text.parse().ok()?;
    (number.fract() == 0.0 && number.abs() <= SAFE).then(|| format!("{number:.0}"))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn list(schema: &str) -> String {
        format!(r#"{{"tools":[{{"name":"a","inputSchema":{schema}}},{{"name":"b"}}],"x":1.0}}"#)
    }

    fn values(headers: &ToolHeaders, arguments: &str) -> Vec<(String, String)> {
        let arguments = RawObject::parse(arguments).unwrap();
        let values = headers.values("a", &arguments).into_iter();
        values
            .map(|(name, value)| (name.to_string(), value))
            .collect()
    }

    #[test]
    fn annotated_arguments_become_headers() {
        let headers = ToolHeaders::default();
        let schema = r#"{"type":"object","properties":{
            "s":{"type":"string","x-mcp-header":"Region"},
            "n":{"type":"object","properties":{"i":{"type":"integer","x-mcp-header":"I"}}},
            "b":{"type":"boolean","x-mcp-header":"B"},
            "other":{"type":"string","description":"not x-mcp-header"}}}"#;
        assert_eq!(headers.learn(&list(schema)), None);
        let found = values(
            &headers,
            r#"{"s":"a\"b","n":{"i":42.0},"b":true,"other":"x"}"#,
        );
        let expected = [
            ("mcp-param-region", "a\"b"),
            ("mcp-param-i", "42"),
            ("mcp-param-b", "true"),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(found, expected);
        assert!(values(&headers, r#"{"s":null,"n":{}}"#).is_empty());
        // It has lost its annotations.
        assert_eq!(headers.learn(&list("{}")), None);
        assert!(values(&headers, r#"{"s":"a"}"#).is_empty());
    }

    #[test]
    fn what_lists_say_one_after_the_other_is_bounded() {
        let headers = ToolHeaders::default();
        let list = |name: &str, argument: &str| {
            format!(
                r#"{{"tools":[{{"name":"{name}","inputSchema":{{"properties":{{"{argument}":{{"type":"string","x-mcp-header":"A"}}}}}}}}]}}"#
            )
        };
        let long = "x".repeat(1 << 20);
        let mut left_out = 0;
        for n in 0..10 {
            left_out += usize::from(headers.learn(&list(&format!("a{n}"), &long)).is_some());
            left_out += usize::from(headers.learn(&list(&format!("{n}{long}"), "a")).is_some());
        }
        assert!(left_out >= 16 && headers.0.lock().bytes <= MAX_BYTES);
        // A tool may say something else of itself.
        for _ in 0..10 {
            assert_eq!(headers.learn(&list("a0", "b")), None);
        }
    }

    #[test]
    fn headers_of_a_call_must_repeat_its_arguments() {
        let known = ToolHeaders::default();
        let schema = r#"{"properties":{"s":{"type":"string","x-mcp-header":"S"},
            "i":{"type":"integer","x-mcp-header":"I"}}}"#;
        known.learn(&list(schema));
        let fits = |arguments: &str, pairs: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.append(*name, HeaderValue::from_static(value));
            }
            let arguments = RawObject::parse(arguments).unwrap();
            known.mismatch("a", &arguments, &headers).is_none()
        };
        let s = ("mcp-param-s", "42");
        let i = ("mcp-param-i", "42");
        assert!(fits(r#"{"s":"42","i":42}"#, &[s, i]));
        assert!(fits(
            r#"{"s":"42","i":42.0}"#,
            &[s, ("mcp-param-i", "4.2e1")]
        ));
        // Headers that no tool has are others' business.
        assert!(fits(r#"{"s":null}"#, &[("mcp-param-other", "x")]));
        assert!(!fits(r#"{"s":"42.0"}"#, &[s]));
        assert!(!fits(r#"{"s":"42"}"#, &[]));
        assert!(!fits(r#"{"s":"42"}"#, &[s, s]));
        assert!(!fits("{}", &[s]));
        assert!(!fits(r#"{"i":43}"#, &[i]));
    }

    #[test]
    fn a_tool_with_invalid_annotations_is_left_out_and_the_rest_stays_as_it_was() {
        for schema in [
            r#"{"properties":{"a":{"type":"string","x-mcp-header":""}}}"#,
            r#"{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}"#,
            r#"{"properties":{"a":{"type":"string","x-mcp-header":1}}}"#,
            r#"{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}"#,
            r#"{"properties":{"a":{"x-mcp-header":"A"}}}"#,
            r#"{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}"#,
            r#"{"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}"#,
            r#"{"anyOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}"#,
            r#"{"$defs":{"a":{"type":"string","x-mcp-header":"A"}}}"#,
        ] {
            let headers = ToolHeaders::default();
            let left = headers.learn(&list(schema));
            assert_eq!(
                left.as_deref(),
                Some(r#"{"tools":[{"name":"b"}],"x":1.0}"#),
                "{schema}"
            );
        }
    }
}
