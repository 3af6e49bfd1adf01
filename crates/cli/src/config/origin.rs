//! The origin of a value.

use std::fmt;

use serde::Serialize;

/// The layer of a value. The greater one wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Source {
    Default,
    File,
    Environment,
    Flag,
}

/// The place of a value, for display.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Origin {
    #[default]
    Default,
    File {
        name: String,
        line: usize,
    },
    Environment(String),
    Flag(String),
}

impl Origin {
    /// Returns the flag of a setting.
    pub(super) fn flag(setting: &str) -> Self {
        Self::Flag(format!("--{}", setting.replace('_', "-")))
    }

    /// Returns the line in the file; 0 if it is not from a file.
    pub(super) fn line(&self) -> usize {
        match self {
            Self::File { line, .. } => *line,
            Self::Default | Self::Environment(_) | Self::Flag(_) => 0,
        }
    }

    pub(crate) fn source(&self) -> Source {
        match self {
            Self::Default => Source::Default,
            Self::File { .. } => Source::File,
            Self::Environment(_) => Source::Environment,
            Self::Flag(_) => Source::Flag,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { name, line } => write!(f, "{name}:{line}"),
            Self::Environment(name) | Self::Flag(name) => f.write_str(name),
        }
    }
}
