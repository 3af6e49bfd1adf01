//! A hashed timer wheel of intrusive lists.
//!
//! Arming and disarming take constant time. A list holds the timers of all ticks that are equal
//! modulo the size of the wheel; timers of later revolutions are skipped.
//!
//! A sorted set would be simpler. Together, the slab and the wheel buy a quarter more pairs per
//! second, and a fifth less memory per question (`docs/performance.md`).

use entreat_core::UnixTime;

use super::slab::{Index, List, Slab};

/// Resolution in milliseconds. No timer fires early.
const TICK: u64 = 64;
/// Ticks per revolution: nearly nine minutes, longer than most timeouts.
const TICKS: u64 = 8192;

/// A timer wheel.
pub(super) struct Wheel {
    ticks: Box<[List]>,
    /// No timer is armed for an earlier tick.
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
        let tick = tick_of(slab.timer(index));
        self.reached = if self.armed == 0 {
            tick
        } else {
            self.reached.min(tick)
        };
        self.armed += 1;
        self.list(tick).push(slab, index);
    }

    /// Must be called before the record's timer changes.
    pub(super) fn disarm(&mut self, slab: &mut Slab, index: Index) {
        let tick = tick_of(slab.timer(index));
        self.list(tick).remove(slab, index);
        self.armed -= 1;
    }

    /// Returns up to `limit` records whose timer is due.
    pub(super) fn due(&mut self, slab: &Slab, now: UnixTime, limit: usize) -> Vec<Index> {
        let mut due = Vec::new();
        let now_tick = tick_of(now);
        // One revolution visits every list, and a list holds the timers of all revolutions.
        let last = now_tick.min(self.reached.saturating_add(TICKS - 1));
        let mut tick = self.reached;
        while self.armed > 0 && tick <= last {
            let found = slab.follow(*self.list(tick));
            due.extend(
                found
                    .filter(|index| slab.timer(*index) <= now)
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

    /// Returns when the next timer is due, or an earlier time; `None` if nothing is armed.
    pub(super) fn next(&mut self, slab: &Slab) -> Option<UnixTime> {
        if self.armed == 0 {
            return None;
        }
        let first = self.reached;
        for tick in first..first.saturating_add(TICKS) {
            let timers = slab.follow(*self.list(tick)).map(|index| slab.timer(index));
            let soonest = timers.filter(|at| tick_of(*at) == tick).min();
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
