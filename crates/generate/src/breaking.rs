//! Breaks exactly one rule, by changing one thing in a valid answer.

use entreat_core::form::CrossCheck;
use entreat_core::{Form, Violations};
use serde_json::{Value, json};

use super::attempt::{self, Attempt};
use super::breakage::Breakage;
use super::{Generator, broken};

/// Number of valid answers to try per field. Several, because what can be broken alone depends on
/// the other fields.
const BASES: usize = 12;

/// An answer that breaks exactly the one rule.
pub(super) fn answer(generator: &mut Generator, what: &Breakage) -> Option<Value> {
    match what.constraint() {
        "additionalProperties" | "form_id" => whole(generator, what),
        "dependencies" => dependencies(generator, what),
        "compare" | "at_least_one" | "exactly_one" | "all_or_none" => across(generator, what),
        key if is_custom(key) => custom(generator, what),
        _ => own(generator, what).or_else(|| whole(generator, what)),
    }
}

fn is_custom(key: &str) -> bool {
    !entreat_core::Constraint::KEYS.contains(&key)
}

/// Whether the answer has one violation, and it is the wanted one.
fn breaks(form: &Form, what: &Breakage, answer: &Value) -> bool {
    form.check(answer)
        .is_err_and(|violations| is_only(form, what, &violations))
}

fn is_only(form: &Form, what: &Breakage, violations: &Violations) -> bool {
    let mut list = violations.iter();
    match (list.next(), list.next()) {
        (Some(only), None) => {
            only.constraint().key() == what.constraint()
                && what.is_at(form.field(violations.field_of(only)))
        }
        _ => false,
    }
}

/// The fields' places, in an order that varies.
fn places(generator: &mut Generator) -> Vec<usize> {
    let mut places: Vec<usize> = (0..generator.form.fields().len()).collect();
    generator.rng.shuffle(&mut places);
    places
}

fn valid(generator: &mut Generator, focus: Option<usize>) -> Option<Vec<Option<Value>>> {
    generator.search(focus, &|_, verdict| verdict.is_ok())
}

/// A rule of one field.
fn own(generator: &mut Generator, what: &Breakage) -> Option<Value> {
    let form = generator.form.clone();
    for place in places(generator) {
        let field = &form.fields()[place];
        if !what.is_at(Some(field)) {
            continue;
        }
        for _ in 0..BASES {
            let tree = generator.trees[place].as_ref();
            let spoilt = broken::values(field, what.constraint(), tree, &mut generator.rng);
            if spoilt.is_empty() {
                break;
            }
            let mut values = valid(generator, Some(place))?;
            for value in spoilt {
                values[place] = value;
                let answer = attempt::to_json(&form, &values);
                if breaks(&form, what, &answer) {
                    return Some(answer);
                }
            }
        }
    }
    None
}

/// A rule of the answer as a whole.
fn whole(generator: &mut Generator, what: &Breakage) -> Option<Value> {
    if !what.is_at(None) {
        return None;
    }
    let key = what.constraint();
    if !["additionalProperties", "form_id", "type"].contains(&key) {
        return None;
    }
    let mut answer = generator.valid()?;
    match key {
        "additionalProperties" => {
            let names = ["unexpected", "Unexpected", "", "__proto__", "x-y.z"];
            let unknown: Vec<&str> = names
                .into_iter()
                .filter(|name| generator.form.field(name).is_none())
                .collect();
            let name = generator.rng.choice(unknown)?;
            answer.as_object_mut()?.insert(name.to_owned(), 1.into());
        }
        "form_id" => {
            let other = format!("not-{}", generator.form.id());
            answer = json!({"form_id": other, "responses": answer});
        }
        _ => answer = json!([answer]),
    }
    breaks(&generator.form, what, &answer).then_some(answer)
}

/// Removes a dependency of a field.
fn dependencies(generator: &mut Generator, what: &Breakage) -> Option<Value> {
    let form = generator.form.clone();
    for place in places(generator) {
        let needed = form.fields()[place].dependencies();
        for _ in 0..if needed.is_empty() { 0 } else { BASES } {
            let values = valid(generator, Some(place))?;
            for other in needed {
                let found = spoil(generator, &values, what, |attempt| {
                    if attempt.values[place].is_none() {
                        attempt.fill(place);
                    }
                    attempt.clear(*other);
                });
                if found.is_some() {
                    return found;
                }
            }
        }
    }
    searched(generator, what)
}

/// A rule over several fields.
fn across(generator: &mut Generator, what: &Breakage) -> Option<Value> {
    let form = generator.form.clone();
    for rule in form.rules() {
        let (key, places) = match rule.check() {
            CrossCheck::Compare(left, _, right) => ("compare", vec![*left, *right]),
            CrossCheck::AtLeastOne(places) => ("at_least_one", places.clone()),
            CrossCheck::ExactlyOne(places) => ("exactly_one", places.clone()),
            CrossCheck::AllOrNone(places) => ("all_or_none", places.clone()),
        };
        if key != what.constraint() {
            continue;
        }
        for _ in 0..BASES * 2 {
            let focus = generator.rng.choice(&places).copied();
            let values = valid(generator, focus)?;
            let found = spoil(generator, &values, what, |attempt| match rule.check() {
                CrossCheck::Compare(left, comparison, right) => {
                    attempt.miscompare(*left, *comparison, *right);
                }
                CrossCheck::AtLeastOne(_) => {
                    for place in &places {
                        attempt.clear(*place);
                    }
                }
                CrossCheck::ExactlyOne(_) | CrossCheck::AllOrNone(_) => {
                    if let Some(place) = attempt.rng.choice(&places) {
                        if attempt.rng.bool() {
                            attempt.clear(*place);
                        } else {
                            attempt.activate(*place);
                            attempt.fill(*place);
                        }
                    }
                }
            });
            if found.is_some() {
                return found;
            }
        }
    }
    searched(generator, what)
}

/// Applies a change to values, and returns the answer if it breaks what it should.
fn spoil(
    generator: &mut Generator,
    values: &[Option<Value>],
    what: &Breakage,
    change: impl FnOnce(&mut Attempt<'_>),
) -> Option<Value> {
    let Generator {
        form,
        rng,
        trees,
        constants,
    } = generator;
    let mut attempt = Attempt::new(form, trees, constants, rng);
    attempt.values = values.to_vec();
    change(&mut attempt);
    let answer = attempt.to_json();
    breaks(form, what, &answer).then_some(answer)
}

/// A custom validator: opaque, so valid-looking answers are tried.
fn custom(generator: &mut Generator, what: &Breakage) -> Option<Value> {
    let named = generator
        .form
        .definition()
        .pointer("/validation/custom_validators")?;
    if !named
        .as_array()?
        .iter()
        .any(|name| name == what.constraint())
    {
        return None;
    }
    searched(generator, what)
}

/// What the search finds on its way to valid answers.
fn searched(generator: &mut Generator, what: &Breakage) -> Option<Value> {
    let is_concerned = generator.form.rules().iter().next().is_some()
        || generator
            .form
            .fields()
            .iter()
            .any(|field| !field.dependencies().is_empty())
        || is_custom(what.constraint());
    if !is_concerned {
        return None;
    }
    let values = generator.search(None, &|form, verdict| {
        verdict
            .as_ref()
            .is_err_and(|violations| is_only(form, what, violations))
    })?;
    Some(attempt::to_json(&generator.form, &values))
}
