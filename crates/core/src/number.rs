//! Numbers that keep the value that was written.
//!
//! Whole numbers are exact up to 38 digits. Fractions are `f64`, and where exactness
//! matters (multiples, comparing with a whole number) they count as the shortest decimal
//! that reads back as the same `f64`: what a person typed. Refuses longer whole numbers
//! rather than rounding them.

use std::cmp::Ordering;
use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::Value;

/// A number as it was answered.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// A whole number, exact.
    Int(i128),
    /// Anything written with a fraction or an exponent; always finite.
    Float(f64),
}

impl Number {
    /// Reads a whole text as one number, as an HTML number input would: digits with an
    /// optional minus, fraction and exponent.
    ///
    /// ```
    /// use entreat_core::Number;
    /// assert_eq!(Number::parse("-12"), Some(Number::Int(-12)));
    /// assert_eq!(Number::parse("1e3"), Some(Number::Int(1000)));
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
            None if !has_exponent => text.parse().ok().map(Self::Int),
            _ => text
                .parse()
                .ok()
                .filter(|float: &f64| float.is_finite())
                .map(Self::Float),
        }
    }

    /// Takes a number out of parsed JSON.
    pub(crate) fn from_json(number: &serde_json::Number) -> Option<Self> {
        if let Some(int) = number.as_i64() {
            Some(Self::Int(int.into()))
        } else if let Some(int) = number.as_u64() {
            Some(Self::Int(int.into()))
        } else {
            number.as_f64().filter(|f| f.is_finite()).map(Self::Float)
        }
    }

    /// The nearest `f64`.
    #[expect(
        clippy::cast_precision_loss,
        reason = "the caller asks for the nearest float"
    )]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Int(int) => int as f64,
            Self::Float(float) => float,
        }
    }

    /// The value as a whole number, if it is one: `2.0` is.
    pub fn as_integer(self) -> Option<i128> {
        match self {
            Self::Int(int) => Some(int),
            Self::Float(_) => Decimal::from(self).to_integer(),
        }
    }

    /// The value as JSON; a whole number beyond 64 bits becomes the nearest float there.
    pub fn to_json(self) -> Value {
        match self {
            Self::Int(int) => match (i64::try_from(int), u64::try_from(int)) {
                (Ok(small), _) => small.into(),
                (_, Ok(large)) => large.into(),
                _ => self.as_f64().into(),
            },
            Self::Float(float) => float.into(),
        }
    }

    pub(crate) fn is_multiple_of(self, step: Step) -> bool {
        match (self, step) {
            (Self::Int(_), Step::Whole(1)) => true,
            (Self::Int(value), Step::Whole(step)) => match i64::try_from(value) {
                Ok(small) => small % step == 0,
                Err(_) => value % i128::from(step) == 0,
            },
            (value, Step::Whole(step)) => {
                let step = Decimal::from(Self::Int(step.into()));
                Decimal::from(value).is_multiple_of(step)
            }
            (value, Step::Exact(step)) => Decimal::from(value).is_multiple_of(step),
        }
    }
}

/// What a number must be a multiple of; above zero.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// Apart, because it is what most forms have and costs next to nothing.
    Whole(i64),
    Exact(Decimal),
}

impl Step {
    /// The step that a number stands for; `None` unless it is above zero.
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
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a.cmp(b),
            // Shortest decimals are ordered as their floats are, so the cheap way is exact.
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
            _ => Decimal::from(*self).cmp(&Decimal::from(*other)),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(int) => int.fmt(f),
            Self::Float(float) => float.fmt(f),
        }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Int(int) => match (i64::try_from(*int), u64::try_from(*int)) {
                (Ok(small), _) => serializer.serialize_i64(small),
                (_, Ok(large)) => serializer.serialize_u64(large),
                _ => serializer.serialize_i128(*int),
            },
            Self::Float(float) => serializer.serialize_f64(*float),
        }
    }
}

/// `digits × 10^exponent`, with no trailing zero in `digits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    negative: bool,
    digits: u128,
    exponent: i32,
}

impl Decimal {
    fn new(negative: bool, mut digits: u128, mut exponent: i32) -> Self {
        if digits == 0 {
            return Self {
                negative: false,
                digits,
                exponent: 0,
            };
        }
        while digits.is_multiple_of(10) {
            digits /= 10;
            exponent += 1;
        }
        Self {
            negative,
            digits,
            exponent,
        }
    }

