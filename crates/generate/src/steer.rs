//! Steers conditions: makes them hold, or not, by setting the fields that they refer to.
//!
//! One setting may undo another; the form's check decides, and the search continues.

use entreat_core::form::{Kind, NumberRules};
use entreat_core::pattern::{Pattern, syntax_tree};
use entreat_core::{Answer, Comparison, Condition, Number, Test};
use serde_json::Value;

use super::attempt::Attempt;
use super::date::{self, Span};
use super::{chance, choice, number, text};

/// How long a chain of conditional fields is followed.
const DEPTH: usize = 8;

impl Attempt<'_> {
    /// Makes a field's conditions hold, so that it is shown and enabled.
    pub(super) fn activate(&mut self, place: usize) {
        self.activate_within(place, DEPTH);
    }

    fn activate_within(&mut self, place: usize, depth: usize) {
        for condition in self.field(place).active_when() {
            self.make(condition, true, depth);
        }
    }

    /// Makes one of a field's conditions fail, so that it is hidden or disabled.
    pub(super) fn deactivate(&mut self, place: usize) {
        if let Some(condition) = self.rng.choice(self.field(place).active_when()) {
            self.make(condition, false, DEPTH);
        }
    }

    /// Makes a field's own rules apply.
    pub(super) fn check_rules_of(&mut self, place: usize) {
        for condition in self.field(place).checked_when() {
            self.make(condition, true, DEPTH);
        }
    }

    fn make(&mut self, condition: &Condition, wanted: bool, depth: usize) {
        match (condition, wanted) {
            (Condition::Test { field, test }, _) => {
                self.set(*field, test, wanted);
                // A field that is taken out itself would be seen as empty.
                if depth > 0 && self.values[*field].as_ref().is_some_and(|v| !v.is_null()) {
                    self.activate_within(*field, depth - 1);
                }
            }
            (Condition::And(parts), true) | (Condition::Or(parts), false) => {
                for part in parts {
                    self.make(part, wanted, depth);
                }
            }
            (Condition::And(parts), false) | (Condition::Or(parts), true) => {
                if let Some(part) = self.rng.choice(parts) {
                    self.make(part, wanted, depth);
                }
            }
            (Condition::Not(inner), _) => self.make(inner, !wanted, depth),
        }
    }

    fn set(&mut self, place: usize, test: &Test, wanted: bool) {
        if self.field(place).is_fixed() {
            return;
        }
        let found = match (test, wanted) {
            (Test::Equals(value), true) | (Test::NotEquals(value), false) => Some(value.to_json()),
            (Test::In(values), true) | (Test::NotIn(values), false) => {
                self.rng.choice(values).map(Answer::to_json)
            }
            (Test::Contains(part), true) => self.containing(place, part),
            (Test::Regex(pattern), true) => self.matching(place, pattern),
            (Test::Order(comparison, bound), _) => self.ordered(
                place,
                if wanted {
                    *comparison
                } else {
                    opposite(*comparison)
                },
                &bound.to_json(),
            ),
            (Test::IsEmpty, true) | (Test::IsNotEmpty, false) => return self.clear(place),
            (Test::IsEmpty, false) | (Test::IsNotEmpty, true) => self.generated(place),
            // Any other value will do, and mostly no value as well.
            (Test::Equals(_) | Test::In(_) | Test::Contains(_) | Test::Regex(_), false)
            | (Test::NotEquals(_) | Test::NotIn(_), true) => {
                if !self.field(place).is_required() && !chance(self.rng, 60) {
                    return self.clear(place);
                }
                self.other(place, test)
            }
        };
        if found.is_some() {
            self.values[place] = found;
        }
    }

    /// A value that the test does not mention.
    fn other(&mut self, place: usize, test: &Test) -> Option<Value> {
        let spoken_of = |value: &Value| match test {
            Test::Equals(constant) | Test::NotEquals(constant) => constant.to_json() == *value,
            Test::In(constants) | Test::NotIn(constants) => constants
                .iter()
                .any(|constant| constant.to_json() == *value),
            Test::Contains(part) => match value {
                Value::Array(items) => items.iter().any(|item| item == &**part),
                value => value.as_str().is_some_and(|text| text.contains(&**part)),
            },
            Test::Regex(pattern) => value.as_str().is_some_and(|text| pattern.is_match(text)),
            Test::Order(..) | Test::IsEmpty | Test::IsNotEmpty => false,
        };
        (0..20).find_map(|_| self.generated(place).filter(|value| !spoken_of(value)))
    }

    fn containing(&mut self, place: usize, part: &str) -> Option<Value> {
        match self.field(place).kind() {
            Kind::MultiSelect(rules) => (0..20).find_map(|_| {
                let mut chosen = choice::several(rules, self.rng)?;
                let items = chosen.as_array_mut()?;
                if !items.iter().any(|item| item == part) {
                    *items.first_mut()? = part.into();
                }
                Some(chosen)
            }),
            Kind::Text(rules) => {
                let generated = (0..10).find_map(|_| {
                    let around = self.generated(place)?;
                    let around = around.as_str()?;
                    [
                        format!("{part}{around}"),
                        format!("{around}{part}"),
                        part.to_owned(),
                    ]
                    .into_iter()
                    .chain([around.to_owned()])
                    .find(|text| text.contains(part) && text::fits(rules, text))
                });
                Some(generated.unwrap_or_else(|| part.to_owned()).into())
            }
            Kind::Number(_)
            | Kind::Boolean
            | Kind::Date(_)
            | Kind::Select(_)
            | Kind::Url(_)
            | Kind::File(_) => {
                let around = self.generated(place)?;
                Some(format!("{}{part}", around.as_str()?).into())
            }
        }
    }

    fn matching(&mut self, place: usize, pattern: &Pattern) -> Option<Value> {
        match self.field(place).kind() {
            Kind::Text(rules) => {
                let tree = syntax_tree(pattern.as_str()).ok()?;
                text::text_with(rules, pattern, &tree, self.rng)
                    .map(Value::from)
                    .or_else(|| self.matching_by_chance(place, pattern))
            }
            Kind::Select(options) => {
                let fitting: Vec<&str> = options.values().filter(|v| pattern.is_match(v)).collect();
                self.rng.choice(fitting).map(Value::from)
            }
            Kind::Number(_)
            | Kind::Boolean
            | Kind::Date(_)
            | Kind::MultiSelect(_)
            | Kind::Url(_)
            | Kind::File(_) => self.matching_by_chance(place, pattern),
        }
    }

    fn matching_by_chance(&mut self, place: usize, pattern: &Pattern) -> Option<Value> {
        (0..20).find_map(|_| {
            let value = self.generated(place)?;
            value
                .as_str()
                .is_some_and(|text| pattern.is_match(text))
                .then_some(value)
        })
    }

    fn ordered(&mut self, place: usize, comparison: Comparison, bound: &Value) -> Option<Value> {
        match self.field(place).kind() {
            Kind::Number(rules) => {
                let bound = Number::parse(&bound.to_string())?;
                number::number(&narrowed(rules, comparison, bound), self.rng)
            }
            Kind::Date(rules) => {
                let (bound, _) = date::parse(bound.as_str()?, rules.has_time)?;
                let span = Span::of(rules).and(beside(comparison, bound));
                date::within(span, rules.has_time, self.rng).map(Value::from)
            }
            Kind::Text(_)
            | Kind::Boolean
            | Kind::Select(_)
            | Kind::MultiSelect(_)
            | Kind::Url(_)
            | Kind::File(_) => None,
        }
    }

    /// A value for `place` that compares with a value of another field in this way.
    pub(super) fn compared(
        &mut self,
        place: usize,
        comparison: Comparison,
        other: &Value,
    ) -> Option<Value> {
        match comparison {
            Comparison::Eq => Some(other.clone()),
            Comparison::Ne => {
                (0..20).find_map(|_| self.generated(place).filter(|value| value != other))
            }
            Comparison::Lt | Comparison::Lte | Comparison::Gte | Comparison::Gt => {
                self.ordered(place, comparison, other)
            }
        }
    }
}

