//! Names that nobody can guess.

use entreat_engine::Engine;

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Returns `N` random bytes as hexadecimal digits.
pub(crate) fn name<const N: usize>(engine: &Engine) -> String {
    let mut random = [0; N];
    engine.fill_random(&mut random);
    let digit = |bits: u8| char::from(DIGITS[usize::from(bits)]);
    let digits = |byte: &u8| [digit(byte >> 4), digit(byte & 15)];
    random.iter().flat_map(digits).collect()
}
