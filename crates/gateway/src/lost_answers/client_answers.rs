//! Answers in the forms of clients to calls that are lost. Each has a place in the store of its own,
//! so that a change writes no other.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use entreat_core::UnixTime;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::QuestionKey;

/// The maximum number of answers, and of those of one principal.
pub(super) const MAX_ANSWERS: usize = 1_000;
const MAX_OWN_ANSWERS: usize = 100;
/// All answers of one principal, in bytes.
const MAX_OWN_BYTES: usize = 1 << 20;

/// An answer that a client gave to a call that is lost.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ClientAnswer {
    pub(super) key: QuestionKey,
    pub(super) at: UnixTime,
    pub(super) principal: String,
    pub(super) content: Map<String, Value>,
}

/// The answers, and which places in the store are to be written.
pub(super) struct ClientAnswers {
    /// How long an answer is kept.
    retention: Duration,
    places: Vec<Option<Kept>>,
    by_key: HashMap<QuestionKey, usize>,
    unsaved: BTreeSet<usize>,
}

/// An answer, and the size of its content as JSON.
struct Kept {
    answer: ClientAnswer,
    size: usize,
}

impl Kept {
    fn new(answer: ClientAnswer) -> Self {
        let size = serde_json::to_vec(&answer.content).map_or(0, |text| text.len());
        Self { answer, size }
    }
}

impl ClientAnswers {
    pub(super) fn new(retention: Duration) -> Self {
        Self {
            retention,
            places: Vec::new(),
            by_key: HashMap::new(),
            unsaved: BTreeSet::new(),
        }
    }

    /// The answer to a question, unless it has expired.
    pub(super) fn find(&self, key: &QuestionKey, now: UnixTime) -> Option<&ClientAnswer> {
        let place = self.by_key.get(key)?;
        let kept = self.places.get(*place)?.as_ref()?;
        (!self.is_expired(kept, now)).then_some(&kept.answer)
    }

    /// Keeps an answer in place of the one to the same question, if its principal's share and all
    /// together leave room for it. Returns whether anything has changed.
    pub(super) fn keep(&mut self, answer: ClientAnswer) -> bool {
        self.expire(answer.at);
        let before = self.by_key.get(&answer.key).copied();
        let kept = Kept::new(answer);
        let (mut count, mut bytes) = (0, kept.size);
        for (place, other) in self.places.iter().enumerate() {
            let Some(other) = other else { continue };
            if Some(place) == before {
                if other.answer.content == kept.answer.content {
                    return false;
                }
            } else if other.answer.principal == kept.answer.principal {
                count += 1;
                bytes += other.size;
            }
        }
        if count >= MAX_OWN_ANSWERS || bytes > MAX_OWN_BYTES {
            return false;
        }
        let Some(place) = before.or_else(|| self.free_place()) else {
            return false;
        };
        self.put(place, kept);
        self.unsaved.insert(place);
        true
    }

    /// Forgets the answer to a question. Returns whether there was one.
    pub(super) fn forget(&mut self, key: &QuestionKey) -> bool {
        let Some(place) = self.by_key.get(key).copied() else {
            return false;
        };
        self.clear(place);
        true
    }

    /// Takes over the next place in the store, which is free.
    pub(super) fn restore_free(&mut self) {
        self.places.push(None);
    }

    /// Takes over what an earlier process has left in the next place; `None` if nobody can read it.
    pub(super) fn restore(&mut self, answer: Option<ClientAnswer>, now: UnixTime) {
        let place = self.places.len();
        self.places.push(None);
        let kept = answer.map(Kept::new);
        let is_known = |kept: &Kept| self.by_key.contains_key(&kept.answer.key);
        match kept.filter(|kept| !self.is_expired(kept, now) && !is_known(kept)) {
            Some(kept) => self.put(place, kept),
            None => self.clear(place),
        }
    }

    /// Takes a place that is to be written, with what belongs there.
    pub(super) fn next_unsaved(&mut self) -> Option<(usize, Option<ClientAnswer>)> {
        let place = self.unsaved.pop_first()?;
        let kept = self.places.get(place).and_then(Option::as_ref);
        Some((place, kept.map(|kept| kept.answer.clone())))
    }

    /// Notes that a place could not be written.
    pub(super) fn not_saved(&mut self, place: usize) {
        self.unsaved.insert(place);
    }

    fn is_expired(&self, kept: &Kept, now: UnixTime) -> bool {
        now.since(kept.answer.at) > self.retention
    }

    fn expire(&mut self, now: UnixTime) {
        for place in 0..self.places.len() {
            let kept = self.places[place].as_ref();
            if kept.is_some_and(|kept| self.is_expired(kept, now)) {
                self.clear(place);
            }
        }
    }

