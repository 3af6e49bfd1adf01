//! Entries in JSON, with comments and trailing commas if need be, by cutting and inserting.

use anyhow::{Context as _, anyhow, bail};
use jsonc_parser::ast::{Object, ObjectProp, Value as Node};
use jsonc_parser::common::{Range, Ranged as _};
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{
    CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast, parse_to_serde_value,
};
use serde_json::{Map, Value};

use super::format::{Found, line_end, position};
use super::wrap::{ArgumentPlaces, Places};

/// What people indent by when a file does not say.
const INDENT: &str = "  ";

/// A parsed text that knows the place of everything in it.
pub(super) struct Document<'a> {
    text: &'a str,
    /// `None` if there is nothing but space and comments.
    root: Option<Object<'a>>,
    /// Comments included.
    tokens: Vec<TokenAndRange<'a>>,
}

fn options(extras: bool) -> ParseOptions {
    ParseOptions {
        allow_comments: extras,
        allow_trailing_commas: extras,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

/// What a text says, without comments and layout.
pub(super) fn meaning(text: &str) -> anyhow::Result<Value> {
    parse_to_serde_value(text, &options(true)).context("the change can't be read back")
}

impl<'a> Document<'a> {
    /// Parses JSON with comments and trailing commas.
    pub(super) fn parse(text: &'a str) -> anyhow::Result<Self> {
        Self::parse_as(text, true)
    }

    /// Parses JSON without extras.
    pub(super) fn parse_strictly(text: &'a str) -> anyhow::Result<Self> {
        Self::parse_as(text, false)
    }

    fn parse_as(text: &'a str, extras: bool) -> anyhow::Result<Self> {
        let collect = CollectOptions {
            comments: CommentCollectionStrategy::AsTokens,
            tokens: true,
        };
        let parsed = parse_to_ast(text, &collect, &options(extras)).map_err(|error| {
            let place = position(text, error.range().start);
            anyhow!("{place}: {}", error.kind().to_string().to_lowercase())
        })?;
        let root = match parsed.value {
            None => None,
            Some(Node::Object(root)) => Some(root),
            Some(other) => bail!(
                "{}: expected an object",
                position(text, other.range().start)
            ),
        };
        let tokens = parsed.tokens.unwrap_or_default();
        // The parser lets comments pass where it collects them.
        if let Some(comment) = tokens.iter().find(|token| !extras && is_comment(token)) {
            let place = position(text, comment.start());
            bail!("{place}: comments are not allowed");
        }
        Ok(Self { text, root, tokens })
    }

    pub(super) fn find(&self, key: &str, name: &str) -> anyhow::Result<Option<Found>> {
        let Some(servers) = self.servers(key)? else {
            return Ok(None);
        };
        let Some(entry) = self.member(servers, name)? else {
            return Ok(None);
        };
        let text = entry.value.text(self.text);
        Ok(Some(Found {
            value: meaning(text)?,
            text: entry.text(self.text).to_owned(),
        }))
    }

    pub(super) fn add(
        &self,
        key: &str,
        name: &str,
        entry: &Map<String, Value>,
    ) -> anyhow::Result<String> {
        let entry = Value::Object(entry.clone());
        let Some(root) = &self.root else {
            return Ok(self.append(&member_of(key, &member_of(name, &entry))));
        };
        Ok(match self.servers(key)? {
            Some(servers) => self.insert(servers, self.is_one_line(root), name, &entry),
            None => self.insert(root, false, key, &member_of(name, &entry)),
        })
    }

    pub(super) fn replace(
        &self,
        key: &str,
        name: &str,
        entry: &Map<String, Value>,
    ) -> anyhow::Result<String> {
        let (servers, old) = self.entry(key, name)?;
        let layout = if self.is_one_line(servers) {
            self.flat(servers)
        } else {
            self.indented(self.indent_before(old.start()))
        };
        let mut text = self.text.to_owned();
        let value = Value::Object(entry.clone());
        text.replace_range(span(old.value.range()), &layout.write(&value));
        Ok(text)
    }

    pub(super) fn remove(&self, key: &str, name: &str) -> anyhow::Result<String> {
        let (servers, entry) = self.entry(key, name)?;
        let is_code = |token: &&TokenAndRange<'_>| !is_comment(token);
        let first = self
            .tokens
            .partition_point(|token| token.end() <= entry.start());
        let (before, rest) = self.tokens.split_at(first);
        let previous = before.last().context("a brace precedes a member")?;
        let previous_code = before.iter().rev().find(is_code);
        let mut after = rest.iter().filter(|token| token.start() >= entry.end());
        let next = after.find(is_code).context("a brace follows a member")?;
        let is_comma = |token: &TokenAndRange<'_>| token.token == Token::Comma;

        // With the space before it, and the comma that it takes along.
        let end = if is_comma(next) {
            next.end()
        } else {
            entry.end()
        };
        let rest_of_line = self.text[end..].lines().next().unwrap_or_default();
        let would_be_comment =
            matches!(previous.token, Token::CommentLine(_)) && !rest_of_line.trim().is_empty();
        let start = if would_be_comment {
            entry.start()
        } else {
            previous.end()
        };

        let mut text = self.text.to_owned();
        text.replace_range(start..end, "");
        if let Some(comma) = previous_code.filter(|token| is_comma(token) && !is_comma(next)) {
            text.replace_range(span(comma.range), "");
        }
        // Nothing but space is left between the braces.
        let inside = servers.start() + 1..servers.end() - 1 - (self.text.len() - text.len());
        if text
            .get(inside.clone())
            .is_some_and(|inside| inside.trim().is_empty())
        {
            text.replace_range(inside, "");
        }
        Ok(text)
    }

    /// Where the parts of an entry are.
    pub(super) fn places(&self, key: &str, name: &str) -> anyhow::Result<Places> {
        let (_, entry) = self.entry(key, name)?;
        let Node::Object(members) = &entry.value else {
            let place = position(self.text, entry.value.start());
            bail!("{place}: `{name}` must be an object");
        };
        let command = self.member(members, "command")?;
        let arguments = match self.member(members, "args")? {
            Some(ObjectProp {
                value: Node::Array(list),
                ..
            }) => Some(ArgumentPlaces {
                list: span(list.range),
                items: list
                    .elements
                    .iter()
                    .map(|item| span(item.range()))
                    .collect(),
            }),
            _ => None,
        };
        let behind_command = command.map(|command| {
            let indent = self.indent_before(command.start());
            let starts_line = self.line_start(command.start()) + indent.len() == command.start();
            let between = if starts_line {
                format!(",{}{indent}", line_end(self.text))
            } else {
                ", ".to_owned()
            };
            (command.value.end(), between)
        });
        Ok(Places {
            entry: Some(span(entry.value.range())),
            command: command.map(|command| span(command.value.range())),
            arguments,
            behind_command,
        })
    }

    /// The object of servers.
    fn servers(&self, key: &str) -> anyhow::Result<Option<&Object<'a>>> {
        let Some(root) = &self.root else {
            return Ok(None);
        };
        match self.member(root, key)? {
            None => Ok(None),
            Some(ObjectProp {
                value: Node::Object(servers),
                ..
            }) => Ok(Some(servers)),
            Some(other) => {
                let place = position(self.text, other.value.start());
                bail!("{place}: `{key}` must be an object")
            }
        }
    }

    fn entry(&self, key: &str, name: &str) -> anyhow::Result<(&Object<'a>, &ObjectProp<'a>)> {
        let servers = self.servers(key)?.context("there are no servers")?;
        let entry = self
            .member(servers, name)?
            .context("there is no such entry")?;
        Ok((servers, entry))
    }

    /// The only member of a name: of two, clients may take either.
    fn member<'o>(
        &self,
        object: &'o Object<'a>,
        name: &str,
    ) -> anyhow::Result<Option<&'o ObjectProp<'a>>> {
        let members = object.properties.iter();
        let mut members = members.filter(|member| member.name.as_str() == name);
        let member = members.next();
        if let Some(second) = members.next() {
            let place = position(self.text, second.start());
            bail!("{place}: `{name}` is there twice: remove one of them");
        }
        Ok(member)
    }

    /// Puts an object after whatever space and comments there are.
    fn append(&self, value: &Value) -> String {
        let line_end = line_end(self.text);
        let between = match self.text {
            "" => "",
            text if text.ends_with('\n') => "",
            _ => line_end,
        };
        let value = self.indented("").write(value);
        format!("{}{between}{value}{line_end}", self.text)
    }

    /// Inserts a member as the last one, in the way the others are written.
    fn insert(
        &self,
        object: &Object<'a>,
        parent_is_one_line: bool,
        name: &str,
        value: &Value,
    ) -> String {
        let inside = object.start() + 1..object.end() - 1;
        let tokens = self.tokens.iter();
        let tokens =
            tokens.filter(|token| inside.start <= token.start() && token.end() <= inside.end);
        let tokens: Vec<_> = tokens.collect();
        let at = tokens.last().map_or(inside.start, |token| token.end());
        let last_code = tokens.iter().rev().find(|token| !is_comment(token));
        let space = &self.text[at..inside.end];

        let is_one_line = if object.properties.is_empty() {
            parent_is_one_line && !self.text[inside.clone()].contains('\n')
        } else {
            self.is_one_line(object)
        };
        let (before, member, until, mut after) = if is_one_line {
            let layout = self.flat(object);
            let before = if last_code.is_some() { layout.gap } else { "" };
            let member = layout.member(name, value);
            (before.to_owned(), member, at, String::new())
        } else {
            let line_end = line_end(self.text);
            let layout = self.indented(self.member_indent(object));
            let before = format!("{line_end}{}", layout.indent);
            let member = layout.member(name, value);
            if last_code.is_some() || space.contains('\n') {
                (before, member, at, String::new())
            } else {
                let outer = self.indent_before(object.start());
                (before, member, inside.end, format!("{line_end}{outer}"))
            }
        };
        let mut text = self.text.to_owned();
        // Where there is a trailing comma, there is one again.
        let trailing = last_code.filter(|last| last.token == Token::Comma);
        if trailing.is_some() {
            after.insert(0, ',');
        }
        text.replace_range(at..until, &format!("{before}{member}{after}"));
        if let (Some(last), None) = (last_code, trailing) {
            text.insert(last.end(), ',');
        }
        text
    }

    /// Whether an object has its members on the line of its braces.
    fn is_one_line(&self, object: &Object<'_>) -> bool {
        !object.properties.is_empty() && !object.text(self.text).contains('\n')
    }

    /// How the members of an object are indented, or would be.
    fn member_indent(&self, object: &Object<'_>) -> String {
        let last = object.properties.last();
        let starts_line = last.map(|last| (last, self.indent_before(last.start())));
        if let Some((last, indent)) = starts_line {
            let line = self.line_start(last.start());
            if line + indent.len() == last.start() {
                return indent.to_owned();
            }
        }
        format!("{}{}", self.indent_before(object.start()), self.unit())
    }

    /// One step of indentation: that of the first member of the file that starts a line.
    fn unit(&self) -> &'a str {
        let members = self.root.iter().flat_map(|root| &root.properties);
        let mut indents = members.filter_map(|member| {
            let indent = self.indent_before(member.start());
            let starts_line = self.line_start(member.start()) + indent.len() == member.start();
            (starts_line && !indent.is_empty()).then_some(indent)
        });
        indents.next().unwrap_or(INDENT)
    }

    fn line_start(&self, offset: usize) -> usize {
        self.text[..offset].rfind('\n').map_or(0, |end| end + 1)
    }

    /// The space at the start of the line that something is on.
    fn indent_before(&self, offset: usize) -> &'a str {
        let line = &self.text[self.line_start(offset)..offset];
        let end = line
            .find(|c| !matches!(c, ' ' | '\t'))
            .unwrap_or(line.len());
        &line[..end]
    }

    fn indented(&self, indent: impl Into<String>) -> Layout<'a> {
        Layout {
            indent: indent.into(),
            unit: self.unit(),
            line_end: Some(line_end(self.text)),
            gap: " ",
        }
    }

    /// A layout on one line, with spaces if the others have them.
    fn flat(&self, object: &Object<'_>) -> Layout<'a> {
        let members = object.properties.iter();
        let members = members.chain(self.root.iter().flat_map(|root| &root.properties));
        let mut gaps = members.map(|member| &self.text[member.name.end()..member.value.start()]);
        let is_dense = gaps.next().is_some_and(|gap| gap == ":");
        Layout {
            indent: String::new(),
            unit: INDENT,
            line_end: None,
            gap: if is_dense { "" } else { " " },
        }
    }
}

