//! The engine: builder, settings, shared state and shutdown.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use entreat_core::url_guard::Policy;
use entreat_core::{
    Answers, Catalogue, ElicitationId, FieldError, Form, Messages, Mode, TimeoutPolicy, UnixTime,
};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use zeroize::Zeroizing;

use crate::answer_memory::{AnswerMemory, MemoryBudget};
use crate::asker::{Asker, AskerSettings};
use crate::callbacks::{CallbackLimits, CallbackQueue, CallbackSender};
use crate::census::Census;
use crate::clock::{Clock, SystemClock, Timeline};
use crate::deadlines::{Backlog, TimerSignal};
use crate::elicitation::{Access, Elicitation, judge_answered_urls};
use crate::entropy::{Entropy, SystemEntropy};
use crate::error::StartError;
use crate::events::{Events, Subscription};
use crate::health::Health;
use crate::key_proof;
use crate::limits::{Account, Ledgers};
use crate::observe::{self, Observer};
use crate::refusals::Refusals;
use crate::resolver::{
    Resolver, SystemResolver, Unresolved, UrlError, VettedUrl, resolve_and_check,
};
use crate::store::{MemoryStore, Store, StoreError};
use crate::vault::{KeyRing, Vault};
use crate::waiters::Waiters;

/// Asks questions and settles each exactly once. Cheap to clone; all clones are one engine.
///
/// ```
/// use entreat_core::Form;
/// use entreat_engine::{Ask, Engine};
/// use serde_json::json;
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
/// # runtime.block_on(async {
/// let engine = Engine::builder().start().await?;
/// let asker = engine.asker("my-server");
/// let form = Form::from_value(&json!({"id": "go", "title": "Deploy?", "fields": [
///     {"id": "sure", "type": "boolean", "label": "Are you sure?", "required": true}]}))?;
///
/// let question = asker.ask(Ask::form(form)).await?;
/// // Somewhere, a person answers: on a page, in a terminal.
/// engine.elicitation(question.id()).submit(&json!({"sure": true})).await?;
///
/// let settled = question.outcome().await?;
/// assert_eq!(settled.result(), Some(json!({"sure": true})));
/// engine.shutdown().await;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Engine {
    pub(crate) inner: SharedInner,
}

/// The engine's state, behind a reference count that one asker's handles share among themselves:
/// handles come and go with every question, and cores that write the same count wait for each
/// other.
pub(crate) type SharedInner = Arc<Arc<Inner>>;

/// Settings of an [`Engine`].
#[derive(Clone, Debug)]
pub struct EngineSettings {
    /// Default settings of askers.
    pub asker: AskerSettings,
    /// Maximum number of live elicitations.
    pub live: usize,
    /// How long a settled elicitation can still be read.
    pub retention: Duration,
    /// Which callback URLs are allowed.
    pub callbacks: Policy,
    /// How many callbacks are in flight at once.
    pub callback_limits: CallbackLimits,
    /// How much memory unsettled and undelivered answers may take.
    pub answer_memory: AnswerMemory,
    /// How many askers have their own label in metrics; the others share one.
    pub labelled_askers: usize,
    /// The language of stored validation errors.
    pub messages: Messages,
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self {
            asker: AskerSettings::default(),
            live: 10_000,
            retention: Duration::from_secs(3600),
            callbacks: Policy::web(),
            callback_limits: CallbackLimits::default(),
            answer_memory: AnswerMemory::default(),
            labelled_askers: 20,
            messages: Catalogue::default().messages(["en"]),
        }
    }
}

/// Configures and starts an [`Engine`]; created by [`Engine::builder`].
#[derive(Default)]
pub struct Builder {
    store: Option<Arc<dyn Store>>,
    clock: Option<Arc<dyn Clock>>,
    entropy: Option<Arc<dyn Entropy>>,
    resolver: Option<Arc<dyn Resolver>>,
    keys: Option<KeyRing>,
    callback_sender: Option<Arc<dyn CallbackSender>>,
    settings: EngineSettings,
}

