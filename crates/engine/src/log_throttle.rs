//! Limits repeated log lines, so that whoever causes them cannot flood the log.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use entreat_core::UnixTime;
use parking_lot::Mutex;

/// The time between two lines about the same thing.
const INTERVAL: Duration = Duration::from_secs(10);
/// Keys to remember. Events of further ones share a line.
const MAX_KEYS: usize = 1024;

/// Decides which events get a log line: of each key, one in ten seconds, with the number of events
/// that it stands for. Time and memory are bounded, however many keys there are.
///
/// ```
/// use entreat_core::UnixTime;
/// use entreat_engine::LogThrottle;
///
/// let throttle = LogThrottle::default();
/// let at = |second: u64| UnixTime::from_millis(second * 1000);
/// assert_eq!(throttle.count("203.0.113.7", at(0)), Some(1));
/// assert_eq!(throttle.count("203.0.113.7", at(1)), None);
/// assert_eq!(throttle.count("203.0.113.7", at(10)), Some(2));
/// ```
#[derive(Debug)]
pub struct LogThrottle<K>(Mutex<Lines<K>>);

#[derive(Debug)]
struct Lines<K> {
    known: HashMap<K, Line>,
    /// Of all keys for which there is no room.
    others: Line,
    /// When stale keys were last removed.
    swept_at: UnixTime,
}

#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// When the last line was written.
    written_at: Option<UnixTime>,
    /// Events since.
    untold: u64,
}

impl Line {
    fn is_stale(&self, now: UnixTime) -> bool {
        // A clock that was set back must not silence the log.
        let is_recent = |at: UnixTime| at <= now && now.since(at) < INTERVAL;
        !self.written_at.is_some_and(is_recent)
    }

    fn count(&mut self, now: UnixTime) -> Option<u64> {
        self.untold = self.untold.saturating_add(1);
        if !self.is_stale(now) {
            return None;
        }
        self.written_at = Some(now);
        Some(std::mem::take(&mut self.untold))
    }
}

impl<K> Default for LogThrottle<K> {
    fn default() -> Self {
        Self(Mutex::new(Lines {
            known: HashMap::new(),
            others: Line::default(),
            swept_at: UnixTime::default(),
        }))
    }
}

impl<K: Eq + Hash> LogThrottle<K> {
    /// Counts an event. Returns how many events a line has to report, this one included; `None` if
    /// there was a line for this key a moment ago.
    pub fn count(&self, key: K, now: UnixTime) -> Option<u64> {
        let mut lines = self.0.lock();
        let Lines {
            known,
            others,
            swept_at,
        } = &mut *lines;
        if let Some(line) = known.get_mut(&key) {
            return line.count(now);
        }
        // At most once per interval, so that it costs little per event.
        if known.len() >= MAX_KEYS && (*swept_at > now || now.since(*swept_at) >= INTERVAL) {
            known.retain(|_, line| !line.is_stale(now));
            *swept_at = now;
        }
        if known.len() >= MAX_KEYS {
            return others.count(now);
        }
        known.entry(key).or_default().count(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: u64) -> UnixTime {
        UnixTime::from_millis(second * 1000)
    }

    #[test]
    fn a_flood_of_events_gets_one_line_in_ten_seconds_with_their_number() {
        let throttle = LogThrottle::default();
        let told: Vec<u64> = (0..10_000)
            .filter_map(|event| throttle.count("one", UnixTime::from_millis(event * 3)))
            .collect();
        assert_eq!(told, [1, 3334, 3334]);
        // Others are heard at once.
        assert_eq!(throttle.count("other", at(30)), Some(1));
    }

    #[test]
    fn keys_without_end_take_bounded_memory_and_lines() {
        let throttle = LogThrottle::default();
        let told = (0..100_000_u64).filter_map(|key| throttle.count(key, at(key / 10_000)));
        assert_eq!(told.count(), MAX_KEYS + 1);
        // What was silent for a while is forgotten, so there is room again.
        assert_eq!(throttle.count(u64::MAX, at(20)), Some(1));
        assert!(throttle.0.lock().known.len() <= MAX_KEYS);
    }

    #[test]
    fn a_clock_that_is_set_back_silences_nothing() {
        let throttle = LogThrottle::default();
        assert_eq!(throttle.count("one", at(1000)), Some(1));
        assert_eq!(throttle.count("one", at(10)), Some(1));
    }
}
