//! The envelope of a message: what a relay has to know of it, without reading the rest.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::sync::Arc;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::json::quoted;

/// A request's id, as it was written. Cheap to clone: several tables have it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RawId(Arc<str>);

impl RawId {
    /// Takes the text of an id.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// An id that is this number.
    pub fn number(number: u64) -> Self {
        Self(number.to_string().into())
    }

    /// An id that is this text.
    pub fn text(text: &str) -> Self {
        Self(quoted(text).into())
    }

    /// Returns the text of the id.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether every peer writes it as it was sent: a small whole number, or a text without
    /// escapes.
    pub fn is_plain(&self) -> bool {
        let text = self.0.as_bytes();
        match text {
            [b'"', inner @ .., b'"'] => inner
                .iter()
                .all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'\\' | b'"' | b'/')),
            [b'0'] => true,
            [b'1'..=b'9', rest @ ..] => rest.len() < 15 && rest.iter().all(u8::is_ascii_digit),
            _ => false,
        }
    }
}

/// So that tables can be asked for an id in a message.
impl Borrow<str> for RawId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RawId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A message, as far as a relay reads it.
#[derive(Debug)]
pub struct Envelope<'a> {
    /// The complete text.
    pub text: &'a str,
    /// What kind of message it is.
    pub kind: Kind<'a>,
}

/// The kinds of messages.
#[derive(Debug)]
pub enum Kind<'a> {
    /// A request.
    Request {
        /// Its id.
        id: &'a str,
        /// Its method.
        method: Cow<'a, str>,
        /// Its parameters.
        params: Option<&'a str>,
    },
    /// A notification.
    Notification {
        /// Its method.
        method: Cow<'a, str>,
        /// Its parameters.
        params: Option<&'a str>,
    },
    /// A response: a result or an error.
    Response {
        /// The id of the request.
        id: &'a str,
        /// The result, unless it is an error.
        result: Option<&'a str>,
        /// The error.
        error: Option<&'a str>,
    },
    /// Several messages at once, which the protocol had before 2025-06-18.
    Batch,
}

/// Why a line is not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAMessage {
    /// It is not JSON.
    #[error("it is not JSON")]
    NotJson,
    /// It is JSON, but not a JSON-RPC message.
    #[error("it is not a JSON-RPC message")]
    NotRpc,
}

impl<'a> Envelope<'a> {
    /// Reads the envelope of a message.
    pub fn read(text: &'a [u8]) -> Result<Self, NotAMessage> {
        let text = std::str::from_utf8(trimmed(text)).map_err(|_| NotAMessage::NotJson)?;
        // Before the members are read: a sequence would be taken for their values.
        if text.starts_with('[') {
            return match serde_json::from_str::<IgnoredAny>(text) {
                Ok(_) => Ok(Self {
                    text,
                    kind: Kind::Batch,
                }),
                Err(_) => Err(NotAMessage::NotJson),
            };
        }
        let members: Members<'a> = match serde_json::from_str(text) {
            Ok(members) => members,
            Err(error) if error.is_data() => return Err(NotAMessage::NotRpc),
            Err(_) => return Err(NotAMessage::NotJson),
        };
        let raw = |value: Option<&'a RawValue>| value.map(RawValue::get);
        let kind = match (raw(members.id), members.method) {
            (Some(id), Some(method)) => Kind::Request {
                id,
                method: method.0,
                params: raw(members.params),
            },
            (None, Some(method)) => Kind::Notification {
                method: method.0,
                params: raw(members.params),
            },
            (Some(id), None) if members.result.is_some() != members.error.is_some() => {
                Kind::Response {
                    id,
                    result: raw(members.result),
                    error: raw(members.error),
                }
            }
            (_, None) => return Err(NotAMessage::NotRpc),
        };
        Ok(Self { text, kind })
    }

    /// Returns the id of a request or response.
    pub fn id(&self) -> Option<RawId> {
        match self.kind {
            Kind::Request { id, .. } | Kind::Response { id, .. } => Some(RawId::new(id)),
            Kind::Notification { .. } | Kind::Batch => None,
        }
    }

    /// Returns the method of a request or notification.
    pub fn method(&self) -> Option<&str> {
        match &self.kind {
            Kind::Request { method, .. } | Kind::Notification { method, .. } => Some(method),
            Kind::Response { .. } | Kind::Batch => None,
        }
    }

    /// Returns the parameters of a request or notification.
    pub fn params(&self) -> Option<&'a str> {
        match self.kind {
            Kind::Request { params, .. } | Kind::Notification { params, .. } => params,
            Kind::Response { .. } | Kind::Batch => None,
        }
    }

    /// Returns the message with another id: every other byte stays.
    pub fn with_id(&self, id: &RawId) -> Vec<u8> {
        let (Kind::Request { id: old, .. } | Kind::Response { id: old, .. }) = self.kind else {
            return self.text.as_bytes().to_vec();
        };
        self.spliced(old, id.as_str())
    }

    /// Returns a request or notification with other parameters: every other byte stays.
    pub fn with_params(&self, new: &str) -> Vec<u8> {
        match &self.kind {
            Kind::Request {
                params: Some(old), ..
            }
            | Kind::Notification {
                params: Some(old), ..
            } => self.spliced(old, new),
            Kind::Request { id, method, .. } => request(&RawId::new(id), method, new),
            Kind::Notification { method, .. } => notification(method, new),
            Kind::Response { .. } | Kind::Batch => self.text.as_bytes().to_vec(),
        }
    }

    /// Returns a response with another result: every other byte stays.
    pub fn with_result(&self, new: &str) -> Vec<u8> {
        match self.kind {
            Kind::Response {
                result: Some(old), ..
            } => self.spliced(old, new),
            Kind::Request { .. }
            | Kind::Notification { .. }
            | Kind::Response { .. }
            | Kind::Batch => self.text.as_bytes().to_vec(),
        }
    }

    /// Returns the message with another text in place of `old`, which is a part of it.
    fn spliced(&self, old: &str, new: &str) -> Vec<u8> {
        let start = old.as_ptr() as usize - self.text.as_ptr() as usize;
        let (before, rest) = self.text.split_at(start);
        let after = &rest[old.len()..];
        let mut message = Vec::with_capacity(before.len() + new.len() + after.len() + 1);
        message.extend_from_slice(before.as_bytes());
        message.extend_from_slice(new.as_bytes());
        message.extend_from_slice(after.as_bytes());
        message
    }
}

