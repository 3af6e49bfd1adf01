//! Problems of form definitions.

use std::fmt;

use serde::Serialize;

/// A problem in a definition, and where it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// A JSON pointer to the problem; empty for the whole document.
    pub pointer: String,
    /// The kind of problem.
    pub code: ProblemCode,
    /// A message for the author of the form.
    pub message: String,
    /// The key or value that was probably meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
}

/// The kind of a problem. The names are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProblemCode {
    /// The text is not JSON, YAML or TOML, or is nested too deeply.
    Syntax,
    /// The document or a part of it is over a size limit.
    TooLarge,
    /// An object has a duplicate key.
    DuplicateKey,
    /// The form language has no such key.
    UnknownKey,
    /// A required key is absent.
    MissingKey,
    /// The value has the wrong JSON type.
    WrongType,
    /// The value has the right type but is not allowed.
    BadValue,
    /// The key or value exists, but not for a field of this type.
    NotApplicable,
    /// A text or list is empty that must not be.
    Empty,
    /// A text is longer, or a list has more entries, than allowed.
    TooLong,
    /// Two fields share an id.
    DuplicateId,
    /// Two options share a value.
    DuplicateOption,
    /// A list mixes plain and titled options.
    MixedOptions,
    /// The default breaks the rules of the field.
    BadDefault,
    /// Rules contradict each other, such as a minimum above the maximum.
    Contradiction,
    /// The pattern does not compile, cannot be matched in linear time or is too large.
    BadPattern,
    /// A reference to a field that does not exist.
    UnknownField,
    /// A condition compares with a value that the field can never have.
    NeverTrue,
    /// Conditions depend on each other in a cycle.
    Cycle,
    /// The host program did not register this custom validator.
    UnknownValidator,
    /// A required field can never be answered.
    Unanswerable,
}

impl fmt::Display for ProblemCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Serialize::serialize(self, f)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match self.pointer.as_str() {
            "" => "(whole document)",
            pointer => pointer,
        };
        write!(f, "{place}: {} [{}]", self.message, self.code)?;
        if let Some(suggestion) = &self.suggestion {
            write!(f, "; did you mean `{suggestion}`?")?;
        }
        Ok(())
    }
}

/// Collects problems up to a total size.
///
/// Without the bound, a long key, repeated in the pointers of thousands of problems below it,
/// could turn kilobytes into gigabytes.
#[derive(Default)]
pub(crate) struct ProblemList {
    list: Vec<Problem>,
    bytes: usize,
}

/// The total size at which collecting stops.
const MAX_PROBLEM_BYTES: usize = 8 * 1024 * 1024;

impl ProblemList {
    /// Whether further problems are dropped.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes > MAX_PROBLEM_BYTES
    }

    pub(crate) fn push(&mut self, problem: Problem) {
        self.bytes += problem.pointer.len() + problem.message.len();
        self.list.push(problem);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(crate) fn into_problems(self) -> Problems {
        Problems::new(self.list)
    }
}

/// All problems of one definition. Never empty.
///
/// Problems beyond a total of 8 MiB are dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Problems(Vec<Problem>);

impl Problems {
    fn new(problems: Vec<Problem>) -> Self {
        debug_assert!(!problems.is_empty());
        Self(problems)
    }

    pub(crate) fn one(pointer: &str, code: ProblemCode, message: impl Into<String>) -> Self {
        Self(vec![Problem {
            pointer: pointer.to_owned(),
            code,
            message: message.into(),
            suggestion: None,
        }])
    }

    /// Creates a problem with a definition as a whole, for callers that find it before the
    /// definition is read: a file that is not text, or a name that two files claim.
    pub fn of_document(code: ProblemCode, message: impl Into<String>) -> Self {
        Self::one("", code, message)
    }

    /// Rewrites the pointers of all problems.
    pub(crate) fn map_pointers(mut self, pointer: impl Fn(&str) -> String) -> Self {
        for problem in &mut self.0 {
            problem.pointer = pointer(&problem.pointer);
        }
        self
    }

    /// Iterates over the problems, mostly in document order.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.0.iter()
    }
}

impl<'a> IntoIterator for &'a Problems {
    type Item = &'a Problem;
    type IntoIter = std::slice::Iter<'a, Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
