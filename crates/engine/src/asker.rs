//! Who asks: a name, its limits, and a view of its own elicitations and no others.

use std::sync::Arc;
use std::time::Duration;

use entreat_core::url_guard::Policy;
use entreat_core::{ElicitationId, Lifecycle, Mode, Terms, Timeout, TimeoutError, TimeoutPolicy};
use serde_json::Value;
use tracing::{Instrument as _, Span, field};

use crate::ask::Ask;
use crate::connection::{Connection, Ties};
use crate::elicitation::{Access, Elicitation};
use crate::engine::{Engine, TimeoutConfig};
use crate::error::{ActError, AskError};
use crate::events::Subscription;
use crate::limits::{Account, Limits};
use crate::observe::StoreCall;
use crate::record::{Entry, Extras, Record, Request, Subject, Version};
use crate::resolver::{Unresolved, judge_resolved};
use crate::snapshot::Snapshot;
use crate::store::{Created, Query, StoreError, Which};

/// What holds for one asker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskerSettings {
    /// How much it may ask.
    pub limits: Limits,
    /// How long its questions may wait.
    pub timeouts: TimeoutPolicy,
    /// How many whole answers a question takes before it is given up.
    pub retry_limit: u8,
    /// How large a result may be when the asker does not say, in bytes of JSON.
    pub size_limit: u32,
}

impl Default for AskerSettings {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            timeouts: TimeoutPolicy::default(),
            retry_limit: 3,
            size_limit: 1 << 20,
        }
    }
}

impl AskerSettings {
    /// What timeouts can be had in a mode.
    pub fn timeout_config(&self, mode: Mode) -> TimeoutConfig {
        TimeoutConfig::new(&self.timeouts, mode)
    }
}

/// The largest size limit of a result that can be asked for, in bytes.
pub const MAX_SIZE_LIMIT: u64 = 16 << 20;
/// The longest page of a list.
pub const MAX_PAGE: usize = 200;

/// A page of a list.
#[derive(Debug, serde::Serialize)]
pub struct ElicitationPage {
    /// The elicitations, newest first, without results.
    pub elicitations: Vec<Snapshot>,
    /// The last of them, if others follow: the next page is of those before it.
    #[serde(rename = "nextCursor", skip_serializing_if = "Option::is_none")]
    pub next: Option<ElicitationId>,
}

/// Somebody who asks; made by [`Engine::asker`]. Cheap to clone.
#[derive(Clone)]
pub struct Asker {
    engine: Engine,
    account: Account,
    settings: Arc<AskerSettings>,
}

impl Asker {
    pub(crate) fn new(engine: Engine, name: &str, settings: AskerSettings) -> Self {
        Self {
            account: Account::of(engine.inner.ledgers.open(name, &settings.limits)),
            settings: Arc::new(settings),
            engine,
        }
    }

    /// The asker's name.
    pub fn name(&self) -> &str {
        self.account.name()
    }

    /// This asker acting for one principal, such as a user of an MCP server: what it asks belongs
    /// to the principal, it sees nothing else, and it has a [share](Limits::principal_share) of
    /// the asker's limits.
    #[must_use]
    pub fn on_behalf_of(&self, principal: &str) -> Self {
        Self {
            account: self.account.on_behalf_of(principal),
            ..self.clone()
        }
    }

    /// This asker acting for itself: it does not see the questions of its principals.
    #[must_use]
    pub fn on_its_own_behalf(&self) -> Self {
        Self {
            account: self.account.on_its_own_behalf(),
            ..self.clone()
        }
    }

    /// The engine it asks.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// What timeouts it can have in a mode.
    pub fn timeout_config(&self, mode: Mode) -> TimeoutConfig {
        self.settings.timeout_config(mode)
    }

    /// Asks. The question outlives the returned handle.
    ///
    /// Refused are timeouts and size limits outside their bounds, unsafe URLs, and questions
    /// above the asker's limits; nothing is charged then.
    pub async fn ask(&self, ask: Ask) -> Result<Elicitation, AskError> {
        Ok(self.elicitation(self.create_on(ask, None).await?.id()))
    }

