//! Which jobs go into one transaction.
//!
//! All who wait go first. Those for whom nobody waits are taken one by one until somebody comes:
//! who comes joins the transaction, which then goes to disk at once.

use std::time::Duration;

use entreat_core::ElicitationId;

use super::inbox::Inbox;
use super::job::Job;
use super::lingering::Lingering;
use super::pace::Stopwatch;

/// So many jobs go into one transaction at most: enough to make the wait for the disk cheap,
/// few enough that nobody waits long for the others' work.
pub(super) const BATCH: usize = 1024;
/// A transaction takes along so many for whom nobody waits if the one before took none.
const OWED: usize = 8;
/// What lingers is moved when there was no crowd for so long.
const LULL: Duration = Duration::from_millis(20);
/// And then a portion at a time; if somebody came meanwhile, with so much time in between.
const PAUSE: Duration = Duration::from_millis(10);

/// The jobs of one transaction, as they come.
pub(super) struct Turn<'t> {
    inbox: &'t mut Inbox,
    lingering: &'t Lingering,
    /// How many may be among them for whom nobody waits.
    portion: usize,
    /// How many of those there will be even if somebody waits.
    owed: usize,
    /// Whether what lingers may be moved, if nobody comes.
    may_move: bool,
    /// How many of each there are so far.
    pub(super) prompt: usize,
    unhurried: usize,
    moved: usize,
    last_moved: Option<ElicitationId>,
}

impl<'t> Turn<'t> {
    pub(super) fn new(
        inbox: &'t mut Inbox,
        lingering: &'t Lingering,
        portion: usize,
        owed: usize,
        may_move: bool,
    ) -> Self {
        Self {
            inbox,
            lingering,
            portion,
            owed,
            may_move,
            prompt: 0,
            unhurried: 0,
            moved: 0,
            last_moved: None,
        }
    }

    /// What the next one owes to those for whom nobody waits.
    pub(super) fn owes(&self) -> usize {
        if self.unhurried == 0 { OWED } else { 0 }
    }

    /// How many there may be for whom nobody waits: a part even if somebody does, or they would
    /// never have their turn.
    fn share(&self) -> usize {
        match self.prompt {
            0 => self.portion,
            prompt => self.portion.min(prompt / 2),
        }
    }

    /// Not once somebody has come: a move that fails is not to fail callers.
    fn next_move(&mut self) -> Option<Job> {
        if !self.may_move || self.prompt > 0 || self.unhurried + self.moved >= self.portion {
            return None;
        }
        let (id, ended) = self.lingering.next(self.last_moved)?;
        self.moved += 1;
        self.last_moved = Some(id);
        Some(Job::Move { id, ended })
    }
}

impl Iterator for Turn<'_> {
    type Item = Job;

    fn next(&mut self) -> Option<Job> {
        if self.prompt < BATCH
            && let Some(job) = self.inbox.prompt.take()
        {
            self.prompt += 1;
            return Some(job);
        }
        if self.unhurried < self.share().max(self.owed)
            && let Some(job) = self.inbox.unhurried.take()
        {
            self.unhurried += 1;
            return Some(job);
        }
        self.next_move()
    }
}

/// When there is time to move what lingers.
pub(super) struct Leisure {
    since: Stopwatch,
    pause: Duration,
    /// While the disk fails, nothing is moved that may as well stay.
    is_well: bool,
}

impl Leisure {
    pub(super) fn new() -> Self {
        Self {
            since: Stopwatch::start(),
            pause: LULL,
            is_well: true,
        }
    }

    /// How long until then; `None` if there is nothing to move.
    pub(super) fn left(&self, lingering: &Lingering) -> Option<Duration> {
        let is_called_for = self.is_well && !lingering.is_empty();
        is_called_for.then(|| self.pause.saturating_sub(self.since.elapsed()))
    }

