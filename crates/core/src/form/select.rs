//! `select`: exactly one of the options.

use crate::answer::Answer;
use crate::form::findings::Findings;
use crate::form::kind::{Mistake, Parsed};
use crate::form::options::Options;
use crate::parse::Source;
use crate::violation::{Constraint, Expected};

pub(crate) fn parse<'a>(source: impl Source<'a>) -> Parsed<'a> {
    match source.text() {
        Ok(text) => Ok(Answer::Choice(text)),
        Err(other) => Err(Mistake::wrong_type("string").of(other)),
    }
}

pub(crate) fn check(options: &Options, choice: &str, findings: &mut Findings<'_>) {
    if !options.contains(choice) {
        refuse(options, choice, findings);
    }
}

#[cold]
pub(crate) fn refuse(options: &Options, choice: &str, findings: &mut Findings<'_>) {
    let expected = Expected::Names(options.shared_values());
    findings.add_text(Constraint::Enum, expected, choice);
}
