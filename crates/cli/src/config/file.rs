//! The configuration file: TOML without unknown keys.
//!
//! Reads names, texts and line numbers; values are parsed elsewhere. Collects errors and reads on.

use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use entreat_core::closest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::approvals::{self, RuleTable};
use super::asker::{self, AskerTable};
use super::errors::ConfigErrors;
use super::origin::Origin;
use super::setting::{SETTINGS, Setting};
use super::tokens::{self, TokenTables};
use super::upstream::{self, UpstreamConfig};
use super::value::RawValue;
use crate::output;

/// A larger file is not a configuration.
const MAX_BYTES: usize = 1 << 20;
/// The key of the asker tables.
const ASKER: &str = "asker";
/// The key of the tables of servers behind the gateway.
const UPSTREAM: &str = "upstream";
/// The key of the tables of rules.
const RULE: &str = "rule";

/// The table with those of issuers, and their key in it.
const MCP: &str = "mcp";
const ISSUER: &str = "issuer";
/// The table with those of people who are the same, and their key in it.
const IDENTITY: &str = "identity";
const SAME: &str = "same";

/// A configuration file that exists.
pub(super) struct File {
    name: String,
    path: PathBuf,
    folder: PathBuf,
    text: String,
}

/// The known keys of a table, with its values and errors so far.
struct Group<'a> {
    known: &'a [&'static str],
    values: &'a mut Vec<RawValue>,
    errors: &'a mut ConfigErrors,
}

/// The contents of a file.
pub(super) struct Contents {
    pub(super) values: Vec<RawValue>,
    pub(super) askers: Vec<AskerTable>,
    pub(super) upstreams: Vec<UpstreamConfig>,
    pub(super) rules: Vec<RuleTable>,
    pub(super) tokens: TokenTables,
}

