//! Fair shares of a global limit: each holder gets at most its share.
//!
//! One holder could use up a global limit and lock everybody else out. So every global limit goes
//! through [`Shares`], which also limits each holder: a principal, an asker, a question or an
//! address. `docs/limits.md` lists them all. The unit is whatever is counted, such as connections,
//! uploads or bytes.
//!
//! [`Shares`] never wait: a holder over its limit gets an error.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::Mutex;

/// A global limit, shared fairly among holders. Clones share the same counters.
///
/// ```
/// use entreat_engine::shares::{Full, Shares};
///
/// let uploads = Shares::new(3, 2);
/// let first = uploads.take("question 1")?;
/// let second = uploads.take("question 1")?;
/// assert_eq!(uploads.take("question 1").unwrap_err(), Full::Share { limit: 2 });
/// let third = uploads.take("question 2")?;
/// assert_eq!(uploads.take("question 3").unwrap_err(), Full::All { limit: 3 });
///
/// drop(first);
/// assert!(uploads.take("question 3").is_ok());
/// # Ok::<(), Full>(())
/// ```
pub struct Shares<K>(Arc<Inner<K>>);

struct Inner<K> {
    all: usize,
    each: usize,
    taken: Mutex<Taken<K>>,
}

struct Taken<K> {
    total: usize,
    /// Only holders with at least one.
    by_holder: HashMap<K, usize>,
}

/// Why nothing could be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// The holder's share is used up.
    #[error("its share of {limit} is used up")]
    Share {
        /// The limit of one holder.
        limit: usize,
    },
    /// The global limit is reached.
    #[error("all {limit} slots are in use")]
    All {
        /// The global limit.
        limit: usize,
    },
}

impl<K> Shares<K> {
    /// Creates a limit of `all` in total and `each` per holder.
    pub fn new(all: usize, each: usize) -> Self {
        Self(Arc::new(Inner {
            all,
            each,
            taken: Mutex::new(Taken {
                total: 0,
                by_holder: HashMap::new(),
            }),
        }))
    }

    /// Returns how many a holder can still take.
    pub fn left(&self, holder: &K) -> usize
    where
        K: Eq + Hash,
    {
        let Inner { all, each, taken } = &*self.0;
        let taken = taken.lock();
        let held = taken.by_holder.get(holder).copied().unwrap_or(0);
        let unused = all.saturating_sub(taken.total);
        each.saturating_sub(held).min(unused)
    }

    /// Returns how many are taken in total.
    pub fn taken(&self) -> usize {
        self.0.taken.lock().total
    }
}

impl<K: Clone + Eq + Hash> Shares<K> {
    /// Takes one for a holder; dropping the result releases it.
    pub fn take(&self, holder: K) -> Result<Permit<K>, Full> {
        self.take_many(holder, 1, 0)
    }

    /// Takes one for a trusted holder, whom only the global limit applies to.
    pub fn take_unshared(&self, holder: K) -> Result<Permit<K>, Full> {
        self.take_within(holder, 1, 0, usize::MAX)
    }

    /// Takes `count` for a holder, or none. The holder is about to release `returning`, so that
    /// many are granted regardless of the limits.
    ///
    /// ```
    /// use entreat_engine::shares::{Full, Shares};
    ///
    /// let bytes = Shares::new(100, 60);
    /// let draft = bytes.take_many("asker", 50, 0)?;
    /// assert_eq!(bytes.take_many("asker", 50, 0).unwrap_err(), Full::Share { limit: 60 });
    /// let longer_draft = bytes.take_many("asker", 60, 50)?;
    /// drop(draft);
    /// assert_eq!(bytes.taken(), 60);
    /// # Ok::<(), Full>(())
    /// ```
    pub fn take_many(&self, holder: K, count: usize, returning: usize) -> Result<Permit<K>, Full> {
        self.take_within(holder, count, returning, self.0.each)
    }

    fn take_within(
        &self,
        holder: K,
        count: usize,
        returning: usize,
        each: usize,
    ) -> Result<Permit<K>, Full> {
        let Inner { all, taken, .. } = &*self.0;
        let mut taken = taken.lock();
        let held = taken.by_holder.get(&holder).copied().unwrap_or(0);
        let more = count.saturating_sub(returning);
        let fits = |held: usize, limit: usize| more == 0 || more <= limit.saturating_sub(held);
        // The share first: its error is the more specific one if both limits are reached.
        if !fits(held, each) {
            return Err(Full::Share { limit: each });
        }
        if !fits(taken.total, *all) {
            return Err(Full::All { limit: *all });
        }
        taken.total = taken.total.saturating_add(count);
        taken
            .by_holder
            .insert(holder.clone(), held.saturating_add(count));
        Ok(Permit {
            shares: self.clone(),
            holder,
            count,
        })
    }
}

impl<K> Clone for Shares<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> fmt::Debug for Shares<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shares")
            .field("all", &self.0.all)
            .field("each", &self.0.each)
            .field("taken", &self.taken())
            .finish_non_exhaustive()
    }
}

/// What a holder has taken; released when dropped.
#[must_use = "it is released when dropped"]
pub struct Permit<K: Clone + Eq + Hash> {
    shares: Shares<K>,
    holder: K,
    count: usize,
}

impl<K: Clone + Eq + Hash> Drop for Permit<K> {
    fn drop(&mut self) {
        let mut taken = self.shares.0.taken.lock();
        taken.total = taken.total.saturating_sub(self.count);
        if let Entry::Occupied(mut held) = taken.by_holder.entry(self.holder.clone()) {
            *held.get_mut() = held.get().saturating_sub(self.count);
            if *held.get() == 0 {
                held.remove();
            }
        }
    }
}

impl<K: Clone + Eq + Hash> fmt::Debug for Permit<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cannot_take_the_places_of_others() {
        let shares = Shares::new(10, 4);
        let greedy: Vec<_> = (0..10).filter_map(|_| shares.take("greedy").ok()).collect();
        assert_eq!(greedy.len(), 4);
        let others: Vec<_> = (0..6).map(|n| shares.take(["a", "b"][n % 2])).collect();
        assert!(others.iter().all(Result::is_ok));
        assert_eq!(shares.take("c").unwrap_err(), Full::All { limit: 10 });
    }

    #[test]
    fn what_is_replaced_by_no_more_is_never_refused() {
        let bytes = Shares::new(10, 10);
        let first = bytes.take_many("a", 20, 20).unwrap();
        assert_eq!(bytes.taken(), 20);
        assert!(bytes.take_many("a", 21, 20).is_err());
        assert!(bytes.take("b").is_err());
        let second = bytes.take_many("a", 7, 20).unwrap();
        drop(first);
        assert_eq!(bytes.taken(), 7);
        drop(second);
        assert!(bytes.0.taken.lock().by_holder.is_empty());
    }

    #[test]
    fn holders_without_a_place_leave_nothing_behind() {
        let shares = Shares::new(10, 4);
        for holder in 0..1000 {
            let _place = shares.take(holder).unwrap();
        }
        assert_eq!(shares.taken(), 0);
        assert!(shares.0.taken.lock().by_holder.is_empty());
    }
}