    fn is_positive(self) -> bool {
        !self.negative && self.digits != 0
    }

    fn to_integer(self) -> Option<i128> {
        let scale = 10_u128.checked_pow(u32::try_from(self.exponent).ok()?)?;
        let magnitude = i128::try_from(self.digits.checked_mul(scale)?).ok()?;
        Some(if self.negative { -magnitude } else { magnitude })
    }

    /// Exact: neither side is ever rounded.
    fn is_multiple_of(self, step: Self) -> bool {
        if self.digits == 0 {
            return true;
        }
        // `digits` has no factor of ten left, so a coarser step cannot divide it.
        let Ok(shift) = u32::try_from(self.exponent - step.exponent) else {
            return false;
        };
        if step.digits == 0 {
            return false;
        }
        let power = power_mod(10, shift, step.digits);
        multiply_mod(self.digits % step.digits, power, step.digits) == 0
    }

    fn magnitude_cmp(self, other: Self) -> Ordering {
        if self.digits == 0 || other.digits == 0 {
            return self.digits.cmp(&other.digits);
        }
        let order = |d: Self| i64::from(d.digits.ilog10()) + i64::from(d.exponent);
        order(self).cmp(&order(other)).then_with(|| {
            // Same order of magnitude: the exponents are less than 39 apart.
            let shift = self.exponent.abs_diff(other.exponent);
            let scale = |digits: u128| 10_u128.checked_pow(shift)?.checked_mul(digits);
            match self.exponent.cmp(&other.exponent) {
                Ordering::Equal => self.digits.cmp(&other.digits),
                // What overflows when brought to the other's scale is the larger one.
                Ordering::Greater => {
                    scale(self.digits).map_or(Ordering::Greater, |d| d.cmp(&other.digits))
                }
                Ordering::Less => {
                    scale(other.digits).map_or(Ordering::Less, |d| self.digits.cmp(&d))
                }
            }
        })
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.magnitude_cmp(*other),
            (true, true) => other.magnitude_cmp(*self),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<Number> for Decimal {
    fn from(number: Number) -> Self {
        match number {
            Number::Int(int) => Self::new(int < 0, int.unsigned_abs(), 0),
            Number::Float(float) => Self::from_float(float),
        }
    }
}

impl Decimal {
    fn from_float(float: f64) -> Self {
        let mut buffer = zmij::Buffer::new();
        let text = buffer.format_finite(float);
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let mut exponent: i32 = exponent.parse().unwrap_or(0);
        let mut digits: u128 = 0;
        let mut in_fraction = false;
        // At most 17 significant digits: `digits` cannot overflow on a finite float, but
        // zeros may follow them.
        for byte in mantissa.bytes() {
            match byte {
                b'0'..=b'9' => {
                    digits = digits
                        .saturating_mul(10)
                        .saturating_add((byte - b'0').into());
                    exponent -= i32::from(in_fraction);
                }
                b'.' => in_fraction = true,
                _ => {}
            }
        }
        Self::new(float < 0.0, digits, exponent)
    }
}

fn split_digits(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes
        .iter()
        .position(|b| !b.is_ascii_digit())
        .unwrap_or(bytes.len());
    bytes.split_at(end)
}

fn power_mod(base: u128, mut exponent: u32, modulus: u128) -> u128 {
    let mut result = 1 % modulus;
    let mut base = base % modulus;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = multiply_mod(result, base, modulus);
        }
        base = multiply_mod(base, base, modulus);
        exponent >>= 1;
    }
    result
}

fn multiply_mod(a: u128, b: u128, modulus: u128) -> u128 {
    if let Some(product) = a.checked_mul(b) {
        return product % modulus;
    }
    // Too large for one multiplication: add and double, which stays below the modulus.
    let add = |x: u128, y: u128| {
        if x >= modulus - y {
            x - (modulus - y)
        } else {
            x + y
        }
    };
    let (mut result, mut a, mut b) = (0, a % modulus, b % modulus);
    while b > 0 {
        if b & 1 == 1 {
            result = add(result, a);
        }
        a = add(a, a);
        b >>= 1;
    }
    result
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
        assert_eq!(number("-1.5E+3"), Number::Int(-1500));
        // 40 digits: refused, since it could only be kept rounded.
        assert_eq!(Number::parse(&"9".repeat(40)), None);
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
