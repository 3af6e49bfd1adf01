//! "Did you mean": suggestions for misspelt words.

/// Returns the known word closest to a misspelt one, if one is close enough.
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
    known
        .iter()
        .map(|candidate| (strsim::osa_distance(&folded, &fold(candidate)), *candidate))
        .filter(|(distance, _)| *distance <= (length / 3).clamp(1, 3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn a_slip_of_the_keyboard_is_recognised() {
        let known = ["minLength", "maxLength", "pattern", "format"];
        assert_eq!(closest("minLenght", &known), Some("minLength"));
        assert_eq!(closest("min_length", &known), Some("minLength"));
        assert_eq!(closest("Pattern", &known), Some("pattern"));
        assert_eq!(closest("regex", &known), None);
        assert_eq!(closest(&"x".repeat(1000), &known), None);
    }
}
