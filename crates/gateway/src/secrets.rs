//! Which fields of a server's form ask for a secret, which never goes through a client.
//!
//! The protocol forbids secrets in forms, and has no way to mark them. Servers ask all the same, so
//! a field's name and title decide.

use serde_json::Value;

/// Words of secrets. Two words stand for a phrase.
const WORDS: &[&[&str]] = &[
    &["password"],
    &["passwd"],
    &["passphrase"],
    &["passcode"],
    &["secret"],
    &["token"],
    &["api", "key"],
    &["apikey"],
    &["private", "key"],
    &["access", "key"],
    &["credential"],
    &["credentials"],
    &["pin"],
    &["cvv"],
    &["cvc"],
];

/// Whether a form asks for a secret.
pub(crate) fn asks_for_secret(schema: &Value) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut properties = properties.into_iter().flatten();
    properties.any(|(name, property)| is_secret(name, property))
}

/// Marks the secrets of a form, so that the page masks them and the store seals them.
pub(crate) fn masked(schema: &Value) -> Value {
    let mut schema = schema.clone();
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, property) in properties.into_iter().flatten() {
        if is_secret(name, property)
            && let Value::Object(property) = property
        {
            property.insert("writeOnly".into(), true.into());
        }
    }
    schema
}

fn is_secret(name: &str, property: &Value) -> bool {
    let keyword = |name: &str| property.get(name).and_then(Value::as_str);
    // Choices are shown anyway, and numbers and yes/no are no secrets. Without a type, or with one
    // of several, it may be a text.
    if keyword("type").is_some_and(|kind| kind != "string")
        || property.get("enum").is_some()
        || property.get("oneOf").is_some()
    {
        return false;
    }
    keyword("format") == Some("password")
        || property.get("writeOnly") == Some(&Value::Bool(true))
        || names_secret(name)
        || keyword("title").is_some_and(names_secret)
}

/// Whether a text has a word for a secret.
pub(crate) fn names_secret(text: &str) -> bool {
    let words = words(text);
    WORDS
        .iter()
        .any(|phrase| words.windows(phrase.len()).any(|window| window == *phrase))
}

/// Splits a name or title into words in lower case, at capitals too. Plurals lose their ending.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut previous = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let next_is_lower = rest.peek().is_some_and(|next| next.is_lowercase());
        let starts_word = c.is_uppercase()
            && (previous.is_lowercase() || previous.is_uppercase() && next_is_lower);
        if (starts_word || !c.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        previous = c;
    }
    if !word.is_empty() {
        words.push(word);
    }
    for word in &mut words {
        if word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") {
            word.pop();
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_told_by_words_not_by_letters() {
        for name in [
            "password",
            "dbPassword",
            "API key",
            "api_keys",
            "GITHUB_TOKEN",
            "githubTokens",
            "private-key",
            "Your PIN",
            "CVV",
            "AWSSecret",
            "clientSecret",
            "Credentials",
        ] {
            assert!(names_secret(name), "{name}");
        }
        for name in [
            "spinning",
            "pinned",
            "keyboard",
            "api",
            "tokenizer",
            "secretary",
            "name",
            "key",
            "compass",
            "opinion",
        ] {
            assert!(!names_secret(name), "{name}");
        }
    }

    #[test]
    fn only_texts_are_secrets() {
        let schema = |property| json!({"type": "object", "properties": {"token": property}});
        for property in [
            json!({"type": "string"}),
            json!({"type": ["string", "null"]}),
            json!({}),
        ] {
            assert!(asks_for_secret(&schema(property)));
        }
        for property in [
            json!({"type": "integer"}),
            json!({"type": "boolean"}),
            json!({"type": "string", "enum": ["a"]}),
        ] {
            assert!(!asks_for_secret(&schema(property)));
        }
        let format = json!({"properties": {"x": {"type": "string", "format": "password"}}});
        assert!(asks_for_secret(&format));
        assert_eq!(masked(&format)["properties"]["x"]["writeOnly"], true);
    }
}
