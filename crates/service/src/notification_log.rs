//! A log of the notifications for each asker, so that an interrupted stream can resume.
//!
//! One task subscribes to the engine's events and appends an entry for each settled elicitation to
//! its asker's log. Streams read the log at their own pace, so a slow one holds up nobody. An entry
//! holds ids and numbers; only the most recent also hold their text, and older texts are rebuilt
//! from the store. Entries that are missing, after a restart or an eviction, are recovered from the
//! store by settlement time. Only then may a notification be delivered twice.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use entreat_core::{ElicitationId, UnixTime};
use entreat_engine::{
    ActError, Asker, Engine, Event, MAX_PAGE, StatusFilter, Subscription, SubscriptionItem,
};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::rpc::Notification;

/// Maximum number of log entries per asker; older ones are recovered from the store.
const MAX_ENTRIES: usize = 65_536;
/// How many of the latest entries hold their text.
const MAX_TEXTS: usize = 64;
/// Maximum size of a text in the log, in bytes.
const MAX_TEXT_LEN: usize = 4096;
/// Events may arrive out of order by at most this.
const REORDER_WINDOW: Duration = Duration::from_secs(5);

/// The notification logs of all askers. Clones share one state.
#[derive(Clone)]
pub(crate) struct NotificationLog(Arc<Inner>);

struct Inner {
    engine: Engine,
    /// Distinguishes this run's positions from those of an earlier run.
    started: UnixTime,
    logs: Mutex<HashMap<Box<str>, Arc<AskerLog>>>,
}

/// The notifications of one asker.
struct AskerLog {
    entries: Mutex<Entries>,
    /// The number of the next entry.
    end: watch::Sender<u64>,
}

#[derive(Default)]
struct Entries {
    /// The number of the oldest entry in the log.
    first: u64,
    items: VecDeque<Entry>,
}

#[derive(Clone)]
struct Entry {
    id: ElicitationId,
    at: UnixTime,
    /// Warnings cannot be rebuilt from the store, so they exist only with their text.
    is_warning: bool,
    text: Option<Arc<str>>,
}

/// A notification with its position in the stream.
pub(crate) struct StreamedNotification {
    pub(crate) position: Position,
    pub(crate) text: Arc<str>,
}

/// A resumable position in a notification stream; clients send it as `Last-Event-ID`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    started: u64,
    number: u64,
    at: u64,
}

impl Position {
    /// The position of a notification without a number; a stream resumes there by time.
    fn by_time(at: UnixTime) -> Self {
        Self {
            started: 0,
            number: 0,
            at: at.as_millis(),
        }
    }

    /// Parses the output of [`Display`](fmt::Display); `None` for anything else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text
            .split('-')
            .map(|part| u64::from_str_radix(part, 16).ok());
        let mut next = || parts.next().flatten();
        let position = Self {
            started: next()?,
            number: next()?,
            at: next()?,
        };
        parts.next().is_none().then_some(position)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}-{:x}-{:x}", self.started, self.number, self.at)
    }
}

impl NotificationLog {
    /// The log stays empty until [`follow`](Self::follow) runs.
    pub(crate) fn new(engine: Engine) -> Self {
        Self(Arc::new(Inner {
            started: engine.now(),
            logs: Mutex::default(),
            engine,
        }))
    }

    /// Logs notifications from now on, until the engine shuts down.
    pub(crate) fn follow(self) -> impl Future<Output = ()> {
        let events = self.0.engine.subscribe();
        async move { self.record_all(events).await }
    }

    async fn record_all(&self, mut events: Subscription) {
        let mut seen_until = self.0.engine.now();
        // Recovered from the store after a lag, though their events may still arrive.
        let mut recovered = HashSet::new();
        let mut recovered_at = seen_until;
        while let Some(heard) = events.next().await {
            match heard {
                SubscriptionItem::Event(event) => {
                    self.record(&event, &recovered);
                    seen_until = event.step().map_or(seen_until, |step| step.at);
                    if seen_until.since(recovered_at) > REORDER_WINDOW {
                        recovered.clear();
                    }
                }
                SubscriptionItem::Lagged(missed) => {
                    tracing::warn!(missed, "events were missed; reading them from the store");
                    recovered_at = self.0.engine.now();
                    recovered.extend(self.recover(seen_until).await);
                }
                SubscriptionItem::Missed => {
                    recovered_at = self.0.engine.now();
                    recovered.extend(self.recover(seen_until).await);
                }
            }
        }
    }

