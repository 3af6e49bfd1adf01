//! Random bytes from the operating system, or from a test.
//!
//! There is no userspace generator: every byte comes from the system's. The buffer only saves
//! system calls.

use std::{fmt, io};

use parking_lot::Mutex;
use zeroize::{Zeroize, Zeroizing};

/// A source of random bytes.
///
/// Ids, page tokens and keys depend on it, so an implementation must be cryptographically secure
/// except in tests.
pub trait Entropy: Send + Sync + 'static {
    /// Fills the slice with random bytes.
    ///
    /// It cannot fail, because no caller could continue: an implementation without random bytes
    /// must not return.
    fn fill(&self, bytes: &mut [u8]);
}

/// The operating system's generator, buffered.
///
/// Small requests (ids, nonces) are served from a buffer, which is wiped as it is consumed and on
/// drop. Requests as long as a key bypass it: key material is never in memory before use, and a
/// clone of a running virtual machine does not generate the same keys.
///
/// ```
/// use entreat_engine::{Entropy, SystemEntropy};
///
/// let entropy = SystemEntropy::new()?;
/// let mut random = [0; 10];
/// entropy.fill(&mut random);
/// assert_ne!(random, [0; 10]);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct SystemEntropy {
    pool: Mutex<Pool>,
}

/// Requests of this length and above are not buffered.
const KEY: usize = 32;

/// Some 400 ids.
const POOL: usize = 4096;

struct Pool {
    bytes: Box<Zeroizing<[u8; POOL]>>,
    /// Bytes consumed, from the front.
    used: usize,
}

impl SystemEntropy {
    /// Fills the buffer.
    ///
    /// Fails if the system has no random bytes, such as in a jail without a random device. A
    /// program should exit then: there is no other source.
    pub fn new() -> io::Result<Self> {
        let mut bytes = Box::new(Zeroizing::new([0; POOL]));
        getrandom::fill(&mut bytes[..])?;
        Ok(Self {
            pool: Mutex::new(Pool { bytes, used: 0 }),
        })
    }
}

impl Entropy for SystemEntropy {
    /// # Panics
    ///
    /// If the system's generator fails although it worked in [`new`](Self::new). No known system
    /// does that, no input can cause it, and continuing would mean predictable ids and keys.
    fn fill(&self, bytes: &mut [u8]) {
        if bytes.len() >= KEY {
            return draw(bytes);
        }
        let pool = &mut *self.pool.lock();
        if POOL - pool.used < bytes.len() {
            draw(&mut pool.bytes[..]);
            pool.used = 0;
        }
        let consumed = &mut pool.bytes[pool.used..][..bytes.len()];
        bytes.copy_from_slice(consumed);
        consumed.zeroize();
        pool.used += bytes.len();
    }
}

#[expect(
    clippy::panic,
    reason = "nothing may continue without randomness; see `SystemEntropy::fill`"
)]
fn draw(bytes: &mut [u8]) {
    if let Err(error) = getrandom::fill(bytes) {
        panic!("the system's random number generator failed: {error}");
    }
}

impl fmt::Debug for SystemEntropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SystemEntropy").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_draws_are_alike_across_refills_and_lengths() {
        let entropy = SystemEntropy::new().unwrap();
        let mut seen = HashSet::new();
        for round in 0..2_000 {
            let mut bytes = vec![0; 10 + round % 40];
            entropy.fill(&mut bytes);
            assert!(seen.insert(bytes));
        }
    }

    #[test]
    fn bytes_that_were_consumed_are_no_longer_in_the_buffer() {
        let entropy = SystemEntropy::new().unwrap();
        for _ in 0..5 {
            entropy.fill(&mut [0; 10]);
        }
        let pool = entropy.pool.lock();
        assert_eq!(pool.used, 50);
        assert_eq!(pool.bytes[..50], [0; 50]);
        assert_ne!(pool.bytes[50..100], [0; 50]);
    }

    #[test]
    fn a_key_leaves_the_buffer_alone() {
        let entropy = SystemEntropy::new().unwrap();
        let mut key = [0; KEY];
        entropy.fill(&mut key);
        assert_ne!(key, [0; KEY]);
        assert_eq!(entropy.pool.lock().used, 0);
    }

    #[test]
    fn the_end_of_the_buffer_is_not_consumed_twice() {
        let entropy = SystemEntropy::new().unwrap();
        entropy.pool.lock().used = POOL - 5;
        let mut bytes = [0; 10];
        entropy.fill(&mut bytes);
        assert_ne!(bytes[..5], [0; 5]);
        assert_ne!(bytes[5..], [0; 5]);
        assert_eq!(entropy.pool.lock().used, 10);
        entropy.fill(&mut []);
        assert_eq!(entropy.pool.lock().used, 10);
    }

    #[test]
    fn debug_shows_no_bytes() {
        let entropy = SystemEntropy::new().unwrap();
        assert_eq!(format!("{entropy:?}"), "SystemEntropy { .. }");
    }
}
