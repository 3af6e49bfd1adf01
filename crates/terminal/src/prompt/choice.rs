//! Matches typed text to an option.

use entreat_core::form::Options;

/// Why typed text does not name one option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ambiguity {
    /// It is the number of one option and the name of another.
    NumberOrName,
    /// Several options have this name.
    Several,
}

/// Finds an option by number, with or without `#`, by value or by title.
///
/// Returns `Ok(None)` if nothing matches.
pub(super) fn find<'o>(options: &'o Options, typed: &str) -> Result<Option<&'o str>, Ambiguity> {
    if let Some(number) = typed.strip_prefix('#')
        && let Some(value) = by_number(options, number)
    {
        return Ok(Some(value));
    }
    let by_number = by_number(options, typed);
    let by_name = by_name(options, typed)?;
    match (by_number, by_name) {
        (Some(a), Some(b)) if a != b => Err(Ambiguity::NumberOrName),
        (a, b) => Ok(a.or(b)),
    }
}

/// Finds an option by its number, counted from 1 as shown.
fn by_number<'o>(options: &'o Options, number: &str) -> Option<&'o str> {
    let index: usize = number.parse().ok()?;
    options.values().nth(index.checked_sub(1)?)
}

/// Finds an option by its value, else its title, else either ignoring case.
fn by_name<'o>(options: &'o Options, typed: &str) -> Result<Option<&'o str>, Ambiguity> {
    if options.contains(typed) {
        return Ok(options.values().find(|value| *value == typed));
    }
    let lower = typed.to_lowercase();
    let titled = only(options, |_, title| title == typed)?;
    match titled {
        Some(value) => Ok(Some(value)),
        None => only(options, |value, title| {
            value.to_lowercase() == lower || title.to_lowercase() == lower
        }),
    }
}

/// Returns the only option that passes.
fn only(
    options: &Options,
    is_meant: impl Fn(&str, &str) -> bool,
) -> Result<Option<&str>, Ambiguity> {
    let mut found = options
        .iter()
        .filter(|(value, title)| is_meant(value, title));
    match (found.next(), found.next()) {
        (Some(_), Some(_)) => Err(Ambiguity::Several),
        (found, _) => Ok(found.map(|(value, _)| value)),
    }
}

#[cfg(test)]
mod tests {
    use entreat_core::Form;
    use serde_json::{Value, json};

    use super::*;

    fn options(options: &Value) -> Options {
        let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [
            {"id": "a", "type": "select", "label": "A", "options": options}]}));
        form.unwrap().fields()[0].kind().options().unwrap().clone()
    }

    #[test]
    fn an_option_is_meant_by_number_value_or_title() {
        let options = options(&json!([
            {"value": "eu", "title": "Europe"},
            {"value": "us", "title": "America"},
            {"value": "as", "title": "ASIA"},
            {"value": "as2", "title": "Asia"},
        ]));
        for (typed, meant) in [
            ("2", Some("us")),
            ("#1", Some("eu")),
            ("eu", Some("eu")),
            ("EU", Some("eu")),
            ("america", Some("us")),
            ("ASIA", Some("as")),
            ("0", None),
            ("5", None),
            ("-1", None),
            ("moon", None),
        ] {
            assert_eq!(find(&options, typed), Ok(meant), "{typed}");
        }
        assert_eq!(find(&options, "asia"), Err(Ambiguity::Several));
    }

    #[test]
    fn a_number_that_is_also_a_name_must_be_told_apart() {
        let options = options(&json!(["2", "1", "3"]));
        assert_eq!(find(&options, "1"), Err(Ambiguity::NumberOrName));
        assert_eq!(find(&options, "#1"), Ok(Some("2")));
        assert_eq!(find(&options, "3"), Ok(Some("3")));
    }
}
