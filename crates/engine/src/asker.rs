//! Askers: a name, its limits, and access to its own elicitations only.

use std::sync::Arc;
use std::time::Duration;

use entreat_core::url_guard::Policy;
use entreat_core::{ElicitationId, Lifecycle, Mode, Terms, Timeout, TimeoutError, TimeoutPolicy};
use serde_json::Value;
use tracing::{Instrument as _, Span, field};

use crate::ask::Ask;
use crate::connection::{Connection, OpenQuestions};
use crate::elicitation::{Access, Elicitation};
use crate::engine::{Engine, TimeoutConfig};
use crate::error::{ActError, AskError};
use crate::events::Subscription;
use crate::limits::{Account, Limits};
use crate::observe::StoreCall;
use crate::record::{Entry, Extras, Record, Request, Subject, Version};
use crate::refusals::UrlUse;
use crate::resolver::{Unresolved, UrlError, resolve_and_check};
use crate::snapshot::Snapshot;
use crate::store::{Created, Query, StatusFilter, StoreError};

/// Settings of one asker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskerSettings {
    /// Rate limits and quotas.
    pub limits: Limits,
    /// Bounds on timeouts.
    pub timeouts: TimeoutPolicy,
    /// How many submissions a question takes before it is cancelled.
    pub retry_limit: u8,
    /// Default limit on the size of a result, in bytes of JSON.
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
    /// Returns the bounds on timeouts in a mode.
    pub fn timeout_config(&self, mode: Mode) -> TimeoutConfig {
        TimeoutConfig::new(&self.timeouts, mode)
    }
}

/// Upper bound on [`Ask::size_limit`], in bytes.
pub const MAX_SIZE_LIMIT: u64 = 16 << 20;
/// Maximum length of a page of [`Engine::list`].
pub const MAX_PAGE: usize = 200;

/// A page of elicitations.
#[derive(Debug, serde::Serialize)]
pub struct ElicitationPage {
    /// The elicitations, newest first, without results.
    pub elicitations: Vec<Snapshot>,
    /// The cursor of the next page; `None` on the last one.
    #[serde(rename = "nextCursor", skip_serializing_if = "Option::is_none")]
    pub next: Option<ElicitationId>,
}

