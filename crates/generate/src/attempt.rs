//! One attempt at an answer: a value, or none, for each field.

use entreat_core::{Field, Form};
use fastrand::Rng;
use regex_syntax::hir::Hir;
use serde_json::{Map, Value};

use super::{chance, value};

/// Values under construction. Absent is `None`, cleared is null.
pub(super) struct Attempt<'g> {
    pub(super) form: &'g Form,
    pub(super) trees: &'g [Option<Hir>],
    constants: &'g [Vec<Value>],
    pub(super) rng: &'g mut Rng,
    pub(super) values: Vec<Option<Value>>,
}

impl<'g> Attempt<'g> {
    pub(super) fn new(
        form: &'g Form,
        trees: &'g [Option<Hir>],
        constants: &'g [Vec<Value>],
        rng: &'g mut Rng,
    ) -> Self {
        Self {
            form,
            trees,
            constants,
            rng,
            values: vec![None; form.fields().len()],
        }
    }

    /// Fills in a first draft. Starts differ in how many optional fields they answer.
    pub(super) fn begin(&mut self, start: usize, focus: Option<usize>) {
        let share = [50, 85, 15, 100, 0][start % 5];
        for place in 0..self.values.len() {
            if self.field(place).is_required() || chance(self.rng, share) {
                self.fill(place);
            } else if chance(self.rng, 15) {
                self.clear(place);
            }
        }
        for place in 0..self.values.len() {
            let has_conditions = !self.field(place).active_when().is_empty();
            if has_conditions && chance(self.rng, 40) {
                self.activate(place);
            }
        }
        if let Some(place) = focus {
            self.activate(place);
            self.check_rules_of(place);
            self.fill(place);
        }
    }

    pub(super) fn field(&self, place: usize) -> &'g Field {
        &self.form.fields()[place]
    }

    /// Answers a field, if a value can be found. Readonly fields stay unchanged.
    pub(super) fn fill(&mut self, place: usize) {
        let field = self.field(place);
        if field.is_fixed() {
            self.values[place] = None;
            return;
        }
        let constants = &self.constants[place];
        self.values[place] = if !constants.is_empty() && chance(self.rng, 40) {
            self.rng.choice(constants).cloned()
        } else {
            self.generated(place)
        };
    }

    /// A value within the field's own rules.
    pub(super) fn generated(&mut self, place: usize) -> Option<Value> {
        value::value(self.field(place), self.trees[place].as_ref(), self.rng)
    }

    /// Removes a field's answer; a field with a default needs an explicit null.
    pub(super) fn clear(&mut self, place: usize) {
        let field = self.field(place);
        let falls_back = field.default().is_some() && !field.is_required();
        self.values[place] = falls_back.then_some(Value::Null);
    }

    /// Changes a random field, to escape a local optimum.
    pub(super) fn shake(&mut self) {
        let place = self.rng.usize(..self.values.len().max(1));
        if place < self.values.len() {
            if self.field(place).is_required() || chance(self.rng, 70) {
                self.fill(place);
            } else {
                self.clear(place);
            }
        }
    }

    pub(super) fn to_json(&self) -> Value {
        to_json(self.form, &self.values)
    }

    pub(super) fn into_values(self) -> Vec<Option<Value>> {
        self.values
    }
}

/// The values under their fields' ids, in field order.
pub(super) fn to_json(form: &Form, values: &[Option<Value>]) -> Value {
    let mut answer = Map::new();
    for (field, value) in form.fields().iter().zip(values) {
        if let Some(value) = value {
            answer.insert(field.id().to_owned(), value.clone());
        }
    }
    answer.into()
}
