//! Alarms in order of time: a ring of lists whose links lie in the slab.
//!
//! Arming and disarming take a few instructions however many alarms there are. A list holds
//! the alarms of one tick, and those of the same place in later turns of the ring; a record
//! whose alarm lies a turn ahead is passed over until its turn comes.

use entreat_core::UnixTime;

use super::slab::{Index, List, Slab};

/// How finely alarms are told apart, in milliseconds. None goes off early.
const TICK: u64 = 64;
/// So many ticks make a turn: nearly nine minutes, more than most questions wait.
const TICKS: u64 = 8192;

/// Alarms in order of time.
pub(super) struct Wheel {
    ticks: Box<[List]>,
    /// No alarm is armed for an earlier tick.
    reached: u64,
    armed: usize,
}

impl Default for Wheel {
    fn default() -> Self {
        Self {
            ticks: (0..TICKS).map(|_| List::default()).collect(),
            reached: 0,
            armed: 0,
        }
    }
}

impl Wheel {
    pub(super) fn arm(&mut self, slab: &mut Slab, index: Index) {
        let tick = tick_of(slab.alarm(index));
        self.reached = if self.armed == 0 {
            tick
        } else {
            self.reached.min(tick)
        };
        self.armed += 1;
        self.list(tick).push(slab, index);
    }

    /// To be called while the record's alarm is the one it was armed for.
    pub(super) fn disarm(&mut self, slab: &mut Slab, index: Index) {
        let tick = tick_of(slab.alarm(index));
        self.list(tick).remove(slab, index);
        self.armed -= 1;
    }

    /// Finds up to `limit` records whose alarm has come.
    pub(super) fn due(&mut self, slab: &Slab, now: UnixTime, limit: usize) -> Vec<Index> {
        let mut due = Vec::new();
        let now_tick = tick_of(now);
        // One turn passes every list; the records of a list lie in it for any turn.
        let last = now_tick.min(self.reached.saturating_add(TICKS - 1));
        let mut tick = self.reached;
        while self.armed > 0 && tick <= last {
            let found = slab.follow(*self.list(tick));
            due.extend(
                found
                    .filter(|index| slab.alarm(*index) <= now)
                    .take(limit - due.len()),
            );
            if due.is_empty() {
                self.reached = tick;
            }
            if due.len() >= limit {
                return due;
            }
            tick += 1;
        }
        if due.is_empty() && self.armed > 0 {
            self.reached = self.reached.max(now_tick);
        }
        due
    }

    /// When the next alarm comes, or a moment before that; `None` when nothing is armed.
    pub(super) fn next(&mut self, slab: &Slab) -> Option<UnixTime> {
        if self.armed == 0 {
            return None;
        }
        let first = self.reached;
        for tick in first..first.saturating_add(TICKS) {
            let alarms = slab.follow(*self.list(tick)).map(|index| slab.alarm(index));
            let soonest = alarms.filter(|at| tick_of(*at) == tick).min();
            if soonest.is_some() {
                return soonest;
            }
        }
        Some(UnixTime::from_millis(
            first.saturating_add(TICKS).saturating_mul(TICK),
        ))
    }

    fn list(&mut self, tick: u64) -> &mut List {
        let place = usize::try_from(tick % TICKS).unwrap_or(0);
        &mut self.ticks[place]
    }
}

fn tick_of(at: UnixTime) -> u64 {
    at.as_millis() / TICK
}
