//! The one place that hears of changes: of this engine's own steps, and of those that others have
//! made in the same store.
//!
//! Whoever depends on a change hears of it from here, whoever made it: waiters, subscribers, the
//! ledgers of live questions, and the timer task. Own steps come with their records. Of foreign ones
//! the store's feed tells the ids, and the records are read; what was missed is found by looking
//! again, at everything if the feed says so and regularly at what is waited for. The feed saves time
//! only: the store is the truth.

use std::collections::{HashMap, HashSet};
use std::iter;
use std::sync::Weak;
use std::time::Duration;

use entreat_core::{Change, Effect, ElicitationId, Outcome, Step};
use futures_util::stream::{self, StreamExt as _};
use tokio_util::sync::CancellationToken;

use crate::census::{Census, News};
use crate::engine::Inner;
use crate::observe::AskerCounters;
use crate::record::{Record, Version};
use crate::store::{ChangeElsewhere, ChangeFeed, Query, StatusFilter, StoreError};

/// How long a lost change goes unnoticed at most.
const LOOK_AGAIN: Duration = Duration::from_secs(30);
/// Records to look at between two pauses, except those that were told to have changed.
const PAGE: usize = 256;
/// The pause: a store that all engines look through at once has time for others, and so has the
/// feed.
const PAUSE: Duration = Duration::from_millis(10);
/// Records to look at concurrently.
const MAX_LOOKS: usize = 32;
/// Maximum number of changes to remember while the store fails; beyond it, everything is looked at.
const MAX_TOLD: usize = 65_536;
/// Delay before a failed store is asked again.
const RETRY_DELAY: Duration = Duration::from_secs(1);

impl Inner {
    /// Performs the effects of a creation by this engine, which is in the ledgers.
    pub(crate) fn created_here(&self, record: &Record, counters: &AskerCounters) {
        let is_news = (self.census.as_ref()).is_none_or(|census| census.add_own(record));
        if !is_news {
            let request = &record.request;
            self.ledgers.uncount(&request.asker, request.principal());
        }
        self.observer.created(record, self.ledgers.live(), counters);
        if is_news {
            self.events.publish(record, None);
        }
        self.arm_timer(record);
    }

    /// Performs the effects of a step by this engine.
    pub(crate) fn stepped_here(&self, record: &Record, step: Step) {
        // Not by the time in the state, which a second step may share.
        if step.opens {
            let after = step.at.since(record.lifecycle.created());
            self.observer.opened(record, after);
        }
        if let Change::Extended { deadline } = step.change {
            self.observer.extended(record, deadline);
        }
        let is_news = match record.lifecycle.outcome() {
            Some(outcome) => self.settled_here(record, step, outcome),
            None => (self.census.as_ref()).is_none_or(|census| census.step_own(record)),
        };
        if is_news {
            self.perform(record, step);
        }
    }

    /// Uncounts a question that has settled; false if that was done before.
    fn settled_here(&self, record: &Record, step: Step, outcome: Outcome) -> bool {
        let (id, request) = (record.id, &record.request);
        let counters = if let Some(census) = &self.census {
            let is_news = census.settle(id, self.now(), &self.ledgers);
            is_news.then(|| self.ledgers.counters(&request.asker))
        } else {
            let is_news = self.backlog.should_settle(id, step.at);
            is_news.then(|| self.ledgers.uncount(&request.asker, request.principal()))
        };
        let Some(counters) = counters else {
            return false;
        };
        let live = self.ledgers.live();
        self.observer.settled(record, outcome, live, &counters);
        true
    }

    /// Performs the effects of a step, whoever made it.
    fn perform(&self, record: &Record, step: Step) {
        for effect in step.change.effects() {
            match effect {
                Effect::SetTimer => self.arm_timer(record),
                Effect::Announce => self.events.publish(record, Some(step)),
                Effect::Warn => {
                    tracing::debug!(elicitation.id = %record.id, "elicitation is about to time out");
                    self.events.publish(record, Some(step));
                }
                Effect::Settle => {
                    self.events.publish(record, Some(step));
                    self.waiters.settle(record.id);
                    self.arm_timer(record);
                }
            }
        }
    }

    fn arm_timer(&self, record: &Record) {
        if let Some(at) = record.timer() {
            self.timer_signal.schedule(at);
        }
    }

    /// Takes note of the live questions in the store, before the engine starts.
    pub(crate) async fn take_census(&self, census: &Census) -> Result<(), StoreError> {
        let mut pages = LivePages::default();
        while let Some(page) = pages.next(self).await? {
            for record in &page {
                self.note(census, record);
            }
        }
        Ok(())
    }

    /// Follows the changes that others make, until the token is cancelled or the engine dropped.
    pub(crate) async fn follow_changes(
        engine: Weak<Self>,
        mut feed: ChangeFeed,
        ended: CancellationToken,
    ) {
        let Some(clock) = engine.upgrade().map(|inner| inner.clock.clone()) else {
            return;
        };
        let mut unseen = Unseen::default();
        let mut next_look = clock.elapsed() + LOOK_AGAIN;
        let mut has_failed = false;
        loop {
            let delay = match (has_failed, unseen.is_empty()) {
                (true, _) => RETRY_DELAY,
                (false, false) => PAUSE,
                (false, true) => next_look.saturating_sub(clock.elapsed()),
            };
            let first = tokio::select! {
                () = ended.cancelled() => return,
                () = clock.sleep(delay) => None,
                // Not while the store fails: each change would ask it again.
                first = feed.next(), if !has_failed => match first {
                    Some(first) => Some(first),
                    // The store was closed.
                    None => return,
                },
            };
            let Some(inner) = engine.upgrade() else {
                return;
            };
            let Some(census) = &inner.census else {
                return;
            };
            for change in first.into_iter().chain(iter::from_fn(|| feed.try_next())) {
                unseen.add(change);
            }
            if unseen.told.len() > MAX_TOLD {
                unseen.add(ChangeElsewhere::Missed);
            }
            if clock.elapsed() >= next_look {
                next_look = clock.elapsed() + LOOK_AGAIN;
                inner.doubt_what_is_awaited(census, &mut unseen);
            }
            let looked = tokio::select! {
                () = ended.cancelled() => return,
                looked = inner.look_at(census, &mut unseen) => looked,
            };
            has_failed = looked.is_err();
            if let Err(error) = looked {
                tracing::warn!(%error, "changes made elsewhere cannot be read; retrying");
            }
        }
    }

