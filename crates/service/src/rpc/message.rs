//! Parses messages strictly.
//!
//! One pass over the whole message validates UTF-8, JSON, depth and unique keys. Later steps borrow
//! from the text and rely on that. No tree is built: definitions and answers stay text until they
//! are used.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};
use serde_json::value::RawValue;

use super::error::RpcError;

/// Maximum number of elements in a batch.
pub(super) const MAX_BATCH: usize = 1000;
/// Maximum length of an id, in bytes of JSON. A waiting call holds its id.
const MAX_ID: usize = 1024;
/// Maximum number of values in a message, at all levels: in a tree, the smallest takes many times
/// its length.
const MAX_VALUES: usize = 1 << 20;
/// Maximum number of keys in an object and those around it: all are held in memory to detect
/// duplicates.
const MAX_KEYS: usize = 1 << 16;

/// A single call or a batch.
pub(super) enum Message<'a> {
    One(Result<Request<'a>, Invalid<'a>>),
    Batch(Vec<Result<Request<'a>, Invalid<'a>>>),
}

/// A call. Without an id it is a notification, which gets no response.
pub(super) struct Request<'a> {
    /// A string, a number or null as raw JSON, which preserves all digits.
    pub(super) id: Option<&'a RawValue>,
    pub(super) method: Cow<'a, str>,
    pub(super) params: Option<&'a RawValue>,
}

/// JSON that is not a call.
pub(super) struct Invalid<'a> {
    pub(super) id: Option<&'a RawValue>,
    pub(super) error: RpcError,
}

/// Parses a message; fails if it is not JSON, or is an empty or oversized batch.
pub(super) fn read(bytes: &[u8]) -> Result<Message<'_>, RpcError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let offset = error.valid_up_to();
        RpcError::unreadable(format!("byte {offset} is not UTF-8"))
    })?;
    let unreadable = |error: serde_json::Error| RpcError::unreadable(error.to_string());
    validate(text).map_err(unreadable)?;
    if !text.trim_start().starts_with('[') {
        return Ok(Message::One(read_request(text)));
    }
    let batch = serde_json::Deserializer::from_str(text).deserialize_seq(Elements);
    let (elements, count) = batch.map_err(unreadable)?;
    match count {
        0 => Err(RpcError::invalid_request("the batch is empty")),
        count if count > MAX_BATCH => Err(RpcError::invalid_request(&format!(
            "the batch has {count} elements; the limit is {MAX_BATCH}"
        ))),
        _ => {
            let requests = elements.into_iter().map(|raw| read_request(raw.get()));
            Ok(Message::Batch(requests.collect()))
        }
    }
}

/// Collects the elements of a batch up to the limit, and counts all of them.
struct Elements;

impl<'de> Visitor<'de> for Elements {
    type Value = (Vec<&'de RawValue>, usize);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a batch")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let (mut elements, mut count) = (Vec::new(), 0);
        while let Some(element) = items.next_element()? {
            count += 1;
            if count <= MAX_BATCH {
                elements.push(element);
            }
        }
        Ok((elements, count))
    }
}

/// A string value, borrowed unless it has escapes.
pub(super) fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inner = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if !inner.contains('\\') {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str(raw.get()).ok().map(Cow::Owned)
}

/// The members of a call. Others are ignored.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
}

/// Distinguishes null, a valid id, from an absent member.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(raw: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(raw).map(Some)
}

fn read_request(source: &str) -> Result<Request<'_>, Invalid<'_>> {
    let invalid = |id, why| {
        let error = RpcError::invalid_request(why);
        Err(Invalid { id, error })
    };
    // Serde would read an array as the members in order.
    if !source.trim_start().starts_with('{') {
        return invalid(None, "a call must be an object");
    }
    let Ok(envelope) = serde_json::from_str::<Envelope<'_>>(source) else {
        return invalid(None, "a call must be an object");
    };
    let id = envelope.id;
    if id.is_some_and(|id| !is_id(id)) {
        return invalid(None, "`id` must be a string, a number or null");
    }
    if id.is_some_and(|id| id.get().len() > MAX_ID) {
        return invalid(None, &format!("`id` is longer than {MAX_ID} bytes"));
    }
    if envelope.jsonrpc.and_then(text).as_deref() != Some("2.0") {
        return invalid(id, "`jsonrpc` is \"2.0\"");
    }
    let Some(method) = envelope.method.and_then(text) else {
        return invalid(id, "`method` must be a string");
    };
    Ok(Request {
        id,
        method,
        params: envelope.params,
    })
}

fn is_id(raw: &RawValue) -> bool {
    let first = raw.get().as_bytes().first();
    first.is_some_and(|first| matches!(first, b'"' | b'-' | b'0'..=b'9' | b'n'))
}

/// Validates every value and key.
fn validate(text: &str) -> Result<(), serde_json::Error> {
    // The deserializer limits the depth to 128 by itself.
    let mut json = serde_json::Deserializer::from_str(text);
    let (values, keys) = (Cell::new(0), Cell::new(0));
    let validator = UniqueKeys {
        values: &values,
        keys: &keys,
    };
    validator.deserialize(&mut json)?;
    json.end()
}

/// Up to this many keys of an object are compared one by one.
const FEW_KEYS: usize = 16;

/// Accepts any JSON in which no object has duplicate keys.
#[derive(Clone, Copy)]
struct UniqueKeys<'n> {
    /// The number of values so far.
    values: &'n Cell<usize>,
    /// The number of keys held, of this object and those around it.
    keys: &'n Cell<usize>,
}

impl UniqueKeys<'_> {
    fn count<E: de::Error>(number: &Cell<usize>, most: usize, what: &str) -> Result<(), E> {
        if number.get() == most {
            return Err(E::custom(format_args!("there are more than {most} {what}")));
        }
        number.set(number.get() + 1);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for UniqueKeys<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        Self::count(self.values, MAX_VALUES, "values")?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for UniqueKeys<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut few: Vec<Cow<'de, str>> = Vec::new();
        let mut many: HashSet<Cow<'de, str>> = HashSet::new();
        let outer_keys = self.keys.get();
        while let Some(key) = members.next_key_seed(Key)? {
            if few.contains(&key) || many.contains(&key) {
                let key: String = key.chars().take(64).collect();
                return Err(A::Error::custom(format_args!(
                    "the key `{key}` stands twice in one object"
                )));
            }
            Self::count(self.keys, MAX_KEYS, "keys in an object and those around it")?;
            if few.len() < FEW_KEYS {
                few.push(key);
            } else {
                many.insert(key);
            }
            members.next_value_seed(self)?;
        }
        self.keys.set(outer_keys);
        Ok(())
    }
}

/// A key, borrowed unless it has escapes.
pub(super) struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E: de::Error>(self, key: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(key))
    }

    fn visit_str<E: de::Error>(self, key: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(key.to_owned()))
    }
}
