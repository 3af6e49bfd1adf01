//! The one thread that writes.
//!
//! It takes what is queued, writes it in one transaction, and answers. While it waits for the
//! disk the queue fills again, so that the more callers there are the more of them share one
//! wait. What nobody waits for has a queue of its own, and is done in portions until somebody
//! comes: who comes joins the transaction, which then goes to disk at once.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use entreat_core::{ElicitationId, UnixTime};
use entreat_engine::{Store, StoreError};
use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot};

use super::batch::Batch;
use super::job::Job;
use super::lingering::Lingering;
use super::log::Log;
use super::pace::{Pace, Stopwatch};
use super::{OpenError, Shared};

/// So many jobs go into one transaction at most: enough to make the wait for the disk cheap,
/// few enough that nobody waits long for the others' work.
pub(super) const BATCH: usize = 1024;
/// So many jobs may be queued; whoever comes then waits before its job is taken. As many as
/// the next transaction takes.
const QUEUE: usize = BATCH;
/// A transaction takes along so many for whom nobody waits if the one before took none.
const OWED: usize = 8;
/// What lingers is moved when there was no crowd for so long.
const LULL: Duration = Duration::from_millis(20);
/// And then a portion at a time; if somebody came meanwhile, with so much time in between.
const PAUSE: Duration = Duration::from_millis(10);

/// Where jobs are queued.
pub(super) struct Queues {
    /// Those that somebody waits for.
    pub(super) prompt: mpsc::Sender<Job>,
    /// The others.
    pub(super) unhurried: mpsc::Sender<Job>,
}

/// The handle of the thread, which is joined when this is dropped.
pub(super) struct Writer {
    running: Mutex<Option<Running>>,
}

struct Running {
    /// Dropped to stop the thread.
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Writer {
    pub(super) fn start(
        shared: Arc<Shared>,
        connection: Connection,
    ) -> Result<(Queues, Self), OpenError> {
        let (prompt, prompt_jobs) = mpsc::channel(QUEUE);
        let (unhurried, unhurried_jobs) = mpsc::channel(QUEUE);
        let (stop, stopped) = oneshot::channel();
        let path = shared.path.clone();
        let failed = |source| OpenError::Failed {
            path,
            attempt: "start the writer",
            source: Box::new(source),
        };
        // Only to wait for several things at once.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        let spawned = runtime.and_then(|runtime| {
            let inbox = Inbox {
                runtime,
                prompt: Queue::of(prompt_jobs),
                unhurried: Queue::of(unhurried_jobs),
                stopped: Some(stopped),
            };
            std::thread::Builder::new()
                .name("entreat-store".to_owned())
                .spawn(move || run(&shared, connection, inbox))
        });
        let running = Running {
            stop,
            thread: spawned.map_err(failed)?,
        };
        let running = Mutex::new(Some(running));
        Ok((Queues { prompt, unhurried }, Self { running }))
    }

    /// Lets the thread finish what is queued, and joins it.
    pub(super) async fn stop(&self) {
        let running = self.running.lock().take();
        if let Some(running) = running {
            // Its end is not far, but it may wait for the disk.
            drop(tokio::task::spawn_blocking(|| running.join()).await);
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if let Some(running) = self.running.get_mut().take() {
            running.join();
        }
    }
}

impl Running {
    fn join(self) {
        drop(self.stop);
        if self.thread.join().is_err() {
            tracing::error!("the writer of the store ended by a panic");
        }
    }
}

/// Where jobs arrive.
struct Inbox {
    runtime: Runtime,
    prompt: Queue,
    unhurried: Queue,
    /// `None` once the end was announced.
    stopped: Option<oneshot::Receiver<()>>,
}

/// A queue, and the job for which the writer was woken.
struct Queue {
    first: Option<Job>,
    rest: mpsc::Receiver<Job>,
}

impl Queue {
    fn of(rest: mpsc::Receiver<Job>) -> Self {
        Self { first: None, rest }
    }

    fn take(&mut self) -> Option<Job> {
        self.first.take().or_else(|| self.rest.try_recv().ok())
    }

    fn is_empty(&self) -> bool {
        self.first.is_none() && self.rest.is_empty()
    }
}

