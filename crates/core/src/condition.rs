//! Conditions: when a field is shown, enabled or checked.
//!
//! Conditions test typed answers. A field without an answer, or one that is itself inactive, is
//! empty. An answer that could not be parsed is not empty, but equals nothing.

use std::cmp::Ordering;

use serde_json::Value;

use crate::answer::Answer;
use crate::check::CheckSettings;
use crate::form::FieldTable;
use crate::form::findings::Findings;
use crate::form::kind::Kind;
use crate::form::reader::{Object, Reader, join_quoted};
use crate::pattern::Pattern;
use crate::problem::ProblemCode;
use crate::vocabulary::vocabulary;

/// A condition over the answers of a form.
#[derive(Clone, Debug)]
pub enum Condition {
    /// A test of one field's answer.
    Test {
        /// The field's index in the form.
        field: usize,
        /// The test of its answer.
        test: Test,
    },
    /// All of these hold.
    And(Vec<Condition>),
    /// At least one of these holds.
    Or(Vec<Condition>),
    /// The inner condition does not hold.
    Not(Box<Condition>),
}

/// The test that a condition applies to one answer.
#[derive(Clone, Debug)]
pub enum Test {
    /// Equal to this value.
    Equals(Answer<'static>),
    /// A different value, or no answer.
    NotEquals(Answer<'static>),
    /// One of these values.
    In(Vec<Answer<'static>>),
    /// None of these values, or no answer.
    NotIn(Vec<Answer<'static>>),
    /// A text that contains this substring, or a list that contains this item.
    Contains(Box<str>),
    /// A number or date that compares with the value in this way.
    Order(Comparison, Answer<'static>),
    /// A text in which the pattern matches.
    Regex(Pattern),
    /// No answer.
    IsEmpty,
    /// Any answer.
    IsNotEmpty,
}

vocabulary! {
    /// A comparison operator.
    #[expect(missing_docs, reason = "the words of the form language")]
    Comparison {
        Lt = "lt",
        Lte = "lte",
        Eq = "eq",
        Ne = "ne",
        Gte = "gte",
        Gt = "gt",
    }
}

impl Comparison {
    pub(crate) fn accepts(self, ordering: Ordering) -> bool {
        match self {
            Self::Lt => ordering.is_lt(),
            Self::Lte => ordering.is_le(),
            Self::Eq => ordering.is_eq(),
            Self::Ne => ordering.is_ne(),
            Self::Gte => ordering.is_ge(),
            Self::Gt => ordering.is_gt(),
        }
    }
}

/// Orders two numbers, days or moments. Other answers have no order, only the `PartialEq` of
/// [`Answer`].
pub(crate) fn order(a: &Answer<'_>, b: &Answer<'_>) -> Option<Ordering> {
    match (a, b) {
        (Answer::Number(a), Answer::Number(b)) => Some(a.cmp(b)),
        (Answer::Date(a), Answer::Date(b)) => Some(a.cmp(b)),
        (Answer::Moment(a), Answer::Moment(b)) => Some(a.instant.cmp(&b.instant)),
        (
            Answer::Text(_)
            | Answer::Number(_)
            | Answer::Boolean(_)
            | Answer::Date(_)
            | Answer::Moment(_)
            | Answer::Choice(_)
            | Answer::Choices(_)
            | Answer::Url(_)
            | Answer::Files(_)
            | Answer::Json(_),
            _,
        ) => None,
    }
}

/// The state of a field, as conditions see it.
#[derive(Clone, Copy)]
pub(crate) enum FieldState<'s> {
    Empty,
    Answer(&'s Answer<'s>),
    /// An answer that is not of the field's type.
    Unreadable,
}

impl Condition {
    pub(crate) fn holds<'s>(&self, field_state: &impl Fn(usize) -> FieldState<'s>) -> bool {
        match self {
            Self::Test { field, test } => test.holds(field_state(*field)),
            Self::And(conditions) => conditions.iter().all(|c| c.holds(field_state)),
            Self::Or(conditions) => conditions.iter().any(|c| c.holds(field_state)),
            Self::Not(condition) => !condition.holds(field_state),
        }
    }

    /// Calls `visit` with the index of every field that the condition refers to.
    pub(crate) fn each_field(&self, visit: &mut impl FnMut(usize)) {
        match self {
            Self::Test { field, .. } => visit(*field),
            Self::And(conditions) | Self::Or(conditions) => {
                for condition in conditions {
                    condition.each_field(visit);
                }
            }
            Self::Not(condition) => condition.each_field(visit),
        }
    }
}

impl Test {
    fn holds(&self, state: FieldState<'_>) -> bool {
        let answer = match state {
            FieldState::Answer(answer) => Some(answer),
            FieldState::Empty | FieldState::Unreadable => None,
        };
        match self {
            Self::Equals(value) => answer == Some(value),
            Self::NotEquals(value) => answer != Some(value),
            Self::In(values) => answer.is_some_and(|answer| values.contains(answer)),
            Self::NotIn(values) => !answer.is_some_and(|answer| values.contains(answer)),
            Self::Contains(part) => match answer {
                Some(Answer::Choices(items)) => items.iter().any(|item| **item == **part),
                Some(answer) => answer.as_str().is_some_and(|text| text.contains(&**part)),
                None => false,
            },
            Self::Order(comparison, value) => answer
                .and_then(|answer| order(answer, value))
                .is_some_and(|ordering| comparison.accepts(ordering)),
            Self::Regex(pattern) => answer
                .and_then(Answer::as_str)
                .is_some_and(|text| pattern.is_match(text)),
            Self::IsEmpty => matches!(state, FieldState::Empty),
            Self::IsNotEmpty => !matches!(state, FieldState::Empty),
        }
    }
}

impl Condition {
    /// The operators of conditions in definitions.
    pub const OPERATORS: &[&'static str] = &[
        "equals",
        "not_equals",
        "in",
        "not_in",
        "contains",
        "gt",
        "gte",
        "lt",
        "lte",
        "regex",
        "is_empty",
        "is_not_empty",
        "and",
        "or",
        "not",
    ];

    /// Reads a condition and reports its problems.
    pub(crate) fn read<'v>(
        reader: &mut Reader<'v>,
        value: &'v Value,
        fields: &FieldTable<'_>,
    ) -> Option<Self> {
        let object = reader.object(value)?;
        let operator = reader.required_text(object, "operator", usize::MAX)?;
        match operator {
            "and" | "or" => {
                reader.check_keys(object, &["operator", "conditions"]);
                let parts = read_parts(reader, object, fields)?;
                Some(if operator == "and" {
                    Self::And(parts)
                } else {
                    Self::Or(parts)
                })
            }
            "not" => {
                reader.check_keys(object, &["operator", "condition"]);
                let Some(inner) = object.get("condition") else {
                    let message = "`not` needs the `condition` that it negates.";
                    reader.report_at("condition", ProblemCode::MissingKey, message);
                    return None;
                };
                let inner = reader.within("condition", |r| Self::read(r, inner, fields))?;
                Some(Self::Not(Box::new(inner)))
            }
            operator => read_test(reader, object, operator, fields),
        }
    }
}

fn read_parts<'v>(
    reader: &mut Reader<'v>,
    object: &'v Object,
    fields: &FieldTable<'_>,
) -> Option<Vec<Condition>> {
    let message = "This operator needs a list of `conditions`.";
    reader.require(object, "conditions", message);
    let parts = reader.list_at(object, "conditions")?;
    if parts.is_empty() {
        let message = "There must be at least one condition.";
        reader.report_at("conditions", ProblemCode::Empty, message);
    }
    let read = reader.within("conditions", |reader| {
        parts
            .iter()
            .enumerate()
            .map(|(i, part)| reader.within(i, |r| Condition::read(r, part, fields)))
            .collect::<Vec<_>>()
    });
    read.into_iter().collect()
}

fn read_test<'v>(
    reader: &mut Reader<'v>,
    object: &'v Object,
    operator: &'v str,
    fields: &FieldTable<'_>,
) -> Option<Condition> {
    if !Condition::OPERATORS.contains(&operator) {
        let known = join_quoted(Condition::OPERATORS);
        let message = format!("`{operator}` is not an operator of conditions. They are {known}.");
        reader.within("operator", |reader| {
            reader.report_unknown(
                ProblemCode::BadValue,
                message,
                operator,
                Condition::OPERATORS,
            );
        });
        return None;
    }
    let takes_value = !matches!(operator, "is_empty" | "is_not_empty");
    if takes_value {
        reader.check_keys(object, &["operator", "field", "value"]);
    } else {
        reader.check_keys(object, &["operator", "field"]);
    }
    let id = reader.required_text(object, "field", usize::MAX);
    let value = object.get("value");
    if takes_value && value.is_none() {
        let message = format!("`{operator}` needs a `value` to compare with.");
        reader.report_at("value", ProblemCode::MissingKey, message);
    }
    let (field, kind) = fields.find(reader, "field", id?)?;
    if !fits(operator, kind) {
        let message = format!(
            "`{operator}` does not apply to a field of type `{}`.",
            kind.name()
        );
        reader.report_at("operator", ProblemCode::NotApplicable, message);
        return None;
    }
    let test = if takes_value {
        reader.within("value", |r| read_value(r, operator, value?, kind))?
    } else if operator == "is_empty" {
        Test::IsEmpty
    } else {
        Test::IsNotEmpty
    };
    Some(Condition::Test { field, test })
}

