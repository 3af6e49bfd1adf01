//! Digests of JSON by what it means: the order of members and the writing of numbers do not count.

use std::fmt::{self, Write as _};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A digest of 128 bits, which nobody can choose another meaning for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Digest(u128);

impl Digest {
    /// The digest of several values, of which each stays apart from its neighbours.
    pub(crate) fn of<'a>(parts: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut hasher = Hasher(blake3::Hasher::new());
        for part in parts {
            hasher.value(part);
            hasher.0.update(&[0]);
        }
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hasher.0.finalize().as_bytes()[..16]);
        Self(u128::from_le_bytes(bytes))
    }

    pub(crate) fn to_bytes(self) -> [u8; 16] {
        self.0.to_le_bytes()
    }

    /// As a value, of which others can be digests.
    pub(crate) fn to_value(self) -> Value {
        format!("{:032x}", self.0).into()
    }
}

struct Hasher(blake3::Hasher);

impl fmt::Write for Hasher {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

impl Hasher {
    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.text("n"),
            Value::Bool(true) => self.text("t"),
            Value::Bool(false) => self.text("f"),
            Value::Number(number) => self.number(number),
            Value::String(text) => self.string(text),
            Value::Array(items) => {
                self.text("[");
                for item in items {
                    self.value(item);
                }
                self.text("]");
            }
            Value::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                members.sort_unstable_by_key(|(key, _)| *key);
                self.text("{");
                for (key, value) in members {
                    self.string(key);
                    self.value(value);
                }
                self.text("}");
            }
        }
    }

    /// With its length before it, so that no text can look like what follows another.
    fn string(&mut self, text: &str) {
        // Hashing cannot fail.
        let _ = write!(self, "s{}:{text}", text.len());
    }

    fn number(&mut self, number: &serde_json::Number) {
        let _ = match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(whole), ..) => write!(self, "i{whole};"),
            (None, Some(whole), _) => write!(self, "i{whole};"),
            (None, None, Some(float)) => match whole(float) {
                Some(whole) => write!(self, "i{whole};"),
                None => write!(self, "d{};", zmij::Buffer::new().format(float)),
            },
            (None, None, None) => write!(self, "d{number};"),
        };
    }

    fn text(&mut self, text: &str) {
        self.0.update(text.as_bytes());
    }
}

/// The whole number that a float is, if it is one that is exact.
fn whole(float: f64) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "within 2^53, where it is exact"
    )]
    (float.fract() == 0.0 && float.abs() <= EXACT).then_some(float as i64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn digest(text: &str) -> Digest {
        Digest::of([&serde_json::from_str(text).unwrap()])
    }

    #[test]
    fn order_and_writing_do_not_count() {
        assert_eq!(
            digest(r#"{"a":1,"b":[1.5,{"x":null,"y":"é"}]}"#),
            digest(r#"{ "b": [15e-1, {"y":"\u00e9","x":null}], "a": 1.0 }"#)
        );
        assert_eq!(digest("-0.0"), digest("0"));
        assert_eq!(digest("1e2"), digest("100"));
    }

    #[test]
    fn what_means_something_else_has_another_digest() {
        let values = [
            json!(null),
            json!(false),
            json!(true),
            json!(0),
            json!(1),
            json!("1"),
            json!(1.5),
            json!([]),
            json!({}),
            json!([[]]),
            json!(["a", "b"]),
            json!(["ab"]),
            json!(["b", "a"]),
            json!({"a": "b"}),
            json!({"ab": ""}),
            json!({"a": {"b": 1}}),
            json!("n"),
            json!(u64::MAX),
            json!(i64::MIN),
            json!(1e300),
            json!(["s1:a"]),
        ];
        for (index, one) in values.iter().enumerate() {
            for other in &values[index + 1..] {
                assert_ne!(Digest::of([one]), Digest::of([other]), "{one} {other}");
            }
        }
        let (a, b) = (json!("a"), json!("b"));
        assert_ne!(Digest::of([&a, &b]), Digest::of([&json!(["a", "b"])]));
    }
}