impl Inbox {
    /// Waits until there is something to do, or for so long; false when there will be no more.
    fn wait(&mut self, at_most: Option<Duration>) -> bool {
        let Self {
            runtime,
            prompt,
            unhurried,
            stopped,
        } = self;
        // It was left for this transaction.
        if unhurried.first.is_some() {
            return true;
        }
        runtime.block_on(async {
            if let Some(end) = stopped {
                tokio::select! {
                    biased;
                    _ = end => {}
                    Some(job) = prompt.rest.recv() => {
                        prompt.first = Some(job);
                        return true;
                    }
                    Some(job) = unhurried.rest.recv() => {
                        unhurried.first = Some(job);
                        return true;
                    }
                    () = pass(at_most) => return true,
                }
                // What was queued before is still done; who comes now is turned away.
                *stopped = None;
                prompt.rest.close();
                unhurried.rest.close();
            }
            // A job that was on its way is waited for.
            prompt.first = prompt.rest.recv().await;
            if prompt.first.is_none() {
                unhurried.first = unhurried.rest.recv().await;
            }
            prompt.first.is_some() || unhurried.first.is_some()
        })
    }
}

/// Ends after so long, or never.
async fn pass(time: Option<Duration>) {
    match time {
        None => std::future::pending().await,
        Some(Duration::ZERO) => {}
        Some(time) => tokio::time::sleep(time).await,
    }
}

/// The jobs of one transaction, as they come.
struct Turn<'t> {
    inbox: &'t mut Inbox,
    lingering: &'t Lingering,
    /// How many may be among them for whom nobody waits.
    portion: usize,
    /// How many of those there will be even if somebody waits.
    owed: usize,
    /// Whether what lingers may be moved, if nobody comes.
    may_move: bool,
    prompt: usize,
    unhurried: usize,
    moved: usize,
    last_moved: Option<ElicitationId>,
}