/// The parameters of a request that was read before; an empty object if it has none.
pub(crate) fn params_of(request: &[u8]) -> &str {
    let envelope = Envelope::read(request).ok();
    let params = envelope.and_then(|envelope| envelope.params());
    params.unwrap_or("{}")
}

/// Whether a text is a batch, if it is a message at all.
pub(crate) fn is_batch(text: &[u8]) -> bool {
    trimmed(text).starts_with(b"[")
}

/// A text without what carries no meaning: a UTF-8 byte order mark, white space.
fn trimmed(text: &[u8]) -> &[u8] {
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    text.trim_ascii()
}

#[derive(Deserialize)]
struct Members<'a> {
    #[serde(default, borrow, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(default, borrow)]
    method: Option<Text<'a>>,
    #[serde(default, borrow, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// Keeps `null` apart from nothing.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

#[derive(Debug, Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// A request with this id.
pub fn request(id: &RawId, method: &str, params: &str) -> Vec<u8> {
    let method = quoted(method);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#).into_bytes()
}

/// A notification.
pub fn notification(method: &str, params: &str) -> Vec<u8> {
    let method = quoted(method);
    format!(r#"{{"jsonrpc":"2.0","method":{method},"params":{params}}}"#).into_bytes()
}

/// A response with a result.
pub fn result(id: &RawId, result: &str) -> Vec<u8> {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into_bytes()
}

/// A response with an error.
pub fn error(id: &RawId, error: &str) -> Vec<u8> {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id_of(text: &str) -> String {
        match Envelope::read(text.as_bytes()).unwrap().kind {
            Kind::Request { id, .. } | Kind::Response { id, .. } => id.to_owned(),
            Kind::Notification { .. } | Kind::Batch => panic!("{text} has no id"),
        }
    }

    #[test]
    fn ids_are_read_as_they_were_written() {
        for id in [
            "0",
            r#""0""#,
            "1.0",
            "9223372036854775808",
            "null",
            r#""\u0061""#,
        ] {
            assert_eq!(id_of(&format!(r#"{{"id": {id} ,"method":"ping"}}"#)), id);
            assert_eq!(id_of(&format!(r#"{{"result":{{}},"id":{id}}}"#)), id);
        }
    }

    #[test]
    fn another_id_leaves_every_other_byte_alone() {
        let text = r#"{ "method" : "tools/call", "params":{"id":7,"n":1.50}, "id" : 7 , "x":[7] }"#;
        let envelope = Envelope::read(text.as_bytes()).unwrap();
        let changed = envelope.with_id(&RawId::text("e-1"));
        assert_eq!(
            String::from_utf8(changed).unwrap(),
            text.replace(r#""id" : 7"#, r#""id" : "e-1""#)
        );
    }

    #[test]
    fn kinds_are_told_by_their_members() {
        fn read(text: &str) -> Result<Kind<'_>, NotAMessage> {
            Envelope::read(text.as_bytes()).map(|it| it.kind)
        }
        assert!(matches!(
            read(r#"{"method":"m","id":1}"#),
            Ok(Kind::Request { params: None, .. })
        ));
        assert!(matches!(
            read(r#"{"method":"\u006d","params":null}"#),
            Ok(Kind::Notification { method, params: Some("null") }) if method == "m"
        ));
        assert!(matches!(
            read(r#"{"id":1,"result":null}"#),
            Ok(Kind::Response {
                result: Some("null"),
                error: None,
                ..
            })
        ));
        for batch in [r#"[{"id":1}]"#, r#"[1,"tools/call",{}]"#, "[]"] {
            assert!(matches!(read(batch), Ok(Kind::Batch)), "{batch}");
        }
        for text in ["", "hello", "{", r#"{"id":1"#] {
            assert_eq!(read(text).unwrap_err(), NotAMessage::NotJson, "{text}");
        }
        for text in [
            "1",
            "{}",
            r#"{"id":1}"#,
            r#"{"id":1,"result":1,"error":2}"#,
            r#"{"method":1,"id":1}"#,
            r#"{"method":"a","method":"b"}"#,
        ] {
            assert_eq!(read(text).unwrap_err(), NotAMessage::NotRpc, "{text}");
        }
    }

    #[test]
    fn only_ids_that_every_peer_repeats_are_plain() {
        for plain in ["0", "7", "123456789012345", r#""a-b 1""#] {
            assert!(RawId::new(plain).is_plain(), "{plain}");
        }
        for odd in [
            "1.0",
            "-1",
            "null",
            "1e3",
            "01",
            "9007199254740993",
            r#""\n""#,
            r#""é""#,
        ] {
            assert!(!RawId::new(odd).is_plain(), "{odd}");
        }
    }
}
