//! Selects the jobs of one transaction (group commit).
//!
//! Normal jobs first. Low-priority jobs are added one by one until a normal job arrives; that one
//! joins the transaction, which then commits at once.

use std::time::Duration;

use entreat_core::ElicitationId;

use super::batch_size::Stopwatch;
use super::inbox::Inbox;
use super::job::Job;
use super::unarchived::Unarchived;

/// Maximum number of normal jobs per transaction: enough to amortize the fsync, few enough for a
/// short wait.
pub(super) const BATCH: usize = 1024;
/// Low-priority jobs in a transaction if the previous one had none.
const MIN_LOW_PRIORITY: usize = 8;
/// Settled rows are moved after the low-priority queue was empty for this long.
const IDLE_INTERVAL: Duration = Duration::from_millis(20);
/// Interval between batches of moves while normal jobs arrive.
const MOVE_INTERVAL: Duration = Duration::from_millis(10);

/// An iterator over the jobs of one transaction.
pub(super) struct CommitGroup<'t> {
    inbox: &'t mut Inbox,
    unarchived: &'t Unarchived,
    /// Maximum number of low-priority jobs.
    low_priority_limit: usize,
    /// Low-priority jobs to take even if normal jobs wait.
    min_low_priority: usize,
    /// Whether settled rows may be moved, unless a normal job arrives.
    may_move: bool,
    /// Number of normal jobs taken so far.
    pub(super) normal: usize,
    low_priority: usize,
    moved: usize,
    last_moved: Option<ElicitationId>,
}

impl<'t> CommitGroup<'t> {
    pub(super) fn new(
        inbox: &'t mut Inbox,
        unarchived: &'t Unarchived,
        low_priority_limit: usize,
        min_low_priority: usize,
        may_move: bool,
    ) -> Self {
        Self {
            inbox,
            unarchived,
            low_priority_limit,
            min_low_priority,
            may_move,
            normal: 0,
            low_priority: 0,
            moved: 0,
            last_moved: None,
        }
    }

    /// The `min_low_priority` of the next transaction.
    pub(super) fn min_low_priority_of_next(&self) -> usize {
        if self.low_priority == 0 {
            MIN_LOW_PRIORITY
        } else {
            0
        }
    }

    /// The current limit on low-priority jobs: a share even beside normal jobs, so that they do not
    /// starve.
    fn share(&self) -> usize {
        match self.normal {
            0 => self.low_priority_limit,
            normal => self.low_priority_limit.min(normal / 2),
        }
    }

    /// None once there is a normal job: a failed move must not fail callers.
    fn next_move(&mut self) -> Option<Job> {
        if !self.may_move
            || self.normal > 0
            || self.low_priority + self.moved >= self.low_priority_limit
        {
            return None;
        }
        let (id, settlement) = self.unarchived.next(self.last_moved)?;
        self.moved += 1;
        self.last_moved = Some(id);
        Some(Job::Archive { id, settlement })
    }
}

impl Iterator for CommitGroup<'_> {
    type Item = Job;

    fn next(&mut self) -> Option<Job> {
        if self.normal < BATCH
            && let Some(job) = self.inbox.normal.take()
        {
            self.normal += 1;
            return Some(job);
        }
        if self.low_priority < self.share().max(self.min_low_priority)
            && let Some(job) = self.inbox.low_priority.take()
        {
            self.low_priority += 1;
            return Some(job);
        }
        self.next_move()
    }
}

/// Decides when the writer is idle enough to move settled rows.
pub(super) struct IdleMoves {
    since: Stopwatch,
    interval: Duration,
    /// Whether the last transaction succeeded; otherwise nothing is moved.
    is_healthy: bool,
}

impl IdleMoves {
    pub(super) fn new() -> Self {
        Self {
            since: Stopwatch::start(),
            interval: IDLE_INTERVAL,
            is_healthy: true,
        }
    }

    /// Returns the time until the next move; `None` if there is nothing to move.
    pub(super) fn remaining(&self, unarchived: &Unarchived) -> Option<Duration> {
        let is_needed = self.is_healthy && !unarchived.is_empty();
        is_needed.then(|| self.interval.saturating_sub(self.since.elapsed()))
    }

    pub(super) fn update(&mut self, group: &CommitGroup<'_>, is_healthy: bool) {
        self.is_healthy = is_healthy;
        let is_busy = !group.inbox.low_priority.is_empty();
        if is_busy {
            self.interval = IDLE_INTERVAL;
        } else if group.normal > 0 {
            self.interval = self.interval.max(MOVE_INTERVAL);
        } else if group.moved > 0 {
            self.interval = Duration::ZERO;
        }
        if is_busy || group.moved > 0 {
            self.since = Stopwatch::start();
        }
    }
}

