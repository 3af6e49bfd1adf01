//! Texts in which a pattern is found, made from the pattern's syntax tree.
//!
//! Assertions such as `\b` are ignored while a text is made: whoever asks for one tests it
//! against the compiled pattern and asks again if need be.

use fastrand::Rng;
use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind};

use super::chance;

/// The longest text worth making, in bytes; repetitions of repetitions grow fast.
const MAX_BYTES: usize = 128 * 1024;

/// A text that probably matches. Repetitions run up to `extra` times beyond what they must.
pub(super) fn sample(tree: &Hir, extra: u32, rng: &mut Rng) -> String {
    let mut text = String::new();
    write(tree, extra, rng, &mut text);
    text
}

fn write(tree: &Hir, extra: u32, rng: &mut Rng, text: &mut String) {
    if text.len() > MAX_BYTES {
        return;
    }
    match tree.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(Class::Unicode(class)) => text.extend(pick(class, rng)),
        HirKind::Class(Class::Bytes(class)) => {
            let ranges = class.ranges();
            if !ranges.is_empty() {
                let range = &ranges[rng.usize(..ranges.len())];
                text.push(rng.u8(range.start()..=range.end()).into());
            }
        }
        HirKind::Repetition(repetition) => {
            let most = repetition.min.saturating_add(extra);
            let most = repetition.max.map_or(most, |max| max.min(most));
            // The longest is what a caller with a large `extra` is after.
            let count = if chance(rng, 25) {
                most
            } else {
                rng.u32(repetition.min..=most)
            };
            for _ in 0..count {
                write(&repetition.sub, extra, rng, text);
            }
        }
        HirKind::Capture(capture) => write(&capture.sub, extra, rng, text),
        HirKind::Concat(parts) => {
            for part in parts {
                write(part, extra, rng, text);
            }
        }
        HirKind::Alternation(parts) => {
            if let Some(part) = rng.choice(parts) {
                write(part, extra, rng, text);
            }
        }
    }
}

/// A member of a class, mostly one that can be typed.
fn pick(class: &ClassUnicode, rng: &mut Rng) -> Option<char> {
    let printable: Vec<(char, char)> = class
        .ranges()
        .iter()
        .map(|range| (range.start().max('!'), range.end().min('~')))
        .filter(|(start, end)| start <= end)
        .collect();
    let (start, end) = if !printable.is_empty() && chance(rng, 92) {
        *rng.choice(&printable)?
    } else {
        let range = rng.choice(class.ranges())?;
        (range.start(), range.end())
    };
    Some(rng.char(start..=end))
}

#[cfg(test)]
mod tests {
    use entreat_core::Form;
    use entreat_core::pattern::syntax_tree;
    use serde_json::json;

    use super::*;

    #[test]
    fn samples_of_a_pattern_match_it() {
        for source in [
            r"^[A-Z]{2}\d{4}$",
            "cat|dog",
            r"^(?<year>\d{4})-(0[1-9]|1[0-2])$",
            r"^[^@\s]+@[^@\s]+$",
            r"^\p{Lu}\p{Ll}*$",
            "",
        ] {
            let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [
                {"id": "a", "type": "text", "label": "A", "validation": {"pattern": source}},
            ]}));
            let form = form.unwrap();
            let tree = syntax_tree(source).unwrap();
            let mut rng = Rng::with_seed(1);
            for extra in 0..50 {
                let text = sample(&tree, extra, &mut rng);
                assert!(
                    form.check(&json!({"a": text})).is_ok(),
                    "{source}: {text:?}"
                );
            }
        }
    }

    #[test]
    fn nested_repetitions_stay_within_bounds() {
        let tree = syntax_tree("((a*)*)*").unwrap();
        assert!(sample(&tree, 1000, &mut Rng::with_seed(2)).len() <= MAX_BYTES + 1000);
    }
}
