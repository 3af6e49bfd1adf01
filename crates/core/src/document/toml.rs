//! TOML; unquoted dates become text.

use serde::de::DeserializeSeed as _;
use serde_json::Value;
use toml::Deserializer;

use super::Tree;

pub(super) fn read(text: &str, tree: Tree<'_>) -> Result<Value, String> {
    Deserializer::parse(text)
        .and_then(|toml| tree.deserialize(toml))
        .map_err(|error| one_line(text, &error))
}

/// Formats an error on one line, without the source excerpt.
fn one_line(text: &str, error: &toml::de::Error) -> String {
    let message = error.message().replace('\n', ", ");
    let Some(before) = error.span().and_then(|span| text.get(..span.start)) else {
        return message;
    };
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or(before).chars().count() + 1;
    format!("{message} at line {line} column {column}")
}
