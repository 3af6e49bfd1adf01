//! ECMA-262 patterns with linear-time matching.
//!
//! JSON Schema uses JavaScript patterns. They are translated into the syntax of `regex-syntax`,
//! with JavaScript's meaning of `\d`, `\w`, `\s` and `.`, and run by automata that never
//! backtrack. What automata cannot match (look-around, backreferences) is rejected, and so are
//! patterns that take too much memory: all patterns of a form share one budget. A backtracking
//! engine with a time limit was rejected: whether an answer passes would depend on the load of
//! the machine.

use std::fmt;
use std::sync::Arc;

use regex_automata::meta;
use regex_automata::nfa::thompson::WhichCaptures;
use regex_syntax::hir::Hir;

mod ecma;

/// The maximum length of a pattern's source, in bytes.
const MAX_PATTERN_BYTES: usize = 8 * 1024;

/// A compiled pattern, not anchored unless it says so itself.
#[derive(Clone)]
pub struct Pattern {
    source: Arc<str>,
    regex: meta::Regex,
}

impl Pattern {
    /// Compiles ECMA-262 source and charges the budget for it.
    pub(crate) fn compile(source: &str, budget: &mut PatternBudget) -> Result<Self, PatternError> {
        if source.len() > MAX_PATTERN_BYTES {
            return Err(PatternError::TooLong);
        }
        budget.check()?;
        let translated = ecma::translate(source)?;
        // At half a byte per code point, the largest set costs as much as a pattern of half a
        // megabyte.
        budget.spend_work(translated.folded / 2)?;
        let hir = regex_syntax::ParserBuilder::new()
            .nest_limit(64)
            .build()
            .parse(&translated.text)
            .map_err(|error| PatternError::Syntax(describe(&error)))?;
        let config = meta::Config::new()
            .nfa_size_limit(Some(budget.remaining))
            .onepass_size_limit(Some(64 * 1024))
            .hybrid_cache_capacity(256 * 1024)
            .which_captures(WhichCaptures::None);
        let regex = meta::Builder::new()
            .configure(config)
            .build_from_hir(&hir)
            .map_err(|_| budget.charge_failure())?;
        budget.spend(regex.memory_usage());
        Ok(Self {
            source: source.into(),
            regex,
        })
    }

    /// Whether the pattern matches anywhere in the text.
    pub fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// The source of the pattern.
    pub fn as_str(&self) -> &str {
        &self.source
    }

    pub(crate) fn source(&self) -> &Arc<str> {
        &self.source
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pattern({:?})", self.source)
    }
}

/// Returns the syntax tree of a pattern, for example to generate matching texts.
///
/// Fails if the pattern cannot be used in a form.
pub fn syntax_tree(source: &str) -> Result<Hir, PatternError> {
    if source.len() > MAX_PATTERN_BYTES {
        return Err(PatternError::TooLong);
    }
    regex_syntax::ParserBuilder::new()
        .nest_limit(64)
        .build()
        .parse(&ecma::translate(source)?.text)
        .map_err(|error| PatternError::Syntax(describe(&error)))
}

/// The shared budget of all patterns of one form.
pub(crate) struct PatternBudget {
    /// Memory left, in bytes.
    remaining: usize,
    /// Compilation work left, in bytes. Patterns that turn out too large are charged too:
    /// compiling a thousand of them up to the limit would take seconds.
    work: usize,
}

/// The minimum charge for a pattern that failed to compile.
const MIN_FAILURE_WORK: usize = 32 * 1024;

impl PatternBudget {
    fn check(&self) -> Result<(), PatternError> {
        if self.work == 0 {
            return Err(PatternError::TooComplex);
        }
        Ok(())
    }

    fn spend_work(&mut self, work: usize) -> Result<(), PatternError> {
        self.work = self.work.saturating_sub(work);
        self.check()
    }

    fn spend(&mut self, memory: usize) {
        self.remaining = self.remaining.saturating_sub(memory);
        self.work = self.work.saturating_sub(memory);
    }

    fn charge_failure(&mut self) -> PatternError {
        let work = self.remaining.max(MIN_FAILURE_WORK);
        self.work = self.work.saturating_sub(work);
        PatternError::TooComplex
    }
}

impl Default for PatternBudget {
    fn default() -> Self {
        Self {
            remaining: 1024 * 1024,
            work: 4 * 1024 * 1024,
        }
    }
}

/// Why a pattern cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// The pattern has a backreference.
    #[error("backreferences cannot be matched in linear time; rewrite the pattern without them")]
    Backreference,
    /// The pattern has a look-ahead or look-behind.
    #[error("look-around cannot be matched in linear time; rewrite the pattern without it")]
    LookAround,
    /// The pattern has a syntax error.
    #[error("the pattern does not compile: {0}")]
    Syntax(String),
    /// The source is too long.
    #[error("the pattern is longer than {MAX_PATTERN_BYTES} bytes")]
    TooLong,
    /// The compiled pattern is too large, alone or together with the form's other patterns.
    #[error("the form's patterns are too large when compiled; use fewer or smaller repetitions")]
    TooComplex,
}

