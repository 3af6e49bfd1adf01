//! Findings of checks.

use serde::Serialize;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Level {
    Ok,
    Warning,
    Problem,
}

impl Level {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }
}

/// The result of one check.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// The stable name of the check.
    pub(super) check: &'static str,
    pub(super) level: Level,
    pub(super) what: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remedy: Option<String>,
}

impl Finding {
    pub(super) fn ok(check: &'static str, what: impl Into<String>) -> Self {
        Self {
            check,
            level: Level::Ok,
            what: what.into(),
            remedy: None,
        }
    }

    /// Creates a finding without a problem, but with advice.
    pub(super) fn note(
        check: &'static str,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            remedy: Some(remedy.into()),
            ..Self::ok(check, what)
        }
    }

    pub(super) fn warning(
        check: &'static str,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            level: Level::Warning,
            ..Self::note(check, what, remedy)
        }
    }

    pub(super) fn problem(
        check: &'static str,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            level: Level::Problem,
            ..Self::note(check, what, remedy)
        }
    }
}

/// The levels of findings, for tests.
#[cfg(test)]
pub(super) fn levels<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Vec<Level> {
    findings.into_iter().map(|finding| finding.level).collect()
}
