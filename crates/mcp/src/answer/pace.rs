//! How often one server may ask.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

const WINDOW: Duration = Duration::from_secs(60);

/// Counts the questions of the last minute.
pub(super) struct Pace {
    limit: usize,
    asked: Mutex<Asked>,
}

#[derive(Default)]
struct Asked {
    at: VecDeque<Instant>,
    refused_since: Option<Instant>,
}

/// Whether a question may come before the person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admitted {
    Yes,
    /// No, and the person does not know yet that there are such.
    NoAndNew,
    No,
}

impl Pace {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            asked: Mutex::default(),
        }
    }

    pub(super) fn admit(&self) -> Admitted {
        let now = Instant::now();
        let mut asked = self.asked.lock();
        while asked
            .at
            .front()
            .is_some_and(|at| now.duration_since(*at) >= WINDOW)
        {
            asked.at.pop_front();
        }
        if asked.at.len() < self.limit {
            asked.at.push_back(now);
            return Admitted::Yes;
        }
        let is_known = asked
            .refused_since
            .is_some_and(|since| now.duration_since(since) < WINDOW);
        if is_known {
            return Admitted::No;
        }
        asked.refused_since = Some(now);
        Admitted::NoAndNew
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_minute_later_there_is_room_again() {
        let pace = Pace::new(2);
        assert_eq!(pace.admit(), Admitted::Yes);
        tokio::time::advance(Duration::from_secs(30)).await;
        assert_eq!(pace.admit(), Admitted::Yes);
        assert_eq!(pace.admit(), Admitted::NoAndNew);
        assert_eq!(pace.admit(), Admitted::No);
        tokio::time::advance(Duration::from_secs(30)).await;
        assert_eq!(pace.admit(), Admitted::Yes);
        assert_eq!(pace.admit(), Admitted::No);
    }
}
