//! The arguments of a call: what they mean, for the digest, and how a person reads them.
//!
//! Read from the text of the message, because a number of serde's loses digits: what was approved
//! must be what runs.

use std::borrow::Cow;
use std::collections::HashMap;

use entreat_core::is_unsafe_to_display;
use entreat_wire::digest::CanonicalBytes;
use serde_json::value::RawValue;

use crate::json::RawObject;

/// The deepest nesting that is shown to a person.
const MAX_DEPTH: usize = 32;
/// The most bytes that are shown: indentation adds to the text of a call.
const MAX_SHOWN: usize = 4 << 20;

/// A JSON value, with numbers as they were written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tree<'a> {
    /// `null`, `true` or `false`.
    Word(&'a str),
    Number(&'a str),
    Text(String),
    List(Vec<Tree<'a>>),
    Object(Vec<(String, Tree<'a>)>),
}

/// Why arguments cannot be approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unreadable {
    #[error("they are not valid JSON")]
    Invalid,
    #[error("an object names a member twice")]
    Duplicate,
    #[error("they are nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
    #[error("they are too large to be shown")]
    TooLarge,
}

impl<'a> Tree<'a> {
    /// Reads the text of a value. A member that is named twice is refused, because programs differ
    /// in which of the two counts.
    pub(super) fn read(text: &'a str) -> Result<Self, Unreadable> {
        Self::read_at(text, MAX_DEPTH)
    }

    // Each level is scanned again for its own members, at most `MAX_DEPTH` times in all.
    fn read_at(text: &'a str, depth: usize) -> Result<Self, Unreadable> {
        let text = text.trim_ascii();
        let deeper = || depth.checked_sub(1).ok_or(Unreadable::TooDeep);
        Ok(match text.as_bytes().first() {
            Some(b'{') => {
                let members: Vec<(Cow<'a, str>, &'a str)> =
                    RawObject::members(text).ok_or(Unreadable::Invalid)?;
                let mut names: Vec<&str> = members.iter().map(|(name, _)| &**name).collect();
                names.sort_unstable();
                if names.windows(2).any(|pair| pair[0] == pair[1]) {
                    return Err(Unreadable::Duplicate);
                }
                let depth = deeper()?;
                let members = members.into_iter();
                let members = members
                    .map(|(name, text)| Ok((name.into_owned(), Self::read_at(text, depth)?)));
                Self::Object(members.collect::<Result<_, _>>()?)
            }
            Some(b'[') => {
                let items: Vec<&'a RawValue> =
                    serde_json::from_str(text).map_err(|_| Unreadable::Invalid)?;
                let depth = deeper()?;
                let items = items
                    .into_iter()
                    .map(|item| Self::read_at(item.get(), depth));
                Self::List(items.collect::<Result<_, _>>()?)
            }
            Some(b'"') => Self::Text(serde_json::from_str(text).map_err(|_| Unreadable::Invalid)?),
            Some(b'-' | b'0'..=b'9') => Self::Number(text),
            _ if matches!(text, "null" | "true" | "false") => Self::Word(text),
            _ => return Err(Unreadable::Invalid),
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::List(items) => items.is_empty(),
            Self::Object(members) => members.is_empty(),
            Self::Word(_) | Self::Number(_) | Self::Text(_) => false,
        }
    }

    /// Writes what the value means: two spellings of one value are equal, two values never are.
    pub(super) fn digest_into(&self, canonical: &mut CanonicalBytes) {
        let mut tagged = |tag: &str, text: &str| {
            canonical.text(tag);
            canonical.text(text);
        };
        match self {
            Self::Word(word) => tagged("word", word),
            Self::Number(text) => tagged("number", &canonical_number(text)),
            Self::Text(text) => tagged("text", text),
            Self::List(items) => {
                tagged("list", &items.len().to_string());
                for item in items {
                    item.digest_into(canonical);
                }
            }
            Self::Object(members) => {
                tagged("object", &members.len().to_string());
                let mut members: Vec<_> = members.iter().collect();
                members.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
                for (name, value) in members {
                    canonical.text(name);
                    value.digest_into(canonical);
                }
            }
        }
    }

    /// Writes the value for a person, as lines of one text: a list of lines would take many times
    /// its size. The members of the outermost object have the titles that the server gives them.
    pub(super) fn lines(&self, titles: &HashMap<String, String>) -> Result<String, Unreadable> {
        let mut lines = Lines::default();
        match self {
            Self::Object(members) if !members.is_empty() => {
                for (name, value) in members {
                    let mut label = shown_name(name);
                    if let Some(title) = titles.get(name) {
                        label = format!("{label} (“{title}”)");
                    }
                    lines.value(0, &format!("{label}: "), value)?;
                }
            }
            other => lines.value(0, "", other)?,
        }
        Ok(lines.0)
    }
}

/// The number that a text stands for, exactly: `1`, `1.0` and `10e-1` are one number.
fn canonical_number(text: &str) -> Cow<'_, str> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text),
    };
    let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return Cow::Borrowed("0");
    }
    let zeros = digits.len() - significant.len();
    let exponent = exponent.strip_prefix('+').unwrap_or(exponent);
    let shift = i64::try_from(zeros)
        .ok()
        .zip(i64::try_from(fraction.len()).ok())
        .and_then(|(zeros, fraction)| zeros.checked_sub(fraction));
    let exponent = exponent.parse::<i64>().ok().zip(shift);
    match exponent.and_then(|(exponent, shift)| exponent.checked_add(shift)) {
        Some(exponent) => Cow::Owned(format!("{sign}{significant}e{exponent}")),
        // Beyond every number that is in use: equal only to itself.
        None => Cow::Borrowed(text),
    }
}

#[derive(Default)]
struct Lines(String);

impl Lines {
    fn line(&mut self, indent: usize, text: &str) -> Result<(), Unreadable> {
        if self.0.len() + 2 * indent + text.len() + 1 > MAX_SHOWN {
            return Err(Unreadable::TooLarge);
        }
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        for _ in 0..indent {
            self.0.push_str("  ");
        }
        self.0.push_str(text);
        Ok(())
    }

    fn value(&mut self, indent: usize, label: &str, value: &Tree<'_>) -> Result<(), Unreadable> {
        let label_alone = label.trim_end();
        match value {
            Tree::Word(text) | Tree::Number(text) => self.line(indent, &format!("{label}{text}")),
            Tree::Text(text) if text.contains('\n') => {
                self.line(indent, &format!("{label}|"))?;
                text.split('\n')
                    .try_for_each(|line| self.line(indent + 1, &visible(line)))
            }
            Tree::Text(text) => {
                let text =
                    visible(&text.replace('\\', "\\\\").replace('"', "\\\"")).replace('\t', "\\t");
                self.line(indent, &format!("{label}\"{text}\""))
            }
            Tree::List(items) if items.is_empty() => self.line(indent, &format!("{label}[]")),
            Tree::Object(members) if members.is_empty() => {
                self.line(indent, &format!("{label}{{}}"))
            }
            Tree::List(items) => {
                self.line(indent, label_alone)?;
                items
                    .iter()
                    .try_for_each(|item| self.value(indent + 1, "- ", item))
            }
            Tree::Object(members) => {
                self.line(indent, label_alone)?;
                members.iter().try_for_each(|(name, value)| {
                    self.value(indent + 1, &format!("{}: ", shown_name(name)), value)
                })
            }
        }
    }
}

/// A member's name: in quotation marks if it could be taken for more than that.
fn shown_name(name: &str) -> String {
    let is_plain = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    if is_plain {
        name.to_owned()
    } else {
        let name = visible(&name.replace('\\', "\\\\").replace('"', "\\\"")).replace('\t', "\\t");
        format!("\"{name}\"")
    }
}

/// A line of text whose invisible characters can be seen: what a person approves must not differ
/// from what is there.
pub(super) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        // Joiners have a use in some scripts, but none that a person could check.
        let is_hidden = matches!(c, '\u{200c}' | '\u{200d}' | '\u{2028}' | '\u{2029}');
        if c != '\t' && (is_unsafe_to_display(c) || is_hidden) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use entreat_wire::digest::Digest;

    use super::*;

    fn digest(text: &str) -> Digest {
        let mut canonical = CanonicalBytes::default();
        Tree::read(text).unwrap().digest_into(&mut canonical);
        canonical.digest()
    }

    #[test]
    fn spellings_of_one_value_have_one_digest() {
        for (one, other) in [
            ("1", "1.0"),
            ("1", "10e-1"),
            ("100", "1E+2"),
            ("-0.0", "0"),
            ("0e99", "0"),
            ("0.10", "1e-1"),
            ("18446744073709551617", "18446744073709551617.000"),
            (
                r#"{"a":1,"b":[true,null]}"#,
                r#" { "b" : [ true , null ] , "\u0061" : 1.0 }"#,
            ),
            (r#""é/""#, r#""\u00e9\/""#),
        ] {
            assert_eq!(digest(one), digest(other), "{one} {other}");
        }
    }

    #[test]
    fn values_that_differ_have_other_digests() {
        let values = [
            "null",
            "true",
            "false",
            "0",
            "1",
            "-1",
            "10",
            "0.1",
            "0.1000000000000000055511151231257827",
            "9007199254740992",
            "9007199254740993",
            "9007199254740993.5",
            "18446744073709551616",
            "18446744073709551617",
            "1e400",
            "1e401",
            "1e99999999999999999999",
            "1e99999999999999999998",
            r#""""#,
            r#""1""#,
            r#""null""#,
            "[]",
            "[[]]",
            "[1,2]",
            "[2,1]",
            r#"["1,2"]"#,
            "{}",
            r#"{"a":1}"#,
            r#"{"a":"1"}"#,
            r#"{"A":1}"#,
            r#"{"a":{"b":1}}"#,
            r#"{"a":{},"b":1}"#,
            r#"["a",1]"#,
            r#""é""#,
            "\"e\u{301}\"",
        ];
        for (index, one) in values.iter().enumerate() {
            for other in &values[index + 1..] {
                assert_ne!(digest(one), digest(other), "{one} {other}");
            }
        }
    }

    #[test]
    fn what_two_programs_read_differently_is_refused() {
        let read = |text| Tree::read(text).unwrap_err();
        assert_eq!(read(r#"{"a":{"b":1,"\u0062":2}}"#), Unreadable::Duplicate);
        assert_eq!(read(r#"[{"a":1,"a":1}]"#), Unreadable::Duplicate);
        assert_eq!(read(r#"{"a":"\ud800"}"#), Unreadable::Invalid);
        let deep = format!("{}1{}", "[".repeat(33), "]".repeat(33));
        assert_eq!(read(&deep), Unreadable::TooDeep);
        assert!(Tree::read(&deep[1..deep.len() - 1]).is_ok());
    }

    #[test]
    fn a_person_reads_every_value() {
        let text = r#"{"path":"/tmp/\"x\"","n":1.50,"all":true,"none":null,"e":[],"o":{},
            "body":"one\n\ttwo\n","list":["a",{"b":[1,2]}],"odd: \"1\"\ncalls":1,
            "evil":"a\u202eb\u200dc"}"#;
        let titles = HashMap::from([("path".to_owned(), "File".to_owned())]);
        let lines = Tree::read(text).unwrap().lines(&titles).unwrap();
        assert_eq!(
            lines,
            "path (“File”): \"/tmp/\\\"x\\\"\"\n\
             n: 1.50\n\
             all: true\n\
             none: null\n\
             e: []\n\
             o: {}\n\
             body: |\n  one\n  \ttwo\n  \n\
             list:\n  - \"a\"\n  -\n    b:\n      - 1\n      - 2\n\
             \"odd: \\\"1\\\"\\u{a}calls\": 1\n\
             evil: \"a\\u{202e}b\\u{200d}c\""
        );
    }

    #[test]
    fn indentation_does_not_multiply_a_call_without_bounds() {
        let deep = format!(
            "{}{}{}",
            r#"{"a":"#.repeat(31),
            format_args!("[{}1]", "1,".repeat(300_000)),
            "}".repeat(31)
        );
        let tree = Tree::read(&deep).unwrap();
        assert_eq!(tree.lines(&HashMap::new()), Err(Unreadable::TooLarge));
    }
}
