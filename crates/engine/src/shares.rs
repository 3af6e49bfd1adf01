//! Fair shares: places that are limited for all, of which each takes at most a share.
//!
//! A limit for everybody together can be used up by one, and then it shuts everybody else out.
//! So whatever is limited for all goes through [`Shares`], which also limit each: a principal, an
//! asker, a question or an address. `docs/limits.md` lists what is shared among whom. A place is
//! whatever is counted: a connection, an upload, or a byte, of which many are taken at once.
//!
//! What this does not do: wait. Whoever gets no place is told so, and decides what to do.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::Mutex;

/// Places for everybody, shared fairly. Cheap to clone; all clones are one.
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
    /// Only those who have a place.
    by_holder: HashMap<K, usize>,
}

/// Why there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// The holder has its whole share.
    #[error("its share of {limit} is used up")]
    Share {
        /// How many places one may have.
        limit: usize,
    },
    /// Every place is taken.
    #[error("all {limit} places are taken")]
    All {
        /// How many places there are.
        limit: usize,
    },
}

impl<K> Shares<K> {
    /// So many places for all, and so many of them for each.
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

    /// How many places a holder can still take.
    pub fn left(&self, holder: &K) -> usize
    where
        K: Eq + Hash,
    {
        let Inner { all, each, taken } = &*self.0;
        let taken = taken.lock();
        let held = taken.by_holder.get(holder).copied().unwrap_or(0);
        let in_all = all.saturating_sub(taken.total);
        each.saturating_sub(held).min(in_all)
    }

    /// How many places are taken.
    pub fn taken(&self) -> usize {
        self.0.taken.lock().total
    }
}

impl<K: Clone + Eq + Hash> Shares<K> {
    /// Takes a place for a holder; it is given back when dropped.
    pub fn take(&self, holder: K) -> Result<Place<K>, Full> {
        self.take_many(holder, 1, 0)
    }

    /// Takes a place for a holder who does not share with others, and may have all of them.
    pub fn take_unshared(&self, holder: K) -> Result<Place<K>, Full> {
        self.take_within(holder, 1, 0, usize::MAX)
    }

    /// Takes so many places for a holder, or none. It is about to give `returning` of its places
    /// back, and gets as many anew whatever the limits are.
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
    pub fn take_many(&self, holder: K, count: usize, returning: usize) -> Result<Place<K>, Full> {
        self.take_within(holder, count, returning, self.0.each)
    }

    fn take_within(
        &self,
        holder: K,
        count: usize,
        returning: usize,
        each: usize,
    ) -> Result<Place<K>, Full> {
        let Inner { all, taken, .. } = &*self.0;
        let mut taken = taken.lock();
        let held = taken.by_holder.get(&holder).copied().unwrap_or(0);
        let more = count.saturating_sub(returning);
        let fits = |held: usize, limit: usize| more == 0 || more <= limit.saturating_sub(held);
        // The share first: whoever is at its end is told so even when all is full.
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
        Ok(Place {
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

/// One place, or several that were taken at once; given back when dropped.
#[must_use = "a place is given back when it is dropped"]
pub struct Place<K: Clone + Eq + Hash> {
    shares: Shares<K>,
    holder: K,
    count: usize,
}

impl<K: Clone + Eq + Hash> Drop for Place<K> {
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

impl<K: Clone + Eq + Hash> fmt::Debug for Place<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").finish_non_exhaustive()
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
