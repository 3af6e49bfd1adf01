//! Valid forms generated from a seed, for property tests.
//!
//! [`form`] covers the whole form language: all types and rules, options, defaults, readonly and
//! hidden fields, conditions on conditional fields, actions, rules across fields and partial
//! answers. Numbers are small and patterns realistic, so that nearly every form can be answered; a
//! form without any valid answer is still a valid form. Custom validators are left out, because
//! they belong to the host program.

use fastrand::Rng;
use serde_json::{Map, Value, json};

mod condition;
mod field;
mod rules;

use field::Draft;

/// Returns the definition of a valid form; deterministic for a seed.
///
/// ```
/// use entreat_core::Form;
/// use entreat_testkit::{Generator, arbitrary};
///
/// for seed in 0..10 {
///     let form = Form::from_value(&arbitrary::form(seed))?;
///     if let Some(answer) = Generator::new(&form, seed).valid() {
///         assert!(form.check(&answer).is_ok());
///     }
/// }
/// # Ok::<(), entreat_core::Problems>(())
/// ```
pub fn form(seed: u64) -> Value {
    let rng = &mut Rng::with_seed(seed);
    let count = rng.usize(1..=9);
    let mut drafts: Vec<Draft> = (0..count).map(|place| field::draft(place, rng)).collect();
    let mut form = Map::new();
    form.insert("id".into(), format!("form-{seed}").into());
    form.insert("title".into(), "Some questions".into());
    if rng.bool() {
        form.insert("description".into(), "Made up for a test.".into());
    }
    let validation = condition::connect(&mut drafts, rng);
    let validation = rules::add(validation, &drafts, rng);
    let fields: Vec<Value> = drafts
        .into_iter()
        .map(|draft| draft.definition.into())
        .collect();
    form.insert("fields".into(), fields.into());
    if !validation.is_empty() {
        form.insert("validation".into(), validation.into());
    }
    if often(rng, 15) {
        form.insert("allow_partial".into(), true.into());
    }
    if often(rng, 10) {
        form.insert(
            "timeout".into(),
            json!({"initial_timeout": 60_000, "warn_before": 5_000}),
        );
    }
    if often(rng, 10) {
        form.insert("metadata".into(), json!({"team": ["a", 1, null]}));
    }
    form.into()
}

/// True with this probability, in percent.
fn often(rng: &mut Rng, percent: u8) -> bool {
    rng.u8(..100) < percent
}

/// One of a few.
fn one_of<T: Copy>(list: &[T], rng: &mut Rng) -> T {
    list[rng.usize(..list.len())]
}

#[cfg(test)]
mod tests {
    use entreat_core::Form;

    use super::*;

    #[test]
    fn the_forms_use_the_whole_language() {
        let mut text = String::new();
        for seed in 0..600 {
            text.push_str(&form(seed).to_string());
        }
        for word in [
            "\"text\"",
            "\"number\"",
            "\"boolean\"",
            "\"date\"",
            "\"select\"",
            "\"multi_select\"",
            "\"url\"",
            "\"file\"",
            "minLength",
            "pattern",
            "exclusiveMaximum",
            "multipleOf",
            "allowedMimeTypes",
            "blockPrivateIPs",
            "\"equals\"",
            "\"not_equals\"",
            "\"in\"",
            "\"not_in\"",
            "\"contains\"",
            "\"gt\"",
            "\"gte\"",
            "\"lt\"",
            "\"lte\"",
            "\"regex\"",
            "\"is_empty\"",
            "\"is_not_empty\"",
            "\"and\"",
            "\"or\"",
            "\"not\"",
            "\"show\"",
            "\"hide\"",
            "\"enable\"",
            "\"disable\"",
            "\"validate\"",
            "\"compare\"",
            "at_least_one",
            "exactly_one",
            "all_or_none",
            "allow_partial",
            "readonly",
            "hidden",
            "\"default\"",
            "conditionalDisplay",
            "\"dependencies\"",
            "\"sensitive\"",
            "date-time",
            "ipv6",
            "\"email\"",
            "\"title\"",
            "\"messages\"",
        ] {
            assert!(text.contains(word), "no form has {word}");
        }
    }

    #[test]
    fn the_same_seed_makes_the_same_form() {
        assert_eq!(form(11), form(11));
        assert_ne!(form(11), form(12));
    }

    #[test]
    fn some_conditions_hang_on_conditional_fields() {
        let is_chained = |seed: u64| {
            let form = Form::from_value(&form(seed)).unwrap();
            let is_conditional = |place: usize| !form.fields()[place].active_when().is_empty();
            form.fields().iter().any(|field| {
                field.active_when().iter().any(|condition| match condition {
                    entreat_core::Condition::Test { field, .. } => is_conditional(*field),
                    _ => false,
                })
            })
        };
        assert!((0..200).filter(|seed| is_chained(*seed)).count() > 10);
    }
}
