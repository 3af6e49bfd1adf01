//! Collects the violations of answers, field by field.

use serde_json::Value;

use crate::check::CheckSettings;
use crate::form::Field;
use crate::form::kind::Unreadable;
use crate::parse::Source as _;
use crate::violation::{Constraint, Expected, Violation, shorten, shorten_text};

/// Collects violations of the current field, item and part.
pub(crate) struct Findings<'s> {
    pub(crate) list: Vec<Violation>,
    pub(crate) settings: &'s CheckSettings,
    field: usize,
    /// The answer must not appear in a violation.
    sensitive: bool,
    item: Option<usize>,
    part: Option<&'static str>,
    /// How many violations concern single items of the field.
    item_violations: usize,
}

/// The maximum number of violations about single items of one field. Each may list all options,
/// and thousands of invalid choices usually share one cause.
const MAX_ITEM_VIOLATIONS: usize = 20;

impl<'s> Findings<'s> {
    pub(crate) fn new(settings: &'s CheckSettings) -> Self {
        Self {
            list: Vec::new(),
            settings,
            field: 0,
            sensitive: false,
            item: None,
            part: None,
            item_violations: 0,
        }
    }

    /// Sets the field that the next violations are about, and clears item and part.
    #[inline]
    pub(crate) fn set_field(&mut self, index: usize, field: &Field) -> &mut Self {
        self.field = index;
        self.sensitive = field.is_sensitive();
        self.item = None;
        self.part = None;
        self.item_violations = 0;
        self
    }

    /// Sets the list item that the next violations are about.
    pub(crate) fn at_item(&mut self, item: Option<usize>) -> &mut Self {
        self.item = item;
        self
    }

    /// Sets the part of the value that the next violations are about.
    pub(crate) fn at_part(&mut self, part: Option<&'static str>) -> &mut Self {
        self.part = part;
        self
    }

    /// Records a broken rule; `actual` is called only if the violation may contain the answer.
    pub(crate) fn add(
        &mut self,
        constraint: Constraint,
        expected: Expected,
        actual: impl FnOnce() -> Value,
    ) {
        let actual = self.may_include_actual().then(|| shorten(&actual()));
        self.push(constraint, expected, actual);
    }

    /// Records a broken rule about a text.
    pub(crate) fn add_text(&mut self, constraint: Constraint, expected: Expected, actual: &str) {
        let actual = self.may_include_actual().then(|| shorten_text(actual));
        self.push(constraint, expected, actual);
    }

    /// Records a broken rule without an actual value.
    pub(crate) fn add_bare(&mut self, constraint: Constraint, expected: Expected) {
        self.push(constraint, expected, None);
    }

    /// Records why a value could not be parsed.
    pub(crate) fn add_mistakes(&mut self, unreadable: &Unreadable<'_>) {
        for mistake in &unreadable.mistakes {
            self.at_item(mistake.item).at_part(mistake.part);
            let (constraint, expected) = (mistake.constraint.clone(), mistake.expected.clone());
            if constraint == Constraint::Required {
                self.add_bare(constraint, expected);
            } else {
                let whole = || unreadable.raw.to_json();
                self.add(constraint, expected, || {
                    mistake.actual.clone().unwrap_or_else(whole)
                });
            }
        }
        self.at_item(None).at_part(None);
    }

    /// Whether the next violation may contain the answer.
    fn may_include_actual(&self) -> bool {
        !self.sensitive && !self.is_full()
    }

    fn is_full(&self) -> bool {
        self.item.is_some() && self.item_violations >= MAX_ITEM_VIOLATIONS
    }

    fn push(&mut self, constraint: Constraint, expected: Expected, actual: Option<Value>) {
        if self.is_full() {
            return;
        }
        self.item_violations += usize::from(self.item.is_some());
        self.list.push(Violation {
            actual,
            item: self.item,
            part: self.part,
            ..Violation::of(Some(self.field), constraint, expected)
        });
    }
}
