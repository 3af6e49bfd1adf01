//! Polls a handler until it completes, or until only a person's answers can wake it.
//!
//! Since 2026-07-28 a server does not wait for a person: it returns its questions, and the client
//! repeats the call with the answers. A handler that waits only for answers is dropped, and runs
//! again from the top in the next round.
//!
//! To find out whether it waits only for answers, its wakers are counted: the handler is polled
//! with a waker of ours, of which every pending future keeps a clone. If all clones belong to open
//! questions, nothing else can wake it.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::Sleep;

use crate::error::AskError;
use crate::journal::OpenQuestion;

/// A running handler. Owned, so that it can continue after its call was answered with a link.
pub(crate) type Handler<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// How far a handler got.
pub(crate) enum DriveOutcome<T> {
    /// It completed.
    Done(T),
    /// It waits only for these questions, and was dropped.
    Suspended(Vec<PendingQuestion>),
    /// It asked a question by link and continues once the link is returned.
    Linked(Handler<T>),
}

/// The state of a handler while it runs.
#[derive(Default)]
pub(crate) struct Run {
    state: Mutex<State>,
    /// Notified when a link is ready to be returned.
    pub(crate) link_ready: Notify,
}

#[derive(Default)]
struct State {
    /// Keys in use.
    used: BTreeSet<String>,
    /// Questions for the next round, in the order they were asked.
    pending: BTreeMap<u64, PendingQuestion>,
    last_number: u64,
    /// Work that must not be dropped: `once` effects and page lookups.
    busy: usize,
    link: Option<Link>,
    /// Whether a link was offered: the call has its response, so the client can no longer be asked.
    is_answered: bool,
}

/// A question to return in this round.
pub(crate) struct PendingQuestion {
    pub(crate) key: String,
    /// Method and parameters; `None` if the client only has to call again.
    pub(crate) request: Option<(&'static str, Value)>,
    pub(crate) open: OpenQuestion,
    waker: Option<Waker>,
}

/// A question that can be answered at a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) message: String,
    pub(crate) url: String,
}

impl Run {
    /// Reserves a key, which may be used once per run.
    pub(crate) fn use_key(&self, key: &str) -> Result<(), AskError> {
        if self.state.lock().used.insert(key.to_owned()) {
            Ok(())
        } else {
            Err(AskError::KeyUsedTwice(key.to_owned()))
        }
    }

    /// Adds a question to the next round. The future never completes, unless something other than
    /// the handler still polls it after the run has ended.
    pub(crate) fn suspend(
        &self,
        key: &str,
        request: Option<(&'static str, Value)>,
        open: OpenQuestion,
    ) -> SuspendedQuestion<'_> {
        let mut state = self.state.lock();
        state.last_number += 1;
        let number = state.last_number;
        let question = PendingQuestion {
            key: key.to_owned(),
            request,
            open,
            waker: None,
        };
        state.pending.insert(number, question);
        SuspendedQuestion { run: self, number }
    }

    /// Keeps the handler from being dropped until the guard is dropped.
    pub(crate) fn busy(&self) -> BusyGuard<'_> {
        self.state.lock().busy += 1;
        BusyGuard(self)
    }

    /// Ends the run and takes its questions, before dropping the handler removes them.
    fn end(&self) -> Vec<PendingQuestion> {
        let mut state = self.state.lock();
        std::mem::take(&mut state.pending).into_values().collect()
    }

    /// Answers the call with a link.
    pub(crate) fn offer_link(&self, link: Link) {
        {
            let mut state = self.state.lock();
            state.link = Some(link);
            state.is_answered = true;
        }
        self.link_ready.notify_one();
    }

    /// Whether the call was, or is about to be, answered with a link.
    pub(crate) fn is_answered(&self) -> bool {
        self.state.lock().is_answered
    }

    /// Takes the link to return.
    pub(crate) fn take_link(&self) -> Option<Link> {
        self.state.lock().link.take()
    }

    fn has_link(&self) -> bool {
        self.state.lock().link.is_some()
    }

    /// If only questions are pending, returns the number of the latest and how many of them hold a
    /// clone of the waker.
    fn only_questions(&self, wake: &Arc<HandlerWaker>) -> Option<(u64, usize)> {
        let state = self.state.lock();
        if state.busy > 0 || state.pending.is_empty() {
            return None;
        }
        let ours = Arc::as_ptr(wake).cast::<()>();
        let is_ours = |question: &&PendingQuestion| {
            let waker = question.waker.as_ref();
            waker.is_some_and(|waker| waker.data() == ours)
        };
        let by_questions = state.pending.values().filter(is_ours).count();
        Some((state.last_number, by_questions))
    }
}