    pub(super) fn learn(&mut self, turn: &Turn<'_>, is_well: bool) {
        self.is_well = is_well;
        let is_crowded = !turn.inbox.unhurried.is_empty();
        if is_crowded {
            self.pause = LULL;
        } else if turn.prompt > 0 {
            self.pause = self.pause.max(PAUSE);
        } else if turn.moved > 0 {
            self.pause = Duration::ZERO;
        }
        if is_crowded || turn.moved > 0 {
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
    use crate::embedded::lingering::Ended;

    /// Both queues with so many jobs, the way in, and what stops the writer when it is dropped.
    fn inbox(prompt: usize, unhurried: usize) -> (Queues, oneshot::Sender<()>, Inbox) {
        let (queues, stop, inbox) = Inbox::open().expect("a runtime");
        for (queue, count) in [(&queues.prompt, prompt), (&queues.unhurried, unhurried)] {
            (0..count).for_each(|_| queue.try_send(job()).expect("there is room"));
        }
        (queues, stop, inbox)
    }

    fn job() -> Job {
        let (ticket, _) = Ticket::new();
        let text = String::new();
        let name = "note";
        Job::Note { name, text, ticket }
    }

    fn turn<'t>(inbox: &'t mut Inbox, lingering: &'t Lingering) -> Turn<'t> {
        Turn::new(inbox, lingering, 100, 0, true)
    }

    #[test]
    fn whoever_comes_joins_and_ends_the_portion() {
        let (queues, _stop, mut inbox) = inbox(0, 50);
        let lingering = Lingering::default();
        let mut turn = turn(&mut inbox, &lingering);
        assert_eq!(turn.by_ref().take(20).count(), 20);
        queues.prompt.try_send(job()).unwrap();
        assert_eq!(turn.by_ref().count(), 1);
        assert_eq!((turn.prompt, turn.unhurried), (1, 20));
    }

    #[test]
    fn a_portion_is_as_large_as_allowed_and_the_rest_waits() {
        let (_queues, _stop, mut inbox) = inbox(0, 150);
        let lingering = Lingering::default();
        assert_eq!(turn(&mut inbox, &lingering).count(), 100);
        assert_eq!(turn(&mut inbox, &lingering).count(), 50);
    }

    #[test]
    fn those_who_do_not_wait_have_a_share_beside_many_who_do() {
        let (_queues, _stop, mut inbox) = inbox(40, 150);
        let lingering = Lingering::default();
        let mut turn = turn(&mut inbox, &lingering);
        assert_eq!(turn.by_ref().count(), 60);
        assert_eq!((turn.prompt, turn.unhurried), (40, 20));
    }

    #[test]
    fn what_lingers_is_moved_until_somebody_comes() {
        let (queues, _stop, mut inbox) = inbox(0, 10);
        let lingering = Lingering::default();
        let ended = Ended {
            version: Version(1),
            status: Status::Timeout,
            at: UnixTime::from_millis(0),
        };
        for number in 0..200 {
            lingering.insert(ElicitationId::from_bytes([number; 16]), ended);
        }
        let mut first = turn(&mut inbox, &lingering);
        assert_eq!(first.by_ref().take(30).count(), 30);
        assert_eq!((first.unhurried, first.moved), (10, 20));
        queues.prompt.try_send(job()).unwrap();
        assert_eq!(first.count(), 1);
        assert_eq!(turn(&mut inbox, &lingering).count(), 100);
    }

    #[test]
    fn who_was_passed_over_once_is_not_passed_over_again() {
        let (queues, _stop, mut inbox) = inbox(1, 150);
        let lingering = Lingering::default();
        let mut first = turn(&mut inbox, &lingering);
        assert_eq!(first.by_ref().count(), 1);
        let owed = first.owes();
        queues.prompt.try_send(job()).unwrap();
        let mut second = turn(&mut inbox, &lingering);
        second.owed = owed;
        assert_eq!(second.by_ref().count(), 1 + OWED);
        assert_eq!(second.owes(), 0);
    }

    #[test]
    fn a_job_that_woke_the_writer_is_done_even_if_somebody_comes_first() {
        let (queues, _stop, mut inbox) = inbox(0, 2);
        let lingering = Lingering::default();
        assert!(inbox.wait(None));
        queues.prompt.try_send(job()).unwrap();
        assert_eq!(turn(&mut inbox, &lingering).count(), 1);
        assert!(inbox.wait(None));
        assert_eq!(turn(&mut inbox, &lingering).count(), 2);
    }
}
