//! Numbers that keep their exact value.
//!
//! Whole numbers are exact up to 38 digits; longer ones are rejected rather than rounded.
//! Fractions are `f64`. Where exactness matters (multiples, comparison with a whole number), a
//! fraction stands for the shortest decimal that parses to the same `f64`, which is what a
//! person typed.

use std::cmp::Ordering;
use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::Value;

mod decimal;

use decimal::Decimal;

/// A number: a whole number of up to 38 digits, or a finite float.
///
/// ```
/// use entreat_core::Number;
/// assert_eq!(Number::from(12).as_i128(), Some(12));
/// assert_eq!(Number::from_f64(0.5).map(Number::as_f64), Some(0.5));
/// assert_eq!(Number::from_f64(f64::NAN), None);
/// ```
#[derive(Clone, Copy)]
pub struct Number(Repr);

#[derive(Clone, Copy)]
enum Repr {
    Int(Wide),
    /// Anything written with a fraction or an exponent; always finite.
    Float(f64),
}

/// An `i128` with the alignment of a pointer. Makes enums that contain numbers a third smaller.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Wide {
    high: i64,
    low: u64,
}

impl Wide {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "splits the value into its two halves"
    )]
    const fn new(int: i128) -> Self {
        Self {
            high: (int >> 64) as i64,
            low: int as u64,
        }
    }

    fn get(self) -> i128 {
        i128::from(self.high) << 64 | i128::from(self.low)
    }

    /// The value if it fits, as it nearly always does.
    fn as_i64(self) -> Option<i64> {
        let low = self.low.cast_signed();
        (self.high == low >> 63).then_some(low)
    }
}

impl Number {
    const fn int(int: i128) -> Self {
        Self(Repr::Int(Wide::new(int)))
    }

    /// Converts a float; `None` unless it is finite.
    ///
    /// Zero has no sign. A JSON parser reads `-0` as a negative zero, and would have it written as
    /// `-0.0`, while digits that a person typed are a whole number.
    pub fn from_f64(float: f64) -> Option<Self> {
        if float == 0.0 && float.is_sign_negative() {
            return Some(Self::int(0));
        }
        float.is_finite().then_some(Self(Repr::Float(float)))
    }

    /// Parses a text as an HTML number input would: digits with an optional minus sign, fraction
    /// and exponent. The whole text must be the number.
    ///
    /// ```
    /// use entreat_core::Number;
    /// assert_eq!(Number::parse("-12"), Some(Number::from(-12)));
    /// assert_eq!(Number::parse("1e3"), Some(Number::from(1000)));
    /// assert_eq!(Number::parse("12 "), None);
    /// assert_eq!(Number::parse("NaN"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let unsigned = bytes.strip_prefix(b"-").unwrap_or(bytes);
        let (whole, rest) = split_digits(unsigned);
        let (fraction, rest) = match rest.strip_prefix(b".") {
            Some(after) => {
                let (fraction, rest) = split_digits(after);
                (Some(fraction), rest)
            }
            None => (None, rest),
        };
        let has_exponent = match rest {
            [] => false,
            [b'e' | b'E', exponent @ ..] => {
                let digits = exponent.strip_prefix(b"-").unwrap_or(exponent);
                let digits = digits.strip_prefix(b"+").unwrap_or(digits);
                if digits.is_empty() || !split_digits(digits).1.is_empty() {
                    return None;
                }
                true
            }
            _ => return None,
        };
        match fraction {
            Some([]) => None,
            None if whole.is_empty() => None,
            None if !has_exponent => text.parse().ok().map(Self::int),
            _ => text.parse().ok().and_then(Self::from_f64),
        }
    }

    /// Converts a number of parsed JSON.
    pub(crate) fn from_json(number: &serde_json::Number) -> Option<Self> {
        if let Some(int) = number.as_i64() {
            Some(int.into())
        } else if let Some(int) = number.as_u64() {
            Some(int.into())
        } else {
            number.as_f64().and_then(Self::from_f64)
        }
    }

    /// The nearest `f64`.
    #[expect(
        clippy::cast_precision_loss,
        reason = "the caller asks for the nearest float"
    )]
    pub fn as_f64(self) -> f64 {
        match self.0 {
            Repr::Int(int) => int.get() as f64,
            Repr::Float(float) => float,
        }
    }

    /// The value as a whole number, if it is one. `2.0` is.
    pub fn as_integer(self) -> Option<i128> {
        match self.0 {
            Repr::Int(int) => Some(int.get()),
            Repr::Float(_) => Decimal::from(self).to_integer(),
        }
    }

    /// The whole number, if it was written as one. `2.0` was not.
    pub fn as_i128(self) -> Option<i128> {
        match self.0 {
            Repr::Int(int) => Some(int.get()),
            Repr::Float(_) => None,
        }
    }

    /// Converts to JSON. A whole number beyond 64 bits becomes the nearest float.
    pub fn to_json(self) -> Value {
        match self.0 {
            Repr::Int(int) => match (int.as_i64(), u64::try_from(int.get())) {
                (Some(small), _) => small.into(),
                (_, Ok(large)) => large.into(),
                _ => self.as_f64().into(),
            },
            Repr::Float(float) => float.into(),
        }
    }

    pub(crate) fn is_multiple_of(self, step: Step) -> bool {
        match (self.0, step) {
            (Repr::Int(_), Step::Whole(1)) => true,
            (Repr::Int(value), Step::Whole(step)) => match value.as_i64() {
                Some(small) => small % step == 0,
                None => value.get() % i128::from(step) == 0,
            },
            (_, Step::Whole(step)) => {
                let step = Decimal::from(Self::from(step));
                Decimal::from(self).is_multiple_of(step)
            }
            (_, Step::Exact(step)) => Decimal::from(self).is_multiple_of(step),
        }
    }
}

