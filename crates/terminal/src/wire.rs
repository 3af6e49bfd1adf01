//! What is told while a prompt is open: to whoever asks, and by them.
//!
//! Both directions are bounded and neither waits: a caller that does not listen misses drafts and
//! nothing else that a person did, as long as it listens at all.

use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// As many as a person causes while a caller is busy for a moment.
const NEWS: usize = 16;
/// Kept free of drafts, each of which holds all that the one before it held.
const FOR_DEEDS: usize = 4;
/// Deadlines and warnings are rare.
const WORDS: usize = 8;

/// What a person did.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    /// The first key or line came.
    Begun,
    /// A question was answered; this is the whole draft, secrets included.
    Drafted(Value),
    /// The person wants more time.
    Extend,
}

/// What a person is to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// The question is open until then, and that can be put off so often.
    Deadline {
        /// When it is over.
        at: Instant,
        /// How often that can still be put off.
        extensions_left: u32,
    },
    /// Time is running out: so much is left.
    Warned(Duration),
    /// There is no more time to be had, for this reason, in Entreat's words.
    NotExtended(String),
}

/// The end of the line at which a prompt is. Used for one question after the other.
#[derive(Debug)]
pub struct Wire {
    news: Option<mpsc::Sender<News>>,
    words: Option<mpsc::Receiver<Word>>,
}

/// The end of the line at which the caller is.
#[derive(Debug)]
pub struct Desk {
    news: mpsc::Receiver<News>,
    words: mpsc::Sender<Word>,
}

impl Wire {
    /// A line with its two ends.
    pub fn pair() -> (Desk, Self) {
        let (news, heard) = mpsc::channel(NEWS);
        let (words, told) = mpsc::channel(WORDS);
        let wire = Self {
            news: Some(news),
            words: Some(told),
        };
        (Desk { news: heard, words }, wire)
    }

    /// A line to nobody, for a caller who has nothing to hear and nothing to say.
    pub fn none() -> Self {
        Self {
            news: None,
            words: None,
        }
    }

    pub(crate) fn tell(&self, news: News) {
        let Some(line) = &self.news else {
            return;
        };
        if matches!(news, News::Drafted(_)) && line.capacity() <= FOR_DEEDS {
            return;
        }
        // Nobody is there to be told, or nobody listens.
        let _ = line.try_send(news);
    }

    /// The next word; waits for ever if there is nobody to say one.
    pub(crate) async fn word(&mut self) -> Word {
        if let Some(words) = &mut self.words {
            if let Some(word) = words.recv().await {
                return word;
            }
            self.words = None;
        }
        std::future::pending().await
    }
}

impl Desk {
    /// What the person did next; `None` once there is no prompt that could tell.
    pub async fn next(&mut self) -> Option<News> {
        self.news.recv().await
    }

    /// Lets the person know. A prompt that is gone, or does not keep up, misses it.
    pub fn tell(&self, word: Word) {
        let _ = self.words.try_send(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn drafts_never_crowd_out_what_a_person_did() {
        let (mut desk, wire) = Wire::pair();
        for _ in 0..100 {
            wire.tell(News::Drafted(Value::Null));
        }
        wire.tell(News::Extend);
        drop(wire);
        let mut last = None;
        while let Some(news) = desk.next().await {
            last = Some(news);
        }
        assert_eq!(last, Some(News::Extend));
    }
}
