//! Digests of JSON values, independent of member order and number formatting.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use smallvec::SmallVec;

/// A collision-resistant 128-bit digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Digest(u128);

impl Digest {
    /// Digests a value.
    pub fn of(value: &Value) -> Self {
        let mut canonical = CanonicalBytes::default();
        canonical.value(value);
        canonical.digest()
    }

    /// Digests the members of an object.
    pub fn of_members<'a>(members: impl IntoIterator<Item = (&'a String, &'a Value)>) -> Self {
        let mut canonical = CanonicalBytes::default();
        canonical.members(members);
        canonical.digest()
    }

    /// Returns the digest as bytes.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_le_bytes()
    }
}

/// A canonical, injective byte encoding of values.
#[derive(Debug, Default)]
pub struct CanonicalBytes(SmallVec<[u8; 512]>);

impl CanonicalBytes {
    /// Digests what was written.
    pub fn digest(&self) -> Digest {
        let hash = blake3::hash(&self.0);
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hash.as_bytes()[..16]);
        Digest(u128::from_le_bytes(bytes))
    }

    /// Writes a value.
    pub fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.0.push(b'n'),
            Value::Bool(true) => self.0.push(b't'),
            Value::Bool(false) => self.0.push(b'f'),
            Value::Number(number) => self.number(number),
            Value::String(text) => self.text(text),
            Value::Array(items) => {
                self.0.push(b'[');
                for item in items {
                    self.value(item);
                }
                self.0.push(b']');
            }
            Value::Object(members) => self.members(members),
        }
    }

    fn members<'a>(&mut self, members: impl IntoIterator<Item = (&'a String, &'a Value)>) {
        let mut members: SmallVec<[_; 16]> = members.into_iter().collect();
        members.sort_unstable_by_key(|(key, _)| *key);
        self.0.push(b'{');
        for (key, value) in members {
            self.text(key);
            self.value(value);
        }
        self.0.push(b'}');
    }

    /// Writes a text.
    pub fn text(&mut self, text: &str) {
        self.0.push(b's');
        self.0.extend_from_slice(&(text.len() as u64).to_le_bytes());
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Writes another digest.
    pub fn nested(&mut self, digest: Digest) {
        self.0.extend_from_slice(&digest.to_bytes());
    }

    fn number(&mut self, number: &serde_json::Number) {
        let float = || number.as_f64().and_then(whole);
        match (number.as_i64().or_else(float), number.as_u64()) {
            (Some(whole), _) => {
                self.0.push(b'i');
                self.0.extend_from_slice(&whole.to_le_bytes());
            }
            (None, Some(whole)) => {
                self.0.push(b'u');
                self.0.extend_from_slice(&whole.to_le_bytes());
            }
            (None, None) => {
                self.0.push(b'd');
                match number.as_f64() {
                    Some(float) => self.0.extend_from_slice(&float.to_bits().to_le_bytes()),
                    None => self.text(&number.to_string()),
                }
            }
        }
    }
}

/// Converts a float that is an exactly representable integer.
fn whole(float: f64) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "within 2^53, where it is exact"
    )]
    (float.fract() == 0.0 && float.abs() <= EXACT).then_some(float as i64)
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn digest(text: &str) -> Digest {
        Digest::of(&serde_json::from_str(text).unwrap())
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
                assert_ne!(Digest::of(one), Digest::of(other), "{one} {other}");
            }
        }
        let texts = |texts: &[&str]| {
            let mut canonical = CanonicalBytes::default();
            for text in texts {
                canonical.text(text);
            }
            canonical.digest()
        };
        assert_ne!(texts(&["a", "b"]), texts(&["ab", ""]));
        assert_ne!(texts(&["a", "b"]), Digest::of(&json!(["a", "b"])));
    }
}
