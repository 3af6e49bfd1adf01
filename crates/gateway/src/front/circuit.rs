//! Keeps a server that cannot stay up from being started over and over.

use std::collections::VecDeque;
use std::time::Duration;

use entreat_core::UnixTime;

/// So many ends within a minute open the circuit.
const TOO_MANY: usize = 5;
const WINDOW: Duration = Duration::from_secs(60);
/// How long the server is left alone then.
const REST: Duration = Duration::from_secs(60);

/// Counts how often a server ended by itself.
#[derive(Debug, Default)]
pub(super) struct Circuit {
    ends: VecDeque<UnixTime>,
    open_until: Option<UnixTime>,
    is_down: bool,
}

impl Circuit {
    /// Whether the server may be started now.
    pub(super) fn admits(&mut self, now: UnixTime) -> bool {
        if self.open_until.is_some_and(|until| now < until) {
            return false;
        }
        self.open_until = None;
        true
    }

    /// Until when the server is left alone.
    pub(super) fn open_until(&self, now: UnixTime) -> Option<UnixTime> {
        self.open_until.filter(|until| now < *until)
    }

    /// Whether the last that is known of the server is that it ended.
    pub(super) fn is_down(&self) -> bool {
        self.is_down
    }

    /// Notes that the server was started.
    pub(super) fn note_start(&mut self) {
        self.is_down = false;
    }

    /// Notes that the server ended by itself or could not be started.
    pub(super) fn note_end(&mut self, now: UnixTime) {
        while self
            .ends
            .front()
            .is_some_and(|end| now.since(*end) >= WINDOW)
        {
            self.ends.pop_front();
        }
        self.ends.push_back(now);
        self.is_down = true;
        if self.ends.len() >= TOO_MANY {
            self.ends.clear();
            self.open_until = Some(now.after(REST));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_ends_within_a_minute_are_too_many() {
        let mut circuit = Circuit::default();
        let start = UnixTime::from_millis(1_000_000);
        let at = |seconds| start.after(Duration::from_secs(seconds));
        for second in [0, 10, 20, 30, 70] {
            assert!(circuit.admits(at(second)));
            circuit.note_end(at(second));
        }
        // The first two were more than a minute ago.
        assert!(circuit.admits(at(70)));
        circuit.note_end(at(71));
        assert!(circuit.admits(at(71)));
        circuit.note_end(at(72));
        assert!(!circuit.admits(at(72)));
        assert!(!circuit.admits(at(131)));
        assert!(circuit.admits(at(132)));
    }
}
