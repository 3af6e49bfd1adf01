//! The engine: one handle to everything that is asked.

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
use tokio_util::task::TaskTracker;
use zeroize::Zeroizing;

use crate::asker::{Asker, AskerSettings};
use crate::clock::{Clock, SystemClock, Timeline};
use crate::courier::{CallbackLimits, Courier, Dispatch};
use crate::deadlines::{Alarms, Chores};
use crate::elicitation::{Access, Elicitation, judge_answered_urls};
use crate::entropy::{Entropy, SystemEntropy};
use crate::error::StartError;
use crate::events::{Events, Subscription};
use crate::health::Health;
use crate::limits::Ledgers;
use crate::observe::Observer;
use crate::resolver::{Cleared, Resolver, SystemResolver, Unresolved, UrlError, judge_resolved};
use crate::room::{AnswerMemory, Room};
use crate::store::{MemoryStore, Store, StoreError};
use crate::vault::{KeyProof, KeyRing, Vault};
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
/// // Somebody answers: on a page, in a terminal, in a test.
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
    pub(crate) inner: Arc<Inner>,
}

/// What holds for everybody who asks, unless an asker's own settings say otherwise.
#[derive(Clone, Debug)]
pub struct EngineSettings {
    /// For askers without settings of their own.
    pub asker: AskerSettings,
    /// How many elicitations may be live in all.
    pub live: usize,
    /// How long a settled elicitation can still be read.
    pub retention: Duration,
    /// Which callbacks may be asked for, and called.
    pub callbacks: Policy,
    /// How many of them are called at once.
    pub callback_limits: CallbackLimits,
    /// How much memory answers may take that are not settled, or not delivered yet.
    pub answer_memory: AnswerMemory,
    /// The words in which errors are kept.
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
            messages: Catalogue::default().messages(["en"]),
        }
    }
}

/// Puts an engine together; made by [`Engine::builder`].
#[derive(Default)]
pub struct Builder {
    store: Option<Arc<dyn Store>>,
    clock: Option<Arc<dyn Clock>>,
    entropy: Option<Arc<dyn Entropy>>,
    resolver: Option<Arc<dyn Resolver>>,
    keys: Option<KeyRing>,
    courier: Option<Arc<dyn Courier>>,
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
    pub(crate) room: Room,
    pub(crate) events: Events,
    pub(crate) alarms: Arc<Alarms>,
    pub(crate) chores: Chores,
    pub(crate) dispatch: Dispatch,
    pub(crate) observer: Observer,
    health: Health,
    /// Calls of a durable store; joined by [`Engine::shutdown`].
    pub(crate) in_flight: TaskTracker,
    stopped: AtomicBool,
    /// Tends to deadlines; joined by [`Engine::shutdown`].
    keeper: Mutex<Option<JoinHandle<()>>>,
}

impl Engine {
    /// An engine to be put together: in memory, on the system's clock, unless told otherwise.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// An asker by its name, under the engine's settings.
    pub fn asker(&self, name: &str) -> Asker {
        self.asker_with(name, self.inner.settings.asker.clone())
    }

    /// An asker by its name, under settings of its own.
    pub fn asker_with(&self, name: &str, settings: AskerSettings) -> Asker {
        Asker::new(self.clone(), name, settings)
    }

    /// What holds for askers without settings of their own.
    pub fn asker_settings(&self) -> &AskerSettings {
        &self.inner.settings.asker
    }

    /// An elicitation as those see it who show it and answer it: any asker's, its secrets
    /// sealed.
    pub fn elicitation(&self, id: ElicitationId) -> Elicitation {
        Elicitation::new(self.clone(), id, Access::Host)
    }

    /// Everything that happens from now on.
    pub fn subscribe(&self) -> Subscription {
        self.inner.events.subscribe(None)
    }

    /// How many elicitations are live.
    pub fn live(&self) -> usize {
        self.inner.ledgers.live()
    }

    /// The engine's time.
    pub fn now(&self) -> UnixTime {
        self.inner.now()
    }

