//! `select`: exactly one of the options.

use crate::form::findings::Findings;
use crate::form::options::Options;
use crate::violation::{Constraint, Expected};

pub(crate) fn check(options: &Options, choice: &str, findings: &mut Findings<'_>) {
    if !options.contains(choice) {
        reject(options, choice, findings);
    }
}

#[cold]
pub(crate) fn reject(options: &Options, choice: &str, findings: &mut Findings<'_>) {
    let expected = Expected::Names(options.shared_values());
    findings.add_text(Constraint::Enum, expected, choice);
}