/// A `multipleOf`, which is above zero.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// A separate variant, because most steps are whole and this check is much cheaper.
    Whole(i64),
    Exact(Decimal),
}

impl Step {
    /// Converts a number; `None` unless it is above zero.
    pub(crate) fn new(number: Number) -> Option<Self> {
        let decimal = Decimal::from(number);
        let whole = decimal
            .to_integer()
            .and_then(|step| i64::try_from(step).ok());
        decimal
            .is_positive()
            .then(|| whole.map_or(Self::Exact(decimal), Self::Whole))
    }

    pub(crate) fn is_whole(self) -> bool {
        match self {
            Self::Whole(_) => true,
            Self::Exact(decimal) => decimal.to_integer().is_some(),
        }
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Repr::Int(a), Repr::Int(b)) => a.cmp(b),
            // Shortest decimals sort like their floats, so comparing floats is exact.
            (Repr::Float(a), Repr::Float(b)) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
            _ => Decimal::from(*self).cmp(&Decimal::from(*other)),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Repr::Int(int) => int.get().fmt(f),
            Repr::Float(float) => float.fmt(f),
        }
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Repr::Int(int) => f.debug_tuple("Int").field(&int.get()).finish(),
            Repr::Float(float) => f.debug_tuple("Float").field(&float).finish(),
        }
    }
}

macro_rules! from_integers {
    ($($type:ty),*) => {
        $(impl From<$type> for Number {
            fn from(int: $type) -> Self {
                Self::int(int.into())
            }
        })*
    };
}

from_integers!(i32, i64, u64, i128);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Repr::Int(int) => match (int.as_i64(), u64::try_from(int.get())) {
                (Some(small), _) => serializer.serialize_i64(small),
                (_, Ok(large)) => serializer.serialize_u64(large),
                _ => serializer.serialize_i128(int.get()),
            },
            Repr::Float(float) => serializer.serialize_f64(float),
        }
    }
}

fn split_digits(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes
        .iter()
        .position(|b| !b.is_ascii_digit())
        .unwrap_or(bytes.len());
    bytes.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        Number::parse(text).unwrap()
    }

    #[test]
    fn decimals_are_exact_multiples() {
        for (value, step, multiple) in [
            ("0.3", "0.1", true),
            ("19.99", "0.01", true),
            ("4.35", "0.01", true),
            ("0.35", "0.1", false),
            ("1e22", "0.1", true),
            ("7", "2.5", false),
            ("7.5", "2.5", true),
            ("-7.5", "2.5", true),
            ("0", "3", true),
            ("1e-300", "1e-301", true),
            ("1e-301", "1e-300", false),
            ("9007199254740993", "9007199254740993", true),
            ("9007199254740993", "2", false),
            ("170141183460469231731687303715884105726", "2", true),
            ("1e300", "170141183460469231731687303715884105727", false),
        ] {
            assert_eq!(
                number(value).is_multiple_of(Step::new(number(step)).unwrap()),
                multiple,
                "{value} of {step}"
            );
        }
    }

    #[test]
    fn whole_numbers_above_two_to_the_53_differ() {
        assert_ne!(number("9007199254740993"), number("9007199254740992"));
        assert!(number("9007199254740993") > number("9007199254740992.0"));
        assert_eq!(number("9007199254740992.0"), number("9007199254740992"));
        assert!(number("1e30") < number("1000000000000000000000000000001"));
        assert!(number("-0.5") < number("0"));
        assert!(number("-2") < number("-1.5"));
    }

    #[test]
    fn only_a_whole_text_that_is_a_number_is_one() {
        for text in [
            "", " ", "-", ".", "1.", "+1", "1e", "1e+", "0x10", "1_000", "1,5", "NaN", "Infinity",
            "1e400", " 1", "1 ", "--1", "1e5.5", "٣",
        ] {
            assert_eq!(Number::parse(text), None, "{text:?}");
        }
        assert_eq!(number(".5"), number("0.5"));
        assert_eq!(number("-1.5E+3"), Number::from(-1500));
        // 40 digits: rejected, since it could only be stored rounded.
        assert_eq!(Number::parse(&"9".repeat(40)), None);
    }

    #[test]
    fn zero_has_no_sign_however_it_is_written() {
        for text in ["-0", "-0.0", "-0e5", "-1e-400"] {
            let parsed: serde_json::Number = text.parse().unwrap();
            for zero in [Number::parse(text), Number::from_json(&parsed)] {
                assert_eq!(serde_json::to_string(&zero).unwrap(), "0", "{text}");
                assert_eq!(zero.map(Number::as_i128), Some(Some(0)), "{text}");
            }
        }
    }

    #[test]
    fn big_integers_are_written_as_they_were_read() {
        for text in [
            "9007199254740993",
            "18446744073709551615",
            "-123456789012345678901234567890",
        ] {
            assert_eq!(serde_json::to_string(&number(text)).unwrap(), text);
        }
    }
}