    /// Looks a URL's host up and judges it by a policy, as answers are judged. Nothing is fetched.
    pub async fn judge_url(&self, url: &str, policy: &Policy) -> Result<Cleared, UrlError> {
        judge_resolved(&*self.inner.resolver, url, policy, Unresolved::Accept).await
    }

    /// Checks answers as submitting them does, hosts of URLs included, for a question that is kept
    /// elsewhere. The errors are in the engine's words.
    pub async fn check_answers<'a>(
        &self,
        form: &Form,
        answers: &'a Value,
    ) -> Result<Answers<'a>, Vec<FieldError>> {
        let checked = match form.check(answers) {
            Ok(answers) => {
                let resolver = &*self.inner.resolver;
                judge_answered_urls(resolver, form, answers).await
            }
            Err(violations) => Err(violations),
        };
        checked.map_err(|violations| violations.errors(&self.inner.settings.messages))
    }

    /// Becomes ready once this much time has passed by the engine's clock.
    pub fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        self.inner.clock.sleep(duration)
    }

    /// Fills the slice with random bytes.
    pub fn fill_random(&self, bytes: &mut [u8]) {
        self.inner.entropy.fill(bytes);
    }

    /// Keys for a purpose of the program's own; see [`KeyRing::derive`].
    pub fn derived_keys(&self, purpose: &'static str) -> Vec<(u32, Zeroizing<[u8; 32]>)> {
        self.inner.vault.keys().derive(purpose)
    }

    /// How long a settled elicitation can still be read.
    pub fn retention(&self) -> Duration {
        self.inner.settings.retention
    }

    /// What timeouts can be had in a mode.
    pub fn timeout_config(&self, mode: Mode) -> TimeoutConfig {
        self.inner.settings.asker.timeout_config(mode)
    }

    /// Sees whether the store can keep something, by having it keep something.
    ///
    /// However many ask at once and again, it does so once a second at most: others get the same
    /// answer. A store that says nothing for five seconds is unavailable.
    pub async fn check(&self) -> Result<(), Arc<StoreError>> {
        self.inner.health.check(&self.inner).await
    }

    /// Begins to shut down. A connection that goes from now on leaves what was asked on it as it
    /// is: its asker did not go away, and comes back to the next start. For those who end
    /// connections themselves; [`shutdown`](Self::shutdown) does the rest.
    pub fn stop(&self) {
        self.inner.stopped.store(true, Ordering::Release);
    }

    /// Stops tending to deadlines and waits until what was begun is done.
    ///
    /// Elicitations stay as they are; a durable store has them for the next start. Whoever
    /// waits for one is told [`ActError::ShuttingDown`](crate::ActError::ShuttingDown).
    pub async fn shutdown(&self) {
        self.stop();
        self.inner.dispatch.end();
        self.inner.alarms.end();
        let keeper = self.inner.keeper.lock().take();
        if let Some(keeper) = keeper {
            // An error means that it was cancelled with its runtime; then it has ended too.
            let _ = keeper.await;
        }
        self.inner.last_chores().await;
        self.inner.in_flight.close();
        self.inner.in_flight.wait().await;
        self.inner.waiters.nudge_all();
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

/// What timeouts can be had in a mode, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct TimeoutConfig {
    /// When none is asked for.
    pub default_ms: u64,
    /// The shortest.
    pub min_ms: u64,
    /// The longest.
    pub max_ms: u64,
    /// `default`, or `custom` if somebody set them.
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
    /// Where elicitations are kept.
    #[must_use]
    pub fn store(mut self, store: impl Store) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// Where elicitations are kept, shared with the caller.
    #[must_use]
    pub fn shared_store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// The clock.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// The source of randomness.
    #[must_use]
    pub fn entropy(mut self, entropy: impl Entropy) -> Self {
        self.entropy = Some(Arc::new(entropy));
        self
    }

    /// DNS for the URL guard.
    #[must_use]
    pub fn resolver(mut self, resolver: impl Resolver + 'static) -> Self {
        self.resolver = Some(Arc::new(resolver));
        self
    }

    /// The keys that secrets are sealed with. Without any, keys are made that end with this
    /// engine, which suits a store that does too.
    #[must_use]
    pub fn keys(mut self, keys: KeyRing) -> Self {
        self.keys = Some(keys);
        self
    }

    /// Who carries outcomes to callbacks. Without one, questions with a callback are refused.
    #[must_use]
    pub fn courier(mut self, courier: impl Courier) -> Self {
        self.courier = Some(Arc::new(courier));
        self
    }

    /// What holds for everybody who asks.
    #[must_use]
    pub fn settings(mut self, settings: EngineSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Starts the engine, on the runtime that this is called from.
    ///
    /// What expired while nobody was there is expired before this returns. The errors are a
    /// store that cannot be read, keys that do not fit it, and a system without randomness.
    pub async fn start(self) -> Result<Engine, StartError> {
        let clock = self.clock.unwrap_or_else(|| Arc::new(SystemClock::new()));
        let entropy = match self.entropy {
            Some(entropy) => entropy,
            None => Arc::new(SystemEntropy::new().map_err(StartError::Entropy)?),
        };
        let keys = self.keys.unwrap_or_else(|| KeyRing::generate(&*entropy));
        let timeline = Arc::new(Timeline::new(clock.clone()));
        let inner = Arc::new(Inner {
            store: self.store.unwrap_or_else(|| Arc::new(MemoryStore::new())),
            vault: Vault::new(keys, entropy.clone()),
            resolver: self
                .resolver
                .unwrap_or_else(|| Arc::new(SystemResolver::default())),
            ledgers: Ledgers::new(self.settings.live),
            room: Room::new(self.settings.answer_memory),
            waiters: Waiters::new(),
            events: Events::new(),
            alarms: Arc::default(),
            chores: Chores::default(),
            dispatch: Dispatch::new(self.courier, self.settings.callback_limits),
            observer: Observer::default(),
            health: Health::default(),
            in_flight: TaskTracker::new(),
            stopped: AtomicBool::new(false),
            keeper: Mutex::new(None),
            settings: self.settings,
            clock,
            timeline,
            entropy,
        });
        inner.check_keys().await?;
        for (asker, live) in inner.store.census().await? {
            let limits = &inner.settings.asker.limits;
            inner.ledgers.count_in(&asker, live, limits);
        }
        for (asker, principal, live) in inner.store.census_of_principals().await? {
            inner.ledgers.count_in_for(&asker, &principal, live);
        }
        inner.count_room().await?;
        inner.observer.set_live(inner.ledgers.live());
        inner.tend().await?;
        let keeper = tokio::spawn(Inner::keep(Arc::downgrade(&inner)));
        *inner.keeper.lock() = Some(keeper);
        Ok(Engine { inner })
    }
}

/// The name of the note that tells whether keys fit a store.
const KEY_PROOF: &str = "key_proof";

impl Inner {
    pub(crate) fn now(&self) -> UnixTime {
        self.timeline.now()
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Notices wrong keys before a secret is sealed that nobody could open.
    async fn check_keys(&self) -> Result<(), StartError> {
        let mut in_use = Vec::new();
        if let Some(kept) = self.store.note(KEY_PROOF).await? {
            let kept: KeyProof = serde_json::from_str(&kept)?;
            self.vault.verify(&kept)?;
            in_use.extend(kept.versions());
        }
        Ok(self.keep_proof(&in_use).await?)
    }

    /// Remembers that the store has secrets under these versions, and from now on under the
    /// newest. Others of the ring can be taken out of it.
    pub(crate) async fn keep_proof(&self, in_use: &[u32]) -> Result<(), StoreError> {
        let keys = self.vault.keys();
        let is_unused =
            |version: &u32| *version != keys.newest_version() && !in_use.contains(version);
        let unused = keys.versions().filter(is_unused);
        let proof = unused.fold(self.vault.proof(), KeyProof::without);
        let text = serde_json::to_string(&proof).unwrap_or_default();
        self.store.keep_note(KEY_PROOF, text).await
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.alarms.end();
    }
}
