//! `multi_select`: options with commas between them.

use entreat_core::form::{MultiSelectRules, Options};
use serde_json::Value;

use super::choice::{self, Ambiguity};
use super::count;

pub(super) fn hint(rules: &MultiSelectRules) -> String {
    let how_many = count(rules.min_items, rules.max_items).map(|count| format!(" {count}"));
    format!(
        "Select{} of these, by number or name, separated by commas:",
        how_many.as_deref().unwrap_or(" any")
    )
}

/// Passes unknown options on, for the form to reject.
pub(super) fn read(options: &Options, typed: &str) -> Result<Value, Ambiguity> {
    let names = options.iter().flat_map(|(value, title)| [value, title]);
    let most_commas = names.map(|name| name.matches(',').count()).max();
    // Bounded by the names, since a line of many commas would take too long otherwise.
    let most_pieces = most_commas.unwrap_or(0) + 1;
    let pieces: Vec<&str> = typed.split(',').collect();
    let mut chosen = Vec::new();
    let mut rest = &pieces[..];
    while !rest.is_empty() {
        // Names may contain commas: the longest match wins.
        let mut taken = 1;
        let mut found = None;
        for length in (1..=most_pieces.min(rest.len())).rev() {
            let name = rest[..length].join(",");
            if let Some(value) = choice::find(options, name.trim())? {
                (taken, found) = (length, Some(value));
                break;
            }
        }
        let typed = rest[0].trim();
        match found {
            Some(value) => chosen.push(Value::from(value)),
            // Two commas in a row, or one at the end.
            None if typed.is_empty() => {}
            None => chosen.push(typed.into()),
        }
        rest = &rest[taken..];
    }
    Ok(chosen.into())
}

#[cfg(test)]
mod tests {
    use entreat_core::{Form, Kind};
    use serde_json::json;

    #[test]
    fn names_with_commas_are_found_among_others() {
        let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [
            {"id": "a", "type": "multi_select", "label": "A", "options": [
                {"value": "w", "title": "Europe, west"},
                {"value": "e", "title": "Europe, east"},
                {"value": "u", "title": "Europe"}]}]}));
        let form = form.unwrap();
        let Kind::MultiSelect(rules) = form.fields()[0].kind() else {
            unreachable!()
        };
        let read = |typed| super::read(&rules.options, typed).unwrap();
        assert_eq!(read("Europe, east, 3,w,"), json!(["e", "u", "w"]));
        assert_eq!(read("europe,moon , 1"), json!(["u", "moon", "w"]));
        assert_eq!(read(" , "), json!([]));
        assert_eq!(
            super::hint(rules),
            "Select any of these, by number or name, separated by commas:"
        );
    }
}
