//! Remembers which states were used, and what came of them: the same answers with the same state
//! get the same outcome, and others are refused.
//!
//! This process remembers what it has run itself, and lets others wait for a call that still runs.
//! Where the engine's store outlives the process, it knows what was used before; there outcomes
//! are sealed, because they may hold answers. Several processes that share nothing but keys cannot
//! know of each other.
//!
//! A state that was used is not forgotten as long as it could be used again. So many can be
//! remembered, and each principal has a share of that; whoever brings more is told to come later.
//! What the store remembers for good does not count.

use std::any::Any;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use entreat_core::UnixTime;
use entreat_engine::StoreError;
use entreat_engine::shares::{Full, Place, Shares};
use entreat_engine::store::Claim as StoredClaim;
use parking_lot::Mutex;
use rmcp::ErrorData;
use tokio::sync::watch;

use crate::client::Client;
use crate::digest::Digest;
use crate::finished::{Finished, Keepable};
use crate::mcp::{Inner, McpSettings};
use crate::seal::{Refused, refused};

type StateId = [u8; 24];
type Outcome = Arc<dyn Any + Send + Sync>;

/// So many outcomes are kept in memory, which may be large. A state whose outcome is gone stays
/// used.
const OUTCOMES: usize = 10_000;

/// A state that is used: which one, with what, and until when it can be.
#[derive(Clone, Copy)]
pub(crate) struct Use {
    pub(crate) id: StateId,
    pub(crate) inputs: Digest,
    pub(crate) expires: UnixTime,
}

pub(crate) struct UsedStates {
    places: Shares<Arc<str>>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    claims: HashMap<StateId, Claim>,
    /// Those that end first come first.
    ends: BTreeSet<(UnixTime, StateId)>,
    /// Those whose outcome is kept, the oldest first.
    told: VecDeque<StateId>,
}

struct Claim {
    inputs: Digest,
    expires: UnixTime,
    /// `None` once others took its place: it cannot be told again.
    outcome: Option<watch::Receiver<Option<Outcome>>>,
    _place: Place<Arc<str>>,
}

/// What a state is good for, as far as this process knows.
enum Claimed {
    /// It was not used before: the call is to run, and its outcome to be told.
    Fresh(watch::Sender<Option<Outcome>>),
    /// It was used with the same answers.
    Again(watch::Receiver<Option<Outcome>>),
}

impl UsedStates {
    pub(crate) fn new(settings: &McpSettings) -> Self {
        Self {
            places: settings.shares(settings.used_states),
            known: Mutex::default(),
        }
    }

    fn claim(&self, client: &Client, used: Use, now: UnixTime) -> Result<Claimed, Unclaimed> {
        let mut known = self.known.lock();
        if let Some(claim) = known.claims.get(&used.id) {
            return match &claim.outcome {
                Some(outcome) if claim.inputs == used.inputs => Ok(Claimed::Again(outcome.clone())),
                _ => Err(Unclaimed::Used),
            };
        }
        known.forget_ended(now);
        let place = client.place(&self.places).map_err(Unclaimed::Full)?;
        let (teller, outcome) = watch::channel(None);
        let claim = Claim {
            inputs: used.inputs,
            expires: used.expires,
            outcome: Some(outcome),
            _place: place,
        };
        known.claims.insert(used.id, claim);
        known.ends.insert((used.expires, used.id));
        Ok(Claimed::Fresh(teller))
    }

    /// Notes that a claim has its outcome, for which the oldest may have to go.
    fn told(&self, id: StateId) {
        let mut known = self.known.lock();
        known.told.push_back(id);
        while known.told.len() > OUTCOMES
            && let Some(oldest) = known.told.pop_front()
        {
            if let Some(claim) = known.claims.get_mut(&oldest) {
                claim.outcome = None;
            }
        }
    }

    fn forget(&self, id: StateId) {
        self.known.lock().remove(id);
    }
}

impl Known {
    fn forget_ended(&mut self, now: UnixTime) {
        while let Some((expires, id)) = self.ends.first().copied()
            && expires <= now
        {
            self.remove(id);
        }
    }

    fn remove(&mut self, id: StateId) {
        if let Some(claim) = self.claims.remove(&id) {
            self.ends.remove(&(claim.expires, id));
        }
    }
}

/// Why a state cannot be used.
enum Unclaimed {
    /// It was, with other answers.
    Used,
    /// No more can be remembered.
    Full(Full),
}

