//! `boolean`: yes or no, in the words that people type, whatever the language of the prompt.

use serde_json::Value;

pub(super) const HINT: &str = "Yes or no: y or n.";

/// Passes anything else on, for the form to reject.
pub(super) fn read(typed: &str) -> Value {
    let word = typed.trim();
    match word.to_ascii_lowercase().as_str() {
        "y" | "yes" | "true" | "j" | "ja" => true.into(),
        "n" | "no" | "false" | "nein" => false.into(),
        _ => word.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yes_and_no_have_several_spellings() {
        for word in ["y", "YES", " true ", "j", "Ja"] {
            assert_eq!(read(word), true);
        }
        for word in ["n", "No", "FALSE", "nein"] {
            assert_eq!(read(word), false);
        }
        assert_eq!(read("perhaps"), "perhaps");
    }
}
