//! `select`: one option.

use entreat_core::form::Options;
use serde_json::Value;

use super::choice::{self, Ambiguity};

pub(super) const HINT: &str = "One of these, by number or name:";

/// Passes unknown options on, for the form to reject.
pub(super) fn read(options: &Options, typed: &str) -> Result<Value, Ambiguity> {
    let typed = typed.trim();
    Ok(choice::find(options, typed)?.unwrap_or(typed).into())
}
