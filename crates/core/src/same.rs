//! Compares short texts in a few instructions.

/// Whether two texts are the same.
///
/// The ids, options and types that answers are compared with are mostly so short that calling
/// the general comparison takes longer than comparing: up to 16 bytes, a first and a last piece
/// that may overlap are all there is.
#[inline]
pub(crate) fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    a.len() == b.len()
        && match a.len() {
            0..4 => a.iter().eq(b),
            4..8 => same_ends::<4>(a, b),
            8..=16 => same_ends::<8>(a, b),
            _ => a == b,
        }
}

#[inline]
fn same_ends<const N: usize>(a: &[u8], b: &[u8]) -> bool {
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
            assert!(same(one, &one.chars().collect::<String>()));
            assert!(!same(one, &format!("{one}a")));
            for place in 0..length {
                let mut other = one.to_owned();
                other.replace_range(place..=place, "-");
                assert!(!same(one, &other), "{one} {other}");
            }
        }
    }
}