#[cfg(test)]
mod tests {
    use entreat_core::{Status, UnixTime};
    use entreat_engine::Version;
    use tokio::sync::oneshot;

    use super::*;
    use crate::embedded::inbox::Queues;
    use crate::embedded::job::Ticket;
    use crate::embedded::unarchived::Settlement;

    /// Queues with this many jobs, the stop handle, and the inbox.
    fn inbox(normal: usize, low_priority: usize) -> (Queues, oneshot::Sender<()>, Inbox) {
        let (queues, stop, inbox) = Inbox::open().expect("a runtime");
        for (queue, count) in [
            (&queues.normal, normal),
            (&queues.low_priority, low_priority),
        ] {
            (0..count).for_each(|_| queue.try_send(job()).expect("the queue has room"));
        }
        (queues, stop, inbox)
    }

    fn job() -> Job {
        let (ticket, _) = Ticket::new();
        let text = String::new();
        let name = "note";
        Job::Note { name, text, ticket }
    }

    fn group<'t>(inbox: &'t mut Inbox, unarchived: &'t Unarchived) -> CommitGroup<'t> {
        CommitGroup::new(inbox, unarchived, 100, 0, true)
    }

    #[test]
    fn a_normal_job_joins_the_transaction_and_ends_its_low_priority_part() {
        let (queues, _stop, mut inbox) = inbox(0, 50);
        let unarchived = Unarchived::default();
        let mut group = group(&mut inbox, &unarchived);
        assert_eq!(group.by_ref().take(20).count(), 20);
        queues.normal.try_send(job()).unwrap();
        assert_eq!(group.by_ref().count(), 1);
        assert_eq!((group.normal, group.low_priority), (1, 20));
    }

    #[test]
    fn a_low_priority_limit_is_as_large_as_allowed_and_the_rest_waits() {
        let (_queues, _stop, mut inbox) = inbox(0, 150);
        let unarchived = Unarchived::default();
        assert_eq!(group(&mut inbox, &unarchived).count(), 100);
        assert_eq!(group(&mut inbox, &unarchived).count(), 50);
    }

    #[test]
    fn low_priority_jobs_have_a_share_beside_many_normal_ones() {
        let (_queues, _stop, mut inbox) = inbox(40, 150);
        let unarchived = Unarchived::default();
        let mut group = group(&mut inbox, &unarchived);
        assert_eq!(group.by_ref().count(), 60);
        assert_eq!((group.normal, group.low_priority), (40, 20));
    }

    #[test]
    fn unarchived_rows_are_moved_until_a_normal_job_arrives() {
        let (queues, _stop, mut inbox) = inbox(0, 10);
        let unarchived = Unarchived::default();
        let settlement = Settlement {
            version: Version(1),
            status: Status::Timeout,
            at: UnixTime::from_millis(0),
        };
        for number in 0..200 {
            unarchived.insert(ElicitationId::from_bytes([number; 16]), settlement);
        }
        let mut first = group(&mut inbox, &unarchived);
        assert_eq!(first.by_ref().take(30).count(), 30);
        assert_eq!((first.low_priority, first.moved), (10, 20));
        queues.normal.try_send(job()).unwrap();
        assert_eq!(first.count(), 1);
        assert_eq!(group(&mut inbox, &unarchived).count(), 100);
    }

    #[test]
    fn low_priority_jobs_are_never_skipped_twice_in_a_row() {
        let (queues, _stop, mut inbox) = inbox(1, 150);
        let unarchived = Unarchived::default();
        let mut first = group(&mut inbox, &unarchived);
        assert_eq!(first.by_ref().count(), 1);
        let min_low_priority = first.min_low_priority_of_next();
        queues.normal.try_send(job()).unwrap();
        let mut second = group(&mut inbox, &unarchived);
        second.min_low_priority = min_low_priority;
        assert_eq!(second.by_ref().count(), 1 + MIN_LOW_PRIORITY);
        assert_eq!(second.min_low_priority_of_next(), 0);
    }

    #[test]
    fn a_job_that_woke_the_writer_is_done_even_if_a_normal_job_comes_first() {
        let (queues, _stop, mut inbox) = inbox(0, 2);
        let unarchived = Unarchived::default();
        assert!(inbox.wait(None));
        queues.normal.try_send(job()).unwrap();
        assert_eq!(group(&mut inbox, &unarchived).count(), 1);
        assert!(inbox.wait(None));
        assert_eq!(group(&mut inbox, &unarchived).count(), 2);
    }
}
