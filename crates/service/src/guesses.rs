//! Guesses of keys and links: so many are answered for one address, then they cost it time.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use crate::local::Neighbourhood;

/// After so many guesses, those who have not guessed for a while are forgotten.
const FORGET_EVERY: u32 = 1024;

/// How often somebody was wrong.
pub(crate) struct Guesses {
    by_address: DefaultKeyedRateLimiter<Neighbourhood>,
    count: AtomicU32,
}

impl Guesses {
    /// So many a second, and so many at once.
    pub(crate) fn new(per_second: NonZeroU32, at_once: NonZeroU32) -> Self {
        let quota = Quota::per_second(per_second).allow_burst(at_once);
        Self {
            by_address: RateLimiter::keyed(quota),
            count: AtomicU32::new(0),
        }
    }

    /// Counts a guess, and says whether that was one too many.
    pub(crate) fn is_one_too_many(&self, address: IpAddr) -> bool {
        let before = self.count.fetch_add(1, Ordering::Relaxed);
        if before % FORGET_EVERY == FORGET_EVERY - 1 {
            self.by_address.retain_recent();
        }
        let neighbourhood = Neighbourhood::of(address);
        self.by_address.check_key(&neighbourhood).is_err()
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;

    const ONE: NonZeroU32 = NonZeroU32::MIN;

    #[test]
    fn whoever_has_a_network_has_no_more_guesses_than_others() {
        let guesses = Guesses::new(ONE, ONE);
        let inside = |host: u128| Ipv6Addr::from_bits(0x2001_0db8 << 96 | host).into();
        assert!(!guesses.is_one_too_many(inside(1)));
        assert!(guesses.is_one_too_many(inside(2)));
        assert!(!guesses.is_one_too_many(inside(1 << 64)));
    }

    #[test]
    fn those_who_guessed_once_are_forgotten() {
        let fast = NonZeroU32::new(u32::MAX).unwrap();
        let guesses = Guesses::new(fast, ONE);
        for address in 0..100 * FORGET_EVERY {
            guesses.is_one_too_many(std::net::Ipv4Addr::from_bits(address).into());
        }
        let known = guesses.by_address.len();
        assert!(known <= 2 * FORGET_EVERY as usize, "{known}");
    }
}
