//! Sample forms with answers.
//!
//! [`comprehensive`] is also the form of the benchmarks: eight fields, one of each type, without
//! conditions and secrets, so that figures are comparable across versions.

use entreat_core::Form;
use entreat_core::document::Notation;
use serde_json::{Value, json};

/// The definition of [`minimal`], as JSON text.
pub const MINIMAL: &str = include_str!("../forms/minimal.json");

/// The definition of [`comprehensive`], as JSON text.
pub const COMPREHENSIVE: &str = include_str!("../forms/comprehensive.json");

/// A form with one required text, `name`.
///
/// ```
/// let form = entreat_testkit::samples::minimal();
/// assert!(form.check(&serde_json::json!({"name": "Ada"})).is_ok());
/// assert!(form.check(&serde_json::json!({})).is_err());
/// ```
pub fn minimal() -> Form {
    load(MINIMAL)
}

/// A form with one field of each type, all required and all with rules.
///
/// ```
/// use entreat_testkit::samples;
///
/// let form = samples::comprehensive();
/// let kinds: Vec<_> = form.fields().iter().map(|field| field.kind().name()).collect();
/// assert_eq!(
///     kinds,
///     ["text", "number", "boolean", "date", "select", "multi_select", "url", "file"],
/// );
/// assert!(form.check(&samples::comprehensive_answer()).is_ok());
/// ```
pub fn comprehensive() -> Form {
    load(COMPREHENSIVE)
}

/// A valid answer to [`comprehensive`], with a picture of one pixel.
pub fn comprehensive_answer() -> Value {
    json!({
        "service_name": "billing-api",
        "port": 8443,
        "public": false,
        "launch": "2026-09-01",
        "region": "eu-north",
        "features": ["backups", "metrics", "audit"],
        "homepage": "https://billing.example.com/start",
        "logo": {
            "filename": "logo.png",
            "content_type": "image/png",
            "size": 70,
            "content": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        },
    })
}

/// An answer to [`comprehensive`] with exactly three errors: a text that is too short, a
/// number above its maximum and a value that is no option.
///
/// ```
/// use entreat_testkit::{assert_breaks, samples};
///
/// let expected = [("service_name", "minLength"), ("port", "maximum"), ("region", "enum")];
/// assert_breaks(&samples::comprehensive(), &samples::three_errors(), &expected);
/// ```
pub fn three_errors() -> Value {
    let mut answer = comprehensive_answer();
    answer["service_name"] = "ab".into();
    answer["port"] = 70_000.into();
    answer["region"] = "moon".into();
    answer
}

#[expect(
    clippy::panic,
    reason = "a sample that does not load is a defect of this crate"
)]
fn load(text: &str) -> Form {
    Form::from_text(text, Notation::Json).unwrap_or_else(|problems| panic!("{problems}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_samples_are_answered_by_their_answers() {
        assert!(minimal().check(&json!({"name": "Ada"})).is_ok());
        let form = comprehensive();
        assert!(form.check(&comprehensive_answer()).is_ok());
        assert_eq!(form.check(&three_errors()).unwrap_err().len(), 3);
    }

    #[test]
    fn the_measured_form_has_no_conditions_and_no_secrets() {
        for field in comprehensive().fields() {
            assert!(field.active_when().is_empty() && field.checked_when().is_empty());
            assert!(!field.is_sensitive());
        }
    }
}
