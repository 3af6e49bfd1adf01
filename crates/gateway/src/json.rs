//! Objects of raw JSON: members in their order, values as they were written.
//!
//! Changes one member of a message and leaves the bytes of all others alone. A tree would lose the
//! spelling of numbers and cost several times as much.

use std::borrow::Cow;
use std::fmt;

use memchr::{memchr, memmem};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// Up to this many members are compared with each other rather than sorted.
const FEW: usize = 8;

/// An object whose values are raw JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawObject<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> RawObject<'a> {
    /// Parses the text of an object; `None` if it is not one, or names a member twice.
    pub fn parse(text: &'a str) -> Option<Self> {
        let object: Self = serde_json::from_str(text).ok()?;
        (!object.has_duplicates()).then_some(object)
    }

    /// Parses the members of an object, of which several may have one name; `None` if it is not one.
    pub(crate) fn members(text: &'a str) -> Option<Vec<(Cow<'a, str>, &'a str)>> {
        let object: Self = serde_json::from_str(text).ok()?;
        let borrowed = |value| match value {
            Cow::Borrowed(text) => Some(text),
            Cow::Owned(_) => None,
        };
        let members = object.0.into_iter();
        members
            .map(|(name, value)| Some((name, borrowed(value)?)))
            .collect()
    }

    fn has_duplicates(&self) -> bool {
        if self.0.len() <= FEW {
            let mut rest = self.0.as_slice();
            while let [(name, _), after @ ..] = rest {
                if after.iter().any(|(other, _)| other == name) {
                    return true;
                }
                rest = after;
            }
            return false;
        }
        let mut names: Vec<&str> = self.0.iter().map(|(name, _)| name.as_ref()).collect();
        names.sort_unstable();
        names.windows(2).any(|pair| pair[0] == pair[1])
    }

    /// Returns the text of a member.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_ref())
    }

    /// Returns a member that is an object of the text that was parsed, so that it can be replaced
    /// while it is read.
    pub(crate) fn parsed_object(&self, name: &str) -> Option<RawObject<'a>> {
        match self.0.iter().find(|(key, _)| key == name)? {
            (_, Cow::Borrowed(text)) => RawObject::parse(text),
            (_, Cow::Owned(text)) => RawObject::parse(text).map(RawObject::into_owned),
        }
    }

    /// Returns a member that is a string.
    pub fn string(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?).ok()
    }

    /// Returns a member that is an object.
    pub fn object(&self, name: &str) -> Option<RawObject<'_>> {
        RawObject::parse(self.get(name)?)
    }

    /// Returns a copy that borrows nothing.
    pub fn into_owned(self) -> RawObject<'static> {
        let members = self.0.into_iter();
        let owned = |text: Cow<'a, str>| Cow::Owned(text.into_owned());
        RawObject(
            members
                .map(|(name, value)| (owned(name), owned(value)))
                .collect(),
        )
    }

    /// Iterates over the members.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let members = self.0.iter();
        members.map(|(name, value)| (name.as_ref(), value.as_ref()))
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sets a member to raw JSON: in its place if it exists, else at the end.
    pub fn set(&mut self, name: &str, value: impl Into<Cow<'a, str>>) {
        let value = value.into();
        match self.0.iter_mut().find(|(key, _)| key == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((Cow::Owned(name.to_owned()), value)),
        }
    }

    /// Gives members another value, as far as a function returns one.
    pub(crate) fn change(&mut self, change: impl Fn(&str) -> Option<String>) {
        for (_, value) in &mut self.0 {
            if let Some(changed) = change(value) {
                *value = Cow::Owned(changed);
            }
        }
    }

    /// Sets a member to a value.
    pub fn set_value(&mut self, name: &str, value: &Value) {
        self.set(name, value.to_string());
    }

    /// Removes a member, and returns its text.
    pub fn remove(&mut self, name: &str) -> Option<Cow<'a, str>> {
        let index = self.0.iter().position(|(key, _)| key == name)?;
        Some(self.0.remove(index).1)
    }

    /// Returns the text of the object.
    pub(crate) fn text(&self) -> String {
        let length = |(name, value): &(Cow<'_, str>, Cow<'_, str>)| name.len() + value.len() + 4;
        let mut text = String::with_capacity(2 + self.0.iter().map(length).sum::<usize>());
        text.push('{');
        for (index, (name, value)) in self.0.iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            if is_plain(name) {
                text.extend(["\"", name, "\""]);
            } else {
                text.push_str(&quoted(name));
            }
            text.push(':');
            text.push_str(value);
        }
        text.push('}');
        text
    }

    /// Keeps the members that a predicate accepts.
    pub fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) {
        self.0.retain(|(name, _)| keep(name));
    }
}

