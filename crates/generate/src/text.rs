//! Texts within a field's rules: length in code points, pattern and format at once.

use entreat_core::form::TextRules;
use entreat_core::pattern::Pattern;
use fastrand::Rng;
use regex_syntax::hir::Hir;

use super::{chance, format, pattern};

/// The most code points a text may have where the form does not say.
const DEFAULT_MAX: usize = 64 * 1024;

const TRIES: usize = 60;

/// A text that the rules accept, and that is not blank; `tree` is that of the pattern.
pub(super) fn text(rules: &TextRules, tree: Option<&Hir>, rng: &mut Rng) -> Option<String> {
    (0..TRIES).find_map(|_| {
        let text = draft(rules, tree, rng)?;
        fits(rules, &text).then_some(text)
    })
}

/// A text that the rules accept and in which another pattern is found as well.
pub(super) fn text_with(
    rules: &TextRules,
    other: &Pattern,
    tree: &Hir,
    rng: &mut Rng,
) -> Option<String> {
    (0..TRIES).find_map(|_| {
        let text = from_pattern(tree, bounds(rules), rng);
        (fits(rules, &text) && other.is_match(&text)).then_some(text)
    })
}

/// Whether the rules accept a text, and it is not blank.
pub(super) fn fits(rules: &TextRules, text: &str) -> bool {
    let (min, max) = bounds(rules);
    (min..=max).contains(&text.chars().count())
        && !text.trim().is_empty()
        && rules
            .pattern
            .as_ref()
            .is_none_or(|pattern| pattern.is_match(text))
        && rules.format.is_none_or(|format| format.matches(text))
}

/// A text of so many code points: words, sometimes beyond ASCII.
pub(super) fn words(length: usize, rng: &mut Rng) -> String {
    const BEYOND: [char; 9] = ['é', 'ß', 'Ж', 'ø', '日', '本', 'ﷺ', '👍', '🏽'];
    let ascii_only = chance(rng, 75);
    (0..length)
        .map(|place| match rng.u8(..12) {
            0 if place > 0 && place + 1 < length => ' ',
            1 if !ascii_only => BEYOND[rng.usize(..BEYOND.len())],
            2 => rng.digit(10),
            _ => rng.lowercase(),
        })
        .collect()
}

/// The fewest and most code points; never none, since an empty text is no answer.
fn bounds(rules: &TextRules) -> (usize, usize) {
    let count = |bound: u64| usize::try_from(bound).unwrap_or(usize::MAX);
    (
        rules.min_length.map_or(1, count).max(1),
        rules.max_length.map_or(DEFAULT_MAX, count),
    )
}

fn draft(rules: &TextRules, tree: Option<&Hir>, rng: &mut Rng) -> Option<String> {
    let (min, max) = bounds(rules);
    if min > max {
        return None;
    }
    match (rules.format, tree.filter(|_| rules.pattern.is_some())) {
        (Some(format), Some(tree)) if rng.bool() => {
            let text = from_pattern(tree, (min, max), rng);
            if format.matches(&text) || rng.bool() {
                Some(text)
            } else {
                let letters: String = (0..rng.usize(1..=8)).map(|_| rng.lowercase()).collect();
                let letters_first = rng.bool();
                Some(if letters_first {
                    letters + &text
                } else {
                    text + &letters
                })
            }
        }
        // What no format can be made of, another try may.
        (Some(format), _) => Some(format::sample(format, min, max, rng).unwrap_or_default()),
        (None, Some(tree)) => Some(from_pattern(tree, (min, max), rng)),
        (None, None) => Some(words(length(min, max, rng), rng)),
    }
}

/// A length within bounds: mostly short, sometimes at an edge.
fn length(min: usize, max: usize, rng: &mut Rng) -> usize {
    match rng.u8(..10) {
        0 => min,
        1 if max <= 500 => max,
        _ => rng.usize(min..=max.min(min.saturating_add(24))),
    }
}

fn from_pattern(tree: &Hir, (min, max): (usize, usize), rng: &mut Rng) -> String {
    let far = u32::try_from(min).unwrap_or(u32::MAX).min(70_000);
    let near = [0, 1, 3, 8][rng.usize(..4)];
    let extra = if far > 8 && chance(rng, 70) {
        far.saturating_add(near)
    } else {
        near
    };
    let text = pattern::sample(tree, extra, rng);
    let length = text.chars().count();
    if length < min || (length < max && chance(rng, 15)) {
        let missing = min.saturating_sub(length).max(1);
        let most = (max - length).min(missing + 3).max(missing);
        return padded(&text, rng.usize(missing..=most), rng);
    }
    text
}

/// A text among so many other characters, where a pattern that is not anchored is still
/// found: before or after it, plain letters or words, with or without a gap.
fn padded(text: &str, length: usize, rng: &mut Rng) -> String {
    let mut padding = if rng.bool() {
        (0..length).map(|_| rng.lowercase()).collect()
    } else {
        words(length, rng)
    };
    let has_gap = length > 1 && rng.bool();
    if has_gap {
        padding.pop();
    }
    let gap = if has_gap { " " } else { "" };
    if rng.bool() {
        format!("{text}{gap}{padding}")
    } else {
        format!("{padding}{gap}{text}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::value::{MADE, valid_values};

    fn texts(validation: &Value) -> Vec<String> {
        let texts = valid_values(json!({"type": "text", "validation": validation}));
        assert_eq!(texts.len(), MADE, "{validation}");
        texts
            .iter()
            .map(|text| text.as_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn texts_keep_length_pattern_and_format_at_once() {
        for validation in [
            json!({}),
            json!({"maxLength": 1}),
            json!({"minLength": 300}),
            json!({"pattern": "^[a-z]+$", "minLength": 20, "maxLength": 22}),
            json!({"pattern": "[0-9]{3}", "minLength": 12, "maxLength": 12}),
            json!({"pattern": "^x", "minLength": 9}),
            json!({"pattern": "x$", "maxLength": 5}),
            json!({"pattern": "\\bkey\\b", "minLength": 8}),
            json!({"format": "email", "minLength": 50, "maxLength": 51}),
            json!({"format": "email", "maxLength": 3}),
            json!({"format": "email", "pattern": "@example\\.com$"}),
            json!({"format": "uri", "pattern": "^https://[a-z]+$"}),
            json!({"format": "time", "minLength": 15}),
        ] {
            texts(&validation);
        }
    }

    #[test]
    fn some_texts_are_beyond_ascii() {
        let texts = texts(&json!({"minLength": 10}));
        assert!(texts.iter().any(|text| !text.is_ascii()));
        assert!(texts.iter().any(|text| text.is_ascii()));
    }
}
