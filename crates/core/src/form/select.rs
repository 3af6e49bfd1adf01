//! `select`: exactly one of the options.

use crate::answer::Answer;
use crate::form::findings::Findings;
use crate::form::kind::{Mistake, Parsed};
use crate::form::options::Options;
use crate::parse::Raw;
use crate::violation::{Constraint, Expected};

pub(crate) fn parse(raw: Raw<'_>) -> Parsed<'_> {
    match raw {
        Raw::Text(text) => Ok(Answer::Choice(text)),
        raw => Err(Mistake::wrong_type("string").of(raw)),
    }
}

pub(crate) fn check(options: &Options, choice: &str, findings: &mut Findings<'_>) {
    if !options.contains(choice) {
        let expected = Expected::Names(options.shared_values());
        findings.add_text(Constraint::Enum, expected, choice);
    }
}
