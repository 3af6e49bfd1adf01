//! Which questions are remembered: each principal has a share, within which its oldest ones give
//! way.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use entreat_core::ElicitationId;

use super::{QuestionKey, QuestionKeys};

/// The maximum number of keys that are remembered, and of those of one principal.
const MAX_KEYS: usize = 10_000;
const MAX_OWN_KEYS: usize = 1_000;

/// The newest question of each key that has an answer or a draft, or may get one.
///
/// Nothing here takes longer the more questions there are, but for the logarithm.
pub(super) struct QuestionIndex {
    by_key: HashMap<QuestionKey, ElicitationId>,
    entries: HashMap<ElicitationId, Entry>,
    holders: HashMap<Arc<str>, PrincipalShare>,
    /// The principals by the number of their keys.
    by_size: BTreeSet<(usize, Arc<str>)>,
    /// The places of the newest and the oldest question that was closed.
    newest: i64,
    oldest: i64,
    all: usize,
    each: usize,
}

struct Entry {
    principal: Arc<str>,
    keys: QuestionKeys,
    /// Its place among those that are not on a page any more.
    closed: Option<i64>,
}

#[derive(Default)]
struct PrincipalShare {
    keys: usize,
    /// Questions that are not on a page any more, oldest first.
    closed: BTreeMap<i64, ElicitationId>,
}

impl Default for QuestionIndex {
    fn default() -> Self {
        Self::with_limits(MAX_KEYS, MAX_OWN_KEYS)
    }
}

impl QuestionIndex {
    fn with_limits(all: usize, each: usize) -> Self {
        Self {
            by_key: HashMap::new(),
            entries: HashMap::new(),
            holders: HashMap::new(),
            by_size: BTreeSet::new(),
            newest: 0,
            oldest: 0,
            all,
            each,
        }
    }

    /// Remembers a question that is on a page from now on. If the principal has its share on pages
    /// already, it is not remembered.
    pub(super) fn open(&mut self, principal: &str, keys: &[QuestionKey], id: ElicitationId) {
        for key in keys {
            if let Some(older) = self.by_key.get(key).copied() {
                self.forget_key(older, key);
            }
        }
        self.insert(principal, keys.to_vec(), id);
    }

    /// Remembers a question of an earlier process, which is older than all that are known, if there
    /// is room.
    pub(super) fn recover(&mut self, principal: &str, mut keys: QuestionKeys, id: ElicitationId) {
        keys.retain(|key| !self.by_key.contains_key(key));
        let is_full = self.keys_of(principal) + keys.len() > self.each
            || self.by_key.len() + keys.len() > self.all;
        if is_full {
            return;
        }
        self.insert(principal, keys, id);
        self.oldest -= 1;
        self.close_at(self.oldest, id);
    }

    /// Notes that a question is no longer on a page.
    pub(super) fn close(&mut self, id: ElicitationId) {
        self.newest += 1;
        self.close_at(self.newest, id);
    }

    /// The question of a key, unless it is on a page.
    pub(super) fn find(&self, key: &QuestionKey) -> Option<ElicitationId> {
        let id = self.by_key.get(key)?;
        self.entries.get(id)?.closed.map(|_| *id)
    }

    /// Forgets a question.
    pub(super) fn forget(&mut self, id: ElicitationId) {
        let Some(entry) = self.entries.remove(&id) else {
            return;
        };
        for key in &entry.keys {
            self.by_key.remove(key);
        }
        let closed = entry.closed;
        self.change(&entry.principal, |holder| {
            holder.keys -= entry.keys.len();
            if let Some(place) = closed {
                holder.closed.remove(&place);
            }
        });
    }

    fn insert(&mut self, principal: &str, keys: QuestionKeys, id: ElicitationId) {
        if keys.is_empty() || !self.make_room(principal, keys.len()) {
            return;
        }
        let principal: Arc<str> = principal.into();
        let count = keys.len();
        for key in &keys {
            self.by_key.insert(key.clone(), id);
        }
        self.change(&principal, |holder| holder.keys += count);
        let entry = Entry {
            principal,
            keys,
            closed: None,
        };
        self.entries.insert(id, entry);
    }

    /// Makes room for keys of a principal: within its share, its own oldest ones give way; if all
    /// room is taken, the oldest ones of whoever has most.
    fn make_room(&mut self, principal: &str, keys: usize) -> bool {
        while self.keys_of(principal) + keys > self.each {
            if !self.forget_oldest_of(principal) {
                return false;
            }
        }
        while self.by_key.len() + keys > self.all {
            let largest = self.by_size.last().map(|(_, holder)| holder.clone());
            if !largest.is_some_and(|holder| self.forget_oldest_of(&holder)) {
                return false;
            }
        }
        true
    }

    fn keys_of(&self, principal: &str) -> usize {
        self.holders.get(principal).map_or(0, |holder| holder.keys)
    }

