//! The modes of elicitation.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How a question is asked (spec 2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Asks for one line of text. The default.
    #[default]
    Inline,
    /// Shows a form.
    Form,
    /// Sends the respondent to a URL.
    Url,
    /// Runs a form or a script in a terminal.
    Terminal,
}

impl Mode {
    /// Every mode, in the order of the reference.
    pub const ALL: [Self; 4] = [Self::Form, Self::Inline, Self::Url, Self::Terminal];

    /// The mode's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Inline => "inline",
            Self::Form => "form",
            Self::Url => "url",
            Self::Terminal => "terminal",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The error for a text that is not the name of a mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a mode is `form`, `inline`, `url` or `terminal`, not `{0}`")]
pub struct UnknownMode(Box<str>);

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(word: &str) -> Result<Self, UnknownMode> {
        Self::ALL
            .into_iter()
            .find(|mode| mode.as_str() == word)
            .ok_or_else(|| UnknownMode(word.chars().take(64).collect()))
    }
}
