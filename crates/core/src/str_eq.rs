//! Fast equality of short texts.

/// Whether two texts are equal.
///
/// Ids, options and types are mostly so short that the call to `memcmp` takes longer than the
/// comparison. Up to 16 bytes, two chunks that may overlap cover the text.
#[inline]
pub(crate) fn str_eq(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    a.len() == b.len()
        && match a.len() {
            0..4 => a.iter().eq(b),
            4..8 => ends_eq::<4>(a, b),
            8..=16 => ends_eq::<8>(a, b),
            _ => a == b,
        }
}

#[inline]
fn ends_eq<const N: usize>(a: &[u8], b: &[u8]) -> bool {
    a.first_chunk::<N>() == b.first_chunk() && a.last_chunk::<N>() == b.last_chunk()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_any_length_are_compared_to_the_last_byte() {
        let text = "abcdefghijklmnopqrstuvwxyz";
        for length in 0..=text.len() {
            let one = &text[..length];
            assert!(str_eq(one, &one.chars().collect::<String>()));
            assert!(!str_eq(one, &format!("{one}a")));
            for place in 0..length {
                let mut other = one.to_owned();
                other.replace_range(place..=place, "-");
                assert!(!str_eq(one, &other), "{one} {other}");
            }
        }
    }
}