    /// Adds what somebody waits for and what should have ended: it may have changed without word.
    fn doubt_what_is_awaited(&self, census: &Census, unseen: &mut Unseen) {
        let now = self.now();
        census.prune(now);
        let open: HashSet<_> = self.waiters.ids().into_iter().collect();
        let overdue = census.live(Some(now)).into_iter();
        unseen.doubted = open.into_iter().chain(overdue).collect();
    }

    /// Looks at all that was told, and at a page of the rest.
    async fn look_at(&self, census: &Census, unseen: &mut Unseen) -> Result<(), StoreError> {
        let told = unseen.told.iter();
        let told = told.filter(|(id, version)| !census.has(**id, **version));
        let told = told.map(|(id, _)| *id).collect();
        self.look_at_records(census, told).await?;
        unseen.told.clear();

        if unseen.has_missed {
            tracing::info!("changes made elsewhere may have been missed; looking again");
            self.events.publish_missed();
            let mut open: HashSet<_> = self.waiters.ids().into_iter().collect();
            open.extend(census.live(None));
            let pages = LivePages::default();
            unseen.scan = Some(Scan { pages, open });
            unseen.has_missed = false;
        }
        if let Some(scan) = &mut unseen.scan {
            if let Some(page) = scan.pages.next(self).await? {
                for record in &page {
                    self.heard(census, record);
                    scan.open.remove(&record.id);
                }
            } else if let Some(scan) = unseen.scan.take() {
                // What was taken for live and is not: it has settled, or is gone.
                unseen.doubted.extend(scan.open);
            }
            return Ok(());
        }
        let rest = unseen.doubted.len().saturating_sub(PAGE);
        let page = unseen.doubted[rest..].to_vec();
        self.look_at_records(census, page).await?;
        unseen.doubted.truncate(rest);
        Ok(())
    }

    async fn look_at_records(
        &self,
        census: &Census,
        ids: Vec<ElicitationId>,
    ) -> Result<(), StoreError> {
        let mut looks = stream::iter(ids)
            .map(|id| self.look_at_record(census, id))
            .buffer_unordered(MAX_LOOKS);
        while let Some(looked) = looks.next().await {
            looked?;
        }
        Ok(())
    }

    async fn look_at_record(&self, census: &Census, id: ElicitationId) -> Result<(), StoreError> {
        if let Some(record) = self.store.load(id).await? {
            self.heard(census, &record);
        } else {
            census.settle(id, self.now(), &self.ledgers);
            // They find that it is gone.
            self.waiters.wake(id);
        }
        Ok(())
    }

    /// Performs the effects of what others have done to a record.
    fn heard(&self, census: &Census, record: &Record) {
        match self.note(census, record) {
            News::None => {}
            News::Created => self.events.publish(record, None),
            News::Stepped(step) => self.perform(record, step),
        }
        if !record.lifecycle.is_live() {
            // Also of what settled long ago: somebody may wait for it since.
            self.waiters.settle(record.id);
        }
        self.arm_timer(record);
    }

    fn note(&self, census: &Census, record: &Record) -> News {
        let limits = &self.settings.asker.limits;
        let count = |request: &_| self.ledgers.count(request, limits);
        let news = census.hear(record, self.now(), count, &self.ledgers);
        self.observer.set_live(self.ledgers.live());
        news
    }
}

/// What has changed, or may have, and was not looked at yet.
#[derive(Default)]
struct Unseen {
    /// Records that have changed, with the latest version that was told.
    told: HashMap<ElicitationId, Version>,
    /// Whether anything may have changed.
    has_missed: bool,
    /// A look at everything, in progress.
    scan: Option<Scan>,
    /// Records that may have changed without word.
    doubted: Vec<ElicitationId>,
}

struct Scan {
    pages: LivePages,
    /// What this engine took for live and was not on a page yet.
    open: HashSet<ElicitationId>,
}

impl Unseen {
    fn add(&mut self, change: ChangeElsewhere) {
        match change {
            ChangeElsewhere::Missed => {
                self.has_missed = true;
                self.told.clear();
            }
            ChangeElsewhere::Records(records) => {
                for (id, version) in records.iter() {
                    let latest = self.told.entry(*id).or_insert(*version);
                    *latest = (*latest).max(*version);
                }
            }
        }
    }

    fn is_empty(&self) -> bool {
        !self.has_missed && self.told.is_empty() && self.scan.is_none() && self.doubted.is_empty()
    }
}

/// All live questions of the store, page by page.
#[derive(Default)]
struct LivePages {
    before: Option<ElicitationId>,
    is_done: bool,
}

impl LivePages {
    async fn next(&mut self, inner: &Inner) -> Result<Option<Vec<Record>>, StoreError> {
        if self.is_done {
            return Ok(None);
        }
        let query = Query {
            asker: None,
            respondents: None,
            which: StatusFilter::Live,
            before: self.before,
            limit: PAGE,
        };
        let page = inner.store.list(query).await?;
        self.before = page.last().map(|record| record.id);
        self.is_done = page.len() < PAGE;
        Ok(Some(page))
    }
}
