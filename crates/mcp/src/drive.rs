//! Runs a handler until it is done, or until only answers of a person can take it further.
//!
//! Since 2026-07-28 a server does not wait for a person: it returns its questions, and the call
//! comes again with the answers. So a handler that waits for nothing but answers is dropped, and
//! runs again from the top in the next round.
//!
//! Whether it waits for nothing else is told by counting who could wake it. The handler is polled
//! with a waker of ours; whatever it waits for keeps a clone. The clones that open questions keep
//! are known. If there are no others, nothing else can happen.

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
use crate::journal::Open;

/// A handler at work. Owned, so that it can go on when its call has been answered.
pub(crate) type Handler<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// How far a handler came.
pub(crate) enum Driven<T> {
    /// To its end.
    Done(T),
    /// To these questions, which only the client can answer; it was dropped.
    Suspended(Vec<Waiting>),
    /// To a question whose link has to be told first; it waits.
    Linked(Handler<T>),
}

/// What is known of a handler while it runs.
#[derive(Default)]
pub(crate) struct Run {
    state: Mutex<State>,
    /// Rings when a link is to be told.
    pub(crate) link_came: Notify,
}

#[derive(Default)]
struct State {
    /// Keys that were used.
    used: BTreeSet<String>,
    /// Questions that wait for the next round, in the order in which they were asked.
    waiting: BTreeMap<u64, Waiting>,
    asked: u64,
    /// Work that must not be dropped: effects that run once, and looks at pages.
    busy: usize,
    link: Option<Link>,
    /// Whether a link was told: the call is answered, and its client can be asked nothing more.
    is_answered: bool,
}

/// A question that waits for the next round.
pub(crate) struct Waiting {
    pub(crate) key: String,
    /// Method and parameters; `None` if the client has nothing to do but come again.
    pub(crate) request: Option<(&'static str, Value)>,
    pub(crate) open: Open,
    waker: Option<Waker>,
}

/// A question that can be answered under a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) message: String,
    pub(crate) url: String,
}

impl Run {
    /// Notes that a key is used; each can be once in a run.
    pub(crate) fn use_key(&self, key: &str) -> Result<(), AskError> {
        if self.state.lock().used.insert(key.to_owned()) {
            Ok(())
        } else {
            Err(AskError::KeyUsedTwice(key.to_owned()))
        }
    }

    /// Leaves a question to the next round. The future is never ready, unless the run is over and
    /// somebody else than the handler still polls it.
    pub(crate) fn park(
        &self,
        key: &str,
        request: Option<(&'static str, Value)>,
        open: Open,
    ) -> Parked<'_> {
        let mut state = self.state.lock();
        state.asked += 1;
        let number = state.asked;
        let waiting = Waiting {
            key: key.to_owned(),
            request,
            open,
            waker: None,
        };
        state.waiting.insert(number, waiting);
        Parked { run: self, number }
    }

    /// Keeps the handler from being dropped until the guard is.
    pub(crate) fn busy(&self) -> Busy<'_> {
        self.state.lock().busy += 1;
        Busy(self)
    }

    /// Ends the run, before the handler is dropped and its questions with it; they are what the
    /// next round is about.
    fn end(&self) -> Vec<Waiting> {
        let mut state = self.state.lock();
        std::mem::take(&mut state.waiting).into_values().collect()
    }

    /// Wants a link to be told to whoever called.
    pub(crate) fn tell_link(&self, link: Link) {
        {
            let mut state = self.state.lock();
            state.link = Some(link);
            state.is_answered = true;
        }
        self.link_came.notify_one();
    }

    /// Whether the call was answered with a link, or is about to be.
    pub(crate) fn is_answered(&self) -> bool {
        self.state.lock().is_answered
    }

    /// The link that is to be told.
    pub(crate) fn take_link(&self) -> Option<Link> {
        self.state.lock().link.take()
    }

    fn has_link(&self) -> bool {
        self.state.lock().link.is_some()
    }

    /// Which questions wait, if nothing is at work: the number of the latest, and how many of
    /// them keep a clone of the waker.
    fn only_questions(&self, wake: &Arc<Alarm>) -> Option<(u64, usize)> {
        let state = self.state.lock();
        if state.busy > 0 || state.waiting.is_empty() {
            return None;
        }
        let ours = Arc::as_ptr(wake).cast::<()>();
        let is_ours = |waiting: &&Waiting| {
            let waker = waiting.waker.as_ref();
            waker.is_some_and(|waker| waker.data() == ours)
        };
        let kept = state.waiting.values().filter(is_ours).count();
        Some((state.asked, kept))
    }
}

