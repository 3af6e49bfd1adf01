//! Rules across fields: `validation.rules`.

use std::sync::Arc;

use serde_json::Value;

use crate::answer::Answer;
use crate::condition::{Comparison, order};
use crate::form::FieldTable;
use crate::form::kind::Kind;
use crate::form::reader::{Object, Reader, join_quoted};
use crate::problem::ProblemCode;
use crate::violation::{Constraint, Expected, Violation};

/// A rule across fields.
#[derive(Clone, Debug)]
pub struct CrossRule {
    pub(crate) check: CrossCheck,
    /// The field at which violations are reported: `left`, or the first one listed.
    pub(crate) anchor: usize,
    message: Option<Arc<str>>,
    others: Arc<[Arc<str>]>,
}

/// The condition of a rule across fields. Fields are indices into the form.
#[derive(Clone, Debug)]
pub enum CrossCheck {
    /// Two answers compare in this way, if both fields are answered.
    Compare(usize, Comparison, usize),
    /// At least one field is answered.
    AtLeastOne(Vec<usize>),
    /// Exactly one field is answered.
    ExactlyOne(Vec<usize>),
    /// All fields are answered, or none.
    AllOrNone(Vec<usize>),
}

const RULES: &[&str] = &["compare", "at_least_one", "exactly_one", "all_or_none"];

impl CrossRule {
    /// The condition that the rule checks.
    pub fn check(&self) -> &CrossCheck {
        &self.check
    }

