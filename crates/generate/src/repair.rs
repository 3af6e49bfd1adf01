//! Repairs an attempt: changes the fields that the form's violations name.
//!
//! Each repair is a guess among several that could help. The guesses differ between rounds, which
//! gets the search out of dead ends.

use entreat_core::form::CrossCheck;
use entreat_core::{Expected, Violation, Violations};
use serde_json::json;

use super::attempt::Attempt;
use super::chance;
use super::steer::{opposite, turned};

impl Attempt<'_> {
    /// Changes what the violations are about.
    pub(super) fn repair(&mut self, violations: &Violations) {
        let list: Vec<&Violation> = violations.iter().collect();
        let one = self.rng.usize(..list.len().max(1));
        for (i, violation) in list.into_iter().enumerate() {
            // Not all at once: two repairs may undo each other forever.
            if i == one || chance(self.rng, 60) {
                let id = violations.field_of(violation);
                if let Some(place) = self.place(id) {
                    self.repair_one(place, violation);
                }
            }
        }
    }

    fn place(&self, id: &str) -> Option<usize> {
        self.form.fields().iter().position(|field| field.id() == id)
    }

    fn repair_one(&mut self, place: usize, violation: &Violation) {
        match violation.constraint().key() {
            "required" => {
                if chance(self.rng, 15) {
                    self.leave_out(place);
                } else {
                    self.fill(place);
                }
            }
            "dependencies" => self.repair_dependencies(place, violation.expected()),
            key @ ("compare" | "at_least_one" | "exactly_one" | "all_or_none") => {
                self.repair_rules(place, key);
            }
            "readonly" => self.values[place] = None,
            // A nested part of an imported schema is answered as JSON.
            "format" if violation.expected() == &Expected::Name("json") => {
                self.values[place] = Some(json!({}));
            }
            _ => {
                if chance(self.rng, 35) {
                    self.leave_out(place);
                } else {
                    self.values[place] = self.generated(place);
                }
            }
        }
    }

    /// Removes a field's answer: clears it or, if it is required, disables the field.
    fn leave_out(&mut self, place: usize) {
        let has_conditions = !self.field(place).active_when().is_empty();
        if has_conditions && (self.field(place).is_required() || chance(self.rng, 30)) {
            self.deactivate(place);
        } else {
            self.clear(place);
        }
    }

    fn put_in(&mut self, place: usize) {
        self.fill(place);
        self.activate(place);
    }

    fn repair_dependencies(&mut self, place: usize, expected: &Expected) {
        if chance(self.rng, 40) {
            self.leave_out(place);
            return;
        }
        if let Expected::Names(names) = expected {
            for name in names.iter() {
                if let Some(other) = self.place(name) {
                    self.put_in(other);
                }
            }
        }
    }

    /// Repairs the rules across fields that report at a field.
    fn repair_rules(&mut self, place: usize, key: &str) {
        for rule in self.form.rules() {
            match rule.check() {
                CrossCheck::Compare(left, comparison, right)
                    if key == "compare" && *left == place =>
                {
                    self.compare(*left, *comparison, *right);
                }
                CrossCheck::AtLeastOne(places)
                    if key == "at_least_one" && places.first() == Some(&place) =>
                {
                    if let Some(one) = self.rng.choice(places) {
                        self.put_in(*one);
                    }
                }
                CrossCheck::ExactlyOne(places)
                    if key == "exactly_one" && places.first() == Some(&place) =>
                {
                    let one = self.rng.usize(..places.len());
                    for (i, place) in places.iter().enumerate() {
                        if i != one {
                            self.leave_out(*place);
                        }
                    }
                    self.put_in(places[one]);
                }
                CrossCheck::AllOrNone(places)
                    if key == "all_or_none" && places.first() == Some(&place) =>
                {
                    let all = self.rng.bool();
                    for place in places {
                        if all {
                            self.put_in(*place);
                        } else {
                            self.leave_out(*place);
                        }
                    }
                }
                CrossCheck::Compare(..)
                | CrossCheck::AtLeastOne(_)
                | CrossCheck::ExactlyOne(_)
                | CrossCheck::AllOrNone(_) => {}
            }
        }
    }

    /// Makes two fields compare as wanted, by changing one of them or leaving one out.
    fn compare(&mut self, left: usize, wanted: entreat_core::Comparison, right: usize) {
        match self.rng.u8(..10) {
            0 => self.leave_out(left),
            1 => self.leave_out(right),
            2 => {
                self.fill(left);
                self.fill(right);
            }
            n if n % 2 == 0 => self.match_to(left, wanted, right),
            _ => self.match_to(right, turned(wanted), left),
        }
    }

    /// Sets `place` to a value that compares with that of `other` in this way.
    pub(super) fn match_to(
        &mut self,
        place: usize,
        comparison: entreat_core::Comparison,
        other: usize,
    ) {
        let known = self.values[other].clone().filter(|value| !value.is_null());
        let known = known.or_else(|| {
            self.field(other)
                .default()
                .map(entreat_core::Answer::to_json)
        });
        if let Some(known) = known
            && let Some(found) = self.compared(place, comparison, &known)
        {
            self.values[place] = Some(found);
        }
    }

    /// Makes two fields compare in another way than wanted.
    pub(super) fn miscompare(
        &mut self,
        left: usize,
        wanted: entreat_core::Comparison,
        right: usize,
    ) {
        for place in [left, right] {
            if self.values[place]
                .as_ref()
                .is_none_or(serde_json::Value::is_null)
            {
                self.put_in(place);
            }
        }
        if self.rng.bool() {
            self.match_to(left, opposite(wanted), right);
        } else {
            self.match_to(right, turned(opposite(wanted)), left);
        }
    }
}
