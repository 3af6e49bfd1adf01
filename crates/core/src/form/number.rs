//! `number`: whole or fractional, with exact bounds and multiples.

use crate::form::findings::Findings;
use crate::form::kind::{Mistake, Parsed};
use crate::form::reader::{Object, Reader};
use crate::number::{Number, Step};
use crate::parse::{Raw, Source};
use crate::problem::ProblemCode;
use crate::violation::{Constraint, Expected};

/// The rules of a `number` field.
#[derive(Clone, Debug, Default)]
pub struct NumberRules {
    /// `minimum`.
    pub minimum: Option<Number>,
    /// `maximum`.
    pub maximum: Option<Number>,
    /// `exclusiveMinimum`.
    pub exclusive_minimum: Option<Number>,
    /// `exclusiveMaximum`.
    pub exclusive_maximum: Option<Number>,
    /// `multipleOf`.
    pub multiple_of: Option<Number>,
    step: Option<Step>,
}

impl NumberRules {
    pub(crate) const KEYS: &[&str] = &[
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
    ];

    pub(crate) fn read<'v>(reader: &mut Reader<'v>, validation: &'v Object) -> Self {
        let mut number = |key| reader.number_at(validation, key);
        let multiple_of = number("multipleOf");
        let rules = Self {
            minimum: number("minimum"),
            maximum: number("maximum"),
            exclusive_minimum: number("exclusiveMinimum"),
            exclusive_maximum: number("exclusiveMaximum"),
            multiple_of,
            step: multiple_of.and_then(Step::new),
        };
        if rules.multiple_of.is_some() && rules.step.is_none() {
            reader.report_at(
                "multipleOf",
                ProblemCode::BadValue,
                "`multipleOf` must be above 0.",
            );
        }
        rules.check_range(reader);
        rules
    }

    /// Reports bounds that no number can satisfy.
    fn check_range(&self, reader: &mut Reader<'_>) {
        reader.check_bounds(("minimum", self.minimum), ("maximum", self.maximum));
        for (low_key, low, high_key, high) in [
            (
                "minimum",
                self.minimum,
                "exclusiveMaximum",
                self.exclusive_maximum,
            ),
            (
                "exclusiveMinimum",
                self.exclusive_minimum,
                "maximum",
                self.maximum,
            ),
            (
                "exclusiveMinimum",
                self.exclusive_minimum,
                "exclusiveMaximum",
                self.exclusive_maximum,
            ),
        ] {
            if let (Some(low), Some(high)) = (low, high)
                && low >= high
            {
                reader.report_at(
                    low_key,
                    ProblemCode::Contradiction,
                    format!("`{low_key}` leaves no number below `{high_key}`."),
                );
            }
        }
    }

    /// Whether only whole numbers are valid.
    pub fn is_integer(&self) -> bool {
        self.step.is_some_and(Step::is_whole)
    }

    pub(crate) fn check(&self, value: &Number, findings: &mut Findings<'_>) {
        let mut add = |constraint, bound| {
            findings.add(constraint, Expected::Number(bound), || value.to_json());
        };
        if let Some(bound) = self.minimum
            && *value < bound
        {
            add(Constraint::Minimum, bound);
        }
        if let Some(bound) = self.maximum
            && *value > bound
        {
            add(Constraint::Maximum, bound);
        }
        if let Some(bound) = self.exclusive_minimum
            && *value <= bound
        {
            add(Constraint::ExclusiveMinimum, bound);
        }
        if let Some(bound) = self.exclusive_maximum
            && *value >= bound
        {
            add(Constraint::ExclusiveMaximum, bound);
        }
        if let (Some(step), Some(multiple_of)) = (self.step, self.multiple_of)
            && !value.is_multiple_of(step)
        {
            let expected = Expected::Number(multiple_of);
            findings.add(Constraint::MultipleOf, expected, || value.to_json());
        }
    }
}

#[expect(
    clippy::inline_always,
    reason = "returning three words through memory takes longer than the check"
)]
#[inline(always)]
pub(crate) fn parse<'a>(source: impl Source<'a>) -> Parsed<'a, Number> {
    if let Some(number) = source.number() {
        return Ok(number);
    }
    let mistake = || Mistake::wrong_type("number");
    match source.text() {
        Ok(text) => match Number::parse(&text) {
            Some(number) => Ok(number),
            None => Err(mistake().of(Raw::Text(text))),
        },
        Err(other) => Err(mistake().of(other)),
    }
}
