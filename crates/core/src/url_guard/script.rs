//! Detects deceptive characters: mixed scripts and look-alikes in a host, invisible characters
//! in the raw text.
//!
//! Follows UTS 39. Look-alikes within ASCII are not detected; see [`url_guard`](super).

use unicode_normalization::UnicodeNormalization;
use unicode_script::Script;
use unicode_security::mixed_script::AugmentedScriptSet;
use unicode_security::{GeneralSecurityProfile, skeleton};

use super::Warning;

/// Returns the warnings about one label of a name, in Unicode.
///
/// The two confusable codes are mutually exclusive: a label entirely in another script may be
/// legitimate, and only looks like Latin; any other label that looks like ASCII is suspicious.
pub(super) fn warnings_of_label(label: &str) -> impl Iterator<Item = Warning> {
    let mixed = is_mixed(label);
    let confusable = confusable_warning(label);
    mixed
        .then_some(Warning::MixedScript)
        .into_iter()
        .chain(confusable)
}

/// Whether the scripts of a label fail the highly restrictive level.
///
/// `detect_restriction_level` is not used: it reports any label with a restricted letter as
/// unrestricted, so a phonetic letter among Latin ones would count as mixed.
fn is_mixed(label: &str) -> bool {
    let mut all = AugmentedScriptSet::default();
    let mut beside_latin = AugmentedScriptSet::default();
    for set in label.chars().map(AugmentedScriptSet::for_char) {
        all.intersect_with(set);
        if !set.base.contains_script(Script::Latin) {
            beside_latin.intersect_with(set);
        }
    }
    let east_asian = beside_latin.kore || beside_latin.hanb || beside_latin.jpan;
    all.is_empty() && !east_asian
}

fn confusable_warning(label: &str) -> Option<Warning> {
    if label.is_ascii() {
        return None;
    }
    let reads_as_ascii = skeleton(label).all(|c| c.is_ascii());
    let scripts = AugmentedScriptSet::for_str(label);
    // Punctuation and digits belong to every script, Latin included.
    let other_script = !scripts.is_empty() && !scripts.base.contains_script(Script::Latin);
    if reads_as_ascii && other_script {
        return Some(Warning::WholeScriptConfusable);
    }
    let restricted = label
        .chars()
        .any(|c| c.is_alphabetic() && !c.identifier_allowed());
    (reads_as_ascii || restricted).then_some(Warning::Confusable)
}

/// Whether the raw host differs from the parsed host by more than case and IDNA.
///
/// Full-width letters, percent-encoding, ideographic dots and numbers in other bases do: all
/// hide the actual host from a reader.
pub(super) fn is_rewritten(raw: &str, parsed: &str) -> bool {
    let mut raw = raw.split('.');
    let mut parsed = parsed.split('.');
    loop {
        match (raw.next(), parsed.next()) {
            (None, None) => return false,
            (Some(raw), Some(parsed)) if is_same_label(raw, parsed) => {}
            _ => return true,
        }
    }
}

fn is_same_label(raw: &str, parsed: &str) -> bool {
    if raw.eq_ignore_ascii_case(parsed) {
        return true;
    }
    if raw.is_ascii() {
        return false;
    }
    // The Kelvin sign and similar characters lower-case to ASCII letters.
    if raw
        .chars()
        .any(|c| !c.is_ascii() && c.to_lowercase().all(|lower| lower.is_ascii()))
    {
        return false;
    }
    let (unicode, _) = idna::domain_to_unicode(parsed);
    raw.nfc().flat_map(char::to_lowercase).eq(unicode.chars())
}

/// Returns the warning about a character of the raw text.
pub(super) fn warning_of_char(c: char) -> Option<Warning> {
    match c {
        '\\' => Some(Warning::RawBackslash),
        // C1 controls too: terminals interpret them.
        '\0'..=' ' | '\u{7f}'..='\u{9f}' => Some(Warning::RawControl),
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            Some(Warning::BidiControl)
        }
        _ if is_invisible(c) => Some(Warning::InvisibleChar),
        _ => None,
    }
}