/// A program that asks questions; created by [`Engine::asker`]. Cheap to clone.
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

    /// Returns the asker's name.
    pub fn name(&self) -> &str {
        self.account.name()
    }

    /// Returns this asker acting for one principal, such as a user of an MCP server. It sees only
    /// the principal's questions and has a [share](Limits::principal_share) of the asker's limits.
    #[must_use]
    pub fn on_behalf_of(&self, principal: &str) -> Self {
        Self {
            account: self.account.on_behalf_of(principal),
            ..self.clone()
        }
    }

    /// Returns this asker acting for itself: it does not see the questions of its principals.
    #[must_use]
    pub fn on_its_own_behalf(&self) -> Self {
        Self {
            account: self.account.on_its_own_behalf(),
            ..self.clone()
        }
    }

    /// Returns the engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the bounds on timeouts in a mode.
    pub fn timeout_config(&self, mode: Mode) -> TimeoutConfig {
        self.settings.timeout_config(mode)
    }

    /// Asks a question. It outlives the returned handle.
    ///
    /// Rejects timeouts and size limits out of bounds, unsafe URLs, and questions above the asker's
    /// limits. A rejected question is not charged.
    pub async fn ask(&self, ask: Ask) -> Result<Elicitation, AskError> {
        Ok(self.elicitation(self.create_on(ask, None).await?.id()))
    }

    /// Asks a question and returns its snapshot. If the idempotency key was used before, returns
    /// the existing question, secrets sealed.
    pub async fn create(&self, ask: Ask) -> Result<Snapshot, AskError> {
        self.create_on(ask, None).await
    }

    /// Parses the `timeout` of a request, within this asker's bounds.
    pub fn read_timeout(&self, mode: Mode, value: &Value) -> Result<Timeout, TimeoutError> {
        let timeout = self.settings.timeouts.read(mode, value);
        timeout.inspect_err(|error| self.engine.inner.observer.timeout_rejected(error))
    }

    /// Resolves a timeout within this asker's bounds, for a question that is stored elsewhere.
    pub fn time_for(&self, mode: Mode, timeout: Timeout) -> Result<Duration, TimeoutError> {
        let terms = self.settings.timeouts.terms(mode, timeout);
        terms.map(|terms| terms.initial())
    }

    /// Returns how many submissions a question takes before it is cancelled.
    pub fn retry_limit(&self) -> u8 {
        self.settings.retry_limit
    }

    /// Charges one request to the rate limit, for calls that the engine does not charge itself,
    /// such as [`Elicitation::outcome`].
    pub fn charge(&self) -> Result<(), ActError> {
        let inner = &self.engine.inner;
        inner
            .charge(&self.account, inner.now())
            .map_err(|retry_after| ActError::RateLimited { retry_after })
    }

    /// Opens a connection: dropping it cancels the questions asked on it.
    pub fn connect(&self) -> Connection {
        Connection::new(self.clone())
    }

    /// Returns a handle; calls fail with [`ActError::NotFound`] if it is another asker's.
    pub fn elicitation(&self, id: ElicitationId) -> Elicitation {
        let access = Access::Asker(self.account.clone());
        Elicitation::new(self.engine.clone(), id, access)
    }

    /// Returns whether the elicitation belongs to this asker or principal.
    pub fn owns(&self, elicitation: &Snapshot) -> bool {
        self.account.owns(&elicitation.record().request)
    }

    /// Subscribes to the events of this asker's elicitations.
    pub fn subscribe(&self) -> Subscription {
        let account = self.account.clone();
        self.engine.inner.events.subscribe(Some(account))
    }

    /// Lists this asker's elicitations older than `before`, newest first, without results. `limit`
    /// is capped at [`MAX_PAGE`]. A principal's page may be short although more pages follow.
    pub async fn list(
        &self,
        which: StatusFilter,
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
        open_questions: Option<&Arc<OpenQuestions>>,
    ) -> Result<Snapshot, AskError> {
        let span = tracing::info_span!(
            "elicitation.create",
            elicitation.id = field::Empty,
            elicitation.mode = ask.mode.as_str(),
            timeout_ms = field::Empty,
            timeout_validated = field::Empty,
        );
        self.create_within(ask, open_questions, &span)
            .instrument(span.clone())
            .await
    }

    async fn create_within(
        &self,
        mut ask: Ask,
        open_questions: Option<&Arc<OpenQuestions>>,
        span: &Span,
    ) -> Result<Snapshot, AskError> {
        let inner = &self.engine.inner;
        let mut now = inner.now();
        inner
            .charge(&self.account, now)
            .map_err(|retry_after| AskError::RateLimited { retry_after })?;
        let (terms, size_limit) = self.terms(&ask, span)?;
        if ask.has_urls() {
            self.judge_urls(&ask).await.map_err(|error| {
                let (asker, now) = (self.account.name(), inner.now());
                inner.refusals.url(asker, UrlUse::Question, &error, now);
                AskError::UnsafeUrl(error)
            })?;
            if ask.callback_url().is_some() && !inner.callback_queue.has_sender() {
                return Err(AskError::NoCallbacks);
            }
            // DNS lookups take up to seconds, which must not count against the person's time.
            now = inner.now();
        }
        if let Some(principal) = self.account.principal() {
            ask.set_principal(principal);
        }
        let extras = ask.extras.map(Arc::<Extras>::from);
        let reserved = extras.as_ref().map_or(Ok(()), |extras| {
            let name = self.account.name();
            inner.memory_budget.reserve_extras(name, extras)
        });
        reserved
            .and_then(|()| inner.ledgers.admit(&self.account, now))
            .inspect_err(|error| {
                let name = self.account.name();
                inner.refusals.not_admitted(name, error, now);
            })?;
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
            answer_state: None,
            author: inner.author,
        });
        if let Some(open_questions) = open_questions.filter(|_| !record.request.durable) {
            // Before it exists, so that it cannot outlive a connection dropped meanwhile.
            open_questions.insert(record.id);
            inner.waiters.set_connection(record.id, open_questions);
        }
        span.record("elicitation.id", field::display(record.id));
        let record = match inner.create(record.clone(), &self.account).await? {
            Created::New => record,
            Created::Existing(first) => {
                let load = inner.timed(StoreCall::Load, inner.store.load(first));
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

    async fn judge_urls(&self, ask: &Ask) -> Result<(), UrlError> {
        let inner = &self.engine.inner;
        let resolver = &inner.resolver_for(self.name());
        if let Subject::Url(url) = &ask.subject {
            resolve_and_check(resolver, url, &Policy::web(), Unresolved::Accept).await?;
        }
        if let Some(callback) = ask.callback_url() {
            resolve_and_check(
                resolver,
                callback,
                &inner.settings.callbacks,
                Unresolved::Refuse,
            )
            .await?;
        }
        Ok(())
    }
}

impl Engine {
    /// Lists elicitations of one asker or all, newest first, without results.
    pub async fn list(
        &self,
        asker: Option<Arc<str>>,
        which: StatusFilter,
        limit: usize,
        before: Option<ElicitationId>,
    ) -> Result<ElicitationPage, ActError> {
        let query = Query {
            asker,
            respondents: None,
            which,
            before,
            limit: limit.min(MAX_PAGE),
        };
        self.select(query).await
    }

    /// Returns the page that a query selects, newest first, without results. Its limit is not
    /// capped.
    pub async fn select(&self, mut query: Query) -> Result<ElicitationPage, ActError> {
        let inner = &self.inner;
        let limit = query.limit.max(1);
        // One more, to know whether another page follows.
        query.limit = limit.saturating_add(1);
        let mut records = inner
            .timed(StoreCall::List, inner.store.list(query))
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
