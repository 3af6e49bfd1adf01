//! `select`: one option.

use entreat_core::form::Options;
use serde_json::Value;

use super::choice;

pub(super) const HINT: &str = "One of these, by number or name:";

/// What is no option is passed on, for the form to refuse.
pub(super) fn read(options: &Options, typed: &str) -> Result<Value, String> {
    let typed = typed.trim();
    Ok(choice::find(options, typed)?.unwrap_or(typed).into())
}