    /// Asks, and tells how the question stands: as it was just made, or, if an idempotency key
    /// found an earlier one, as that one stands, secrets sealed.
    pub async fn create(&self, ask: Ask) -> Result<Snapshot, AskError> {
        self.create_on(ask, None).await
    }

    /// Reads the `timeout` of a request, by the bounds that hold for this asker.
    pub fn read_timeout(&self, mode: Mode, value: &Value) -> Result<Timeout, TimeoutError> {
        let timeout = self.settings.timeouts.read(mode, value);
        timeout.inspect_err(|error| self.engine.inner.observer.timeout_rejected(error))
    }

    /// How long a question waits, by the bounds that hold for this asker: for one that is kept
    /// elsewhere.
    pub fn time_for(&self, mode: Mode, timeout: Timeout) -> Result<Duration, TimeoutError> {
        let terms = self.settings.timeouts.terms(mode, timeout);
        terms.map(|terms| terms.initial())
    }

    /// How many whole answers a question takes before it is given up.
    pub fn retry_limit(&self) -> u8 {
        self.settings.retry_limit
    }

    /// Charges a request that the engine does not see by itself. Waiting is one: an
    /// [`outcome`](Elicitation::outcome) is free.
    pub fn charge(&self) -> Result<(), ActError> {
        self.account
            .charge_request(self.engine.now())
            .map_err(|retry_after| ActError::RateLimited { retry_after })
    }

    /// A connection of this asker: what is asked on it goes when it goes.
    pub fn connect(&self) -> Connection {
        Connection::new(self.clone())
    }

    /// One of this asker's elicitations; calls on another's say that there is none.
    pub fn elicitation(&self, id: ElicitationId) -> Elicitation {
        let access = Access::Asker(self.account.clone());
        Elicitation::new(self.engine.clone(), id, access)
    }

    /// Whether an elicitation is this asker's, or this principal's.
    pub fn owns(&self, elicitation: &Snapshot) -> bool {
        self.account.owns(&elicitation.record().request)
    }

    /// What happens to this asker's elicitations from now on.
    pub fn subscribe(&self) -> Subscription {
        let account = self.account.clone();
        self.engine.inner.events.subscribe(Some(account))
    }

    /// A page of this asker's elicitations, newest first, without results: at most `limit`,
    /// which is at most [`MAX_PAGE`], and only such as are older than `before`. A page of a
    /// principal may be shorter than others that follow it.
    pub async fn list(
        &self,
        which: Which,
        limit: usize,
        before: Option<ElicitationId>,
    ) -> Result<ElicitationPage, ActError> {
        self.charge()?;
        let asker = Some(self.account.name().clone());
        let mut page = self.engine.list(asker, which, limit, before).await?;
        page.elicitations.retain(|snapshot| self.owns(snapshot));
        Ok(page)
    }

    pub(crate) async fn create_on(
        &self,
        ask: Ask,
        ties: Option<&Arc<Ties>>,
    ) -> Result<Snapshot, AskError> {
        let span = tracing::info_span!(
            "elicitation.create",
            elicitation.id = field::Empty,
            elicitation.mode = ask.mode.as_str(),
            timeout_ms = field::Empty,
            timeout_validated = field::Empty,
        );
        self.create_within(ask, ties, &span)
            .instrument(span.clone())
            .await
    }

