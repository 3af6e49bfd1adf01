//! Limits the length of Rust files: each, and the median.

use std::fmt;

use super::Violation;
use super::tree::Tree;

const RULE: &str = "size";

/// Longer files need a reason in their header.
const MAX_LINES: usize = 800;
/// Longer files are counted, to make a trend visible.
const LONG_FILE: usize = 500;
/// The maximum of the median length.
const MAX_MEDIAN: usize = 300;
/// The prefix of the reason, and the number of header lines searched for it.
const REASON_PREFIX: &str = "//! Size:";
const HEADER_LINES: usize = 20;

/// The lengths of all Rust files.
pub(super) struct Sizes {
    files: Vec<FileSize>,
}

struct FileSize {
    path: String,
    lines: usize,
    has_reason: bool,
}

impl Sizes {
    /// Measures every Rust file of the tree.
    pub(super) fn of(tree: &Tree) -> Self {
        let rust = tree
            .files()
            .filter(|(path, _)| super::source::is_rust(path));
        let measure = |(path, text): (&str, &str)| FileSize {
            path: path.to_owned(),
            lines: text.lines().count(),
            has_reason: has_reason(text),
        };
        let mut files: Vec<FileSize> = rust.map(measure).collect();
        files.sort_by_key(|file| file.lines);
        Self { files }
    }

    /// Returns the median length; the lower of two.
    fn median(&self) -> usize {
        self.files
            .get(self.files.len().saturating_sub(1) / 2)
            .map_or(0, |file| file.lines)
    }

    /// Reports files that are too long, and a median that is too high.
    pub(super) fn check(&self) -> Vec<Violation> {
        let long = self
            .files
            .iter()
            .filter(|file| file.lines > MAX_LINES && !file.has_reason);
        let mut violations: Vec<_> = long
            .map(|file| Violation {
                path: file.path.clone(),
                line: file.lines,
                rule: RULE,
                remedy: format!(
                    "split this file of {} lines (at most {MAX_LINES}), or give the reason in its \
                     header on a line that starts `{REASON_PREFIX}`",
                    file.lines
                ),
            })
            .collect();
        if self.median() > MAX_MEDIAN {
            violations.push(Violation {
                path: ".".to_owned(),
                line: 1,
                rule: RULE,
                remedy: format!(
                    "split files: the median has {} lines, above {MAX_MEDIAN}",
                    self.median()
                ),
            });
        }
        violations
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let many = self
            .files
            .iter()
            .filter(|file| file.lines > LONG_FILE)
            .count();
        write!(
            f,
            "{} Rust files, median {} lines, {many} above {LONG_FILE}",
            self.files.len(),
            self.median()
        )
    }
}

fn has_reason(text: &str) -> bool {
    let mut header = text.lines().take(HEADER_LINES);
    header.any(|line| {
        line.strip_prefix(REASON_PREFIX)
            .is_some_and(|reason| !reason.trim().is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[(&str, &str)]) -> Vec<Violation> {
        Sizes::of(&Tree::with(files)).check()
    }

    #[test]
    fn a_file_above_the_limit_is_refused_and_one_at_the_limit_is_not() {
        let long = "\n".repeat(MAX_LINES + 1);
        let found = check(&[("a.rs", &long), ("b.rs", ""), ("c.rs", ""), ("d.md", &long)]);
        assert_eq!(found.len(), 1);
        assert!(
            found[0]
                .to_string()
                .starts_with("a.rs:801: size: split this file of 801 lines")
        );

        let full = "\n".repeat(MAX_LINES);
        assert_eq!(check(&[("a.rs", &full), ("b.rs", "")]), []);
    }

    #[test]
    fn a_reason_in_the_header_excuses_a_long_file() {
        let rest = "\n".repeat(MAX_LINES);
        let with = |header: &str| check(&[("a.rs", &format!("{header}\n{rest}")), ("b.rs", "")]);
        assert_eq!(
            with("//! Flat.\n//!\n//! Size: one flat table of country names."),
            []
        );
        assert_eq!(with("//! Size:").len(), 1);
        assert_eq!(
            with(&format!(
                "{}//! Size: too far down.",
                "//!\n".repeat(HEADER_LINES)
            ))
            .len(),
            1
        );
    }

    #[test]
    fn a_median_above_the_limit_is_refused() {
        let longish = "\n".repeat(MAX_MEDIAN + 1);
        let found = check(&[("a.rs", &longish), ("b.rs", &longish), ("c.rs", "")]);
        assert_eq!(
            found[0].remedy,
            "split files: the median has 301 lines, above 300"
        );
    }

    #[test]
    fn the_report_counts_files_and_long_files() {
        let long = "\n".repeat(LONG_FILE + 1);
        let sizes = Sizes::of(&Tree::with(&[
            ("a.rs", "\n\n"),
            ("b.rs", "\n"),
            ("c.rs", &long),
        ]));
        assert_eq!(
            sizes.to_string(),
            "3 Rust files, median 2 lines, 1 above 500"
        );
    }
}
