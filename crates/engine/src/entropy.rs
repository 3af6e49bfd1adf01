//! Random bytes from the operating system, or from a test.
//!
//! There is no userspace generator: every byte comes from the system's. The buffer only saves
//! system calls.

use std::cell::RefCell;
use std::io;

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
/// Small requests (ids, nonces) are served from a buffer per thread, which is wiped as it is
/// consumed and when the thread ends. Requests as long as a key bypass it: key material is never in memory before use, and a
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
#[derive(Debug)]
pub struct SystemEntropy {
    _checked: (),
}

thread_local! {
    // Not one for all threads: each id would move its lock from core to core.
    static POOL: RefCell<Pool> = RefCell::new(Pool::empty());
}

/// Requests of this length and above are not buffered.
const KEY: usize = 32;

/// Some 400 ids.
const POOL_SIZE: usize = 4096;

struct Pool {
    bytes: Box<Zeroizing<[u8; POOL_SIZE]>>,
    /// Bytes consumed, from the front.
    used: usize,
}

impl Pool {
    fn empty() -> Self {
        Self {
            bytes: Box::new(Zeroizing::new([0; POOL_SIZE])),
            used: POOL_SIZE,
        }
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        if POOL_SIZE - self.used < bytes.len() {
            draw(&mut self.bytes[..]);
            self.used = 0;
        }
        let consumed = &mut self.bytes[self.used..][..bytes.len()];
        bytes.copy_from_slice(consumed);
        consumed.zeroize();
        self.used += bytes.len();
    }
}

impl SystemEntropy {
    /// Checks that the system has random bytes.
    ///
    /// Fails if the system has no random bytes, such as in a jail without a random device. A
    /// program should exit then: there is no other source.
    pub fn new() -> io::Result<Self> {
        getrandom::fill(&mut *Zeroizing::new([0; KEY]))?;
        Ok(Self { _checked: () })
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
        let filled = POOL.try_with(|pool| pool.borrow_mut().fill(bytes));
        if filled.is_err() {
            // The thread is ending, and its buffer is gone.
            draw(bytes);
        }
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
        let mut pool = Pool::empty();
        for _ in 0..5 {
            pool.fill(&mut [0; 10]);
        }
        assert_eq!(pool.used, 50);
        assert_eq!(pool.bytes[..50], [0; 50]);
        assert_ne!(pool.bytes[50..100], [0; 50]);
    }

    #[test]
    fn a_key_leaves_the_buffer_alone() {
        let entropy = SystemEntropy::new().unwrap();
        let used = || POOL.with_borrow(|pool| pool.used);
        entropy.fill(&mut [0; 10]);
        let before = used();
        let mut key = [0; KEY];
        entropy.fill(&mut key);
        assert_ne!(key, [0; KEY]);
        assert_eq!(used(), before);
    }

    #[test]
    fn the_end_of_the_buffer_is_not_consumed_twice() {
        let mut pool = Pool::empty();
        pool.used = POOL_SIZE - 5;
        let mut bytes = [0; 10];
        pool.fill(&mut bytes);
        assert_ne!(bytes[..5], [0; 5]);
        assert_ne!(bytes[5..], [0; 5]);
        assert_eq!(pool.used, 10);
        pool.fill(&mut []);
        assert_eq!(pool.used, 10);
    }

    #[test]
    fn two_threads_draw_different_bytes() {
        let draw = || {
            let mut bytes = [0; 16];
            SystemEntropy::new().unwrap().fill(&mut bytes);
            bytes
        };
        let other = std::thread::spawn(draw).join().unwrap();
        assert_ne!(draw(), other);
    }
}
