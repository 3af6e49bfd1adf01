//! Entries in TOML, by cutting and inserting.
//!
//! `toml_edit` would keep comments, but writes every line end as LF, and drops a byte order mark.

use std::ops::Range;

use ::toml::Spanned;
use ::toml::de::{DeTable, DeValue};
use anyhow::{Context as _, anyhow, bail};
use serde_json::{Map, Value};

use super::format::{Found, line_end, position};
use super::wrap::{ArgumentPlaces, Places};

/// A parsed text that knows the place of everything in it.
pub(super) struct Document<'a> {
    text: &'a str,
    root: Spanned<DeTable<'a>>,
}

/// What a text says, without comments and layout.
pub(super) fn meaning(text: &str) -> anyhow::Result<Value> {
    let table: ::toml::Table = text.parse().map_err(|error| explain(text, &error))?;
    Ok(serde_json::to_value(table)?)
}

fn explain(text: &str, error: &::toml::de::Error) -> anyhow::Error {
    let place = position(text, error.span().map_or(0, |span| span.start));
    anyhow!("{place}: {}", error.message())
}

impl<'a> Document<'a> {
    pub(super) fn parse(text: &'a str) -> anyhow::Result<Self> {
        let root = DeTable::parse(text).map_err(|error| explain(text, &error))?;
        Ok(Self { text, root })
    }

    pub(super) fn find(&self, key: &str, name: &str) -> anyhow::Result<Option<Found>> {
        let Some((entry, _)) = self.entry(key, name)? else {
            return Ok(None);
        };
        let mut value = meaning(self.text)?;
        let text = match self.sections(key, name) {
            Ok(sections) => sections
                .iter()
                .map(|section| &self.text[section.clone()])
                .collect(),
            // Written in a way that is not edited: what it says is as good.
            Err(_) => value[key][name].to_string(),
        };
        let mut value = value[key][name].take();
        if let (Value::Object(members), DeValue::Table(table)) = (&mut value, entry.get_ref()) {
            // In the order of the text.
            let mut names: Vec<_> = table.keys().collect();
            names.sort_by_key(|name| name.span().start);
            let names = names.into_iter().map(|name| name.get_ref().as_ref());
            let ordered: Map<_, _> = names
                .filter_map(|name: &str| members.remove_entry(name))
                .collect();
            *members = ordered;
        }
        Ok(Some(Found { value, text }))
    }

    /// Appends a table: what is written after all others disturbs none of them.
    pub(super) fn add(
        &self,
        key: &str,
        name: &str,
        entry: &Map<String, Value>,
    ) -> anyhow::Result<String> {
        if let Some((_, servers)) = member(self.root.get_ref(), key) {
            let place = position(self.text, servers.span().start);
            if !matches!(servers.get_ref(), DeValue::Table(_)) {
                bail!("{place}: `{key}` must be a table");
            }
            if self.text[servers.span()].starts_with('{') {
                bail!(
                    "{place}: `{key}` is an inline table, which can't be extended: write it as \
                     tables, such as [{key}.{name}]"
                );
            }
        }
        let line_end = line_end(self.text);
        let mut text = self.text.to_owned();
        if !text.is_empty() {
            if !text.ends_with('\n') {
                text.push_str(line_end);
            }
            text.push_str(line_end);
        }
        let members = entry.iter();
        let members = members.map(|(key, value)| format!("{key} = {}{line_end}", written(value)));
        let members = members.collect::<Vec<_>>().concat();
        Ok(format!("{text}[{key}.{name}]{line_end}{members}"))
    }

    pub(super) fn remove(&self, key: &str, name: &str) -> anyhow::Result<String> {
        let mut text = self.text.to_owned();
        for section in self.sections(key, name)?.into_iter().rev() {
            let before = &self.text[..section.start];
            // With the blank line before it.
            let start = match before.strip_suffix('\n') {
                Some("") => 0,
                Some(line) => {
                    let line = line.strip_suffix('\r').unwrap_or(line);
                    if line.ends_with('\n') {
                        line.len()
                    } else {
                        section.start
                    }
                }
                None => section.start,
            };
            text.replace_range(start..section.end, "");
        }
        Ok(text)
    }