    /// The author's message for a violation of the rule.
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    pub(crate) fn read<'v>(
        reader: &mut Reader<'v>,
        value: &'v Value,
        fields: &FieldTable<'_>,
    ) -> Option<Self> {
        let object = reader.object(value)?;
        let rule = reader.required_text(object, "rule", usize::MAX)?;
        let message = reader.text_at(object, "message").map(Arc::from);
        if rule == "compare" {
            reader.check_keys(object, &["rule", "left", "operator", "right", "message"]);
            return Self::read_compare(reader, object, fields, message);
        }
        let make = match rule {
            "at_least_one" => CrossCheck::AtLeastOne,
            "exactly_one" => CrossCheck::ExactlyOne,
            "all_or_none" => CrossCheck::AllOrNone,
            other => {
                let known = join_quoted(RULES);
                let message = format!("`{other}` is not a cross-field rule. They are {known}.");
                reader.within("rule", |reader| {
                    reader.report_unknown(ProblemCode::BadValue, message, other, RULES);
                });
                return None;
            }
        };
        reader.check_keys(object, &["rule", "fields", "message"]);
        let indices = read_fields(reader, object, fields)?;
        let anchor = *indices.first()?;
        Some(Self {
            others: fields.ids(indices.iter().skip(1)),
            check: make(indices),
            anchor,
            message,
        })
    }

    fn read_compare<'v>(
        reader: &mut Reader<'v>,
        object: &'v Object,
        fields: &FieldTable<'_>,
        message: Option<Arc<str>>,
    ) -> Option<Self> {
        let left = reader.required_text(object, "left", usize::MAX);
        let right = reader.required_text(object, "right", usize::MAX);
        reader.require(object, "operator", "`compare` needs an `operator`.");
        let operator = reader.word_at(object, "operator", Comparison::WORDS);
        let left = left.and_then(|id| fields.find(reader, "left", id));
        let right = right.and_then(|id| fields.find(reader, "right", id));
        let ((left, left_kind), (right, right_kind), operator) = (left?, right?, operator?);
        if left == right {
            let message = "A field cannot be compared with itself.";
            reader.report_at("right", ProblemCode::BadValue, message);
        }
        let only_equality = match (left_kind, right_kind) {
            (Kind::Number(_), Kind::Number(_)) => false,
            (Kind::Date(a), Kind::Date(b)) if a.has_time == b.has_time => false,
            (Kind::File(_), _) | (_, Kind::File(_)) => {
                let message = "Files cannot be compared.";
                reader.report(ProblemCode::NotApplicable, message);
                return None;
            }
            (Kind::Text(_), Kind::Text(_))
            | (Kind::Boolean, Kind::Boolean)
            | (Kind::Select(_), Kind::Select(_))
            | (Kind::MultiSelect(_), Kind::MultiSelect(_))
            | (Kind::Url(_), Kind::Url(_)) => true,
            (
                Kind::Text(_)
                | Kind::Number(_)
                | Kind::Boolean
                | Kind::Date(_)
                | Kind::Select(_)
                | Kind::MultiSelect(_)
                | Kind::Url(_),
                _,
            ) => {
                let message = "Only two fields of one type can be compared.";
                reader.report(ProblemCode::NotApplicable, message);
                return None;
            }
        };
        if only_equality && !matches!(operator, Comparison::Eq | Comparison::Ne) {
            let message = format!(
                "Fields of type `{}` have no order; only `eq` and `ne` compare them.",
                left_kind.name()
            );
            reader.report_at("operator", ProblemCode::NotApplicable, message);
        }
        Some(Self {
            check: CrossCheck::Compare(left, operator, right),
            anchor: left,
            message,
            others: fields.ids([&right]),
        })
    }

    /// The constraint that a violation of the rule names.
    pub(crate) fn constraint(&self) -> Constraint {
        match self.check {
            CrossCheck::Compare(..) => Constraint::Compare,
            CrossCheck::AtLeastOne(_) => Constraint::AtLeastOne,
            CrossCheck::ExactlyOne(_) => Constraint::ExactlyOne,
            CrossCheck::AllOrNone(_) => Constraint::AllOrNone,
        }
    }

    /// Records a violation if the rule does not hold. `has` tells whether a field is answered,
    /// `is_active` whether it can be, and `read` returns its parsed answer.
    pub(crate) fn evaluate<'s>(
        &self,
        has: &impl Fn(usize) -> bool,
        is_active: &impl Fn(usize) -> bool,
        read: &impl Fn(usize) -> Option<&'s Answer<'s>>,
        list: &mut Vec<Violation>,
    ) {
        let count = |indices: &[usize]| indices.iter().filter(|index| has(**index)).count();
        let holds = match &self.check {
            CrossCheck::Compare(left, comparison, right) => match (read(*left), read(*right)) {
                (Some(left), Some(right)) => match (order(left, right), comparison) {
                    (Some(ordering), comparison) => comparison.accepts(ordering),
                    (None, Comparison::Ne) => left != right,
                    (None, _) => left == right,
                },
                _ => true,
            },
            // If no field is active, none can be answered.
            CrossCheck::AtLeastOne(indices) | CrossCheck::ExactlyOne(indices)
                if !indices.iter().any(|index| is_active(*index)) =>
            {
                true
            }
            CrossCheck::AtLeastOne(indices) => count(indices) >= 1,
            CrossCheck::ExactlyOne(indices) => count(indices) == 1,
            CrossCheck::AllOrNone(indices) => [0, indices.len()].contains(&count(indices)),
        };
        if !holds {
            list.push(Violation {
                comparison: match self.check {
                    CrossCheck::Compare(_, comparison, _) => Some(comparison),
                    CrossCheck::AtLeastOne(_)
                    | CrossCheck::ExactlyOne(_)
                    | CrossCheck::AllOrNone(_) => None,
                },
                message: self.message.clone(),
                ..Violation::of(
                    Some(self.anchor),
                    self.constraint(),
                    Expected::Names(self.others.clone()),
                )
            });
        }
    }
}

fn read_fields<'v>(
    reader: &mut Reader<'v>,
    object: &'v Object,
    fields: &FieldTable<'_>,
) -> Option<Vec<usize>> {
    reader.require(object, "fields", "This rule needs a list of `fields`.");
    let listed = reader.texts_at(object, "fields")?;
    reader.within("fields", |reader| {
        let mut indices = Vec::new();
        for (i, id) in &listed {
            let Some((index, _)) = fields.find(reader, *i, id) else {
                continue;
            };
            if indices.contains(&index) {
                let message = format!("`{id}` is listed twice.");
                reader.report_at(*i, ProblemCode::DuplicateId, message);
            }
            indices.push(index);
        }
        if listed.len() < 2 {
            let message = "A cross-field rule needs at least two fields.";
            reader.report(ProblemCode::Empty, message);
        }
        Some(indices)
    })
}