pub(crate) struct Inner {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) timeline: Arc<Timeline>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) resolver: Arc<dyn Resolver>,
    pub(crate) vault: Vault,
    pub(crate) settings: EngineSettings,
    pub(crate) waiters: Waiters,
    pub(crate) ledgers: Ledgers,
    pub(crate) memory_budget: MemoryBudget,
    pub(crate) events: Events,
    pub(crate) timer_signal: Arc<TimerSignal>,
    pub(crate) backlog: Backlog,
    /// If others may change the same store.
    pub(crate) census: Option<Census>,
    /// Tells its steps from those of other engines; see [`Entry::author`](crate::Entry::author).
    pub(crate) author: u64,
    pub(crate) callback_queue: CallbackQueue,
    pub(crate) observer: Observer,
    pub(crate) refusals: Refusals,
    health: Health,
    /// Store calls and deliveries in flight; joined by [`Engine::shutdown`].
    pub(crate) in_flight: TaskTracker,
    stopped: AtomicBool,
    /// Ends what follows the changes of others, which is among the calls in flight.
    ended: CancellationToken,
    /// Runs timers; joined by [`Engine::shutdown`].
    timer_task: Mutex<Option<JoinHandle<()>>>,
}

impl Engine {
    /// Returns a builder. Defaults: memory store, system clock, system DNS resolver.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Returns the asker of this name, with the engine's default settings.
    pub fn asker(&self, name: &str) -> Asker {
        self.asker_with(name, self.inner.settings.asker.clone())
    }

    /// Returns the asker of this name, with its own settings.
    pub fn asker_with(&self, name: &str, settings: AskerSettings) -> Asker {
        let inner = Arc::new(Arc::clone(&*self.inner));
        Asker::new(Self { inner }, name, settings)
    }

    /// Returns the default settings of askers.
    pub fn asker_settings(&self) -> &AskerSettings {
        &self.inner.settings.asker
    }

    /// Returns a handle for the host, which presents questions: reaches every asker's elicitations;
    /// secrets stay sealed.
    pub fn elicitation(&self, id: ElicitationId) -> Elicitation {
        Elicitation::new(self.clone(), id, Access::Host)
    }

    /// Subscribes to the events of all elicitations.
    pub fn subscribe(&self) -> Subscription {
        self.inner.events.subscribe(None)
    }

    /// Returns the number of live elicitations.
    pub fn live(&self) -> usize {
        self.inner.ledgers.live()
    }

    /// Returns the engine's current time.
    pub fn now(&self) -> UnixTime {
        self.inner.now()
    }

    /// Returns the monotonic time since a fixed but arbitrary origin, to measure how long something
    /// takes.
    pub fn elapsed(&self) -> Duration {
        self.inner.clock.elapsed()
    }

    /// Resolves the URL's host and checks it against a policy, as for answers. Fetches nothing.
    pub async fn check_url(&self, url: &str, policy: &Policy) -> Result<VettedUrl, UrlError> {
        resolve_and_check(&*self.inner.resolver, url, policy, Unresolved::Accept).await
    }