/// Whether a character is a default-ignorable code point or a space outside ASCII.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{1680}'
        | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{2000}'..='\u{200d}'
        | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}'..='\u{2065}'
        | '\u{206a}'..='\u{206f}' | '\u{2800}' | '\u{3000}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(label: &str) -> Vec<&'static str> {
        warnings_of_label(label)
            .map(|warning| warning.code())
            .collect()
    }

    #[test]
    fn honest_labels_of_many_scripts_pass() {
        for label in [
            "example",
            "müller",
            "straße",
            "ødegård",
            "łódź",
            "例え",
            "eコマース",
            "中国",
            "한국",
            "kr한국",
            "россия",
            "москва",
            "ελλάδα",
            "कॉम",
            "עברית",
            "ไทย",
            "l·l",
            "☃",
            "1-2",
        ] {
            assert_eq!(codes(label), [""; 0], "{label}");
        }
    }

    #[test]
    fn scripts_that_do_not_belong_together_are_mixed() {
        assert_eq!(codes("аpple"), ["mixed_script", "confusable"]);
        assert_eq!(codes("ρhone"), ["mixed_script", "confusable"]);
        assert_eq!(codes("helloж"), ["mixed_script"]);
        assert_eq!(codes("한국の"), ["mixed_script"]);
        assert_eq!(codes("latinไทย"), ["mixed_script"]);
    }

    #[test]
    fn a_label_wholly_of_another_script_may_read_as_latin() {
        for label in ["аррӏе", "сос", "оса-1", "օզ", "ο"] {
            assert_eq!(codes(label), ["whole_script_confusable"], "{label}");
        }
    }

    #[test]
    fn latin_labels_with_look_alike_letters_are_confusable() {
        for label in ["ɡoogle", "ıstanbul", "com∕login", "comノlogin", "ƿaypal"] {
            assert_eq!(codes(label), ["confusable"], "{label}");
        }
    }

    #[test]
    fn case_and_idna_are_no_rewriting() {
        for (raw, parsed) in [
            ("EXAMPLE.com", "example.com"),
            ("MÜLLER.de", "xn--mller-kva.de"),
            ("mu\u{308}ller.de", "xn--mller-kva.de"),
            ("XN--mller-kva.de", "xn--mller-kva.de"),
            ("[2606:4700::ABCD]", "[2606:4700::abcd]"),
            ("example.com.", "example.com."),
        ] {
            assert!(!is_rewritten(raw, parsed), "{raw}");
        }
    }

    #[test]
    fn other_ways_to_write_a_host_are_rewriting() {
        for (raw, parsed) in [
            ("ｅxample.com", "example.com"),
            ("ex%61mple.com", "example.com"),
            ("example。com", "example.com"),
            ("\u{212a}ey.com", "key.com"),
            ("ſite.com", "site.com"),
            ("①.com", "1.com"),
            ("0x1.1", "1.0.0.1"),
            ("1.1.1.1.", "1.1.1.1"),
            ("[2606:4700:0::1]", "[2606:4700::1]"),
        ] {
            assert!(is_rewritten(raw, parsed), "{raw}");
        }
    }

    #[test]
    fn characters_of_the_raw_text_are_told_apart() {
        for (c, code) in [
            ('\t', "raw_control"),
            (' ', "raw_control"),
            ('\u{7f}', "raw_control"),
            ('\u{9b}', "raw_control"),
            ('\\', "raw_backslash"),
            ('\u{ad}', "invisible_char"),
            ('\u{200b}', "invisible_char"),
            ('\u{200d}', "invisible_char"),
            ('\u{feff}', "invisible_char"),
            ('\u{3164}', "invisible_char"),
            ('\u{a0}', "invisible_char"),
            ('\u{2060}', "invisible_char"),
            ('\u{e0041}', "invisible_char"),
            ('\u{fe0f}', "invisible_char"),
            ('\u{200e}', "bidi_control"),
            ('\u{200f}', "bidi_control"),
            ('\u{61c}', "bidi_control"),
            ('\u{202a}', "bidi_control"),
            ('\u{2069}', "bidi_control"),
        ] {
            assert_eq!(warning_of_char(c).map(|w| w.code()), Some(code), "{c:?}");
        }
        for c in ['a', '~', 'é', '例', '\u{2010}', '\u{2027}', '\u{2070}'] {
            assert_eq!(warning_of_char(c), None, "{c:?}");
        }
    }
}
