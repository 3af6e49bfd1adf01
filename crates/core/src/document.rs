//! Parses text into a JSON tree, strictly: ambiguity is an error, and size and depth are bounded.
//!
//! JSON, YAML and TOML produce the same tree. Every duplicate key is reported, so `serde_json`
//! cannot build the tree itself: it silently keeps the last one.

#[cfg(feature = "toml")]
mod toml;
#[cfg(feature = "yaml")]
mod yaml;

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::problem::{Problem, ProblemCode, ProblemList, Problems};

/// The notation of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// JSON (RFC 8259).
    Json,
    /// YAML 1.2: only `true` and `false` are booleans. Needs the feature `yaml`.
    Yaml,
    /// TOML 1. Needs the feature `toml`.
    Toml,
}

impl Notation {
    /// Guesses the notation from a file name's extension. Defaults to JSON.
    pub fn of_file_name(name: &str) -> Self {
        match name.rsplit_once('.').map(|(_, ending)| ending) {
            Some("yaml" | "yml") => Self::Yaml,
            Some("toml") => Self::Toml,
            _ => Self::Json,
        }
    }
}

/// The maximum size of a definition or schema text.
pub const MAX_DOCUMENT_BYTES: usize = 1024 * 1024;

/// The maximum nesting depth of a definition, which is also `serde_json`'s limit.
const MAX_DEPTH: usize = 127;

/// Parses a document into a JSON tree whose objects keep their order.
///
/// Fails with every duplicate key, or with the first syntax error. Numbers that JSON cannot
/// represent (`.inf`, `1e400`) are syntax errors. So is all text in a notation whose feature is
/// disabled; the message names the feature.
///
/// ```
/// use entreat_core::document::{read, Notation};
/// let tree = read(r#"{"id":"demo","fields":[]}"#, Notation::Json).unwrap();
/// assert_eq!(tree["id"], "demo");
/// assert!(read(r#"{"a":1,"a":2}"#, Notation::Json).is_err());
/// ```
pub fn read(text: &str, notation: Notation) -> Result<Value, Problems> {
    if text.len() > MAX_DOCUMENT_BYTES {
        return Err(Problems::one(
            "",
            ProblemCode::TooLarge,
            format!(
                "The document has {} bytes; the limit is {MAX_DOCUMENT_BYTES}.",
                text.len()
            ),
        ));
    }
    // Some editors on Windows prepend a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut duplicates = ProblemList::default();
    let mut pointer = String::new();
    let tree = Tree::new(&mut duplicates, &mut pointer);
    let value = match notation {
        Notation::Json => read_json(text, tree),
        #[cfg(feature = "yaml")]
        Notation::Yaml => yaml::read(text, tree),
        #[cfg(not(feature = "yaml"))]
        Notation::Yaml => Err("YAML needs the Cargo feature `yaml` of Entreat".to_owned()),
        #[cfg(feature = "toml")]
        Notation::Toml => toml::read(text, tree),
        #[cfg(not(feature = "toml"))]
        Notation::Toml => Err("TOML needs the Cargo feature `toml` of Entreat".to_owned()),
    };
    let value = value.map_err(|error| {
        Problems::one(
            "",
            ProblemCode::Syntax,
            format!("The text cannot be parsed: {error}."),
        )
    })?;
    if duplicates.is_empty() {
        Ok(value)
    } else {
        Err(duplicates.into_problems())
    }
}

fn read_json(text: &str, tree: Tree<'_>) -> Result<Value, String> {
    let mut json = serde_json::Deserializer::from_str(text);
    tree.deserialize(&mut json)
        .and_then(|value| json.end().map(|()| value))
        .map_err(|error| error.to_string())
}

/// Builds a tree from any deserializer and records duplicate keys.
struct Tree<'s> {
    duplicates: &'s mut ProblemList,
    pointer: &'s mut String,
    depth: usize,
}

impl<'s> Tree<'s> {
    fn new(duplicates: &'s mut ProblemList, pointer: &'s mut String) -> Self {
        Self {
            duplicates,
            pointer,
            depth: 0,
        }
    }