impl Turn<'_> {
    /// What the next one owes to those for whom nobody waits.
    fn owes(&self) -> usize {
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
struct Leisure {
    since: Stopwatch,
    pause: Duration,
    /// While the disk fails, nothing is moved that may as well stay.
    is_well: bool,
}

impl Leisure {
    fn new() -> Self {
        Self {
            since: Stopwatch::start(),
            pause: LULL,
            is_well: true,
        }
    }

    /// How long until then; `None` if there is nothing to move.
    fn left(&self, lingering: &Lingering) -> Option<Duration> {
        let is_called_for = self.is_well && !lingering.is_empty();
        is_called_for.then(|| self.pause.saturating_sub(self.since.elapsed()))
    }

    fn learn(&mut self, turn: &Turn<'_>, is_well: bool) {
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

fn run(shared: &Shared, mut connection: Connection, mut inbox: Inbox) {
    let started = Log::watch(&mut connection)
        .and_then(|log| Ok((log, Batch::prepare(&connection, &shared.lingering)?)));
    let (mut log, mut batch) = match started {
        Ok(started) => started,
        Err(error) => {
            tracing::error!(%error, "the store cannot write");
            return;
        }
    };
    let mut jobs = Vec::with_capacity(BATCH);
    let mut pace = Pace::new();
    let mut leisure = Leisure::new();
    let mut owed = 0;
    while inbox.wait(leisure.left(&shared.lingering)) {
        let mut turn = Turn {
            inbox: &mut inbox,
            lingering: &shared.lingering,
            portion: pace.portion(),
            owed,
            may_move: leisure.left(&shared.lingering) == Some(Duration::ZERO),
            prompt: 0,
            unhurried: 0,
            moved: 0,
            last_moved: None,
        };
        let Some(first) = turn.next() else {
            continue;
        };
        let written = batch.write(first, &mut turn, &mut jobs);
        owed = turn.owes();
        leisure.learn(&turn, written.is_ok());
        let is_prompt = turn.prompt > 0;
        match written {
            Ok(timing) => {
                pace.learn(timing, jobs.len());
                for job in jobs.drain(..) {
                    job.publish(shared);
                }
                // What is over is read from disk; memory is for what is live.
                drop(
                    shared
                        .live
                        .purge(UnixTime::from_millis(u64::MAX), usize::MAX),
                );
            }
            Err(error) => {
                batch.roll_back(&connection);
                tracing::error!(%error, steps = jobs.len(), "steps could not be kept");
                let outage = Outage(Arc::new(error));
                for job in jobs.drain(..) {
                    job.fail(&outage);
                }
            }
        }
        log.tend(&connection, !is_prompt && inbox.prompt.is_empty());
    }
    drop(batch);
    log.empty(&connection);
}

/// Why a whole transaction failed; shared by all who had a step in it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the database failed")]
pub(super) struct Outage(#[source] Arc<rusqlite::Error>);

impl Outage {
    pub(super) fn as_error(&self) -> StoreError {
        StoreError::Unavailable {
            attempt: "write to disk",
            source: Box::new(self.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use entreat_core::Status;
    use entreat_engine::Version;

    use super::*;
    use crate::embedded::job::Ticket;
    use crate::embedded::lingering::Ended;

    /// What stands outside: dropped, it stops the writer.
    struct Outside {
        queues: Queues,
        _stop: oneshot::Sender<()>,
    }

    /// Both queues with so many jobs, and the way in.
    fn inbox(prompt: usize, unhurried: usize) -> (Outside, Inbox) {
        let (prompt_sender, prompt_jobs) = mpsc::channel(QUEUE);
        let (unhurried_sender, unhurried_jobs) = mpsc::channel(QUEUE);
        let queues = Queues {
            prompt: prompt_sender,
            unhurried: unhurried_sender,
        };
        for (queue, count) in [(&queues.prompt, prompt), (&queues.unhurried, unhurried)] {
            (0..count).for_each(|_| queue.try_send(job()).expect("there is room"));
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let (stop, stopped) = oneshot::channel();
        let inbox = Inbox {
            runtime: runtime.expect("a runtime"),
            prompt: Queue::of(prompt_jobs),
            unhurried: Queue::of(unhurried_jobs),
            stopped: Some(stopped),
        };
        let outside = Outside {
            queues,
            _stop: stop,
        };
        (outside, inbox)
    }

    fn job() -> Job {
        let (ticket, _) = Ticket::new();
        let text = String::new();
        let name = "note";
        Job::Note { name, text, ticket }
    }

    fn turn<'t>(inbox: &'t mut Inbox, lingering: &'t Lingering) -> Turn<'t> {
        Turn {
            inbox,
            lingering,
            portion: 100,
            owed: 0,
            may_move: true,
            prompt: 0,
            unhurried: 0,
            moved: 0,
            last_moved: None,
        }
    }

    #[test]
    fn whoever_comes_joins_and_ends_the_portion() {
        let (outside, mut inbox) = inbox(0, 50);
        let lingering = Lingering::default();
        let mut turn = turn(&mut inbox, &lingering);
        assert_eq!(turn.by_ref().take(20).count(), 20);
        outside.queues.prompt.try_send(job()).unwrap();
        assert_eq!(turn.by_ref().count(), 1);
        assert_eq!((turn.prompt, turn.unhurried), (1, 20));
    }

    #[test]
    fn a_portion_is_as_large_as_allowed_and_the_rest_waits() {
        let (_outside, mut inbox) = inbox(0, 150);
        let lingering = Lingering::default();
        assert_eq!(turn(&mut inbox, &lingering).count(), 100);
        assert_eq!(turn(&mut inbox, &lingering).count(), 50);
    }

    #[test]
    fn those_who_do_not_wait_have_a_share_beside_many_who_do() {
        let (_outside, mut inbox) = inbox(40, 150);
        let lingering = Lingering::default();
        let mut turn = turn(&mut inbox, &lingering);
        assert_eq!(turn.by_ref().count(), 60);
        assert_eq!((turn.prompt, turn.unhurried), (40, 20));
    }

    #[test]
    fn what_lingers_is_moved_until_somebody_comes() {
        let (outside, mut inbox) = inbox(0, 10);
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
        outside.queues.prompt.try_send(job()).unwrap();
        assert_eq!(first.count(), 1);
        assert_eq!(turn(&mut inbox, &lingering).count(), 100);
    }

    #[test]
    fn who_was_passed_over_once_is_not_passed_over_again() {
        let (outside, mut inbox) = inbox(1, 150);
        let lingering = Lingering::default();
        let mut first = turn(&mut inbox, &lingering);
        assert_eq!(first.by_ref().count(), 1);
        let owed = first.owes();
        outside.queues.prompt.try_send(job()).unwrap();
        let mut second = turn(&mut inbox, &lingering);
        second.owed = owed;
        assert_eq!(second.by_ref().count(), 1 + OWED);
        assert_eq!(second.owes(), 0);
    }

    #[test]
    fn a_job_that_woke_the_writer_is_done_even_if_somebody_comes_first() {
        let (outside, mut inbox) = inbox(0, 2);
        let lingering = Lingering::default();
        assert!(inbox.wait(None));
        outside.queues.prompt.try_send(job()).unwrap();
        assert_eq!(turn(&mut inbox, &lingering).count(), 1);
        assert!(inbox.wait(None));
        assert_eq!(turn(&mut inbox, &lingering).count(), 2);
    }
}
