//! A value on cache lines of its own.

use std::ops::Deref;

/// Keeps a value that many threads write away from its neighbours, which would otherwise move
/// between cores with it. 128 bytes, because processors fetch lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);

impl<T> Deref for Padded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