    /// Validates answers as [`Elicitation::submit`] does, hosts of URLs included, for a question
    /// that is stored elsewhere. Errors are in the engine's language.
    pub async fn check_answers<'a>(
        &self,
        form: &Form,
        answers: &'a Value,
    ) -> Result<Answers<'a>, Vec<FieldError>> {
        let checked = match form.check(answers) {
            Ok(answers) => {
                let resolver = &*self.inner.resolver;
                judge_answered_urls(resolver, form, answers, &|_: &UrlError| {}).await
            }
            Err(violations) => Err(violations),
        };
        checked.map_err(|violations| violations.errors(&self.inner.settings.messages))
    }

    /// Sleeps for this long by the engine's clock.
    pub fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        self.inner.clock.sleep(duration)
    }

    /// Fills the slice with random bytes.
    pub fn fill_random(&self, bytes: &mut [u8]) {
        self.inner.entropy.fill(bytes);
    }

    /// Derives keys for another purpose; see [`KeyRing::derive`].
    pub fn derived_keys(&self, purpose: &'static str) -> Vec<(u32, Zeroizing<[u8; 32]>)> {
        self.inner.vault.keys().derive(purpose)
    }

    /// Returns whether questions outlive the process.
    pub fn is_durable(&self) -> bool {
        self.inner.store.is_durable()
    }

    /// Returns how long a settled elicitation can still be read.
    pub fn retention(&self) -> Duration {
        self.inner.settings.retention
    }

    /// Returns the bounds on timeouts in a mode.
    pub fn timeout_config(&self, mode: Mode) -> TimeoutConfig {
        self.inner.settings.asker.timeout_config(mode)
    }

    /// Health check: writes to the store and returns its error, if any.
    ///
    /// Results are cached for one second, and concurrent callers share one write. The store counts
    /// as unavailable if it does not answer within five seconds.
    pub async fn check(&self) -> Result<(), Arc<StoreError>> {
        self.inner.health.check(&self.inner).await
    }

    /// Checks that the secrets in a store can be read with these keys. Changes nothing.
    pub async fn check_keys(store: &dyn Store, keys: KeyRing) -> Result<(), StartError> {
        let entropy = SystemEntropy::new().map_err(StartError::Entropy)?;
        let vault = Vault::new(keys, Arc::new(entropy));
        key_proof::check(store, &vault).await
    }

    /// Begins to shut down: connections dropped from now on do not cancel their elicitations,
    /// because askers reconnect after the restart. Call it before closing connections, and
    /// [`shutdown`](Self::shutdown) after.
    pub fn stop(&self) {
        self.inner.stopped.store(true, Ordering::Release);
    }

    /// Stops timers and waits for store calls in flight.
    ///
    /// Live elicitations stay live; a durable store has them after the restart. Pending waits end
    /// with [`ActError::ShuttingDown`](crate::ActError::ShuttingDown).
    pub async fn shutdown(&self) {
        self.stop();
        self.inner.callback_queue.shut_down();
        self.inner.timer_signal.shut_down();
        let timer_task = self.inner.timer_task.lock().take();
        if let Some(timer_task) = timer_task {
            // An error means that the task was cancelled with its runtime.
            let _ = timer_task.await;
        }
        self.inner.drain_abandoned().await;
        self.inner.ended.cancel();
        self.inner.in_flight.close();
        self.inner.in_flight.wait().await;
        self.inner.waiters.wake_all();
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("live", &self.live())
            .field("askers", &self.inner.ledgers.askers())
            .finish_non_exhaustive()
    }
}

/// Bounds on timeouts in a mode, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct TimeoutConfig {
    /// Used when the asker sets none.
    pub default_ms: u64,
    /// The minimum.
    pub min_ms: u64,
    /// The maximum.
    pub max_ms: u64,
    /// `custom` if the configuration sets them, otherwise `default`.
    pub config_source: &'static str,
}

impl TimeoutConfig {
    pub(crate) fn new(policy: &TimeoutPolicy, mode: Mode) -> Self {
        let bounds = policy.bounds(mode);
        Self {
            default_ms: bounds.default_ms(),
            min_ms: bounds.min_ms(),
            max_ms: bounds.max_ms(),
            config_source: if policy.is_default(mode) {
                "default"
            } else {
                "custom"
            },
        }
    }
}

impl Builder {
    /// Sets the store.
    #[must_use]
    pub fn store(mut self, store: impl Store) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// Sets a store that is shared with the caller.
    #[must_use]
    pub fn shared_store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Sets the clock.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Sets the source of randomness.
    #[must_use]
    pub fn entropy(mut self, entropy: impl Entropy) -> Self {
        self.entropy = Some(Arc::new(entropy));
        self
    }

    /// Sets the DNS resolver of the URL guard.
    #[must_use]
    pub fn resolver(mut self, resolver: impl Resolver + 'static) -> Self {
        self.resolver = Some(Arc::new(resolver));
        self
    }

    /// Sets the keys that encrypt secrets. By default, keys are generated and lost with the engine,
    /// which suits a memory store only.
    #[must_use]
    pub fn keys(mut self, keys: KeyRing) -> Self {
        self.keys = Some(keys);
        self
    }