    /// The first free place, so that those in use follow each other.
    fn free_place(&mut self) -> Option<usize> {
        let free = self.places.iter().position(Option::is_none);
        if free.is_none() && self.places.len() < MAX_ANSWERS {
            self.places.push(None);
            return Some(self.places.len() - 1);
        }
        free
    }

    fn put(&mut self, place: usize, kept: Kept) {
        self.by_key.insert(kept.answer.key.clone(), place);
        self.places[place] = Some(kept);
    }

    fn clear(&mut self, place: usize) {
        if let Some(kept) = self.places[place].take() {
            self.by_key.remove(&kept.answer.key);
        }
        self.unsaved.insert(place);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const HOUR: Duration = Duration::from_secs(60 * 60);
    const NOW: UnixTime = UnixTime::from_millis(1_000_000);

    fn answer(principal: &str, key: &str, text: &str) -> ClientAnswer {
        let Value::Object(content) = json!({ "a": text }) else {
            unreachable!()
        };
        ClientAnswer {
            key: key.to_owned(),
            at: NOW,
            principal: principal.to_owned(),
            content,
        }
    }

    /// The places that are to be written, each with the key of its answer.
    fn written(answers: &mut ClientAnswers) -> Vec<(usize, Option<String>)> {
        std::iter::from_fn(|| answers.next_unsaved())
            .map(|(place, answer)| (place, answer.map(|answer| answer.key)))
            .collect()
    }

    #[test]
    fn a_change_writes_one_answer_however_many_there_are() {
        let mut answers = ClientAnswers::new(HOUR);
        for number in 0..100 {
            assert!(answers.keep(answer("ada", &number.to_string(), "x")));
            let expected = vec![(number, Some(number.to_string()))];
            assert_eq!(written(&mut answers), expected);
        }
        assert!(!answers.keep(answer("ada", "one too many", "x")));
        assert!(answers.keep(answer("bob", "his", "x")));
        assert_eq!(written(&mut answers), [(100, Some("his".to_owned()))]);
        // The same answer again is not written; another one takes its place.
        assert!(!answers.keep(answer("ada", "7", "x")));
        assert_eq!(written(&mut answers), []);
        assert!(answers.keep(answer("ada", "7", "y")));
        assert_eq!(written(&mut answers), [(7, Some("7".to_owned()))]);
        assert!(answers.forget(&"7".to_owned()) && !answers.forget(&"7".to_owned()));
        assert_eq!(written(&mut answers), [(7, None)]);
        assert!(answers.keep(answer("ada", "new", "x")));
        assert_eq!(written(&mut answers), [(7, Some("new".to_owned()))]);
    }

    #[test]
    fn all_answers_of_a_principal_have_at_most_a_megabyte() {
        let mut answers = ClientAnswers::new(HOUR);
        let long = "x".repeat(60 << 10);
        let kept =
            (0..100).filter(|number| answers.keep(answer("ada", &number.to_string(), &long)));
        assert_eq!(kept.count(), 17);
        assert!(answers.keep(answer("bob", "his", &long)));
    }

    #[test]
    fn what_has_expired_is_removed_from_the_store_too() {
        let mut answers = ClientAnswers::new(HOUR);
        answers.keep(answer("ada", "old", "x"));
        written(&mut answers);
        let later = NOW.after(HOUR + Duration::from_millis(1));
        assert!(answers.find(&"old".to_owned(), NOW).is_some());
        assert!(answers.find(&"old".to_owned(), later).is_none());
        answers.keep(ClientAnswer {
            at: later,
            ..answer("bob", "new", "x")
        });
        assert_eq!(written(&mut answers), [(0, Some("new".to_owned()))]);
        // Of another process: expired, unreadable, and still good.
        let mut answers = ClientAnswers::new(HOUR);
        answers.restore(Some(answer("ada", "old", "x")), later);
        answers.restore(None, later);
        answers.restore_free();
        answers.restore(Some(answer("ada", "good", "x")), NOW);
        assert!(answers.find(&"good".to_owned(), NOW).is_some());
        assert_eq!(written(&mut answers), [(0, None), (1, None)]);
    }

    #[test]
    fn what_could_not_be_written_is_written_with_the_next_change() {
        let mut answers = ClientAnswers::new(HOUR);
        answers.keep(answer("ada", "a", "x"));
        let (place, _) = answers.next_unsaved().unwrap();
        answers.not_saved(place);
        answers.keep(answer("ada", "b", "x"));
        assert_eq!(written(&mut answers).len(), 2);
    }
}
