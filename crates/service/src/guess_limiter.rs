//! Rate-limits guesses of keys and links by address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;

use entreat_core::UnixTime;
use entreat_engine::{Rate, RateLimiter};
use parking_lot::Mutex;

use crate::local::AddressBlock;

/// Idle addresses are evicted when the known ones have doubled since the last time, and are at
/// least this many: so evictions cost a constant amount per guess.
const EVICT_FROM: usize = 1024;

/// Counts failed guesses.
pub(crate) struct GuessLimiter {
    rate: Rate,
    addresses: Mutex<Addresses>,
}

#[derive(Default)]
struct Addresses {
    known: HashMap<AddressBlock, RateLimiter>,
    /// How many were left after the last eviction.
    left: usize,
}

impl GuessLimiter {
    /// Allows this rate of guesses per address, with this burst.
    pub(crate) fn new(per_second: NonZeroU32, at_once: NonZeroU32) -> Self {
        Self {
            rate: Rate::per_second(per_second).burst(at_once),
            addresses: Mutex::default(),
        }
    }

    /// Counts a guess, and returns whether its address has exceeded the limit.
    pub(crate) fn is_exceeded_by(&self, address: IpAddr, now: UnixTime) -> bool {
        let mut addresses = self.addresses.lock();
        let Addresses { known, left } = &mut *addresses;
        if known.len() >= EVICT_FROM.max(2 * *left) {
            known.retain(|_, limiter| !limiter.is_full(now));
            *left = known.len();
        }
        let limiter = known.entry(AddressBlock::of(address));
        let limiter = limiter.or_insert_with(|| RateLimiter::new(self.rate));
        limiter.check(now).is_err()
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    const ONE: NonZeroU32 = NonZeroU32::MIN;

    #[test]
    fn whoever_has_a_network_has_no_more_guesses_than_others() {
        let limiter = GuessLimiter::new(ONE, ONE);
        let inside = |host: u128| Ipv6Addr::from_bits(0x2001_0db8 << 96 | host).into();
        let now = UnixTime::from_millis(0);
        assert!(!limiter.is_exceeded_by(inside(1), now));
        assert!(limiter.is_exceeded_by(inside(2), now));
        assert!(!limiter.is_exceeded_by(inside(1 << 64), now));
    }

    #[test]
    fn those_who_guessed_once_are_forgotten() {
        let limiter = GuessLimiter::new(ONE, ONE);
        for number in 0..100_000 {
            // One a second: each has recovered before the next comes.
            let now = UnixTime::from_millis(u64::from(number) * 1000);
            limiter.is_exceeded_by(Ipv4Addr::from_bits(number).into(), now);
        }
        let known = limiter.addresses.lock().known.len();
        assert!(known <= 2 * EVICT_FROM, "{known}");
    }
}
