//! `cargo xtask tidy`: the house rules that the compiler does not check.
//!
//! A rule is a pure function from the files to violations, so that a test can plant one. This file
//! reads the checkout, applies every rule, and prints.

mod edges;
mod how_to;
mod ledger;
mod links;
mod members;
mod places;
mod size;
mod source;
mod threats;
mod tree;

use std::fmt;
use std::io::Write;
use std::path::Path;

use anyhow::{Result, bail};

use crate::shell::say;

/// Excluded from text rules, since they and their tests contain the forbidden words.
const OWN_PATTERNS: &str = "xtask/src/tidy/";

/// A violation of a house rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Violation {
    path: String,
    line: usize,
    rule: &'static str,
    /// How to fix it.
    remedy: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}: {}: {}",
            self.path, self.line, self.rule, self.remedy
        )
    }
}

/// Prints every violation on stdout, and fails if there are any.
pub(crate) fn run(root: &Path) -> Result<()> {
    let tree = tree::read(root)?;
    let members = members::read(root)?;
    let sizes = size::Sizes::of(&tree);

    let mut violations = edges::check(&members.workspace);
    violations.extend(ledger::check(&members, &tree));
    violations.extend(sizes.check());
    violations.extend(threats::check(&tree));
    violations.extend(how_to::check(&tree));
    for (path, text) in tree.files() {
        violations.extend(source::check(path, text));
        violations.extend(places::check(path, text));
        violations.extend(links::check(path, text, &tree));
    }
    violations.sort();

    say(&sizes.to_string());
    let mut out = std::io::stdout().lock();
    for violation in &violations {
        writeln!(out, "{violation}")?;
    }
    match violations.len() {
        0 => Ok(()),
        1 => bail!("1 violation of the house rules"),
        many => bail!("{many} violations of the house rules"),
    }
}
