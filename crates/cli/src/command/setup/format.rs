//! Edits a configuration without touching anything but one entry, whatever the format.
//!
//! Each format changes text by cutting and inserting, never by writing a parsed document back:
//! writers lose what people care about, such as line ends, or the layout of other entries. Every
//! change is then read again and compared with what it should mean.

use anyhow::{Context as _, bail, ensure};
use serde_json::{Map, Value};

use super::wrap::Places;
use super::{json, toml};

/// The format of a configuration, with the key whose members are the servers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Format {
    /// As the standard has it.
    Json {
        key: &'static str,
    },
    /// With comments and trailing commas.
    Jsonc {
        key: &'static str,
    },
    Toml {
        key: &'static str,
    },
    /// Only printed.
    Yaml {
        key: &'static str,
    },
}

/// An entry as it is in a file.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) value: Value,
    /// As it is written.
    pub(super) text: String,
}

impl Format {
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Json { key } | Self::Jsonc { key } | Self::Toml { key } | Self::Yaml { key } => {
                key
            }
        }
    }

    /// Whether `entreat setup` can edit files of this format.
    pub(super) fn is_edited(self) -> bool {
        !matches!(self, Self::Yaml { .. })
    }

    /// Finds the entry of a name.
    pub(super) fn find(self, text: &str, name: &str) -> anyhow::Result<Option<Found>> {
        match self {
            Self::Json { key } => json::Document::parse_strictly(text)?.find(key, name),
            Self::Jsonc { key } => json::Document::parse(text)?.find(key, name),
            Self::Toml { key } => toml::Document::parse(text)?.find(key, name),
            Self::Yaml { .. } => bail!("YAML is not edited"),
        }
    }

    /// Adds an entry whose name is not there.
    pub(super) fn add(
        self,
        text: &str,
        name: &str,
        entry: &Map<String, Value>,
    ) -> anyhow::Result<String> {
        let changed = match self {
            Self::Json { key } => json::Document::parse_strictly(text)?.add(key, name, entry)?,
            Self::Jsonc { key } => json::Document::parse(text)?.add(key, name, entry)?,
            Self::Toml { key } => toml::Document::parse(text)?.add(key, name, entry)?,
            Self::Yaml { .. } => bail!("YAML is not edited"),
        };
        self.ensure_meaning(text, changed, name, Some(entry))
    }

    /// Replaces an entry that is there.
    pub(super) fn replace(
        self,
        text: &str,
        name: &str,
        entry: &Map<String, Value>,
    ) -> anyhow::Result<String> {
        let changed = match self {
            Self::Json { key } => {
                json::Document::parse_strictly(text)?.replace(key, name, entry)?
            }
            Self::Jsonc { key } => json::Document::parse(text)?.replace(key, name, entry)?,
            Self::Toml { key } => {
                let without = toml::Document::parse(text)?.remove(key, name)?;
                toml::Document::parse(&without)?.add(key, name, entry)?
            }
            Self::Yaml { .. } => bail!("YAML is not edited"),
        };
        self.ensure_meaning(text, changed, name, Some(entry))
    }

    /// Removes an entry that is there.
    pub(super) fn remove(self, text: &str, name: &str) -> anyhow::Result<String> {
        let changed = match self {
            Self::Json { key } => json::Document::parse_strictly(text)?.remove(key, name)?,
            Self::Jsonc { key } => json::Document::parse(text)?.remove(key, name)?,
            Self::Toml { key } => toml::Document::parse(text)?.remove(key, name)?,
            Self::Yaml { .. } => bail!("YAML is not edited"),
        };
        self.ensure_meaning(text, changed, name, None)
    }

    /// Where the parts of an entry are that is there.
    pub(super) fn places(self, text: &str, name: &str) -> anyhow::Result<Places> {
        match self {
            Self::Json { key } => json::Document::parse_strictly(text)?.places(key, name),
            Self::Jsonc { key } => json::Document::parse(text)?.places(key, name),
            Self::Toml { key } => toml::Document::parse(text)?.places(key, name),
            Self::Yaml { .. } => bail!("YAML is not edited"),
        }
    }

    /// A member with a value that is written already.
    pub(super) fn member(self, name: &str, value: &str) -> String {
        match self {
            Self::Json { .. } | Self::Jsonc { .. } => format!("{}: {value}", Value::from(name)),
            Self::Toml { .. } => format!("{name} = {value}"),
            Self::Yaml { .. } => format!("{name}: {value}"),
        }
    }

    /// What an entry says that is written in one piece.
    pub(super) fn value(self, text: &str) -> anyhow::Result<Map<String, Value>> {
        self.meaning(text)
    }

    /// A whole configuration with this entry alone.
    pub(super) fn snippet(self, name: &str, entry: &Map<String, Value>) -> anyhow::Result<String> {
        match self {
            Self::Yaml { key } => Ok(yaml(key, name, entry)),
            _ => self.add("", name, entry),
        }
    }

    /// Fails unless the change did to the meaning of the text what it was made for.
    pub(super) fn ensure_meaning(
        self,
        before: &str,
        after: String,
        name: &str,
        entry: Option<&Map<String, Value>>,
    ) -> anyhow::Result<String> {
        let mut expected = self.meaning(before)?;
        let servers = expected
            .entry(self.key())
            .or_insert_with(|| Value::Object(Map::new()));
        let servers = servers.as_object_mut().context("servers are an object")?;
        match entry {
            Some(entry) => servers.insert(name.to_owned(), Value::Object(entry.clone())),
            None => servers.shift_remove(name),
        };
        let mut found = self.meaning(&after)?;
        // A table without entries needs no header in TOML.
        for tree in [&mut expected, &mut found] {
            if tree.get(self.key()) == Some(&Value::Object(Map::new())) {
                tree.shift_remove(self.key());
            }
        }
        ensure!(
            expected == found,
            "the entry `{name}` can't be changed without changing other entries: edit the file \
             yourself"
        );
        Ok(after)
    }

    fn meaning(self, text: &str) -> anyhow::Result<Map<String, Value>> {
        let value = match self {
            Self::Toml { .. } => toml::meaning(text)?,
            _ => json::meaning(text)?,
        };
        match value {
            Value::Object(members) => Ok(members),
            _ => Ok(Map::new()),
        }
    }
}

/// An entry in YAML. JSON's strings, numbers and lists are YAML's too, so that nothing in a path
/// needs a second thought.
fn yaml(key: &str, name: &str, entry: &Map<String, Value>) -> String {
    let members = entry.iter();
    let members: Vec<_> = members
        .map(|(key, value)| format!("    {key}: {value}\n"))
        .collect();
    let members = members.concat();
    format!("{key}:\n  {name}:\n{members}")
}

/// Says where something in a text is.
pub(super) fn position(text: &str, offset: usize) -> String {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or(before).chars().count() + 1;
    format!("line {line}, column {column}")
}

/// The line end that a text uses.
pub(super) fn line_end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}
