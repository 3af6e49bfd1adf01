//! The parameters of a call, validated against the method.

use std::borrow::Cow;
use std::fmt;

use entreat_core::closest;
use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::error::RpcError;
use super::message::{Key, text};
use super::shape::{Shape, count, one_of};

/// A parameter of a method.
pub(super) struct Param {
    pub(super) name: &'static str,
    pub(super) required: bool,
    pub(super) shape: Shape,
    /// Its description.
    pub(super) about: &'static str,
}

impl Param {
    pub(super) const fn required(name: &'static str, shape: Shape, about: &'static str) -> Self {
        Self {
            name,
            required: true,
            shape,
            about,
        }
    }

    pub(super) const fn optional(name: &'static str, shape: Shape, about: &'static str) -> Self {
        Self {
            name,
            required: false,
            shape,
            about,
        }
    }
}

/// Parameters whose names, presence and shapes match the method.
pub(super) struct Params<'a> {
    known: &'static [Param],
    members: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl<'a> Params<'a> {
    /// Validates the parameters of a call.
    pub(super) fn read(
        raw: Option<&'a RawValue>,
        known: &'static [Param],
    ) -> Result<Self, RpcError> {
        let members = match raw {
            Some(raw) => members_of(raw)?,
            None => Vec::new(),
        };
        for (name, value) in &members {
            let Some(param) = known.iter().find(|param| param.name == name) else {
                let names: Vec<&str> = known.iter().map(|param| param.name).collect();
                let suggestion = closest(name, &names);
                return Err(RpcError::unknown_param(name, suggestion, &one_of(&names)));
            };
            param.shape.check(value).map_err(|wanted| {
                let found = found(param.shape, value);
                let message = format!("`{name}` must be {wanted}; {found} was sent.");
                RpcError::param(name, "invalid_param", message)
            })?;
        }
        let is_absent =
            |param: &&Param| param.required && !members.iter().any(|(name, _)| name == param.name);
        if let Some(missing) = known.iter().find(is_absent) {
            let name = missing.name;
            let message = format!("`{name}` is required: {}", missing.about);
            return Err(RpcError::param(name, "missing_param", message));
        }
        Ok(Self { known, members })
    }

    /// The raw JSON of a parameter.
    pub(super) fn raw(&self, name: &str) -> Option<&'a RawValue> {
        debug_assert!(
            self.known.iter().any(|param| param.name == name),
            "{name} is not in the method's table"
        );
        let found = self.members.iter().find(|(other, _)| other == name);
        found.map(|(_, raw)| *raw)
    }

    /// Whether the parameter is present.
    pub(super) fn has(&self, name: &str) -> bool {
        self.raw(name).is_some()
    }

    pub(super) fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        self.raw(name).and_then(text)
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.raw(name).is_some_and(|raw| raw.get() == "true")
    }

    pub(super) fn count(&self, name: &str) -> Option<u64> {
        self.raw(name).and_then(count)
    }

    /// The parameter as a tree.
    pub(super) fn value(&self, name: &str) -> Option<Value> {
        let raw = self.raw(name)?;
        // The text was validated, so parsing cannot fail.
        Some(serde_json::from_str(raw.get()).unwrap_or_default())
    }
}

fn members_of(raw: &RawValue) -> Result<Vec<(Cow<'_, str>, &RawValue)>, RpcError> {
    let by_name = || {
        let message = "`params` must be an object with parameters by name.";
        RpcError::params("invalid_param", message)
    };
    if !raw.get().starts_with('{') {
        return Err(by_name());
    }
    let mut json = serde_json::Deserializer::from_str(raw.get());
    json.deserialize_map(Members).map_err(|_| by_name())
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(key) = map.next_key_seed(Key)? {
            members.push((key, map.next_value()?));
        }
        Ok(members)
    }
}

/// Describes the value that was sent. Quotes it only if one of a few words was expected.
fn found(shape: Shape, raw: &RawValue) -> Cow<'static, str> {
    if let (Shape::Word(_), Some(word)) = (shape, text(raw)) {
        let word: String = word.chars().take(64).collect();
        return format!("`{word}`").into();
    }
    Cow::Borrowed(match raw.get().as_bytes().first() {
        Some(b'"') => "a text",
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    })
}