impl Inner {
    /// Runs a call with a state, unless that was done before.
    pub(crate) async fn once_per_state<R: Keepable>(
        self: &Arc<Self>,
        client: &Client,
        used: Use,
        name: &str,
        run: impl Future<Output = Finished<R>>,
    ) -> Finished<R> {
        loop {
            let now = self.asker.engine().now();
            match self.used_states.claim(client, used, now) {
                Err(Unclaimed::Used) => return Finished::error(refused(&Refused::Used, name)),
                Err(Unclaimed::Full(full)) => {
                    tracing::warn!(%full, "no more used states can be remembered");
                    let message =
                        format!("too many calls were answered lately: {full}; try again later");
                    return Finished::error(ErrorData::internal_error(message, None));
                }
                Ok(Claimed::Again(first)) => {
                    if let Some(finished) = outcome_of(first).await {
                        return finished;
                    }
                }
                Ok(Claimed::Fresh(teller)) => {
                    let mut running = Running {
                        inner: self.clone(),
                        used,
                        teller: Some(teller),
                        is_stored: self.asker.engine().keeps_claims(),
                    };
                    let (finished, is_kept) = match running.before().await {
                        Ok(None) => {
                            let finished = run.await;
                            let is_kept = running.keep(&finished).await;
                            (finished, is_kept)
                        }
                        Ok(Some(finished)) => (finished, true),
                        Err(Before::Refused(reason)) => {
                            return Finished::error(refused(&reason, name));
                        }
                        Err(Before::Unknown(error)) => {
                            tracing::error!(%error, "the store does not tell what was used");
                            let message = "the store does not answer; try again later";
                            return Finished::error(ErrorData::internal_error(message, None));
                        }
                    };
                    running.tell(finished.clone(), is_kept);
                    return finished;
                }
            }
        }
    }
}

/// Why nobody may run a call.
enum Before {
    Refused(Refused),
    Unknown(StoreError),
}

/// A call that runs with a state. Dropped without an outcome, the state is unused again.
struct Running {
    inner: Arc<Inner>,
    used: Use,
    teller: Option<watch::Sender<Option<Outcome>>>,
    /// Whether the store has the claim, or may have it.
    is_stored: bool,
}

impl Running {
    /// What came of the state before this process. A claim without an outcome is that of a call
    /// which ended with its process: it runs again.
    async fn before<R: Keepable>(&mut self) -> Result<Option<Finished<R>>, Before> {
        if !self.is_stored {
            return Ok(None);
        }
        let claim = StoredClaim {
            key: self.used.id,
            inputs: self.used.inputs.to_bytes(),
            expires: self.used.expires,
            outcome: None,
        };
        let found = self.inner.asker.engine().claim(claim).await;
        let Some(first) = found.map_err(Before::Unknown)? else {
            return Ok(None);
        };
        if first.inputs != self.used.inputs.to_bytes() {
            // That claim is another's, and stays.
            self.is_stored = false;
            return Err(Before::Refused(Refused::Used));
        }
        let Some(sealed) = first.outcome else {
            return Ok(None);
        };
        let text = self.inner.sealer.open_outcome(self.used.id, &sealed);
        let finished = text.ok().and_then(|text| Finished::read(&text));
        // What cannot be read cannot be told, and must not happen twice.
        finished.map(Some).ok_or_else(|| {
            self.is_stored = false;
            Before::Refused(Refused::Altered)
        })
    }

    /// Keeps the outcome for after this process; false if the store does not have it.
    async fn keep<R: Keepable>(&self, finished: &Finished<R>) -> bool {
        let Some(text) = self.is_stored.then(|| finished.text()).flatten() else {
            return false;
        };
        let sealed = self.inner.sealer.seal_outcome(self.used.id, &text);
        let kept = self.inner.asker.engine().end_claim(self.used.id, sealed);
        let kept = kept.await;
        if let Err(error) = &kept {
            // Whoever comes within this process still gets it.
            tracing::error!(%error, "an outcome was not kept");
        }
        kept.is_ok()
    }

    fn tell<T: Send + Sync + 'static>(mut self, outcome: T, is_kept: bool) {
        if let Some(teller) = self.teller.take() {
            teller.send_replace(Some(Arc::new(outcome)));
            if is_kept {
                // The store remembers it from now on, however many there are.
                self.inner.used_states.forget(self.used.id);
            } else {
                self.inner.used_states.told(self.used.id);
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(teller) = self.teller.take() else {
            return;
        };
        let (inner, used) = (self.inner.clone(), self.used);
        let runtime = tokio::runtime::Handle::try_current();
        let (true, Ok(runtime)) = (self.is_stored, runtime) else {
            inner.used_states.forget(used.id);
            return;
        };
        // Until the store knows, whoever comes waits: the teller lives on in the task.
        let release = async move {
            let engine = inner.asker.engine();
            let inputs = used.inputs.to_bytes();
            if let Err(error) = engine.release_claim(used.id, inputs).await {
                tracing::warn!(%error, "a state stays used");
            }
            inner.used_states.forget(used.id);
            drop(teller);
        };
        self.inner.tasks.spawn_on(release, &runtime);
    }
}

/// Waits for the outcome of the call that came first; `None` if it was dropped.
async fn outcome_of<T: Clone + 'static>(
    mut outcome: watch::Receiver<Option<Outcome>>,
) -> Option<T> {
    let told = outcome.wait_for(Option::is_some).await.ok()?;
    told.as_ref()?.downcast_ref::<T>().cloned()
}
