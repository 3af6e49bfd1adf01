//! What askers were told, so that a stream of notifications that broke can go on where it was.
//!
//! One task hears the engine's events and writes down which elicitation settled, per asker and
//! numbered. A stream reads along at its own pace; nobody waits for a slow one. Only names and
//! numbers are kept, and the text of the last few: an older notification is made anew from the
//! store. What is not written down any more, after a restart or after very many others, is found
//! in the store by the time at which it settled; then, and only then, a notification may come a
//! second time.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use entreat_core::{ElicitationId, UnixTime};
use entreat_engine::{ActError, Asker, Engine, Event, Heard, MAX_PAGE, Subscription, Which};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::rpc::Notification;

/// So many are written down for each asker; what is older is found in the store.
const LINES: usize = 65_536;
/// The texts of so many are kept.
const TEXTS: usize = 64;
/// And only of those that are not larger, in bytes.
const LARGEST_TEXT: usize = 4096;
/// Steps of one moment may be told in another order than they were made, by at most this.
const SLACK: Duration = Duration::from_secs(5);

/// What askers were told. Cheap to clone; all clones are one.
#[derive(Clone)]
pub(crate) struct Told(Arc<Inner>);

struct Inner {
    engine: Engine,
    /// Tells this run's numbers from those of an earlier one.
    started: UnixTime,
    logs: Mutex<HashMap<Box<str>, Arc<Log>>>,
}

/// What one asker was told.
struct Log {
    lines: Mutex<Lines>,
    /// The number that the next line will have.
    end: watch::Sender<u64>,
}

#[derive(Default)]
struct Lines {
    /// The number of the first line that is kept.
    first: u64,
    kept: VecDeque<Line>,
}

#[derive(Clone)]
struct Line {
    id: ElicitationId,
    at: UnixTime,
    /// A warning, whose text is all there is of it.
    is_warning: bool,
    text: Option<Arc<str>>,
}

/// A notification with its place in the stream.
pub(crate) struct Telling {
    pub(crate) position: Position,
    pub(crate) text: Arc<str>,
}

/// A place in a stream of notifications, as clients send it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    started: u64,
    number: u64,
    at: u64,
}

impl Position {
    /// The place of something that has no number: whoever goes on there is told by time.
    fn by_time(at: UnixTime) -> Self {
        Self {
            started: 0,
            number: 0,
            at: at.as_millis(),
        }
    }