impl fmt::Display for RawObject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// Whether a text may have a member of this name, which spares most texts from being parsed. Names
/// can be written with escapes, PHP does so with slashes: a text with such escapes may have it.
pub(crate) fn may_name(text: &str, name: &str) -> bool {
    let has = |part: &str| memmem::find(text.as_bytes(), part.as_bytes()).is_some();
    has(name) || memchr(b'\\', text.as_bytes()).is_some() && (has(r"\u") || has(r"\/"))
}

/// Adds members to the text of an object that has none of these names, behind its own.
pub(crate) fn with_members(object: &str, members: &[(&str, &str)]) -> String {
    let inner = object.trim_ascii().strip_suffix('}').unwrap_or(object);
    let inner = inner.trim_ascii_end();
    let added = members
        .iter()
        .map(|(name, value)| name.len() + value.len() + 4);
    let mut text = String::with_capacity(inner.len() + added.sum::<usize>() + 1);
    text.push_str(inner);
    for (name, value) in members {
        let comma = if text.ends_with('{') { "" } else { "," };
        text.extend([comma, "\"", name, "\":", value]);
    }
    text.push('}');
    text
}

/// Returns a text as JSON.
pub fn quoted(text: &str) -> String {
    if is_plain(text) {
        return ["\"", text, "\""].concat();
    }
    Value::from(text).to_string()
}

/// Whether a text stands in JSON as it is.
fn is_plain(text: &str) -> bool {
    let mut bytes = text.bytes();
    !bytes.any(|byte| matches!(byte, b'"' | b'\\') || byte < b' ')
}

impl<'de: 'a, 'a> Deserialize<'de> for RawObject<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members)
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = RawObject<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(name) = map.next_key::<BorrowedName<'de>>()? {
            let value: &'de RawValue = map.next_value()?;
            members.push((name.0, Cow::Borrowed(value.get())));
        }
        Ok(RawObject(members))
    }
}

/// A member's name, borrowed unless it has escapes: serde's own `Cow` never borrows.
struct BorrowedName<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for BorrowedName<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;
        impl<'de> Visitor<'de> for Name {
            type Value = BorrowedName<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
                Ok(BorrowedName(Cow::Borrowed(name)))
            }

            fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
                Ok(BorrowedName(Cow::Owned(name.to_owned())))
            }
        }
        deserializer.deserialize_str(Name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order_and_their_spelling() {
        let text = r#"{"z":1.0,"a":{ "y" : 2e3 , "b":[ ] },"\u00e9":9007199254740993}"#;
        let mut object = RawObject::parse(text).unwrap();
        assert_eq!(object.get("a"), Some(r#"{ "y" : 2e3 , "b":[ ] }"#));
        assert_eq!(object.get("é"), Some("9007199254740993"));
        object.set("z", "null");
        object.set("new", "[1]");
        assert_eq!(object.remove("é").as_deref(), Some("9007199254740993"));
        assert_eq!(
            object.to_string(),
            r#"{"z":null,"a":{ "y" : 2e3 , "b":[ ] },"new":[1]}"#
        );
    }

    #[test]
    fn an_object_that_names_a_member_twice_is_none() {
        assert_eq!(RawObject::parse(r#"{"a":1,"b":2,"\u0061":3}"#), None);
        assert_eq!(RawObject::parse("[1]"), None);
        let many = |last: &str| {
            let members: Vec<String> = (0..20).map(|it| format!(r#""{it}":{it}"#)).collect();
            format!(r#"{{{},"{last}":0}}"#, members.join(","))
        };
        assert_eq!(RawObject::parse(&many("7")), None);
        assert!(RawObject::parse(&many("20")).is_some());
    }

    #[test]
    fn a_text_may_have_a_member_however_its_name_is_written() {
        assert!(may_name(r#"{"a/b":1}"#, "a/b"));
        assert!(may_name(r#"{"a\/b":1}"#, "a/b"));
        assert!(may_name(r#"{"a\u002fb":1}"#, "a/b"));
        assert!(!may_name(r#"{"a":"b\n\"c\""}"#, "a/b"));
    }

    #[test]
    fn members_are_added_behind_the_others_and_names_are_escaped() {
        let added = [("a", "1"), ("b", "{}")];
        assert_eq!(with_members("{ }", &added), r#"{"a":1,"b":{}}"#);
        assert_eq!(
            with_members(r#"{"x":1.0 }"#, &added),
            r#"{"x":1.0,"a":1,"b":{}}"#
        );
        let mut object = RawObject::default();
        object.set("a\n\"\\é", "1");
        assert_eq!(object.text(), "{\"a\\n\\\"\\\\é\":1}");
        assert_eq!(
            RawObject::parse(&object.text()).unwrap().get("a\n\"\\é"),
            Some("1")
        );
        for text in ["", "a", "\u{7f}", "\t", "a\"b", "\\", "é/"] {
            assert_eq!(quoted(text), Value::from(text).to_string());
        }
    }
}