    fn child(&mut self) -> Tree<'_> {
        Tree {
            duplicates: self.duplicates,
            pointer: self.pointer,
            depth: self.depth + 1,
        }
    }

    fn check_depth<E: serde::de::Error>(&self) -> Result<(), E> {
        if self.depth >= MAX_DEPTH {
            return Err(E::custom(format_args!(
                "nested more than {MAX_DEPTH} levels deep"
            )));
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Tree<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that JSON can hold")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        serde_json::Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("infinity and NaN are not numbers here"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        self.check_depth()?;
        let mut list = Vec::new();
        loop {
            let length = self.pointer.len();
            push_token(self.pointer, &list.len().to_string());
            let item = items.next_element_seed(self.child())?;
            self.pointer.truncate(length);
            match item {
                Some(item) => list.push(item),
                None => return Ok(Value::Array(list)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<Value, A::Error> {
        self.check_depth()?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if key == TOML_DATETIME {
                return entries.next_value().map(Value::String);
            }
            let length = self.pointer.len();
            push_token(self.pointer, &key);
            let value = entries.next_value_seed(self.child())?;
            if !map.contains_key(&key) {
                map.insert(key, value);
            } else if !self.duplicates.is_full() {
                self.duplicates.push(Problem {
                    pointer: self.pointer.clone(),
                    code: ProblemCode::DuplicateKey,
                    message: format!("The key `{key}` appears more than once; keep one."),
                    suggestion: None,
                });
            }
            self.pointer.truncate(length);
        }
        Ok(Value::Object(map))
    }
}

/// The single key of the map by which the `toml` crate represents an unquoted date.
const TOML_DATETIME: &str = "$__toml_private_datetime";

/// Appends a reference token to a JSON pointer (RFC 6901).
pub(crate) fn push_token(pointer: &mut String, token: &str) {
    pointer.push('/');
    for c in token.chars() {
        match c {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            c => pointer.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn three_notations_give_one_tree() {
        let json = r#"{"id":"x","fields":[{"n":1.5,"on":true}],"when":"2026-01-02"}"#;
        let yaml = "id: x\nfields:\n  - n: 1.5\n    on: true\nwhen: 2026-01-02\n";
        let toml = "id = \"x\"\nwhen = 2026-01-02\n[[fields]]\nn = 1.5\non = true\n";
        let expected = json!({"id":"x","fields":[{"n":1.5,"on":true}],"when":"2026-01-02"});
        assert_eq!(read(json, Notation::Json).unwrap(), expected);
        assert_eq!(read(yaml, Notation::Yaml).unwrap(), expected);
        assert_eq!(read(toml, Notation::Toml).unwrap(), expected);
    }

    #[test]
    fn yaml_words_that_are_no_booleans_stay_words() {
        let tree = read("a: no\nb: on\nc: yes\nd: \"1\"\ne: ~", Notation::Yaml).unwrap();
        assert_eq!(tree, json!({"a":"no","b":"on","c":"yes","d":"1","e":null}));
    }

    #[test]
    fn every_duplicate_key_is_named_with_its_place() {
        let text = r#"{"a":{"x/y":1,"x/y":2},"b":[{"c":1,"c":1}]}"#;
        let problems = read(text, Notation::Json).unwrap_err();
        let places: Vec<_> = problems.iter().map(|p| p.pointer.as_str()).collect();
        assert_eq!(places, ["/a/x~1y", "/b/0/c"]);
        assert!(read("a: 1\na: 2\n", Notation::Yaml).is_err());
        assert!(read("a = 1\na = 2\n", Notation::Toml).is_err());
    }

    #[test]
    fn hostile_documents_are_refused_in_bounded_time() {
        let deep_json = "[".repeat(10_000);
        let deep_yaml = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
        let deep_toml = format!("a = {deep_yaml}");
        let aliases = (1..30).fold("a0: &a0 [x,x]\n".to_owned(), |text, i| {
            let before = i - 1;
            format!("{text}a{i}: &a{i} [*a{before},*a{before}]\n")
        });
        let long_text = format!(
            "a: &a {}\nb: [{}]",
            "x".repeat(30_000),
            "*a,".repeat(10_000)
        );
        let long_list = format!(
            "a: &a [{}]\nb: [{}]",
            "x,".repeat(1000),
            "*a,".repeat(10_000)
        );
        for (text, notation) in [
            (deep_json.as_str(), Notation::Json),
            (&deep_yaml, Notation::Json),
            (&deep_yaml, Notation::Yaml),
            (&deep_toml, Notation::Toml),
            (&aliases, Notation::Yaml),
            (&long_text, Notation::Yaml),
            (&long_list, Notation::Yaml),
            (r#"{"a":1e400}"#, Notation::Json),
            ("a: .inf", Notation::Yaml),
            ("a = nan", Notation::Toml),
            (r#"{"a":NaN}"#, Notation::Json),
            (r#"{"a":"\ud800"}"#, Notation::Json),
            (r#"{"a":1} x"#, Notation::Json),
        ] {
            let problems = read(text, notation).unwrap_err();
            assert_eq!(problems.iter().next().unwrap().code, ProblemCode::Syntax);
        }
        let large = " ".repeat(MAX_DOCUMENT_BYTES + 1);
        let problems = read(&large, Notation::Json).unwrap_err();
        assert_eq!(problems.iter().next().unwrap().code, ProblemCode::TooLarge);
    }
}
