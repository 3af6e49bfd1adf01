//! `text`: taken as typed, spaces included.

use entreat_core::Format;
use entreat_core::form::TextRules;

use super::count;

pub(super) fn hint(rules: &TextRules) -> String {
    let length = count(rules.min_length, rules.max_length).map(|length| {
        let is_one = rules.max_length.or(rules.min_length) == Some(1);
        let characters = if is_one { "character" } else { "characters" };
        format!(" of {length} {characters}")
    });
    // A pattern is for programs; the placeholder is the example for people.
    if rules.format.is_none() && length.is_none() {
        return String::new();
    }
    format!(
        "{}{}.",
        rules.format.map_or("Text", words),
        length.unwrap_or_default()
    )
}

fn words(format: Format) -> &'static str {
    match format {
        Format::Email => "An e-mail address",
        Format::Uri => "A complete address such as https://example.com/",
        Format::Uuid => "A UUID",
        Format::Hostname => "A host name",
        Format::Ipv4 => "An IPv4 address",
        Format::Ipv6 => "An IPv6 address",
        Format::Date => "A date as YYYY-MM-DD",
        Format::DateTime => super::date::MOMENT,
        Format::Time => "A time with an offset, such as 09:30:00Z",
    }
}

#[cfg(test)]
mod tests {
    use entreat_core::{Form, Kind};
    use serde_json::{Value, json};

    fn hint(validation: &Value) -> String {
        let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [
            {"id": "a", "type": "text", "label": "A", "validation": validation}]}));
        let form = form.unwrap();
        let Kind::Text(rules) = form.fields()[0].kind() else {
            unreachable!()
        };
        super::hint(rules)
    }

    #[test]
    fn bounds_are_said_in_words_and_no_bounds_are_not_mentioned() {
        assert_eq!(hint(&json!({})), "");
        assert_eq!(
            hint(&json!({"maxLength": 1})),
            "Text of at most 1 character."
        );
        assert_eq!(
            hint(&json!({"format": "email", "minLength": 6})),
            "An e-mail address of at least 6 characters."
        );
        assert_eq!(
            hint(&json!({"minLength": 2, "maxLength": 4, "pattern": "^a+"})),
            "Text of 2 to 4 characters."
        );
        assert_eq!(hint(&json!({"pattern": "^a+"})), "");
    }
}
