//! Answers for any form: valid ones, ones that break one named rule, and hostile ones.
//!
//! Every answer was checked by the form itself: [`Generator::valid`] returns what the form accepts,
//! [`Generator::breaking`] what it rejects for exactly one reason. The search is bounded and
//! returns `None` if it finds nothing, which for most forms means that no such answer exists.
//!
//! ```
//! use entreat_core::Form;
//! use entreat_generate::Generator;
//! use serde_json::json;
//!
//! let form = Form::from_value(&json!({
//!     "id": "hook", "title": "Hook",
//!     "fields": [
//!         {"id": "kind", "type": "select", "label": "Kind", "required": true,
//!          "options": ["push", "poll"]},
//!         {"id": "target", "type": "url", "label": "Target", "required": true,
//!          "rendering": {"conditionalDisplay":
//!              {"operator": "equals", "field": "kind", "value": "push"}}},
//!     ],
//! }))?;
//! let mut generator = Generator::new(&form, 42);
//!
//! let answer = generator.breaking("invalid_url_private_ip").unwrap();
//! assert_eq!(answer["kind"], "push");
//! assert_eq!(form.check(&answer).unwrap_err().to_string(), "`target` breaks `blockPrivateIPs`");
//!
//! // The form has no text, so no text can be too short.
//! assert_eq!(generator.breaking("too_short_text"), None);
//! # Ok::<(), entreat_core::Problems>(())
//! ```

use entreat_core::pattern::syntax_tree;
use entreat_core::{Constraint, Form, Kind, Violations};
use fastrand::Rng;
use regex_syntax::hir::Hir;
use serde_json::Value;

mod breakage;

mod attempt;
mod constants;
mod repair;
mod steer;

mod breaking;
mod broken;
mod broken_file;
mod hostile;

mod choice;
mod date;
mod file;
mod format;
mod number;
mod pattern;
mod text;
mod url;
mod value;

pub use breakage::{Breakage, Scenario};

use attempt::Attempt;

/// Number of restarts of the search.
const STARTS: usize = 16;
/// Number of repairs per start.
const REPAIRS: usize = 24;

/// Generates answers for one form; deterministic for a seed.
#[derive(Clone, Debug)]
pub struct Generator {
    form: Form,
    rng: Rng,
    /// The syntax tree of each text field's pattern.
    trees: Vec<Option<Hir>>,
    /// For each field, the values that conditions compare it with.
    constants: Vec<Vec<Value>>,
}

impl Generator {
    /// Creates a generator for a form.
    pub fn new(form: &Form, seed: u64) -> Self {
        let tree = |kind: &Kind| match kind {
            Kind::Text(rules) => syntax_tree(rules.pattern.as_ref()?.as_str()).ok(),
            Kind::Number(_)
            | Kind::Boolean
            | Kind::Date(_)
            | Kind::Select(_)
            | Kind::MultiSelect(_)
            | Kind::Url(_)
            | Kind::File(_) => None,
        };
        Self {
            form: form.clone(),
            rng: Rng::with_seed(seed),
            trees: form
                .fields()
                .iter()
                .map(|field| tree(field.kind()))
                .collect(),
            constants: constants::of(form),
        }
    }

    /// Returns an answer that the form accepts, a different one with every call.
    ///
    /// It has no value for fields that conditions disable; an optional field with a default may be
    /// null, which means that the person cleared it. `None` if none was found, as for every form
    /// without a valid answer.
    ///
    /// ```
    /// use entreat_testkit::{Generator, samples};
    ///
    /// let form = samples::comprehensive();
    /// let answer = Generator::new(&form, 1).valid().unwrap();
    /// assert!(form.check(&answer).is_ok());
    /// assert_eq!(Generator::new(&form, 1).valid(), Some(answer));
    /// ```
    pub fn valid(&mut self) -> Option<Value> {
        self.search(None, &|_, verdict| verdict.is_ok())
            .map(|values| self.tidied(values))
    }

    /// Returns an answer that breaks exactly one rule once: a [`Scenario`], a rule's key such as
    /// `minLength`, the name of either, or the name of a custom validator.
    ///
    /// `None` if the form has no such rule, or if it cannot be broken alone.
    ///
    /// ```
    /// use entreat_testkit::{Generator, Scenario, samples};
    ///
    /// let form = samples::comprehensive();
    /// let mut generator = Generator::new(&form, 1);
    /// for what in ["number_too_large", "maximum"] {
    ///     let answer = generator.breaking(what).unwrap();
    ///     assert_eq!(form.check(&answer).unwrap_err().len(), 1);
    /// }
    /// assert!(generator.breaking(Scenario::MissingDependency).is_none());
    /// ```
    pub fn breaking(&mut self, what: impl Into<Breakage>) -> Option<Value> {
        breaking::answer(self, &what.into())
    }

    /// Returns the keys of the rules that [`breaking`](Self::breaking) can break on this form:
    /// first built-in ones, in the order of [`Constraint::KEYS`], then custom validators.
    pub fn breakable(&mut self) -> Vec<String> {
        let custom = self
            .form
            .definition()
            .pointer("/validation/custom_validators");
        let custom: Vec<String> = custom
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect();
        let rules = Constraint::KEYS.iter().map(|key| (*key).to_owned());
        let mut found: Vec<String> = rules.chain(custom).collect();
        found.retain(|key| self.breaking(Breakage::Rule(key.as_str().into())).is_some());
        found
    }

