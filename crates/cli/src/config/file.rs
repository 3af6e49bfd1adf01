//! The configuration file: TOML, in which every key is known.
//!
//! Reads names, texts and lines, and judges no value. What is wrong is noted, and the rest is read
//! all the same.

use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use entreat_core::closest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::asker::{self, GivenAsker};
use super::origin::Origin;
use super::setting::{SETTINGS, Setting};
use super::value::Given;
use super::wrong::Wrong;
use crate::output;

/// Larger files are something else.
const MAX_BYTES: usize = 1 << 20;
/// The key under which askers stand.
const ASKER: &str = "asker";

/// A file that is there.
pub(super) struct File {
    name: String,
    path: PathBuf,
    folder: PathBuf,
    text: String,
}

/// Values that stand together, and what is wrong with them.
struct Group<'a> {
    known: &'a [&'static str],
    values: &'a mut Vec<Given>,
    wrong: &'a mut Wrong,
}

/// What a file says.
pub(super) struct Contents {
    pub(super) values: Vec<Given>,
    pub(super) askers: Vec<GivenAsker>,
}

impl File {
    /// Reads the file; `None` if it is not there.
    pub(super) fn open(path: &Path) -> anyhow::Result<Option<Self>> {
        let name = output::plain(&path.to_string_lossy()).into_owned();
        let failed = || format!("cannot read the configuration in {name}");
        let file = match std::fs::File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(failed),
        };
        let mut text = String::new();
        let mut file = file.take(MAX_BYTES as u64 + 1);
        file.read_to_string(&mut text).with_context(failed)?;
        ensure!(
            text.len() <= MAX_BYTES,
            "{name} is too large to be a configuration"
        );
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Some(Self {
            name,
            path: path.to_owned(),
            folder,
            text,
        }))
    }

    /// Its name, as it may be shown.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Where it lies.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the text apart. If it is no TOML, nothing in it counts.
    pub(super) fn read(&self, wrong: &mut Wrong) -> Contents {
        let mut contents = Contents {
            values: Vec::new(),
            askers: Vec::new(),
        };
        let (table, errors) = DeTable::parse_recoverable(&self.text);
        for error in &errors {
            let start = error.span().map_or(0, |span| span.start);
            let words = error.message().replace('\n', "; ");
            wrong.tell(&self.origin(start), output::plain(&words));
        }
        if !errors.is_empty() {
            return contents;
        }
        let known = names(|_| true, &[ASKER]);
        for (key, value) in table.get_ref() {
            if key.get_ref() == ASKER {
                contents.askers = self.askers(value, wrong);
            } else {
                let mut group = Group {
                    known: &known,
                    values: &mut contents.values,
                    wrong: &mut *wrong,
                };
                self.collect("", key, value, &mut group);
            }
        }
        contents.values.sort_by_key(|given| given.origin.line());
        contents
    }

    fn askers(&self, value: &Spanned<DeValue<'_>>, wrong: &mut Wrong) -> Vec<GivenAsker> {
        let known = names(Setting::is_of_askers, asker::OWN_KEYS);
        let place = "askers stand in tables that begin with [[asker]]";
        let mut askers = Vec::new();
        let Some(tables) = value.get_ref().as_array() else {
            wrong.tell(&self.origin(value.span().start), place);
            return askers;
        };
        for table in tables {
            let origin = self.origin(table.span().start);
            let Some(members) = table.get_ref().as_table() else {
                wrong.tell(&origin, place);
                continue;
            };
            let mut values = Vec::new();
            for (key, value) in members {
                let mut group = Group {
                    known: &known,
                    values: &mut values,
                    wrong: &mut *wrong,
                };
                self.collect("", key, value, &mut group);
            }
            askers.push(GivenAsker {
                origin,
                folder: self.folder.clone(),
                values,
            });
        }
        askers
    }

    /// Adds a value, or those of a table; notes what is not known.
    fn collect(
        &self,
        above: &str,
        key: &Spanned<toml::de::DeString<'_>>,
        value: &Spanned<DeValue<'_>>,
        group: &mut Group<'_>,
    ) {
        let name = format!("{above}{}", key.get_ref());
        let origin = self.origin(key.span().start);
        let shown = output::plain(&name).into_owned();
        let below = format!("{name}.");
        let known = group.known;
        let is_group = known.iter().any(|known| known.starts_with(&below));
        match value.get_ref() {
            DeValue::Table(table) if is_group => {
                for (key, value) in table {
                    self.collect(&below, key, value, group);
                }
                return;
            }
            _ if is_group => {
                let words = format!("`{shown}` is a table: [{shown}]");
                return group.wrong.tell(&origin, words);
            }
            _ if !known.contains(&name.as_str()) => {
                let meant = closest(&name, known);
                let meant = meant.map(|meant| format!("; did you mean `{meant}`?"));
                let meant = meant.unwrap_or_default();
                let words = format!("there is no setting `{shown}`{meant}");
                return group.wrong.tell(&origin, words);
            }
            _ => {}
        }
        let Some(text) = scalar(value.get_ref()) else {
            let kind = value.get_ref().type_str();
            let refused = format!("it is a text or a whole number, not a {kind}");
            return group.wrong.refuse(&origin, &shown, &refused);
        };
        let is_path = Setting::find(&name).is_some_and(|setting| setting.is_path);
        let text = if is_path { self.resolve(text) } else { text };
        group.values.push(Given::new(name, text, origin));
    }

    /// A path in the file is relative to the file.
    fn resolve(&self, text: String) -> String {
        let is_path = text != "memory" && !text.is_empty() && !text.contains("://");
        match self.folder.join(&text).into_os_string().into_string() {
            Ok(path) if is_path => path,
            _ => text,
        }
    }

    fn origin(&self, offset: usize) -> Origin {
        let before = self.text.as_bytes().iter().take(offset);
        Origin::File {
            name: self.name.clone(),
            line: 1 + before.filter(|byte| **byte == b'\n').count(),
        }
    }
}

fn names(is_meant: impl Fn(&Setting) -> bool, more: &[&'static str]) -> Vec<&'static str> {
    let settings = SETTINGS.iter().filter(|setting| is_meant(setting));
    let names = settings.map(|setting| setting.name);
    names.chain(more.iter().copied()).collect()
}

/// A single value as it would be typed.
fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Boolean(flag) => Some(flag.to_string()),
        DeValue::Integer(number) => {
            let number = i128::from_str_radix(number.as_str(), number.radix());
            number.ok().map(|number| number.to_string())
        }
        DeValue::Float(_) | DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}