    /// Reads what [`Display`](fmt::Display) wrote; `None` for anything else.
    pub(crate) fn read(text: &str) -> Option<Self> {
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

impl Told {
    /// To be followed by [`follow`](Self::follow), which hears the events.
    pub(crate) fn new(engine: Engine) -> Self {
        Self(Arc::new(Inner {
            started: engine.now(),
            logs: Mutex::default(),
            engine,
        }))
    }

    /// Writes down what happens from now on, until the engine is gone.
    pub(crate) fn follow(self) -> impl Future<Output = ()> {
        let events = self.0.engine.subscribe();
        async move { self.hear_all(events).await }
    }

    async fn hear_all(&self, mut events: Subscription) {
        let mut heard_until = self.0.engine.now();
        // Looked up after a lag, though their events may still be on their way.
        let mut made_up = HashSet::new();
        let mut made_up_at = heard_until;
        while let Some(heard) = events.next().await {
            match heard {
                Heard::Event(event) => {
                    self.hear(&event, &made_up);
                    heard_until = event.step().map_or(heard_until, |step| step.at);
                    if heard_until.since(made_up_at) > SLACK {
                        made_up.clear();
                    }
                }
                Heard::Lagged(missed) => {
                    tracing::warn!(missed, "too much happened at once; looking it up");
                    made_up_at = self.0.engine.now();
                    made_up.extend(self.make_up(heard_until).await);
                }
            }
        }
    }

    fn hear(&self, event: &Event, made_up: &HashSet<ElicitationId>) {
        let (Some(notification), Some(step)) = (Notification::of(event), event.step()) else {
            return;
        };
        let text: Arc<str> = notification.to_text().into();
        let is_warning = event.record().lifecycle.is_live();
        if !is_warning && made_up.contains(&event.id()) {
            return;
        }
        self.log(event.asker()).write(Line {
            id: event.id(),
            at: step.at,
            is_warning,
            text: (is_warning || text.len() <= LARGEST_TEXT).then_some(text),
        });
    }

    /// Writes down what settled while nobody listened, and returns what that was.
    async fn make_up(&self, since: UnixTime) -> Vec<ElicitationId> {
        let since = since.before(SLACK);
        let mut look_up = LookUp::since(since);
        while look_up.goes_on(&self.0.engine, None).await {}
        let settled = look_up.in_order();
        let mut made_up = Vec::new();
        let mut known: HashMap<Box<str>, HashSet<ElicitationId>> = HashMap::new();
        for (asker, line) in settled {
            let log = self.log(&asker);
            let known = known
                .entry(asker)
                .or_insert_with(|| log.outcomes_since(since));
            if known.insert(line.id) {
                made_up.push(line.id);
                log.write(line);
            }
        }
        made_up
    }

    fn log(&self, asker: &str) -> Arc<Log> {
        let mut logs = self.0.logs.lock();
        if let Some(log) = logs.get(asker) {
            return log.clone();
        }
        let log = Arc::new(Log {
            lines: Mutex::default(),
            end: watch::Sender::new(0),
        });
        logs.insert(asker.into(), log.clone());
        log
    }

    /// What an asker is told from now on, or from where an earlier stream was.
    pub(crate) fn stream(&self, asker: Asker, after: Option<Position>) -> Stream {
        let log = self.log(asker.name());
        let end = *log.end.borrow();
        let is_ours = |position: &Position| {
            position.started == self.0.started.as_millis() && position.number < end
        };
        let (next, look_up) = match after {
            None => (end, None),
            Some(position) if is_ours(&position) => (position.number + 1, None),
            // Of an earlier run.
            Some(position) => {
                let since = UnixTime::from_millis(position.at).before(SLACK);
                (end, Some(LookUp::since(since)))
            }
        };
        Stream {
            told: self.clone(),
            name: asker.name().into(),
            replay: Replay { asker, read: 0 },
            end: log.end.subscribe(),
            log,
            next,
            last_at: after.map_or(self.0.started, |position| {
                UnixTime::from_millis(position.at)
            }),
            look_up,
            missed: VecDeque::new(),
        }
    }

    /// The text of a notification; `None` if there is nothing left to tell.
    async fn text(&self, line: &Line) -> Option<Arc<str>> {
        if let Some(text) = &line.text {
            return Some(text.clone());
        }
        if line.is_warning {
            return None;
        }
        let settled = self.0.engine.elicitation(line.id).status().await.ok()?;
        Some(Notification::of_settled(&settled)?.to_text().into())
    }
}

impl Log {
    fn write(&self, line: Line) {
        let mut lines = self.lines.lock();
        lines.kept.push_back(line);
        if lines.kept.len() > LINES {
            lines.kept.pop_front();
            lines.first += 1;
        }
        if let Some(old) = lines.kept.len().checked_sub(TEXTS + 1) {
            lines.kept[old].text = None;
        }
        let end = lines.first + lines.kept.len() as u64;
        drop(lines);
        self.end.send_replace(end);
    }

    fn outcomes_since(&self, since: UnixTime) -> HashSet<ElicitationId> {
        let lines = self.lines.lock();
        let recent = lines.kept.iter().filter(|line| line.at >= since);
        recent
            .filter(|line| !line.is_warning)
            .map(|line| line.id)
            .collect()
    }
}

/// What settled since some moment, as far as it was looked up in the store.
struct LookUp {
    since: UnixTime,
    /// Where the next page begins.
    before: Option<ElicitationId>,
    settled: Vec<(Box<str>, Line)>,
    /// How many records the last page had.
    page: usize,
}

impl LookUp {
    fn since(since: UnixTime) -> Self {
        Self {
            since,
            before: None,
            settled: Vec::new(),
            page: 0,
        }
    }

    /// Looks at one more page, of one asker or of all; false if it was the last. May be dropped
    /// and called again.
    async fn goes_on(&mut self, engine: &Engine, asker: Option<Arc<str>>) -> bool {
        let page = engine.list(asker, Which::All, MAX_PAGE, self.before).await;
        let page = match page {
            Ok(page) => page,
            Err(error) => {
                tracing::warn!(%error, "what has settled cannot be looked up");
                return false;
            }
        };
        for snapshot in &page.elicitations {
            let settled_at = snapshot.lifecycle().settled_at();
            if let Some(at) = settled_at.filter(|at| *at >= self.since) {
                let line = Line {
                    id: snapshot.id(),
                    at,
                    is_warning: false,
                    text: None,
                };
                let asker = Box::from(&*snapshot.record().request.asker);
                self.settled.push((asker, line));
            }
        }
        self.page = page.elicitations.len();
        self.before = page.next;
        self.before.is_some()
    }

    /// What was found, in the order in which it settled.
    fn in_order(mut self) -> Vec<(Box<str>, Line)> {
        self.settled.sort_by_key(|(_, line)| (line.at, line.id));
        self.settled
    }
}

/// What it costs an asker to be told again: so many records that are read count as a request.
struct Replay {
    asker: Asker,
    read: usize,
}

impl Replay {
    /// Charges what was read. Waits when the asker has had its requests, so that nothing is left
    /// out. May be dropped and called again.
    async fn pay(&mut self) {
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

/// What one asker is told, in order.
pub(crate) struct Stream {
    told: Told,
    name: Arc<str>,
    replay: Replay,
    log: Arc<Log>,
    end: watch::Receiver<u64>,
    next: u64,
    last_at: UnixTime,
    /// What is not written down, while it is being looked up.
    look_up: Option<LookUp>,
    missed: VecDeque<Line>,
}

enum Found {
    Line(Line),
    /// It was written down and is not any more.
    Gone,
    NotYet,
}

impl Stream {
    /// The next notification. May be dropped and called again: nothing is left out.
    pub(crate) async fn next(&mut self) -> Telling {
        loop {
            self.replay.pay().await;
            if let Some(look_up) = &mut self.look_up {
                let engine = &self.told.0.engine;
                let goes_on = look_up.goes_on(engine, Some(self.name.clone())).await;
                self.replay.read += look_up.page;
                if !goes_on && let Some(look_up) = self.look_up.take() {
                    let lines = look_up.in_order().into_iter().map(|(_, line)| line);
                    self.missed = lines.collect();
                }
                continue;
            }
            if let Some(line) = self.missed.front() {
                let position = Position::by_time(line.at);
                let text = self.told.text(line).await;
                self.replay.read += 1;
                self.missed.pop_front();
                if let Some(text) = text {
                    return Telling { position, text };
                }
                continue;
            }
            match self.look() {
                Found::Line(line) => {
                    let text = self.told.text(&line).await;
                    self.replay.read += usize::from(line.text.is_none());
                    let position = Position {
                        started: self.told.0.started.as_millis(),
                        number: self.next,
                        at: line.at.as_millis(),
                    };
                    self.next += 1;
                    self.last_at = line.at;
                    if let Some(text) = text {
                        return Telling { position, text };
                    }
                }
                Found::Gone => {
                    self.look_up = Some(LookUp::since(self.last_at.before(SLACK)));
                    self.next = *self.end.borrow();
                }
                Found::NotYet => {
                    // The log outlives us; its end cannot go away.
                    let _ = self.end.changed().await;
                }
            }
        }
    }

    fn look(&mut self) -> Found {
        self.end.mark_unchanged();
        let lines = self.log.lines.lock();
        let Some(place) = self.next.checked_sub(lines.first) else {
            return Found::Gone;
        };
        let line = usize::try_from(place)
            .ok()
            .and_then(|place| lines.kept.get(place));
        line.cloned().map_or(Found::NotYet, Found::Line)
    }
}
