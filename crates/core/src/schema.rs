//! Conversion between forms and JSON Schema.
//!
//! [`json_schema`] exports a form as JSON Schema 2020-12, as far as that can express it.
//! [`project`] exports the flat subset that MCP elicitation supports in an [`Era`], and reports
//! what was lost. [`import()`] converts any `requestedSchema` into a form.

use std::fmt;
use std::str::FromStr;

mod date_pattern;
mod full;
mod import;
pub(crate) mod imported;
mod mcp;
mod property;

pub use full::json_schema;
pub use import::{Import, Notice, import, import_as, import_question};
pub use mcp::{Loss, Projection, project};

/// A version of the MCP protocol that has elicitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Era {
    /// The server pushes forms.
    V2025_06_18,
    /// The server pushes forms and URLs.
    V2025_11_25,
    /// A request takes several rounds.
    V2026_07_28,
}

impl Era {
    /// All eras, oldest first.
    pub const ALL: [Self; 3] = [Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];

    /// The protocol version.
    pub fn version(self) -> &'static str {
        match self {
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.version())
    }
}

impl FromStr for Era {
    type Err = UnknownEra;

    fn from_str(text: &str) -> Result<Self, UnknownEra> {
        Self::ALL
            .into_iter()
            .find(|era| era.version() == text)
            .ok_or_else(|| UnknownEra(text.to_owned()))
    }
}

/// The error for a protocol version without elicitation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not an MCP protocol version with elicitation: 2025-06-18, 2025-11-25 or 2026-07-28"
)]
pub struct UnknownEra(String);
