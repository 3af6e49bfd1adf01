//! Deterministic random bytes.

use entreat_engine::Entropy;
use fastrand::Rng;
use parking_lot::Mutex;

/// Seeded bytes: the same seed and the same requests yield the same bytes.
///
/// For tests only: the bytes are predictable.
///
/// ```
/// use entreat_engine::Entropy;
/// use entreat_testkit::SeededEntropy;
///
/// let draw = |seed| {
///     let mut bytes = [0; 10];
///     SeededEntropy::new(seed).fill(&mut bytes);
///     bytes
/// };
/// assert_eq!(draw(7), draw(7));
/// assert_ne!(draw(7), draw(8));
/// ```
#[derive(Debug)]
pub struct SeededEntropy(Mutex<Rng>);

impl SeededEntropy {
    /// Creates a source with this seed.
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new(Rng::with_seed(seed)))
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        self.0.lock().fill(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_goes_on_and_does_not_repeat() {
        let entropy = SeededEntropy::new(1);
        let (mut first, mut second) = ([0; 10], [0; 10]);
        entropy.fill(&mut first);
        entropy.fill(&mut second);
        assert_ne!(first, second);
    }
}