    fn record(&self, event: &Event, recovered: &HashSet<ElicitationId>) {
        let (Some(notification), Some(step)) = (Notification::of(event), event.step()) else {
            return;
        };
        let text: Arc<str> = notification.to_text().into();
        let is_warning = event.record().lifecycle.is_live();
        if !is_warning && recovered.contains(&event.id()) {
            return;
        }
        self.log(event.asker()).append(Entry {
            id: event.id(),
            at: step.at,
            is_warning,
            text: (is_warning || text.len() <= MAX_TEXT_LEN).then_some(text),
        });
    }

    /// Logs what settled during a lag, and returns the ids.
    async fn recover(&self, since: UnixTime) -> Vec<ElicitationId> {
        let since = since.before(REORDER_WINDOW);
        let mut scan = StoreScan::since(since);
        while scan.next_page(&self.0.engine, None).await {}
        let settled = scan.into_sorted();
        let mut recovered = Vec::new();
        let mut known: HashMap<Box<str>, HashSet<ElicitationId>> = HashMap::new();
        for (asker, entry) in settled {
            let log = self.log(&asker);
            let known = known
                .entry(asker)
                .or_insert_with(|| log.outcomes_since(since));
            if known.insert(entry.id) {
                recovered.push(entry.id);
                log.append(entry);
            }
        }
        recovered
    }

    fn log(&self, asker: &str) -> Arc<AskerLog> {
        let mut logs = self.0.logs.lock();
        if let Some(log) = logs.get(asker) {
            return log.clone();
        }
        let log = Arc::new(AskerLog {
            entries: Mutex::default(),
            end: watch::Sender::new(0),
        });
        logs.insert(asker.into(), log.clone());
        log
    }

    /// Streams an asker's notifications from now on, or from the position of an earlier stream.
    pub(crate) fn stream(&self, asker: Asker, after: Option<Position>) -> NotificationStream {
        let log = self.log(asker.name());
        let end = *log.end.borrow();
        let is_current = |position: &Position| {
            position.started == self.0.started.as_millis() && position.number < end
        };
        let (next, scan) = match after {
            None => (end, None),
            Some(position) if is_current(&position) => (position.number + 1, None),
            // From an earlier run.
            Some(position) => {
                let since = UnixTime::from_millis(position.at).before(REORDER_WINDOW);
                (end, Some(StoreScan::since(since)))
            }
        };
        NotificationStream {
            notifications: self.clone(),
            name: asker.name().into(),
            replay: ReplayCharge { asker, read: 0 },
            end: log.end.subscribe(),
            log,
            next,
            last_at: after.map_or(self.0.started, |position| {
                UnixTime::from_millis(position.at)
            }),
            scan,
            missed: VecDeque::new(),
        }
    }

    /// The text of a notification; `None` if it can no longer be rebuilt.
    async fn text(&self, entry: &Entry) -> Option<Arc<str>> {
        if let Some(text) = &entry.text {
            return Some(text.clone());
        }
        if entry.is_warning {
            return None;
        }
        let settled = self.0.engine.elicitation(entry.id).status().await.ok()?;
        Some(Notification::of_settled(&settled)?.to_text().into())
    }
}

impl AskerLog {
    fn append(&self, entry: Entry) {
        let mut entries = self.entries.lock();
        entries.items.push_back(entry);
        if entries.items.len() > MAX_ENTRIES {
            entries.items.pop_front();
            entries.first += 1;
        }
        if let Some(old) = entries.items.len().checked_sub(MAX_TEXTS + 1) {
            entries.items[old].text = None;
        }
        let end = entries.first + entries.items.len() as u64;
        drop(entries);
        self.end.send_replace(end);
    }

    fn outcomes_since(&self, since: UnixTime) -> HashSet<ElicitationId> {
        let entries = self.entries.lock();
        let recent = entries.items.iter().filter(|entry| entry.at >= since);
        recent
            .filter(|entry| !entry.is_warning)
            .map(|entry| entry.id)
            .collect()
    }
}

/// A paged scan of the store for elicitations that settled since some time.
struct StoreScan {
    since: UnixTime,
    /// Where the next page begins.
    before: Option<ElicitationId>,
    settled: Vec<(Box<str>, Entry)>,
    /// The number of records on the last page.
    page: usize,
}

impl StoreScan {
    fn since(since: UnixTime) -> Self {
        Self {
            since,
            before: None,
            settled: Vec::new(),
            page: 0,
        }
    }

