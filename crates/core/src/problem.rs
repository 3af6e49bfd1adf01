//! What is wrong with a form definition, said completely.

use std::fmt;

use serde::Serialize;

/// One thing that is wrong with a definition, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// JSON pointer to the place; empty for the whole document.
    pub pointer: String,
    /// A stable name of the kind of problem.
    pub code: ProblemCode,
    /// A sentence for the author of the form.
    pub message: String,
    /// The key or value that was probably meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
}

/// The kinds of problem, as spelt in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProblemCode {
    /// The text is not JSON, YAML or TOML, or is nested too deeply.
    Syntax,
    /// The document or a part of it is over a size limit.
    TooLarge,
    /// A key stands twice in one object.
    DuplicateKey,
    /// A key that the form language does not have.
    UnknownKey,
    /// A required key is absent.
    MissingKey,
    /// A value of another JSON type was expected.
    WrongType,
    /// The value is of the right type but not one that is allowed.
    BadValue,
    /// The key or value exists, but not for a field of this type.
    NotApplicable,
    /// A text or list that must not be empty is.
    Empty,
    /// A text is longer, or a list has more entries, than allowed.
    TooLong,
    /// Two fields share an id.
    DuplicateId,
    /// Two options share a value.
    DuplicateOption,
    /// Plain and titled options stand in one list.
    MixedOptions,
    /// The default breaks the field's own rules.
    BadDefault,
    /// A minimum lies above its maximum.
    Contradiction,
    /// The pattern does not compile, cannot be matched in linear time or is too large.
    BadPattern,
    /// A reference to a field that does not exist.
    UnknownField,
    /// A condition compares with something the field can never be.
    NeverTrue,
    /// Conditions depend on each other in a circle.
    Cycle,
    /// A custom validator that the host program did not register.
    UnknownValidator,
    /// A required field that nobody can ever answer.
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

/// Problems as they are found.
///
/// They are bounded by their size: a long key, named in the pointer of each of thousands of
/// problems below it, would make gigabytes of a few kilobytes.
#[derive(Default)]
pub(crate) struct Found {
    list: Vec<Problem>,
    bytes: usize,
}

/// More would help nobody.
const MAX_FOUND_BYTES: usize = 8 * 1024 * 1024;

impl Found {
    /// Whether further problems are left out.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes > MAX_FOUND_BYTES
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

/// All problems of one definition; never empty.
///
/// Beyond 8 MiB of them the rest is left out.
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

    /// A problem with a definition as a whole: for those who find it before it is read, in a file
    /// that is no text, or under a name that two files claim.
    pub fn of_whole(code: ProblemCode, message: impl Into<String>) -> Self {
        Self::one("", code, message)
    }

    /// These problems with their pointers rewritten.
    pub(crate) fn moved(mut self, pointer: impl Fn(&str) -> String) -> Self {
        for problem in &mut self.0 {
            problem.pointer = pointer(&problem.pointer);
        }
        self
    }

    /// The problems in document order, as far as there is one.
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
