//! Objects of raw JSON: members in their order, values as they were written.
//!
//! Changes one member of a message and leaves the bytes of all others alone. A tree would lose the
//! spelling of numbers and cost several times as much.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

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
        let mut names: Vec<&str> = self.0.iter().map(|(name, _)| name.as_ref()).collect();
        names.sort_unstable();
        names.windows(2).any(|pair| pair[0] == pair[1])
    }

    /// Returns the text of a member.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_ref())
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

    /// Keeps the members that a predicate accepts.
    pub fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) {
        self.0.retain(|(name, _)| keep(name));
    }
}

impl fmt::Display for RawObject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (index, (name, value)) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{}:{value}", quoted(name))?;
        }
        f.write_str("}")
    }
}

/// Returns a text as JSON.
pub fn quoted(text: &str) -> String {
    Value::from(text).to_string()
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
    }
}
