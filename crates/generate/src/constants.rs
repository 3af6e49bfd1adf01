//! The values that a form's conditions compare with.
//!
//! Random values of a controlling field would rarely hit one.

use entreat_core::{Answer, Condition, Form, Test};
use serde_json::Value;

/// For each field, the constants that some condition compares it with.
pub(super) fn of(form: &Form) -> Vec<Vec<Value>> {
    let mut found = vec![Vec::new(); form.fields().len()];
    for field in form.fields() {
        for condition in field.active_when().iter().chain(field.checked_when()) {
            collect(condition, &mut found);
        }
    }
    found
}

fn collect(condition: &Condition, found: &mut [Vec<Value>]) {
    match condition {
        Condition::Test { field, test } => {
            let constants: Vec<Value> = match test {
                Test::Equals(value) | Test::NotEquals(value) | Test::Order(_, value) => {
                    vec![value.to_json()]
                }
                Test::In(values) | Test::NotIn(values) => {
                    values.iter().map(Answer::to_json).collect()
                }
                Test::Contains(_) | Test::Regex(_) | Test::IsEmpty | Test::IsNotEmpty => Vec::new(),
            };
            found[*field].extend(constants);
        }
        Condition::And(parts) | Condition::Or(parts) => {
            for part in parts {
                collect(part, found);
            }
        }
        Condition::Not(inner) => collect(inner, found),
    }
}
