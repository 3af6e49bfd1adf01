//! Conditions: when a field is shown, enabled or checked.
//!
//! A condition sees typed answers. A field without an answer, or one that is itself hidden,
//! is empty; an answer that could not be read is there but equals nothing.

use std::cmp::Ordering;

use serde_json::Value;

use crate::answer::Answer;
use crate::form::kind::Kind;
use crate::form::reader::{Object, Reader};
use crate::form::{FieldTable, date};
use crate::pattern::Pattern;
use crate::problem::ProblemCode;
use crate::vocabulary::vocabulary;

/// A condition over the answers of a form.
#[derive(Clone, Debug)]
pub enum Condition {
    /// A test of one field's answer.
    Test {
        /// The field's place in the form.
        field: usize,
        /// What is asked of its answer.
        test: Test,
    },
    /// Every one of these.
    And(Vec<Condition>),
    /// At least one of these.
    Or(Vec<Condition>),
    /// The opposite.
    Not(Box<Condition>),
}

/// What a condition asks of an answer.
#[derive(Clone, Debug)]
pub enum Test {
    /// Equal to this value.
    Equals(Answer<'static>),
    /// Another value, or none.
    NotEquals(Answer<'static>),
    /// One of these values.
    In(Vec<Answer<'static>>),
    /// None of these values.
    NotIn(Vec<Answer<'static>>),
    /// A text with this part, or a list with this item.
    Contains(Box<str>),
    /// A number or date that compares like this with the other.
    Order(Comparison, Answer<'static>),
    /// A text in which the pattern is found.
    Regex(Pattern),
    /// No answer.
    IsEmpty,
    /// An answer.
    IsNotEmpty,
}

vocabulary! {
    /// A way to compare.
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

/// Orders two answers: numbers, days or moments. Others are equal or not, which is
/// [`Answer`]'s own `PartialEq`.
pub(crate) fn order(a: &Answer<'_>, b: &Answer<'_>) -> Option<Ordering> {
    match (a, b) {
        (Answer::Number(a), Answer::Number(b)) => Some(a.cmp(b)),
        _ => date::compare(a, b),
    }
}

/// What a condition sees of a field.
#[derive(Clone, Copy)]
pub(crate) enum Seen<'s> {
    Empty,
    Answer(&'s Answer<'s>),
    /// There is something, but not of the field's type.
    Unreadable,
}

impl Condition {
    pub(crate) fn holds<'s>(&self, see: &impl Fn(usize) -> Seen<'s>) -> bool {
        match self {
            Self::Test { field, test } => test.holds(see(*field)),
            Self::And(conditions) => conditions.iter().all(|c| c.holds(see)),
            Self::Or(conditions) => conditions.iter().any(|c| c.holds(see)),
            Self::Not(condition) => !condition.holds(see),
        }
    }

    /// Calls `visit` with the place of every field that the condition looks at.
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
    fn holds(&self, seen: Seen<'_>) -> bool {
        let answer = match seen {
            Seen::Answer(answer) => Some(answer),
            Seen::Empty | Seen::Unreadable => None,
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
            Self::IsEmpty => matches!(seen, Seen::Empty),
            Self::IsNotEmpty => !matches!(seen, Seen::Empty),
        }
    }
}

const OPERATORS: &[&str] = &[
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

impl Condition {
    /// Reads a condition; what is wrong with it is reported.
    pub(crate) fn read<'v>(
        reader: &mut Reader<'v>,
        value: &'v Value,
        fields: &FieldTable<'_>,
    ) -> Option<Self> {
        let object = reader.object(value)?;
        let operator = reader.required_text(object, "operator", usize::MAX)?;
        match operator {
            "and" | "or" => {
                reader.known_keys(object, &["operator", "conditions"]);
                let parts = read_parts(reader, object, fields)?;
                Some(if operator == "and" {
                    Self::And(parts)
                } else {
                    Self::Or(parts)
                })
            }
            "not" => {
                reader.known_keys(object, &["operator", "condition"]);
                let Some(inner) = object.get("condition") else {
                    let message = "`not` needs the `condition` that it turns round.";
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
    if !object.contains_key("conditions") {
        let message = "This operator needs a list of `conditions`.";
        reader.report_at("conditions", ProblemCode::MissingKey, message);
    }
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
    if !OPERATORS.contains(&operator) {
        let message = format!("`{operator}` is not an operator of conditions.");
        reader.within("operator", |reader| {
            reader.report_unknown(ProblemCode::BadValue, message, operator, OPERATORS);
        });
        return None;
    }
    let takes_value = !matches!(operator, "is_empty" | "is_not_empty");
    if takes_value {
        reader.known_keys(object, &["operator", "field", "value"]);
    } else {
        reader.known_keys(object, &["operator", "field"]);
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
            "`{operator}` cannot be asked of a field of type `{}`.",
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
    match operator {
        "is_empty" | "is_not_empty" => true,
        "equals" | "not_equals" => !matches!(kind, Kind::File(_)),
        "in" | "not_in" => !matches!(kind, Kind::File(_) | Kind::MultiSelect(_)),
        "contains" => matches!(kind, Kind::Text(_) | Kind::Url(_) | Kind::MultiSelect(_)),
        "gt" | "gte" | "lt" | "lte" => matches!(kind, Kind::Number(_) | Kind::Date(_)),
        "regex" => matches!(kind, Kind::Text(_) | Kind::Url(_) | Kind::Select(_)),
        _ => false,
    }
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

/// A constant of the field's own type.
fn read_operand<'v>(
    reader: &mut Reader<'v>,
    value: &'v Value,
    kind: &Kind,
) -> Option<Answer<'static>> {
    let Ok(answer) = kind.parse(value) else {
        let message = format!("A field of type `{}` never has this value.", kind.name());
        reader.report(ProblemCode::NeverTrue, message);
        return None;
    };
    if let Some(options) = kind.options() {
        let chosen: Vec<&str> = match &answer {
            Answer::Choice(choice) => vec![choice],
            Answer::Choices(choices) => choices.iter().map(AsRef::as_ref).collect(),
            _ => Vec::new(),
        };
        if let Some(stranger) = chosen.iter().find(|choice| !options.contains(choice)) {
            report_no_option(reader, stranger);
        }
    }
    Some(answer.into_owned())
}

fn report_no_option(reader: &mut Reader<'_>, value: &str) {
    let message = format!("`{value}` is not one of the field's options.");
    reader.report(ProblemCode::NeverTrue, message);
}
