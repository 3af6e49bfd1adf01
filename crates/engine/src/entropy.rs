//! Random bytes: of the operating system, or of a test.
//!
//! Nothing here stretches, mixes or seeds: every byte comes from the system's generator. The
//! buffer only spares the calls.

use std::{fmt, io};

use parking_lot::Mutex;
use zeroize::{Zeroize, Zeroizing};

/// Where random bytes come from.
///
/// Ids, page tokens and keys are made of them, so an implementation outside of tests must be
/// fit for cryptography.
pub trait Entropy: Send + Sync + 'static {
    /// Fills the slice with random bytes.
    ///
    /// It cannot fail, for nobody could go on without: an implementation that runs dry must
    /// not return.
    fn fill(&self, bytes: &mut [u8]);
}

/// The operating system's generator, a few KiB at a time.
///
/// Small requests (ids, nonces) are served from a buffer, which is wiped where it was handed
/// out and when it is dropped. Requests as long as a key go to the system itself: what protects
/// secrets never waits in memory, and a copy of this machine that was made while it ran does
/// not choose the same keys.
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
    /// How many were handed out, from the front.
    used: usize,
}

impl SystemEntropy {
    /// Asks the system for the first bytes.
    ///
    /// Fails if it has none to give, as in a jail without a random device. A program should
    /// end then: there is no second source.
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
    /// If the system gives no random bytes although it did when this was made. Known systems
    /// do not do that, nothing that anybody sends can bring it about, and to go on would
    /// mean ids and keys that can be guessed.
    fn fill(&self, bytes: &mut [u8]) {
        if bytes.len() >= KEY {
            return draw(bytes);
        }
        let pool = &mut *self.pool.lock();
        if POOL - pool.used < bytes.len() {
            draw(&mut pool.bytes[..]);
            pool.used = 0;
        }
        let handed_out = &mut pool.bytes[pool.used..][..bytes.len()];
        bytes.copy_from_slice(handed_out);
        handed_out.zeroize();
        pool.used += bytes.len();
    }
}

#[expect(
    clippy::panic,
    reason = "without randomness nothing may go on; see `SystemEntropy::fill`"
)]
fn draw(bytes: &mut [u8]) {
    if let Err(error) = getrandom::fill(bytes) {
        panic!("the system stopped giving random bytes: {error}");
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
    fn bytes_that_were_handed_out_are_no_longer_in_the_buffer() {
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
    fn the_end_of_the_buffer_is_not_handed_out_twice() {
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