/// What holds exactly when the comparison does not.
pub(super) fn opposite(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Lt => Comparison::Gte,
        Comparison::Lte => Comparison::Gt,
        Comparison::Eq => Comparison::Ne,
        Comparison::Ne => Comparison::Eq,
        Comparison::Gte => Comparison::Lt,
        Comparison::Gt => Comparison::Lte,
    }
}

/// The comparison seen from the other side.
pub(super) fn turned(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Lt => Comparison::Gt,
        Comparison::Lte => Comparison::Gte,
        Comparison::Gte => Comparison::Lte,
        Comparison::Gt => Comparison::Lt,
        Comparison::Eq | Comparison::Ne => comparison,
    }
}

/// Number rules with one more bound.
pub(super) fn narrowed(rules: &NumberRules, comparison: Comparison, bound: Number) -> NumberRules {
    let lower = |old: Option<Number>| Some(old.map_or(bound, |old| old.max(bound)));
    let upper = |old: Option<Number>| Some(old.map_or(bound, |old| old.min(bound)));
    let mut rules = rules.clone();
    match comparison {
        Comparison::Lt => rules.exclusive_maximum = upper(rules.exclusive_maximum),
        Comparison::Lte => rules.maximum = upper(rules.maximum),
        Comparison::Gte => rules.minimum = lower(rules.minimum),
        Comparison::Gt => rules.exclusive_minimum = lower(rules.exclusive_minimum),
        Comparison::Eq => {
            rules.minimum = lower(rules.minimum);
            rules.maximum = upper(rules.maximum);
        }
        Comparison::Ne => {}
    }
    rules
}

fn beside(comparison: Comparison, bound: i64) -> Span {
    let (low, high) = match comparison {
        Comparison::Lt => (None, Some(bound - 1)),
        Comparison::Lte => (None, Some(bound)),
        Comparison::Gte => (Some(bound), None),
        Comparison::Gt => (Some(bound + 1), None),
        Comparison::Eq => (Some(bound), Some(bound)),
        Comparison::Ne => (None, None),
    };
    Span { low, high }
}