fn is_comment(token: &TokenAndRange<'_>) -> bool {
    matches!(token.token, Token::CommentLine(_) | Token::CommentBlock(_))
}

fn span(range: Range) -> std::ops::Range<usize> {
    range.start..range.end
}

fn member_of(name: &str, value: &Value) -> Value {
    Value::Object([(name.to_owned(), value.clone())].into_iter().collect())
}

/// How values are written.
struct Layout<'a> {
    /// Of the line that a value begins on.
    indent: String,
    unit: &'a str,
    /// `None` writes everything on one line.
    line_end: Option<&'static str>,
    /// What follows a colon or comma on the same line.
    gap: &'static str,
}

impl Layout<'_> {
    fn member(&self, name: &str, value: &Value) -> String {
        let name = Value::from(name);
        format!("{name}:{}{}", self.gap, self.write(value))
    }

    fn write(&self, value: &Value) -> String {
        let comma = format!(",{}", self.gap);
        match (value, self.line_end) {
            (Value::Array(items), _) => {
                let items: Vec<String> = items.iter().map(Value::to_string).collect();
                format!("[{}]", items.join(&comma))
            }
            (Value::Object(members), None) => {
                let members = members.iter();
                let members: Vec<_> = members
                    .map(|(name, value)| self.member(name, value))
                    .collect();
                format!("{{{}}}", members.join(&comma))
            }
            (Value::Object(members), Some(line_end)) => {
                let inner = Self {
                    indent: format!("{}{}", self.indent, self.unit),
                    ..*self
                };
                let members = members.iter().map(|(name, value)| {
                    format!("{line_end}{}{}", inner.indent, inner.member(name, value))
                });
                let members: Vec<_> = members.collect();
                format!("{{{}{line_end}{}}}", members.join(","), self.indent)
            }
            (value, _) => value.to_string(),
        }
    }
}
