//! Collects what is wrong with answers, field by field.

use serde_json::Value;

use crate::check::CheckSettings;
use crate::form::Field;
use crate::form::kind::Unreadable;
use crate::parse::Source as _;
use crate::violation::{Constraint, Expected, Violation, shown, shown_text};

/// Where the rules of fields put what they find.
pub(crate) struct Findings<'s> {
    pub(crate) list: Vec<Violation>,
    pub(crate) settings: &'s CheckSettings,
    field: usize,
    /// Nothing that was answered may be kept.
    sensitive: bool,
    item: Option<usize>,
    part: Option<&'static str>,
    /// How many findings were about items of the field.
    told: usize,
}

/// As many findings about single items are kept of one field. Each may come to list all
/// options, and a list of thousands of wrong choices is wrong in one way.
const MAX_ITEMS_TOLD: usize = 20;

impl<'s> Findings<'s> {
    pub(crate) fn new(settings: &'s CheckSettings) -> Self {
        Self {
            list: Vec::new(),
            settings,
            field: 0,
            sensitive: false,
            item: None,
            part: None,
            told: 0,
        }
    }

    /// Says which field the next findings are about, as a whole until something else is said.
    #[inline]
    pub(crate) fn about(&mut self, place: usize, field: &Field) -> &mut Self {
        self.field = place;
        self.sensitive = field.is_sensitive();
        self.item = None;
        self.part = None;
        self.told = 0;
        self
    }

    /// Says which item of a list the next findings are about.
    pub(crate) fn at_item(&mut self, item: Option<usize>) -> &mut Self {
        self.item = item;
        self
    }

    /// Says which part of a value the next findings are about.
    pub(crate) fn at_part(&mut self, part: Option<&'static str>) -> &mut Self {
        self.part = part;
        self
    }

    /// Notes a broken rule; `actual` is asked only where it may be kept.
    pub(crate) fn add(
        &mut self,
        constraint: Constraint,
        expected: Expected,
        actual: impl FnOnce() -> Value,
    ) {
        let actual = self.is_kept().then(|| shown(&actual()));
        self.push(constraint, expected, actual);
    }

    /// Notes a broken rule about a text.
    pub(crate) fn add_text(&mut self, constraint: Constraint, expected: Expected, actual: &str) {
        let actual = self.is_kept().then(|| shown_text(actual));
        self.push(constraint, expected, actual);
    }

    /// Notes a broken rule for which there is nothing to show.
    pub(crate) fn add_bare(&mut self, constraint: Constraint, expected: Expected) {
        self.push(constraint, expected, None);
    }

    /// Notes why a value could not be read.
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

    /// Whether what was answered stays with the next finding.
    fn is_kept(&self) -> bool {
        !self.sensitive && !self.is_full()
    }

    fn is_full(&self) -> bool {
        self.item.is_some() && self.told >= MAX_ITEMS_TOLD
    }

    fn push(&mut self, constraint: Constraint, expected: Expected, actual: Option<Value>) {
        if self.is_full() {
            return;
        }
        self.told += usize::from(self.item.is_some());
        self.list.push(Violation {
            field: Some(self.field),
            stranger: None,
            constraint,
            expected,
            actual,
            item: self.item,
            part: self.part,
            comparison: None,
            message: None,
        });
    }
}
