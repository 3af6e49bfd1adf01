//! Names that nobody can guess.

use std::fmt::Write as _;

use entreat_engine::Engine;

/// Returns `N` random bytes as hexadecimal digits.
pub(crate) fn name<const N: usize>(engine: &Engine) -> String {
    let mut random = [0; N];
    engine.fill_random(&mut random);
    let mut name = String::with_capacity(2 * N);
    for byte in random {
        // Writing to a string cannot fail.
        let _ = write!(name, "{byte:02x}");
    }
    name
}
