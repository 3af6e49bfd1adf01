//! What can be known of a message that was too long to keep.

use memchr::memmem;
use serde_json::value::RawValue;

use crate::envelope::RawId;

/// A message of which only both ends are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overlong {
    /// Its id, if it stands at one of the ends.
    pub id: Option<RawId>,
    /// Whether it has a method: then it is a request or, without an id, a notification.
    pub has_method: bool,
}

impl Overlong {
    /// Reads both ends of a message: what comes before its long member, and what comes after it.
    pub fn read(head: &[u8], tail: &[u8]) -> Self {
        let mut found = Self::default();
        let head = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
        if let Some(members) = valid(head).trim_ascii_start().strip_prefix('{') {
            found.read_first(members);
        }
        if found.id.is_none() {
            found.read_last(tail);
        }
        found
    }

    fn read_first(&mut self, mut members: &str) {
        while let Some((name, rest)) = name(members) {
            // Noted before the value, which may be the long one.
            self.has_method |= name == "method";
            let Some((value, rest)) = value(rest) else {
                return;
            };
            // A number at the end of what is known may have more digits.
            if name == "id" && !rest.is_empty() {
                self.id = Some(RawId::new(value));
            }
            let Some(rest) = rest.strip_prefix(',') else {
                return;
            };
            members = rest;
        }
    }

    /// Looks for an id among the last members: those that, read from there, end with the message.
    fn read_last(&mut self, tail: &[u8]) {
        let tail = tail.trim_ascii_end();
        for at in memmem::find_iter(tail, b"\"id\"") {
            let before = tail[..at].trim_ascii_end();
            if before.ends_with(b",")
                && let Some((id, has_method)) = last_members(valid(&tail[at..]))
            {
                self.id = Some(id);
                self.has_method |= has_method;
                return;
            }
        }
    }
}

fn last_members(mut members: &str) -> Option<(RawId, bool)> {
    let (mut id, mut has_method) = (None, false);
    loop {
        let (name, rest) = name(members)?;
        let (value, rest) = value(rest)?;
        match name {
            "id" => id = Some(RawId::new(value)),
            "method" => has_method = true,
            "jsonrpc" => {}
            _ => return None,
        }
        if rest == "}" {
            return Some((id?, has_method));
        }
        members = rest.strip_prefix(',')?;
    }
}

/// The text up to where it is cut within a character.
fn valid(text: &[u8]) -> &str {
    let valid = text.utf8_chunks().next();
    valid.map_or("", |chunk| chunk.valid())
}

/// Reads a member's name and the colon after it. A name with escapes is none that matters here.
fn name(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = value(text)?;
    let name = name.strip_prefix('"')?.strip_suffix('"')?;
    Some((name, rest.strip_prefix(':')?))
}

/// Reads a value, and the white space around it.
fn value(text: &str) -> Option<(&str, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let value = values.next()?.ok()?.get();
    Some((value, text[values.byte_offset()..].trim_ascii_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(head: &str, tail: &str) -> (Option<String>, bool) {
        let found = Overlong::read(head.as_bytes(), tail.as_bytes());
        (found.id.map(|id| id.to_string()), found.has_method)
    }

    #[test]
    fn an_id_in_front_of_the_long_member_is_found() {
        let id = |id: &str| Some(id.to_owned());
        for (head, found) in [
            (r#"{"jsonrpc":"2.0","id":7,"result":{"a"#, (id("7"), false)),
            (
                r#" { "id" : "a\"b" , "method":"m","params":["#,
                (id(r#""a\"b""#), true),
            ),
            (r#"{"method":"m","params":{"id":3,"x":"y"#, (None, true)),
            (r#"{"result":{},"id":900"#, (None, false)),
            (r#"{"result":{"id":3},"x":"y"#, (None, false)),
            ("[1,2", (None, false)),
            ("", (None, false)),
        ] {
            assert_eq!(read(head, r#"xxx"}}"#), found, "{head}");
        }
    }

    #[test]
    fn an_id_behind_the_long_member_is_found() {
        let head = r#"{"result":{"text":"xxx"#;
        for (tail, id) in [
            (r#"xxx"},"jsonrpc":"2.0","id":5}"#, Some("5")),
            (r#"xxx"} , "id" : "a" , "jsonrpc":"2.0" } "#, Some(r#""a""#)),
            (r#"xxx","id":1},"id":2}"#, Some("2")),
            // These are members of the result.
            (r#"xxx","id":5}}"#, None),
            (r#"xxx\",\"id\":5}"}}"#, None),
            (r#"xxx","id":5},"other":1}"#, None),
        ] {
            assert_eq!(read(head, tail).0.as_deref(), id, "{tail}");
        }
        let head = r#"{"method":"m","params":{"text":"xxx"#;
        let tail = r#"xxx"},"jsonrpc":"2.0","id":5}"#;
        assert_eq!(read(head, tail), (Some("5".to_owned()), true));
    }
}