    fn forget_oldest_of(&mut self, principal: &str) -> bool {
        let holder = self.holders.get(principal);
        let oldest = holder.and_then(|holder| holder.closed.values().next());
        match oldest.copied() {
            Some(id) => {
                self.forget(id);
                true
            }
            None => false,
        }
    }

    fn forget_key(&mut self, id: ElicitationId, key: &QuestionKey) {
        let Some(entry) = self.entries.get_mut(&id) else {
            return;
        };
        if entry.keys.len() == 1 {
            return self.forget(id);
        }
        entry.keys.retain(|other| other != key);
        let principal = entry.principal.clone();
        self.by_key.remove(key);
        self.change(&principal, |holder| holder.keys -= 1);
    }

    fn close_at(&mut self, place: i64, id: ElicitationId) {
        let Some(entry) = self.entries.get_mut(&id) else {
            return;
        };
        if entry.closed.is_none() {
            entry.closed = Some(place);
            let principal = entry.principal.clone();
            self.change(&principal, |holder| {
                holder.closed.insert(place, id);
            });
        }
    }

    /// Changes what is known of a principal, and keeps its place among all.
    fn change(&mut self, principal: &Arc<str>, change: impl FnOnce(&mut PrincipalShare)) {
        let holder = self.holders.entry(principal.clone()).or_default();
        let before = holder.keys;
        change(holder);
        let after = holder.keys;
        if before == after {
            return;
        }
        self.by_size.remove(&(before, principal.clone()));
        if after == 0 {
            self.holders.remove(principal);
        } else {
            self.by_size.insert((after, principal.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Notes a question with one key, which is answered at once.
    fn answered(questions: &mut QuestionIndex, principal: &str, key: &str, number: u64) {
        let id = id(number);
        questions.open(principal, &[key.to_owned()], id);
        questions.close(id);
    }

    fn id(number: u64) -> ElicitationId {
        ElicitationId::from_bytes(u128::from(number).to_be_bytes())
    }

    fn finds(questions: &QuestionIndex, key: &str) -> bool {
        questions.find(&key.to_owned()).is_some()
    }

    fn is_empty(questions: &QuestionIndex) -> bool {
        questions.by_key.is_empty()
            && questions.entries.is_empty()
            && questions.holders.is_empty()
            && questions.by_size.is_empty()
    }

    #[test]
    fn who_asks_much_forgets_its_own_questions_and_nobody_elses() {
        let mut questions = QuestionIndex::default();
        answered(&mut questions, "bob", "bobs", 0);
        for number in 1..=20_000 {
            answered(&mut questions, "ada", &number.to_string(), number);
        }
        assert!(finds(&questions, "bobs"));
        assert!(finds(&questions, "20000") && finds(&questions, "19001"));
        assert!(!finds(&questions, "19000"));
        assert_eq!(questions.by_key.len(), 1_001);
    }

    #[test]
    fn if_all_room_is_taken_whoever_has_most_makes_room() {
        let mut questions = QuestionIndex::with_limits(10, 6);
        for number in 0..6 {
            answered(&mut questions, "ada", &format!("a{number}"), number);
        }
        for number in 0..4 {
            answered(&mut questions, "bob", &format!("b{number}"), 10 + number);
        }
        answered(&mut questions, "eve", "e", 20);
        assert!(!finds(&questions, "a0") && finds(&questions, "a1"));
        assert!(finds(&questions, "b0") && finds(&questions, "e"));
    }

    #[test]
    fn questions_on_a_page_stay_and_are_not_found() {
        let mut questions = QuestionIndex::with_limits(10, 2);
        let keys = ["one".to_owned(), "two".to_owned()];
        questions.open("ada", &keys, id(1));
        answered(&mut questions, "ada", "three", 2);
        assert!(!finds(&questions, "one") && !finds(&questions, "three"));
        questions.close(id(1));
        assert!(finds(&questions, "one") && finds(&questions, "two"));
        // The same question again: the older one is no longer meant.
        questions.open("ada", &keys[..1], id(3));
        assert!(!finds(&questions, "one") && finds(&questions, "two"));
        questions.close(id(3));
        assert_eq!(questions.find(&keys[0]), Some(id(3)));
        questions.forget(id(3));
        questions.forget(id(1));
        assert!(is_empty(&questions));
    }

    #[test]
    fn what_an_earlier_process_left_is_older_than_all_else() {
        let mut questions = QuestionIndex::with_limits(10, 3);
        answered(&mut questions, "ada", "new", 1);
        // The newest comes first.
        for (number, key) in [(3, "middle"), (2, "old"), (1, "oldest")] {
            questions.recover("ada", vec![key.to_owned()], id(10 + number));
        }
        assert!(
            ["new", "middle", "old"]
                .iter()
                .all(|key| finds(&questions, key))
        );
        assert!(!finds(&questions, "oldest"));
        answered(&mut questions, "ada", "newer", 4);
        answered(&mut questions, "ada", "newest", 5);
        assert!(finds(&questions, "new") && !finds(&questions, "middle"));
    }
}