impl File {
    /// Reads the file; `None` if it does not exist.
    pub(super) fn open(path: &Path) -> anyhow::Result<Option<Self>> {
        let name = output::sanitize_path(path);
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
            "{name} is too large for a configuration file"
        );
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Some(Self {
            name,
            path: path.to_owned(),
            folder,
            text,
        }))
    }

    /// Returns its name for display.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns its path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Parses the text. If it is not TOML, the result is empty.
    pub(super) fn read(&self, errors: &mut ConfigErrors) -> Contents {
        let mut contents = Contents {
            values: Vec::new(),
            askers: Vec::new(),
            upstreams: Vec::new(),
            rules: Vec::new(),
            tokens: TokenTables::default(),
        };
        let (table, syntax_errors) = DeTable::parse_recoverable(&self.text);
        for error in &syntax_errors {
            let start = error.span().map_or(0, |span| span.start);
            let message = error.message().replace('\n', "; ");
            errors.report(&self.origin(start), output::sanitize(&message));
        }
        if !syntax_errors.is_empty() {
            return contents;
        }
        let known = names(|_| true, &[ASKER, RULE, UPSTREAM]);
        for (key, value) in table.get_ref() {
            if key.get_ref() == ASKER {
                contents.askers = self.askers(value, errors);
            } else if key.get_ref() == RULE {
                contents.rules = self.rules(value, errors);
            } else if key.get_ref() == UPSTREAM {
                let origin = |offset| self.origin(offset);
                contents.upstreams = upstream::read(value, &self.folder, &origin, errors);
            } else {
                let tables = match &**key.get_ref() {
                    MCP => Some((ISSUER, tokens::ISSUER_KEYS, &mut contents.tokens.issuers)),
                    IDENTITY => Some((SAME, tokens::SAME_KEYS, &mut contents.tokens.same)),
                    _ => None,
                };
                let (Some((inner, keys, found)), DeValue::Table(members)) =
                    (tables, value.get_ref())
                else {
                    let mut group = Group {
                        known: &known,
                        values: &mut contents.values,
                        errors: &mut *errors,
                    };
                    self.collect("", key, value, &mut group);
                    continue;
                };
                let above = format!("{}.", key.get_ref());
                for (name, value) in members {
                    if name.get_ref() == inner {
                        *found = self.tables(&format!("{above}{inner}"), keys, value, errors);
                        continue;
                    }
                    let mut group = Group {
                        known: &known,
                        values: &mut contents.values,
                        errors: &mut *errors,
                    };
                    self.collect(&above, name, value, &mut group);
                }
            }
        }
        contents.values.sort_by_key(|raw| raw.origin.line());
        contents
    }

    fn askers(&self, value: &Spanned<DeValue<'_>>, errors: &mut ConfigErrors) -> Vec<AskerTable> {
        let known = names(Setting::is_per_asker, asker::OWN_KEYS);
        let expected = "define askers in [[asker]] tables";
        let mut askers = Vec::new();
        let Some(tables) = value.get_ref().as_array() else {
            errors.report(&self.origin(value.span().start), expected);
            return askers;
        };
        for table in tables {
            let origin = self.origin(table.span().start);
            let Some(members) = table.get_ref().as_table() else {
                errors.report(&origin, expected);
                continue;
            };
            let mut values = Vec::new();
            for (key, value) in members {
                let mut group = Group {
                    known: &known,
                    values: &mut values,
                    errors: &mut *errors,
                };
                self.collect("", key, value, &mut group);
            }
            askers.push(AskerTable {
                origin,
                folder: self.folder.clone(),
                values,
            });
        }
        askers
    }

    /// Reads the tables of issuers, or of people who are the same.
    fn tables(
        &self,
        name: &str,
        known: &[&'static str],
        value: &Spanned<DeValue<'_>>,
        errors: &mut ConfigErrors,
    ) -> Vec<tokens::Table> {
        let expected = format!("define them in [[{name}]] tables");
        let mut found = Vec::new();
        let Some(tables) = value.get_ref().as_array() else {
            errors.report(&self.origin(value.span().start), &expected);
            return found;
        };
        for table in tables {
            let origin = self.origin(table.span().start);
            let Some(members) = table.get_ref().as_table() else {
                errors.report(&origin, &expected);
                continue;
            };
            let mut values = Vec::new();
            for (key, value) in members {
                let mut group = Group {
                    known,
                    values: &mut values,
                    errors: &mut *errors,
                };
                self.collect("", key, value, &mut group);
            }
            found.push(tokens::Table {
                origin,
                folder: self.folder.clone(),
                values,
            });
        }
        found
    }

    fn rules(&self, value: &Spanned<DeValue<'_>>, errors: &mut ConfigErrors) -> Vec<RuleTable> {
        let expected = "define rules in [[rule]] tables";
        let mut rules = Vec::new();
        let Some(tables) = value.get_ref().as_array() else {
            errors.report(&self.origin(value.span().start), expected);
            return rules;
        };
        for table in tables {
            let origin = self.origin(table.span().start);
            let Some(members) = table.get_ref().as_table() else {
                errors.report(&origin, expected);
                continue;
            };
            let mut rule = RuleTable {
                origin,
                values: Vec::new(),
                when: None,
            };
            for (key, value) in members {
                if key.get_ref() == approvals::WHEN {
                    let origin = self.origin(key.span().start);
                    match approvals::condition(value.get_ref()) {
                        Some(condition) => rule.when = Some((condition, origin)),
                        None => errors.reject(&origin, approvals::WHEN, "a number is too large"),
                    }
                    continue;
                }
                let mut group = Group {
                    known: approvals::KEYS,
                    values: &mut rule.values,
                    errors: &mut *errors,
                };
                self.collect("", key, value, &mut group);
            }
            rules.push(rule);
        }
        rules
    }

    /// Adds a value, or those of a table; reports unknown keys.
    fn collect(
        &self,
        above: &str,
        key: &Spanned<toml::de::DeString<'_>>,
        value: &Spanned<DeValue<'_>>,
        group: &mut Group<'_>,
    ) {
        let name = format!("{above}{}", key.get_ref());
        let origin = self.origin(key.span().start);
        let shown = output::sanitize(&name).into_owned();
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
                let message = format!("`{shown}` is a table: [{shown}]");
                return group.errors.report(&origin, message);
            }
            _ if !known.contains(&name.as_str()) => {
                let suggestion = closest(&name, known);
                let suggestion =
                    suggestion.map(|suggestion| format!("; did you mean `{suggestion}`?"));
                let suggestion = suggestion.unwrap_or_default();
                let message = format!("there is no setting `{shown}`{suggestion}");
                return group.errors.report(&origin, message);
            }
            _ => {}
        }
        let Some(text) = scalar(value.get_ref()) else {
            let kind = value.get_ref().type_str();
            let rejection = format!("it must be a string or a whole number, not a {kind}");
            return group.errors.reject(&origin, &shown, &rejection);
        };
        let is_path = Setting::find(&name).is_some_and(|setting| setting.is_path);
        let text = if is_path { self.resolve(text) } else { text };
        group.values.push(RawValue::new(name, text, origin));
    }

    /// Resolves a path relative to the file.
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

fn names(filter: impl Fn(&Setting) -> bool, more: &[&'static str]) -> Vec<&'static str> {
    let settings = SETTINGS.iter().filter(|setting| filter(setting));
    let names = settings.map(|setting| setting.name);
    names.chain(more.iter().copied()).collect()
}

/// Formats a scalar as it would be typed.
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