fn fits(operator: &str, kind: &Kind) -> bool {
    let with_value: &[&str] = match kind {
        Kind::Text(_) | Kind::Url(_) => {
            &["equals", "not_equals", "in", "not_in", "contains", "regex"]
        }
        Kind::Number(_) | Kind::Date(_) => &[
            "equals",
            "not_equals",
            "in",
            "not_in",
            "gt",
            "gte",
            "lt",
            "lte",
        ],
        Kind::Boolean => &["equals", "not_equals", "in", "not_in"],
        Kind::Select(_) => &["equals", "not_equals", "in", "not_in", "regex"],
        Kind::MultiSelect(_) => &["equals", "not_equals", "contains"],
        Kind::File(_) => &[],
    };
    matches!(operator, "is_empty" | "is_not_empty") || with_value.contains(&operator)
}

fn read_value<'v>(
    reader: &mut Reader<'v>,
    operator: &str,
    value: &'v Value,
    kind: &Kind,
) -> Option<Test> {
    match operator {
        "equals" => read_operand(reader, value, kind).map(Test::Equals),
        "not_equals" => read_operand(reader, value, kind).map(Test::NotEquals),
        "in" | "not_in" => {
            let Some(list) = value.as_array() else {
                reader.wrong_type("a list of values", value);
                return None;
            };
            let operands: Vec<_> = list
                .iter()
                .enumerate()
                .map(|(i, item)| reader.within(i, |r| read_operand(r, item, kind)))
                .collect();
            let operands = operands.into_iter().collect::<Option<_>>()?;
            Some(if operator == "in" {
                Test::In(operands)
            } else {
                Test::NotIn(operands)
            })
        }
        "contains" => {
            let part = reader.text(value)?;
            if let Some(options) = kind.options()
                && !options.contains(part)
            {
                report_no_option(reader, part);
            }
            Some(Test::Contains(part.into()))
        }
        "regex" => {
            let source = reader.text(value)?;
            reader.pattern(source).map(Test::Regex)
        }
        comparison => {
            let comparison = Comparison::WORDS
                .iter()
                .find(|(word, _)| *word == comparison)?;
            let operand = read_operand(reader, value, kind)?;
            Some(Test::Order(comparison.1, operand))
        }
    }
}

