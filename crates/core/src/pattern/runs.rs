//! A fast matcher for the most common patterns.
//!
//! `^[a-z][a-z0-9-]*$` is a sequence of byte runs from start to end, each with an unambiguous
//! end. Such patterns are matched in one pass over the text. All others, including those with
//! characters beyond ASCII, are left to the automata.

use regex_syntax::hir::{Class, Hir, HirKind, Look};

/// Beyond this many runs, the tables take too much memory.
const MAX_RUNS: usize = 16;

/// A pattern that is a sequence of byte runs.
#[derive(Debug)]
pub(super) struct Runs(Vec<Run>);

#[derive(Clone, Debug)]
struct Run {
    /// Which bytes belong to the run.
    has: [bool; 256],
    min: usize,
    max: usize,
}

impl Runs {
    /// Splits a pattern into runs, if it is simple enough.
    pub(super) fn of(hir: &Hir) -> Option<Self> {
        let HirKind::Concat(parts) = hir.kind() else {
            return None;
        };
        let [first, middle @ .., last] = &parts[..] else {
            return None;
        };
        let is_whole = matches!(first.kind(), HirKind::Look(Look::Start))
            && matches!(last.kind(), HirKind::Look(Look::End));
        let mut runs = Vec::new();
        for part in middle {
            match part.kind() {
                HirKind::Literal(literal) => {
                    runs.extend(literal.0.iter().map(|byte| Run::new(&[(*byte, *byte)])));
                }
                HirKind::Repetition(repetition) => runs.push(Run {
                    min: usize::try_from(repetition.min).ok()?,
                    max: match repetition.max {
                        Some(max) => usize::try_from(max).ok()?,
                        None => usize::MAX,
                    },
                    ..Run::of_one(&repetition.sub)?
                }),
                _ => runs.push(Run::of_one(part)?),
            }
        }
        let is_unambiguous = runs
            .windows(2)
            .all(|pair| pair[0].is_greedy_exact(&pair[1]));
        (is_whole && is_unambiguous && runs.len() <= MAX_RUNS).then_some(Self(runs))
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        let mut rest = text.as_bytes();
        for run in &self.0 {
            let limit = run.max.min(rest.len());
            let end = rest[..limit]
                .iter()
                .position(|byte| !run.has[usize::from(*byte)]);
            let length = end.unwrap_or(limit);
            if length < run.min {
                return false;
            }
            rest = &rest[length..];
        }
        rest.is_empty()
    }
}

impl Run {
    fn new(ranges: &[(u8, u8)]) -> Self {
        let mut has = [false; 256];
        for (first, last) in ranges {
            has[usize::from(*first)..=usize::from(*last)].fill(true);
        }
        Self {
            has,
            min: 1,
            max: 1,
        }
    }

    /// Converts a single ASCII character or class.
    fn of_one(hir: &Hir) -> Option<Self> {
        match hir.kind() {
            HirKind::Literal(literal) => match literal.0[..] {
                [byte] => Some(Self::new(&[(byte, byte)])),
                _ => None,
            },
            HirKind::Class(Class::Unicode(class)) if class.is_ascii() => {
                let ascii = |c: char| u8::try_from(c).ok();
                let ranges = class.ranges().iter();
                let ranges: Option<Vec<_>> = ranges
                    .map(|range| Some((ascii(range.start())?, ascii(range.end())?)))
                    .collect();
                Some(Self::new(&ranges?))
            }
            _ => None,
        }
    }

    /// Whether matching this run greedily is exact: it has a fixed length, or the next run is
    /// not empty and shares no byte with it.
    fn is_greedy_exact(&self, next: &Self) -> bool {
        let is_disjoint = || self.has.iter().zip(&next.has).all(|(a, b)| !(a & b));
        self.min == self.max || next.min > 0 && is_disjoint()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pattern::{Pattern, PatternBudget, syntax_tree};

    fn runs(source: &str) -> Option<Runs> {
        Runs::of(&syntax_tree(source).unwrap())
    }

    #[test]
    fn simple_patterns_are_runs_and_no_others() {
        for source in [
            "^[a-z][a-z0-9-]*$",
            r"^\d{4}-\d{2}$",
            r"^\d+\.\d+\.\d+$",
            "^[A-Z]{2,3}$",
            "^v[0-9]+$",
        ] {
            assert!(runs(source).is_some(), "{source}");
        }
        for source in [
            "",
            "a",
            "^a",
            "a$",
            "^a|b$",
            "^(ab)+$",
            "^a*ab$",
            "^a?b?$",
            "^[^a]$",
            "^é+$",
            "^(?i:k)+$",
            r"^\bab$",
            "^.+$",
        ] {
            assert!(runs(source).is_none(), "{source}");
        }
    }

    fn part() -> impl Strategy<Value = String> {
        let classes = [
            "a", "b", "-", "ab", "[ab]", "[a-c]", "[^c]", "[1-]", r"\d", r"\w", "é",
        ];
        let times = [
            "", "?", "*", "+", "{2}", "{0,2}", "{1,3}", "{2,}", "*?", "{0}",
        ];
        let select = proptest::sample::select;
        (select(classes.to_vec()), select(times.to_vec()))
            .prop_map(|(class, times)| format!("{class}{times}"))
    }

    proptest! {
        #[test]
        fn runs_match_what_the_automaton_matches(
            parts in proptest::collection::vec(part(), 1..5),
            texts in proptest::collection::vec("[abc1é\n-]{0,6}", 20),
        ) {
            let source = format!("^{}$", parts.concat());
            let pattern = Pattern::compile(&source, &mut PatternBudget::default()).unwrap();
            if let Some(runs) = runs(&source) {
                for text in &texts {
                    let expected = pattern.regex.is_match(text);
                    prop_assert_eq!(runs.is_match(text), expected, "{} {:?}", source, text);
                }
            }
        }
    }
}