    /// Sets how outcomes are sent to callbacks. By default, questions with a callback are rejected.
    #[must_use]
    pub fn callback_sender(mut self, sender: impl CallbackSender) -> Self {
        self.callback_sender = Some(Arc::new(sender));
        self
    }

    /// Sets limits, retention and policies.
    #[must_use]
    pub fn settings(mut self, settings: EngineSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Starts the engine on the current tokio runtime.
    ///
    /// Elicitations whose deadline passed while the engine was down are expired before this
    /// returns. Fails if the store cannot be read, its secrets are encrypted with other keys, or
    /// the system has no randomness.
    pub async fn start(self) -> Result<Engine, StartError> {
        observe::describe();
        let clock = self.clock.unwrap_or_else(|| Arc::new(SystemClock::new()));
        let entropy = match self.entropy {
            Some(entropy) => entropy,
            None => Arc::new(SystemEntropy::new().map_err(StartError::Entropy)?),
        };
        let keys = self.keys.unwrap_or_else(|| KeyRing::generate(&*entropy));
        let timeline = Arc::new(Timeline::new(clock.clone()));
        let store = self.store.unwrap_or_else(|| Arc::new(MemoryStore::new()));
        // Before anything is read, so that no change falls between.
        let feed = store.changes_elsewhere();
        let author = feed.as_ref().map_or(0, |_| {
            let mut random = [0; 8];
            entropy.fill(&mut random);
            u64::from_le_bytes(random)
        });
        let inner = Arc::new(Inner {
            author,
            census: feed.as_ref().map(|_| Census::default()),
            store,
            vault: Vault::new(keys, entropy.clone()),
            resolver: self
                .resolver
                .unwrap_or_else(|| Arc::new(SystemResolver::default())),
            ledgers: Ledgers::new(self.settings.live, self.settings.labelled_askers),
            memory_budget: MemoryBudget::new(self.settings.answer_memory),
            waiters: Waiters::new(),
            events: Events::default(),
            timer_signal: Arc::default(),
            backlog: Backlog::default(),
            callback_queue: CallbackQueue::new(self.callback_sender, self.settings.callback_limits),
            observer: Observer::default(),
            refusals: Refusals::default(),
            health: Health::default(),
            in_flight: TaskTracker::new(),
            stopped: AtomicBool::new(false),
            ended: CancellationToken::new(),
            timer_task: Mutex::new(None),
            settings: self.settings,
            clock,
            timeline,
            entropy,
        });
        key_proof::prove(&*inner.store, &inner.vault).await?;
        match &inner.census {
            Some(census) => inner.take_census(census).await?,
            None => inner.count_live().await?,
        }
        inner.count_resident().await?;
        inner.observer.set_live(inner.ledgers.live());
        inner.run_due().await?;
        let timer_task = tokio::spawn(Inner::run_timers(Arc::downgrade(&inner)));
        *inner.timer_task.lock() = Some(timer_task);
        if let Some(feed) = feed {
            let following =
                Inner::follow_changes(Arc::downgrade(&inner), feed, inner.ended.clone());
            inner.in_flight.spawn(following);
        }
        Ok(Engine {
            inner: Arc::new(inner),
        })
    }
}

impl Inner {
    pub(crate) fn now(&self) -> UnixTime {
        self.timeline.now()
    }

    /// Counts the questions that were live before the engine started.
    async fn count_live(&self) -> Result<(), StoreError> {
        let limits = &self.settings.asker.limits;
        for (asker, live) in self.store.live_counts().await? {
            self.ledgers.add_live(&asker, live, limits);
        }
        for (asker, principal, live) in self.store.live_counts_by_principal().await? {
            self.ledgers.add_live_of_principal(&asker, &principal, live);
        }
        Ok(())
    }

    /// Charges a request of any kind; the error is when to retry.
    pub(crate) fn charge(&self, account: &Account, now: UnixTime) -> Result<(), Duration> {
        let charged = account.charge_request(now);
        charged.inspect_err(|_| {
            let limit = "requests_per_second";
            self.refusals.limit(account.name(), limit, now);
        })
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.timer_signal.shut_down();
        self.ended.cancel();
    }
}
