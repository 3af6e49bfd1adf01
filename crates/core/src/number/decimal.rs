//! Exact decimal arithmetic.

use std::cmp::Ordering;

use super::{Number, Repr};

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

    pub(super) fn is_positive(self) -> bool {
        !self.negative && self.digits != 0
    }

    pub(super) fn to_integer(self) -> Option<i128> {
        let scale = 10_u128.checked_pow(u32::try_from(self.exponent).ok()?)?;
        let magnitude = i128::try_from(self.digits.checked_mul(scale)?).ok()?;
        Some(if self.negative { -magnitude } else { magnitude })
    }

    /// Exact: neither operand is rounded.
    pub(super) fn is_multiple_of(self, step: Self) -> bool {
        if self.digits == 0 {
            return true;
        }
        // `digits` has no factor of ten, so a step with a larger exponent cannot divide it.
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
                // The operand that overflows when scaled to the other is the larger one.
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
        match number.0 {
            Repr::Int(int) => Self::new(int.get() < 0, int.get().unsigned_abs(), 0),
            Repr::Float(float) => Self::from_float(float),
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
        // A finite float has at most 17 significant digits, so only trailing zeros could
        // saturate `digits`.
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
    // The product overflows: double and add, which stays below the modulus.
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
