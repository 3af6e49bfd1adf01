//! Schemas of any shape: what is imported is a form that can be projected and come back.

use entreat_core::schema::{Notice, import};
use serde_json::{Value, json};

use super::Meter;
use super::definition::{self, Sameness};

/// Imports a schema, written as JSON.
pub fn run(data: &[u8], meter: &mut Meter) {
    let Ok(schema) = serde_json::from_slice::<Value>(data) else {
        return;
    };
    if let Ok(import) = meter.call("import", || import(&schema)) {
        // What was refused or not understood may be welcome once an era has lost the rule
        // beside it.
        let is_unsettled = |notice: &Notice| {
            ["/allOf", "/$defs", "/dependentRequired"].contains(&notice.pointer.as_str())
                || notice.message.contains("not enforced: ")
        };
        let sameness = if import.notices.iter().any(is_unsettled) {
            Sameness::Nothing
        } else {
            Sameness::Projections
        };
        definition::go_round(&import.form, sameness, meter);
        definition::check(&import.form, &json!({}), meter);
    }
}
