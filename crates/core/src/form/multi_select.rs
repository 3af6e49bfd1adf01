//! `multi_select`: any of the options, each at most once.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::form::findings::Findings;
use crate::form::kind::{Mistake, Parsed};
use crate::form::options::Options;
use crate::form::reader::{Object, Reader};
use crate::form::select;
use crate::parse::Source;
use crate::problem::ProblemCode;
use crate::violation::{Constraint, Expected};

/// The rules of a `multi_select` field.
#[derive(Clone, Debug)]
pub struct MultiSelectRules {
    /// `minItems`.
    pub min_items: Option<u64>,
    /// `maxItems`.
    pub max_items: Option<u64>,
    /// The options to choose from.
    pub options: Options,
}

impl MultiSelectRules {
    pub(crate) const KEYS: &[&str] = &["minItems", "maxItems", "uniqueItems", "enum"];

    pub(crate) fn read<'v>(
        reader: &mut Reader<'v>,
        validation: &'v Object,
        options: Options,
    ) -> Self {
        options.check_enum(reader, validation);
        if reader.flag_at(validation, "uniqueItems") == Some(false) {
            reader.report_at(
                "uniqueItems",
                ProblemCode::BadValue,
                "An option can be chosen once: `uniqueItems` is always true.",
            );
        }
        let min_items = reader.count_at(validation, "minItems");
        let max_items = reader.count_at(validation, "maxItems");
        reader.check_bounds(("minItems", min_items), ("maxItems", max_items));
        let offered = options.values().len() as u64;
        if !reader.imported && offered > 0 && min_items.is_some_and(|min| min > offered) {
            reader.report_at(
                "minItems",
                ProblemCode::Contradiction,
                format!("`minItems` is above the number of options, {offered}."),
            );
        }
        Self {
            min_items,
            max_items,
            options,
        }
    }

    pub(crate) fn check(&self, choices: &[Cow<'_, str>], findings: &mut Findings<'_>) {
        if !self.are_certainly_valid(choices) {
            self.check_each(choices, findings);
        }
        check_count(self.min_items, self.max_items, choices.len(), findings);
    }

    /// A fast path: whether each choice is an option and none repeats. May be `false` for valid
    /// choices if there are many options.
    fn are_certainly_valid(&self, choices: &[Cow<'_, str>]) -> bool {
        // One bit for each option that was chosen.
        let mut chosen = 0_u32;
        self.options.are_few()
            && choices.iter().all(|choice| {
                let option = self.options.position(choice).map_or(0, |index| 1 << index);
                let is_new = chosen & option != option;
                chosen |= option;
                is_new
            })
    }

    fn check_each(&self, choices: &[Cow<'_, str>], findings: &mut Findings<'_>) {
        let mut is_repeated = repetition_detector(choices);
        for (i, choice) in choices.iter().enumerate() {
            findings.at_item(Some(i));
            select::check(&self.options, choice, findings);
            if is_repeated(i) {
                findings.add_text(Constraint::UniqueItems, Expected::True, choice);
            }
        }
        findings.at_item(None);
    }
}

/// Returns a function that tells, called for each item in order, whether it is a repetition.
fn repetition_detector<'c>(choices: &'c [Cow<'_, str>]) -> impl FnMut(usize) -> bool + 'c {
    // For a handful, comparing is faster than hashing, and allocates nothing.
    let mut seen = (choices.len() > 16).then(HashSet::new);
    move |i| match &mut seen {
        Some(seen) => !seen.insert(&choices[i]),
        None => choices[..i].contains(&choices[i]),
    }
}

#[inline]
pub(crate) fn check_count(
    min: Option<u64>,
    max: Option<u64>,
    count: usize,
    findings: &mut Findings<'_>,
) {
    let count = count as u64;
    if let Some(min) = min
        && count < min
    {
        findings.add(Constraint::MinItems, Expected::Count(min), || count.into());
    }
    if let Some(max) = max
        && count > max
    {
        findings.add(Constraint::MaxItems, Expected::Count(max), || count.into());
    }
}

#[inline]
pub(crate) fn parse<'a>(source: impl Source<'a>) -> Parsed<'a, Vec<Cow<'a, str>>> {
    source
        .texts()
        .map_err(|other| Mistake::wrong_type("array").of(other))
}