/// A question that waits for the next round.
pub(crate) struct Parked<'a> {
    run: &'a Run,
    number: u64,
}

impl Future for Parked<'_> {
    /// Ready only when the call is over.
    type Output = AskError;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<AskError> {
        let mut state = self.run.state.lock();
        let Some(waiting) = state.waiting.get_mut(&self.number) else {
            return Poll::Ready(AskError::CallEnded);
        };
        match &mut waiting.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }
}

impl Drop for Parked<'_> {
    fn drop(&mut self) {
        // A handler that gave the question up does not ask it.
        let waiting = self.run.state.lock().waiting.remove(&self.number);
        drop(waiting);
    }
}

/// Work that must not be dropped.
pub(crate) struct Busy<'a>(&'a Run);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.state.lock().busy -= 1;
    }
}

/// The waker that a handler is polled with.
#[derive(Default)]
struct Alarm {
    rang: AtomicBool,
    outer: AtomicWaker,
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.rang.store(true, Ordering::SeqCst);
        self.outer.wake();
    }
}

/// The clones of the alarm that are ours: the one that is looked at, and the one in the waker.
const HELD: usize = 2;

/// Runs a handler. `linger` is how long it may wait for something besides open questions before
/// it is dropped all the same.
pub(crate) async fn drive<T>(handler: Handler<T>, run: &Run, linger: Duration) -> Driven<T> {
    let alarm = Arc::new(Alarm::default());
    let waker = Waker::from(alarm.clone());
    alarm.rang.store(true, Ordering::SeqCst);
    let mut handler = Some(handler);
    let mut patience: Option<Patience> = None;
    std::future::poll_fn(move |cx| {
        alarm.outer.register(cx.waker());
        loop {
            if alarm.rang.swap(false, Ordering::SeqCst)
                && let Some(work) = &mut handler
            {
                let polled = work.as_mut().poll(&mut Context::from_waker(&waker));
                if let Poll::Ready(done) = polled {
                    return Poll::Ready(Driven::Done(done));
                }
                if run.has_link()
                    && let Some(work) = handler.take()
                {
                    return Poll::Ready(Driven::Linked(work));
                }
            }
            let Some((latest, kept)) = run.only_questions(&alarm) else {
                patience = None;
                return Poll::Pending;
            };
            let others = Arc::strong_count(&alarm).saturating_sub(HELD + kept);
            // A waker rings and is then dropped. Read the other way round, its bell could be
            // missed and its absence seen.
            fence(Ordering::SeqCst);
            if alarm.rang.load(Ordering::SeqCst) {
                continue;
            }
            if others == 0 {
                return Poll::Ready(Driven::Suspended(run.end()));
            }
            let waits = match &mut patience {
                Some(waits) if waits.since == latest => waits,
                other => other.insert(Patience::new(latest, linger)),
            };
            match waits.poll(cx) {
                Poll::Ready(true) => return Poll::Ready(Driven::Suspended(run.end())),
                Poll::Ready(false) => {}
                Poll::Pending => return Poll::Pending,
            }
        }
    })
    .await
}

/// Waits for a while, and says now and then that it is worth a look.
struct Patience {
    /// The latest question that was open when it began.
    since: u64,
    left: Duration,
    nap: Duration,
    sleep: Pin<Box<Sleep>>,
}

impl Patience {
    const FIRST: Duration = Duration::from_millis(1);

    fn new(since: u64, left: Duration) -> Self {
        let nap = Self::FIRST.min(left);
        Self {
            since,
            left: left.saturating_sub(nap),
            nap,
            sleep: Box::pin(tokio::time::sleep(nap)),
        }
    }

    /// Ready with whether it is at its end.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        std::task::ready!(self.sleep.as_mut().poll(cx));
        if self.left.is_zero() {
            return Poll::Ready(true);
        }
        self.nap = (self.nap * 2).min(self.left);
        self.left -= self.nap;
        let until = self.sleep.deadline() + self.nap;
        self.sleep.as_mut().reset(until);
        Poll::Ready(false)
    }
}
