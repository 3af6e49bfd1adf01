//! YAML, with a budget against aliases that expand.

use serde::de::DeserializeSeed as _;
use serde_json::Value;
use serde_saphyr::options::DuplicateKeyPolicy;

use super::{MAX_DEPTH, MAX_DOCUMENT_BYTES, Tree};

pub(super) fn read(text: &str, tree: Tree<'_>) -> Result<Value, String> {
    serde_saphyr::with_deserializer_from_str_with_options(text, options(), |yaml| {
        tree.deserialize(yaml)
    })
    .map_err(|error| first_line(&error.to_string()))
}

fn options() -> serde_saphyr::Options {
    let mut options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::Error,
        strict_booleans: true,
    };
    if let Some(budget) = &mut options.budget {
        budget.max_depth = MAX_DEPTH;
        // Aliases amplify: 64 KiB of text could otherwise expand to gigabytes.
        budget.max_total_scalar_bytes = 4 * MAX_DOCUMENT_BYTES;
    }
    options.alias_limits.max_total_replayed_events = 50_000;
    options
}

/// Cuts the source excerpt off an error: a problem's message is one sentence.
fn first_line(error: &str) -> String {
    let line = error.lines().next().unwrap_or(error);
    line.trim_end_matches(':').to_owned()
}