    /// Returns the scenarios that [`breaking`](Self::breaking) supports on this form.
    pub fn scenarios(&mut self) -> Vec<Scenario> {
        let mut found = Scenario::ALL.to_vec();
        found.retain(|scenario| self.breaking(*scenario).is_some());
        found
    }

    /// Returns malformed and extreme answers: wrong types, nulls, empty and huge values, odd
    /// Unicode, deep nesting, repeated options, broken envelopes. Most are invalid, some are not;
    /// the form must handle them all.
    ///
    /// ```
    /// use entreat_testkit::{Generator, samples};
    ///
    /// let form = samples::comprehensive();
    /// for answer in Generator::new(&form, 1).hostile() {
    ///     let _ = form.check(&answer);
    /// }
    /// ```
    pub fn hostile(&mut self) -> Vec<Value> {
        hostile::answers(self)
    }

    /// Searches for answers that satisfy `is_wanted`; with a focus, that field is active and
    /// answered if possible.
    fn search(
        &mut self,
        focus: Option<usize>,
        is_wanted: &dyn Fn(&Form, &Verdict) -> bool,
    ) -> Option<Vec<Option<Value>>> {
        for start in 0..STARTS {
            let mut attempt = Attempt::new(&self.form, &self.trees, &self.constants, &mut self.rng);
            attempt.begin(start, focus);
            for _ in 0..REPAIRS {
                let answer = attempt.to_json();
                let verdict = self.form.check(&answer).map(|_| ());
                if is_wanted(&self.form, &verdict) {
                    return Some(attempt.into_values());
                }
                match verdict {
                    Ok(()) => attempt.shake(),
                    Err(violations) => attempt.repair(&violations),
                }
            }
        }
        None
    }

    /// Removes answers that the form drops anyway.
    fn tidied(&self, mut values: Vec<Option<Value>>) -> Value {
        let kept = |values: &[Option<Value>]| {
            let answer = attempt::to_json(&self.form, values);
            let checked = self.form.check(&answer).ok()?;
            Some(checked.reveal().to_json())
        };
        let wanted = kept(&values);
        for (place, field) in self.form.fields().iter().enumerate() {
            let is_kept = wanted
                .as_ref()
                .is_some_and(|kept| kept.contains_key(field.id()));
            if values[place].is_some() && !is_kept {
                let value = values[place].take();
                if kept(&values) != wanted {
                    values[place] = value;
                }
            }
        }
        attempt::to_json(&self.form, &values)
    }
}

/// The form's verdict on an answer.
type Verdict = Result<(), Violations>;

/// True with this probability, in percent.
fn chance(rng: &mut Rng, percent: u8) -> bool {
    rng.u8(..100) < percent
}

#[cfg(test)]
mod tests {
    use entreat_core::{ValidatorError, Validators};
    use serde_json::json;

    use super::*;
    use entreat_testkit::samples;

    #[test]
    fn another_seed_or_call_makes_another_answer() {
        let form = samples::comprehensive();
        let mut generator = Generator::new(&form, 1);
        let first = generator.valid();
        assert_ne!(first, generator.valid());
        assert_ne!(first, Generator::new(&form, 2).valid());
    }

    #[test]
    fn a_form_that_cannot_be_answered_has_no_valid_answer() {
        let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [
            {"id": "a", "type": "text", "label": "A", "required": true,
             "validation": {"pattern": "^x$", "minLength": 5}},
        ]}));
        assert_eq!(Generator::new(&form.unwrap(), 1).valid(), None);
    }

    #[test]
    fn a_custom_validator_is_broken_by_its_name() {
        let mut validators = Validators::default();
        validators.register("mostly_true", |answers| match answers.get("on") {
            Some(entreat_core::Answer::Boolean(false)) => {
                Err(ValidatorError::new("on", "Never off"))
            }
            _ => Ok(()),
        });
        let form = Form::with_validators(
            &json!({"id": "f", "title": "F",
                    "fields": [{"id": "on", "type": "boolean", "label": "On"}],
                    "validation": {"custom_validators": ["mostly_true"]}}),
            &validators,
        );
        let form = form.unwrap();
        let mut generator = Generator::new(&form, 1);
        assert_eq!(
            generator.breaking("mostly_true"),
            Some(json!({"on": false}))
        );
        assert!(generator.breakable().contains(&"mostly_true".to_owned()));
        assert!(form.check(&generator.valid().unwrap()).is_ok());
    }

    #[test]
    fn values_of_fields_that_conditions_take_out_are_left_out() {
        let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [
            {"id": "a", "type": "boolean", "label": "A", "required": true},
            {"id": "b", "type": "number", "label": "B", "required": true,
             "rendering": {"conditionalDisplay": {"operator": "equals", "field": "a", "value": true}}},
        ]}));
        let form = form.unwrap();
        let mut generator = Generator::new(&form, 5);
        for _ in 0..50 {
            let answer = generator.valid().unwrap();
            assert_eq!(answer["a"] == true, answer.get("b").is_some(), "{answer}");
        }
    }
}