    /// Where the parts of an entry are.
    pub(super) fn places(&self, key: &str, name: &str) -> anyhow::Result<Places> {
        let (entry, named) = self.entry(key, name)?.context("there is no such entry")?;
        let DeValue::Table(table) = entry.get_ref() else {
            let place = position(self.text, named.start);
            bail!("{place}: `{key}.{name}` must be a table");
        };
        let is_inline = self.text[entry.span()].starts_with('{');
        let command = member(table, "command").map(|(_, command)| command.span());
        let arguments = match member(table, "args") {
            Some((_, list)) => match list.get_ref() {
                DeValue::Array(items) => Some(ArgumentPlaces {
                    list: list.span(),
                    items: items.iter().map(Spanned::span).collect(),
                }),
                _ => None,
            },
            None => None,
        };
        let behind_command = command.as_ref().map(|command| {
            if is_inline {
                return (command.end, ", ".to_owned());
            }
            // Behind a comment on its line.
            let rest = &self.text[command.end..];
            let line = rest.lines().next().unwrap_or_default();
            (command.end + line.len(), line_end(self.text).to_owned())
        });
        Ok(Places {
            // A new one would be written at the end.
            entry: None,
            command,
            arguments,
            behind_command,
        })
    }

    fn entry(
        &self,
        key: &str,
        name: &str,
    ) -> anyhow::Result<Option<(&Spanned<DeValue<'a>>, Range<usize>)>> {
        let Some((_, servers)) = member(self.root.get_ref(), key) else {
            return Ok(None);
        };
        let DeValue::Table(table) = servers.get_ref() else {
            let place = position(self.text, servers.span().start);
            bail!("{place}: `{key}` must be a table");
        };
        Ok(member(table, name).map(|(name, value)| (value, name)))
    }

    /// The lines of an entry, in order: one range for each of its tables.
    fn sections(&self, key: &str, name: &str) -> anyhow::Result<Vec<Range<usize>>> {
        let (entry, named) = self.entry(key, name)?.context("there is no such entry")?;
        let mut sections = Vec::new();
        if self.is_header(entry) {
            self.collect(entry, &mut sections);
        } else if self.text[entry.span()].starts_with('{') && self.starts_line(named.start) {
            sections.push(named.start..entry.span().end);
        } else {
            let place = position(self.text, named.start);
            bail!("{place}: `{key}.{name}` is not written as one table: change it yourself");
        }
        sections.sort_by_key(|section| section.start);
        let mut lines: Vec<Range<usize>> = Vec::new();
        for section in sections {
            let section = self.lines(section);
            match lines.last_mut() {
                // A table that is only there for those in it has the place of the first of them.
                Some(last) if section.start < last.end => last.end = last.end.max(section.end),
                _ => lines.push(section),
            }
        }
        Ok(lines)
    }

    /// Collects the range of a table with a header, from the header to its last value, and those
    /// of the tables in it.
    fn collect(&self, table: &Spanned<DeValue<'a>>, sections: &mut Vec<Range<usize>>) {
        let mut end = table.span().end;
        let mut values: Vec<&Spanned<DeValue<'a>>> = vec![table];
        while let Some(value) = values.pop() {
            let members: Vec<_> = match value.get_ref() {
                DeValue::Table(table) => table.values().collect(),
                DeValue::Array(items) => items.iter().collect(),
                _ => Vec::new(),
            };
            for member in members {
                if self.is_header(member) {
                    self.collect(member, sections);
                    continue;
                }
                if self.is_value(member) {
                    end = end.max(member.span().end);
                }
                values.push(member);
            }
        }
        sections.push(table.span().start..end);
    }

    /// Whether a value is a table with a header of its own.
    fn is_header(&self, value: &Spanned<DeValue<'_>>) -> bool {
        matches!(value.get_ref(), DeValue::Table(_)) && self.text[value.span()].starts_with('[')
    }

    /// Whether a value is written after a key, so that its place is where it is written. A table
    /// that is only there for those in it has the place of something else.
    fn is_value(&self, value: &Spanned<DeValue<'_>>) -> bool {
        match value.get_ref() {
            DeValue::Table(_) => self.text[value.span()].starts_with('{'),
            DeValue::Array(items) => !items.iter().any(|item| self.is_header(item)),
            _ => true,
        }
    }

    fn starts_line(&self, offset: usize) -> bool {
        let line = self.text[..offset].rsplit('\n').next().unwrap_or_default();
        line.trim().is_empty()
    }

    /// Whole lines.
    fn lines(&self, range: Range<usize>) -> Range<usize> {
        let start = self.text[..range.start]
            .rfind('\n')
            .map_or(0, |end| end + 1);
        let end = self.text[range.end..].find('\n');
        let end = end.map_or(self.text.len(), |end| range.end + end + 1);
        start..end
    }
}

/// A value of an entry: what JSON escapes in strings, TOML escapes too.
fn written(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(written).collect();
            format!("[{}]", items.join(", "))
        }
        value => value.to_string(),
    }
}

/// The value of a key, and the place of the key.
fn member<'t, 'a>(
    table: &'t DeTable<'a>,
    name: &str,
) -> Option<(Range<usize>, &'t Spanned<DeValue<'a>>)> {
    let mut members = table.iter();
    let (key, value) = members.find(|(key, _)| key.get_ref().as_ref() == name)?;
    Some((key.span(), value))
}
