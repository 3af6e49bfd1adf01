//! Tokens that were checked before, by their hash, so that each request does not repeat the
//! arithmetic of a signature: a check takes microseconds instead of tens of them.

use quick_cache::Weighter;
use quick_cache::sync::Cache;

/// How much memory the tokens of a cache may take, by estimate.
const MAX_MEMORY: u64 = 4 << 20;
/// How many tokens a cache is laid out for.
const EXPECTED_TOKENS: usize = 2048;
/// What each takes beside its claims.
const OVERHEAD: usize = 192;

/// A cryptographic hash of a token: nobody can make another token with the same one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Fingerprint([u8; 32]);

impl Fingerprint {
    pub(super) fn of(token: &str) -> Self {
        Self(*blake3::hash(token.as_bytes()).as_bytes())
    }
}

/// Remembers something about tokens, within bounded memory.
pub(super) struct TokenCache<T>(Cache<Fingerprint, (T, usize), BySize>);

#[derive(Clone)]
struct BySize;

impl<T> Weighter<Fingerprint, (T, usize)> for BySize {
    fn weight(&self, _: &Fingerprint, (_, size): &(T, usize)) -> u64 {
        (size + OVERHEAD) as u64
    }
}

impl<T: Clone> TokenCache<T> {
    pub(super) fn new() -> Self {
        Self(Cache::with_weighter(EXPECTED_TOKENS, MAX_MEMORY, BySize))
    }

    pub(super) fn get(&self, fingerprint: Fingerprint) -> Option<T> {
        self.0.get(&fingerprint).map(|(value, _)| value)
    }

    pub(super) fn insert(&self, fingerprint: Fingerprint, value: T, size: usize) {
        self.0.insert(fingerprint, (value, size));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_however_many_tokens_come() {
        let cache = TokenCache::new();
        for number in 0..20_000 {
            let fingerprint = Fingerprint::of(&number.to_string());
            cache.insert(fingerprint, number, 4096);
        }
        assert!(cache.0.weight() <= MAX_MEMORY);
        assert!(cache.0.len() > 500);
    }
}