    /// Reads one more page, of one asker or of all; false after the last one. Cancel-safe.
    async fn next_page(&mut self, engine: &Engine, asker: Option<Arc<str>>) -> bool {
        let page = engine
            .list(asker, StatusFilter::All, MAX_PAGE, self.before)
            .await;
        let page = match page {
            Ok(page) => page,
            Err(error) => {
                tracing::warn!(%error, "cannot read settled questions from the store");
                return false;
            }
        };
        for snapshot in &page.elicitations {
            let settled_at = snapshot.lifecycle().settled_at();
            if let Some(at) = settled_at.filter(|at| *at >= self.since) {
                let entry = Entry {
                    id: snapshot.id(),
                    at,
                    is_warning: false,
                    text: None,
                };
                let asker = Box::from(&*snapshot.record().request.asker);
                self.settled.push((asker, entry));
            }
        }
        self.page = page.elicitations.len();
        self.before = page.next;
        self.before.is_some()
    }

    /// What was found, in the order of settlement.
    fn into_sorted(mut self) -> Vec<(Box<str>, Entry)> {
        self.settled.sort_by_key(|(_, entry)| (entry.at, entry.id));
        self.settled
    }
}

/// Charges an asker's rate limit for replayed records: one request per [`MAX_PAGE`] records.
struct ReplayCharge {
    asker: Asker,
    read: usize,
}

impl ReplayCharge {
    /// Charges the records read so far. Waits while the asker is rate-limited, so that no
    /// notification is skipped. Cancel-safe.
    async fn charge(&mut self) {
        while self.read >= MAX_PAGE {
            match self.asker.charge() {
                Err(ActError::RateLimited { retry_after }) => {
                    tokio::time::sleep(retry_after).await;
                }
                Ok(()) | Err(_) => self.read -= MAX_PAGE,
            }
        }
    }
}

/// One asker's notifications, in order.
pub(crate) struct NotificationStream {
    notifications: NotificationLog,
    name: Arc<str>,
    replay: ReplayCharge,
    log: Arc<AskerLog>,
    end: watch::Receiver<u64>,
    next: u64,
    last_at: UnixTime,
    /// Scans the store for entries missing from the log.
    scan: Option<StoreScan>,
    missed: VecDeque<Entry>,
}

enum LogRead {
    Entry(Entry),
    /// Evicted from the log.
    Evicted,
    NotYet,
}

impl NotificationStream {
    /// Returns the next notification. Cancel-safe: none is skipped.
    pub(crate) async fn next(&mut self) -> StreamedNotification {
        loop {
            self.replay.charge().await;
            if let Some(scan) = &mut self.scan {
                let engine = &self.notifications.0.engine;
                let has_more = scan.next_page(engine, Some(self.name.clone())).await;
                self.replay.read += scan.page;
                if !has_more && let Some(scan) = self.scan.take() {
                    let entries = scan.into_sorted().into_iter().map(|(_, entry)| entry);
                    self.missed = entries.collect();
                }
                continue;
            }
            if let Some(entry) = self.missed.front() {
                let position = Position::by_time(entry.at);
                let text = self.notifications.text(entry).await;
                self.replay.read += 1;
                self.missed.pop_front();
                if let Some(text) = text {
                    return StreamedNotification { position, text };
                }
                continue;
            }
            match self.read_log() {
                LogRead::Entry(entry) => {
                    let text = self.notifications.text(&entry).await;
                    self.replay.read += usize::from(entry.text.is_none());
                    let position = Position {
                        started: self.notifications.0.started.as_millis(),
                        number: self.next,
                        at: entry.at.as_millis(),
                    };
                    self.next += 1;
                    self.last_at = entry.at;
                    if let Some(text) = text {
                        return StreamedNotification { position, text };
                    }
                }
                LogRead::Evicted => {
                    self.scan = Some(StoreScan::since(self.last_at.before(REORDER_WINDOW)));
                    self.next = *self.end.borrow();
                }
                LogRead::NotYet => {
                    // The sender lives in the log, which this stream holds.
                    let _ = self.end.changed().await;
                }
            }
        }
    }

    fn read_log(&mut self) -> LogRead {
        self.end.mark_unchanged();
        let entries = self.log.entries.lock();
        let Some(place) = self.next.checked_sub(entries.first) else {
            return LogRead::Evicted;
        };
        let entry = usize::try_from(place)
            .ok()
            .and_then(|place| entries.items.get(place));
        entry.cloned().map_or(LogRead::NotYet, LogRead::Entry)
    }
}