    async fn create_within(
        &self,
        mut ask: Ask,
        ties: Option<&Arc<Ties>>,
        span: &Span,
    ) -> Result<Snapshot, AskError> {
        let inner = &self.engine.inner;
        let mut now = inner.now();
        self.account
            .charge_request(now)
            .map_err(|retry_after| AskError::RateLimited { retry_after })?;
        let (terms, size_limit) = self.terms(&ask, span)?;
        if ask.has_urls() {
            self.judge_urls(&ask).await?;
            if ask.callback_url().is_some() && !inner.dispatch.has_courier() {
                return Err(AskError::NoCallbacks);
            }
            // Look-ups may take seconds: the person gets the whole time.
            now = inner.now();
        }
        if let Some(principal) = self.account.principal() {
            ask.belongs_to(principal);
        }
        let extras = ask.extras.map(Arc::<Extras>::from);
        if let Some(extras) = &extras {
            inner.room.take_asked(self.account.name(), extras)?;
        }
        inner.ledgers.admit(&self.account, now)?;
        let mut random = [0; 10];
        inner.entropy.fill(&mut random);
        let record = Record::from(Entry {
            id: ElicitationId::new(now, random),
            version: Version::default(),
            lifecycle: Lifecycle::new(now, terms, self.settings.retry_limit),
            request: Request {
                asker: self.account.name().clone(),
                mode: ask.mode,
                channel: ask.channel,
                unknown: ask.unknown,
                durable: ask.durable,
                wipe: ask.wipe,
                size_limit,
                extras,
                subject: ask.subject,
            },
            held: None,
        });
        if let Some(ties) = ties.filter(|_| !record.request.durable) {
            // Before it exists, so that no end of the connection comes between.
            ties.bind(record.id);
            inner.waiters.tie(record.id, ties);
        }
        span.record("elicitation.id", field::display(record.id));
        let record = match inner.create(record.clone(), &self.account).await? {
            Created::Fresh => record,
            Created::Before(first) => {
                let load = inner.called(StoreCall::Load, inner.store.load(first));
                load.await?.ok_or(StoreError::Missing(first))?
            }
        };
        Ok(Snapshot::sealed(record))
    }

    fn terms(&self, ask: &Ask, span: &Span) -> Result<(Terms, u32), AskError> {
        let by_form = ask.subject.form().map(entreat_core::Form::timeout);
        let timeout = ask.timeout.or(by_form.unwrap_or_default());
        let terms = self.settings.timeouts.terms(ask.mode, timeout);
        span.record("timeout_validated", terms.is_ok());
        let terms = terms.inspect_err(|error| {
            self.engine.inner.observer.timeout_rejected(error);
        })?;
        span.record("timeout_ms", terms.initial().as_millis());
        let requested = ask.size_limit.unwrap_or(self.settings.size_limit.into());
        let size_limit = u32::try_from(requested)
            .ok()
            .filter(|_| (1..=MAX_SIZE_LIMIT).contains(&requested))
            .ok_or(AskError::SizeLimit {
                requested,
                maximum: MAX_SIZE_LIMIT,
            })?;
        Ok((terms, size_limit))
    }

    async fn judge_urls(&self, ask: &Ask) -> Result<(), AskError> {
        let inner = &self.engine.inner;
        let resolver = &inner.resolver_for(self.name());
        if let Subject::Url(url) = &ask.subject {
            judge_resolved(resolver, url, &Policy::web(), Unresolved::Accept)
                .await
                .map_err(AskError::UnsafeUrl)?;
        }
        if let Some(callback) = ask.callback_url() {
            judge_resolved(
                resolver,
                callback,
                &inner.settings.callbacks,
                Unresolved::Refuse,
            )
            .await
            .map_err(AskError::UnsafeUrl)?;
        }
        Ok(())
    }
}

impl Engine {
    /// A page of all elicitations, newest first, without results.
    pub async fn list(
        &self,
        asker: Option<Arc<str>>,
        which: Which,
        limit: usize,
        before: Option<ElicitationId>,
    ) -> Result<ElicitationPage, ActError> {
        let inner = &self.inner;
        let limit = limit.clamp(1, MAX_PAGE);
        let query = Query {
            asker,
            which,
            before,
            // One more, to see whether anything follows.
            limit: limit + 1,
        };
        let mut records = inner
            .called(StoreCall::List, inner.store.list(query))
            .await?;
        let has_more = records.len() > limit;
        records.truncate(limit);
        Ok(ElicitationPage {
            next: records.last().filter(|_| has_more).map(|record| record.id),
            elicitations: records.into_iter().map(Snapshot::brief).collect(),
        })
    }
}

impl std::fmt::Debug for Asker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Asker").field(&self.name()).finish()
    }
}