/// The future of a suspended question.
pub(crate) struct SuspendedQuestion<'a> {
    run: &'a Run,
    number: u64,
}

impl Future for SuspendedQuestion<'_> {
    /// Ready only when the run has ended.
    type Output = AskError;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<AskError> {
        let mut state = self.run.state.lock();
        let Some(question) = state.pending.get_mut(&self.number) else {
            return Poll::Ready(AskError::CallEnded);
        };
        match &mut question.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }
}

impl Drop for SuspendedQuestion<'_> {
    fn drop(&mut self) {
        // A question that the handler drops, for example in a `select!`, is not asked.
        let question = self.run.state.lock().pending.remove(&self.number);
        drop(question);
    }
}

/// Keeps the handler from being dropped.
pub(crate) struct BusyGuard<'a>(&'a Run);

impl Drop for BusyGuard<'_> {
    fn drop(&mut self) {
        self.0.state.lock().busy -= 1;
    }
}

/// The waker with which a handler is polled.
#[derive(Default)]
struct HandlerWaker {
    woken: AtomicBool,
    outer: AtomicWaker,
}

impl Wake for HandlerWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::SeqCst);
        self.outer.wake();
    }
}

/// References held by `drive` itself: `wake` and the one inside `waker`.
const OWN_REFS: usize = 2;

/// Polls a handler until it completes, asks, or offers a link. `grace_limit` is how long it may
/// wait for anything besides open questions before it is dropped anyway.
pub(crate) async fn drive<T>(
    handler: Handler<T>,
    run: &Run,
    grace_limit: Duration,
) -> DriveOutcome<T> {
    let wake = Arc::new(HandlerWaker::default());
    let waker = Waker::from(wake.clone());
    wake.woken.store(true, Ordering::SeqCst);
    let mut handler = Some(handler);
    let mut grace: Option<GracePeriod> = None;
    std::future::poll_fn(move |cx| {
        wake.outer.register(cx.waker());
        loop {
            if wake.woken.swap(false, Ordering::SeqCst)
                && let Some(work) = &mut handler
            {
                let polled = work.as_mut().poll(&mut Context::from_waker(&waker));
                if let Poll::Ready(done) = polled {
                    return Poll::Ready(DriveOutcome::Done(done));
                }
                if run.has_link()
                    && let Some(work) = handler.take()
                {
                    return Poll::Ready(DriveOutcome::Linked(work));
                }
            }
            let Some((latest, by_questions)) = run.only_questions(&wake) else {
                grace = None;
                return Poll::Pending;
            };
            let others = Arc::strong_count(&wake).saturating_sub(OWN_REFS + by_questions);
            // A waker sets `woken` and is then dropped, so count first and read the flag second. In
            // the other order, the wake-up could be missed although its clone is already gone.
            fence(Ordering::SeqCst);
            if wake.woken.load(Ordering::SeqCst) {
                continue;
            }
            if others == 0 {
                return Poll::Ready(DriveOutcome::Suspended(run.end()));
            }
            let period = match &mut grace {
                Some(period) if period.since == latest => period,
                other => other.insert(GracePeriod::new(latest, grace_limit)),
            };
            match period.poll(cx) {
                Poll::Ready(true) => return Poll::Ready(DriveOutcome::Suspended(run.end())),
                Poll::Ready(false) => {}
                Poll::Pending => return Poll::Pending,
            }
        }
    })
    .await
}

/// A deadline that is also polled at growing intervals, to recount wakers.
struct GracePeriod {
    /// The latest open question when the period started.
    since: u64,
    left: Duration,
    interval: Duration,
    sleep: Pin<Box<Sleep>>,
}

impl GracePeriod {
    const FIRST_INTERVAL: Duration = Duration::from_millis(1);

    fn new(since: u64, left: Duration) -> Self {
        let interval = Self::FIRST_INTERVAL.min(left);
        Self {
            since,
            left: left.saturating_sub(interval),
            interval,
            sleep: Box::pin(tokio::time::sleep(interval)),
        }
    }

    /// Ready with `true` when the period is over, with `false` when it is time to recount.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        std::task::ready!(self.sleep.as_mut().poll(cx));
        if self.left.is_zero() {
            return Poll::Ready(true);
        }
        self.interval = (self.interval * 2).min(self.left);
        self.left -= self.interval;
        let until = self.sleep.deadline() + self.interval;
        self.sleep.as_mut().reset(until);
        Poll::Ready(false)
    }
}