fn describe(error: &regex_syntax::Error) -> String {
    match error {
        regex_syntax::Error::Parse(error) => error.kind().to_string(),
        regex_syntax::Error::Translate(error) => error.kind().to_string(),
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compile(source: &str) -> Result<Pattern, PatternError> {
        Pattern::compile(source, &mut PatternBudget::default())
    }

    #[test]
    fn patterns_mean_what_javascript_means() {
        for (source, matching, others) in [
            (r"^\d+$", &["123"][..], &["١٢٣", "12a", "123\n"][..]),
            (r"^\w$", &["_", "a"], &["é", "-"]),
            (r"^\s$", &["\u{feff}", "\u{a0}", "\t"], &["\u{85}", "x"]),
            (r"^.$", &["x", "👍"], &["\n", "\u{2028}", "xx"]),
            ("b", &["abc"], &["ac"]),
            (r"^[\w.-]+$", &["a-b.c"], &["a b"]),
            (r"^[^\d]$", &["x"], &["1"]),
            (r"^[a&&b]+$", &["a&b"], &["c"]),
            (r"^[a-]+$", &["a-"], &["b"]),
            (r"^[\d-x]+$", &["1-x"], &["w"]),
            (r"^[[]$", &["["], &["]"]),
            (r"^a{,2}$", &["a{,2}"], &["aa"]),
            (r"^a{2,}$", &["aaa"], &["a"]),
            (r"^\/\-\x41\u0042\u{43}\cJ$", &["/-ABC\n"], &["x"]),
            (r"^\ud83d\udc4d$", &["👍"], &["x"]),
            (r"^[\b]$", &["\u{8}"], &["b"]),
            (r"^(?<year>\d{4})$", &["2026"], &["26"]),
            (r"^(?i:ok)$", &["OK"], &["no"]),
            (r"^\p{Lu}$", &["É"], &["é"]),
            (r"^[^]$", &["\n", "a"], &[""]),
            (r"[]", &[], &["", "a"]),
            (r"\bcat\b", &["a cat!"], &["concat"]),
            (r"^(a+)+$", &["aaaa"], &["aaab"]),
            ("", &["", "x"], &[]),
            ("}", &["}"], &["{"]),
            ("]", &["]"], &["["]),
        ] {
            let pattern = compile(source).unwrap_or_else(|e| panic!("{source}: {e}"));
            for text in matching {
                assert!(pattern.is_match(text), "{source} should match {text:?}");
            }
            for text in others {
                assert!(
                    !pattern.is_match(text),
                    "{source} should not match {text:?}"
                );
            }
        }
    }

    #[test]
    fn what_needs_backtracking_is_refused_by_name() {
        assert_eq!(compile(r"(a)\1").unwrap_err(), PatternError::Backreference);
        assert_eq!(
            compile(r"(?<x>a)\k<x>").unwrap_err(),
            PatternError::Backreference
        );
        for source in ["(?=a)", "(?!a)", "(?<=a)b", "(?<!a)b"] {
            assert_eq!(compile(source).unwrap_err(), PatternError::LookAround);
        }
    }

    #[test]
    fn broken_patterns_do_not_compile() {
        for source in [
            "(",
            ")",
            "[a",
            "a**",
            "*a",
            r"\",
            "[z-a]",
            "a{2,1}",
            r"\u{110000}",
            "(?",
            "(?x:a)",
            r"\p{Nope}",
            r"\ud83d",
            "a{1}{2}",
            "(?<>a)",
            r"\q",
        ] {
            assert!(
                matches!(compile(source), Err(PatternError::Syntax(_))),
                "{source}"
            );
        }
    }

    #[test]
    fn explosive_patterns_run_in_linear_time_and_large_ones_are_refused() {
        let text = format!("{}!", "a".repeat(50_000));
        assert!(!compile(r"^(a|aa)+$").unwrap().is_match(&text));
        assert!(!compile(r"^(a*)*b$").unwrap().is_match(&text));
        assert_eq!(
            compile(r"((a{100}){100}){100}").unwrap_err(),
            PatternError::TooComplex
        );
        assert_eq!(
            compile(&"a".repeat(1_000_000)).unwrap_err(),
            PatternError::TooLong
        );
        assert!(compile(&"(".repeat(5_000)).is_err());
        let mut budget = PatternBudget::default();
        let exhausted = (0..10_000).find(|_| Pattern::compile(r"\p{L}{20}", &mut budget).is_err());
        assert!(exhausted.is_some(), "a form's patterns share one budget");
    }

    #[test]
    fn work_on_patterns_that_fail_is_bounded_too() {
        for source in [r"\p{L}{100}", r"(?i:[\u0100-\u{10ffff}]+)", r"(?i:[\S])"] {
            let mut budget = PatternBudget::default();
            for _ in 0..200 {
                let _ = Pattern::compile(source, &mut budget);
            }
            assert_eq!(budget.work, 0, "{source}");
        }
        let mut budget = PatternBudget::default();
        assert!(Pattern::compile(r"\p{L}{100}", &mut budget).is_err());
        assert!(
            Pattern::compile("^a$", &mut budget).is_ok(),
            "one that is too large leaves room for others"
        );
    }
}