/// Reads a constant of the field's type.
fn read_operand<'v>(
    reader: &mut Reader<'v>,
    value: &'v Value,
    kind: &Kind,
) -> Option<Answer<'static>> {
    // Only the type matters: a constant that breaks the field's rules is merely never met.
    let settings = CheckSettings::default();
    let mut answer = None;
    let parsed = kind.parse(value, false, &mut Findings::new(&settings), &mut answer);
    let (Ok(true), Some(answer)) = (parsed, answer) else {
        let message = format!("A field of type `{}` never has this value.", kind.name());
        reader.report(ProblemCode::NeverTrue, message);
        return None;
    };
    if let Some(options) = kind.options() {
        let chosen: Vec<&str> = match &answer {
            Answer::Choice(choice) => vec![choice],
            Answer::Choices(choices) => choices.iter().map(AsRef::as_ref).collect(),
            Answer::Text(_)
            | Answer::Number(_)
            | Answer::Boolean(_)
            | Answer::Date(_)
            | Answer::Moment(_)
            | Answer::Url(_)
            | Answer::Files(_)
            | Answer::Json(_) => Vec::new(),
        };
        if let Some(unknown) = chosen.iter().find(|choice| !options.contains(choice)) {
            report_no_option(reader, unknown);
        }
    }
    Some(answer.into_owned())
}

fn report_no_option(reader: &mut Reader<'_>, value: &str) {
    let message = format!("`{value}` is not one of the field's options.");
    reader.report(ProblemCode::NeverTrue, message);
}
