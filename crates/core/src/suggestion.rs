//! "Did you mean": suggestions for misspelt words.

/// Returns the known word closest to a misspelt one, if one is close enough, or the only one that
/// begins with it.
///
/// ```
/// use entreat_core::closest;
///
/// assert_eq!(closest("minLenght", &["minLength", "pattern"]), Some("minLength"));
/// assert_eq!(closest("regex", &["minLength", "pattern"]), None);
/// ```
pub fn closest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    // The distance takes time quadratic in the length, and no known word is this long.
    if word.len() > 64 {
        return None;
    }
    let fold = |text: &str| text.replace(['_', '-'], "").to_lowercase();
    let folded = fold(word);
    let length = word.chars().count();
    let similar = known
        .iter()
        .map(|candidate| (strsim::osa_distance(&folded, &fold(candidate)), *candidate))
        .filter(|(distance, _)| *distance <= (length / 3).clamp(1, 3))
        .min_by_key(|(distance, _)| *distance);
    if let Some((_, candidate)) = similar {
        return Some(candidate);
    }
    let mut longer = known
        .iter()
        .filter(|candidate| length >= 3 && fold(candidate).starts_with(&folded));
    match (longer.next(), longer.next()) {
        (Some(candidate), None) => Some(candidate),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn slips_of_the_keyboard_and_abbreviations_are_recognised() {
        let known = ["minLength", "maxLength", "pattern", "format"];
        assert_eq!(closest("minLenght", &known), Some("minLength"));
        assert_eq!(closest("min_length", &known), Some("minLength"));
        assert_eq!(closest("Pattern", &known), Some("pattern"));
        assert_eq!(closest("regex", &known), None);
        assert_eq!(closest("min", &known), Some("minLength"));
        assert_eq!(closest("m", &known), None);
        assert_eq!(closest("min", &["minLength", "minItems"]), None);
        assert_eq!(closest(&"x".repeat(1000), &known), None);
    }
}
