//! Makes request states single-use: the same state with the same answers gets the same outcome,
//! with other answers it is refused.
//!
//! Claims of this process are kept in memory, and repeated calls wait for the one that is running.
//! If the engine's store is durable, it also holds claims of earlier processes and of other nodes,
//! with their outcomes sealed because they may contain answers. What another node is running is
//! waited for; what was left by one that is gone runs again. Processes that share only keys do not
//! see each other's claims.
//!
//! A claim is kept until its state expires. Claims in memory are limited, with a share for each
//! principal; at the limit, calls are refused. Claims recorded in the store do not count.

use std::any::Any;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use entreat_core::UnixTime;
use entreat_engine::StoreError;
use entreat_engine::shares::{Full, Permit, Shares};
use entreat_engine::store::Claim as StoredClaim;
use entreat_wire::digest::Digest;
use entreat_wire::seal::{RejectReason, StateId};
use parking_lot::Mutex;
use rmcp::ErrorData;
use tokio::sync::watch;

use crate::call_outcome::{CallOutcome, Storable};
use crate::client::Client;
use crate::error::reject_state;
use crate::mcp::{Inner, McpSettings};

type AnyOutcome = Arc<dyn Any + Send + Sync>;

/// The maximum number of outcomes in memory, since they may be large. A state whose outcome was
/// evicted stays used.
const MAX_OUTCOMES: usize = 10_000;

/// Pauses between two looks at a call that another node is running.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The use of a state: its id, the digest of the answers, and its expiry.
#[derive(Clone, Copy)]
pub(crate) struct StateUse {
    pub(crate) id: StateId,
    pub(crate) inputs: Digest,
    pub(crate) expires: UnixTime,
}

pub(crate) struct UsedStates {
    places: Shares<Arc<str>>,
    table: Mutex<ClaimTable>,
}

#[derive(Default)]
struct ClaimTable {
    claims: HashMap<StateId, Claim>,
    /// Claims by expiry, earliest first.
    by_expiry: BTreeSet<(UnixTime, StateId)>,
    /// Claims that hold an outcome, oldest first.
    with_outcome: VecDeque<StateId>,
}

struct Claim {
    inputs: Digest,
    expires: UnixTime,
    /// `None` once evicted: repeated calls are refused.
    outcome: Option<watch::Receiver<Option<AnyOutcome>>>,
    _place: Permit<Arc<str>>,
}

/// The result of a successful claim.
enum Claimed {
    /// The state is new: run the call and send its outcome.
    New(watch::Sender<Option<AnyOutcome>>),
    /// The state was used with the same answers.
    Repeat(watch::Receiver<Option<AnyOutcome>>),
}

impl UsedStates {
    pub(crate) fn new(settings: &McpSettings) -> Self {
        Self {
            places: settings.shares(settings.used_states),
            table: Mutex::default(),
        }
    }

    fn claim(&self, client: &Client, used: StateUse, now: UnixTime) -> Result<Claimed, ClaimError> {
        let mut table = self.table.lock();
        if let Some(claim) = table.claims.get(&used.id) {
            return match &claim.outcome {
                Some(outcome) if claim.inputs == used.inputs => {
                    Ok(Claimed::Repeat(outcome.clone()))
                }
                _ => Err(ClaimError::Used),
            };
        }
        table.remove_expired(now);
        let place = client.place(&self.places).map_err(ClaimError::Full)?;
        let (sender, outcome) = watch::channel(None);
        let claim = Claim {
            inputs: used.inputs,
            expires: used.expires,
            outcome: Some(outcome),
            _place: place,
        };
        table.claims.insert(used.id, claim);
        table.by_expiry.insert((used.expires, used.id));
        Ok(Claimed::New(sender))
    }

    /// Registers a claim's outcome, evicting the oldest if there are too many.
    fn note_outcome(&self, id: StateId) {
        let mut table = self.table.lock();
        table.with_outcome.push_back(id);
        while table.with_outcome.len() > MAX_OUTCOMES
            && let Some(oldest) = table.with_outcome.pop_front()
        {
            if let Some(claim) = table.claims.get_mut(&oldest) {
                claim.outcome = None;
            }
        }
    }

    fn remove(&self, id: StateId) {
        self.table.lock().remove(id);
    }
}

impl ClaimTable {
    fn remove_expired(&mut self, now: UnixTime) {
        while let Some((expires, id)) = self.by_expiry.first().copied()
            && expires <= now
        {
            self.remove(id);
        }
    }

    fn remove(&mut self, id: StateId) {
        if let Some(claim) = self.claims.remove(&id) {
            self.by_expiry.remove(&(claim.expires, id));
        }
    }
}

/// Why a state cannot be claimed.
enum ClaimError {
    /// It was used with other answers.
    Used,
    /// The limit of claims is reached.
    Full(Full),
}

impl Inner {
    /// Runs a call with a state, or returns the outcome of its earlier run.
    pub(crate) async fn once_per_state<R: Storable>(
        self: &Arc<Self>,
        client: &Client,
        used: StateUse,
        name: &str,
        run: impl Future<Output = CallOutcome<R>>,
    ) -> CallOutcome<R> {
        loop {
            let now = self.asker.engine().now();
            match self.used_states.claim(client, used, now) {
                Err(ClaimError::Used) => {
                    return CallOutcome::error(reject_state(&RejectReason::Used, name));
                }
                Err(ClaimError::Full(full)) => {
                    tracing::warn!(%full, "no more used states can be remembered");
                    let message =
                        format!("too many calls were answered recently: {full}; try again later");
                    return CallOutcome::error(ErrorData::internal_error(message, None));
                }
                Ok(Claimed::Repeat(first)) => {
                    if let Some(finished) = wait_for_outcome(first).await {
                        return finished;
                    }
                }
                Ok(Claimed::New(sender)) => {
                    let mut active = ActiveClaim {
                        inner: self.clone(),
                        used,
                        sender: Some(sender),
                        has_stored_claim: self.asker.engine().has_durable_claims(),
                    };
                    let (finished, is_durable) = match active.prior_outcome().await {
                        Ok(None) => {
                            let finished = run.await;
                            let is_durable = active.store_outcome(&finished).await;
                            (finished, is_durable)
                        }
                        Ok(Some(finished)) => (finished, true),
                        Err(PriorError::Rejected(reason)) => {
                            return CallOutcome::error(reject_state(&reason, name));
                        }
                        Err(PriorError::Store(error)) => {
                            tracing::error!(%error, "cannot read used states from the store");
                            let message = "the store does not respond; try again later";
                            return CallOutcome::error(ErrorData::internal_error(message, None));
                        }
                    };
                    active.publish(finished.clone(), is_durable);
                    return finished;
                }
            }
        }
    }
}

/// Why the store denies a claim.
enum PriorError {
    Rejected(RejectReason),
    Store(StoreError),
}

/// The claim of a running call. Dropped without an outcome, it releases the state.
struct ActiveClaim {
    inner: Arc<Inner>,
    used: StateUse,
    sender: Option<watch::Sender<Option<AnyOutcome>>>,
    /// Whether the store has, or may have, the claim.
    has_stored_claim: bool,
}

impl ActiveClaim {
    /// Claims the state in the store, and returns the outcome of an earlier run. Waits while another
    /// node is running the call.
    async fn prior_outcome<R: Storable>(&mut self) -> Result<Option<CallOutcome<R>>, PriorError> {
        if !self.has_stored_claim {
            return Ok(None);
        }
        let engine = self.inner.asker.engine();
        let claim = StoredClaim {
            key: self.used.id,
            inputs: self.used.inputs.to_bytes(),
            expires: self.used.expires,
            holder: None,
            outcome: None,
        };
        let mut pause = FIRST_PAUSE;
        let sealed = loop {
            let found = engine.begin_claim(claim.clone()).await;
            let Some(first) = found.map_err(PriorError::Store)? else {
                return Ok(None);
            };
            if first.inputs != claim.inputs {
                // The claim belongs to another call: do not release it.
                self.has_stored_claim = false;
                return Err(PriorError::Rejected(RejectReason::Used));
            }
            if let Some(sealed) = first.outcome {
                break sealed;
            }
            if engine.now() >= self.used.expires {
                self.has_stored_claim = false;
                return Err(PriorError::Rejected(RejectReason::Expired));
            }
            engine.sleep(pause).await;
            pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
        };
        let text = self.inner.sealer.open_outcome(self.used.id, &sealed);
        let finished = text.ok().and_then(|text| CallOutcome::from_bytes(&text));
        // An unreadable outcome cannot be returned, and the call must not run twice.
        finished.map(Some).ok_or_else(|| {
            self.has_stored_claim = false;
            PriorError::Rejected(RejectReason::Altered)
        })
    }

    /// Stores the outcome durably; returns whether that succeeded.
    async fn store_outcome<R: Storable>(&self, finished: &CallOutcome<R>) -> bool {
        let Some(text) = self.has_stored_claim.then(|| finished.to_bytes()).flatten() else {
            return false;
        };
        let sealed = self.inner.sealer.seal_outcome(self.used.id, &text);
        let stored = self.inner.asker.engine().end_claim(self.used.id, sealed);
        let stored = stored.await;
        // If not, it is still available in this process.
        match stored {
            Ok(true) => true,
            Ok(false) => {
                tracing::warn!("another node has taken over a call that was running here");
                false
            }
            Err(error) => {
                tracing::error!(%error, "an outcome was not stored");
                false
            }
        }
    }

    fn publish<T: Send + Sync + 'static>(mut self, outcome: T, is_durable: bool) {
        if let Some(sender) = self.sender.take() {
            sender.send_replace(Some(Arc::new(outcome)));
            if is_durable {
                // The store has it now; free the memory.
                self.inner.used_states.remove(self.used.id);
            } else {
                self.inner.used_states.note_outcome(self.used.id);
            }
        }
    }
}

impl Drop for ActiveClaim {
    fn drop(&mut self) {
        let Some(sender) = self.sender.take() else {
            return;
        };
        let (inner, used) = (self.inner.clone(), self.used);
        let runtime = tokio::runtime::Handle::try_current();
        let (true, Ok(runtime)) = (self.has_stored_claim, runtime) else {
            inner.used_states.remove(used.id);
            return;
        };
        // Repeated calls wait until the store has released the claim: the task holds the sender.
        let release = async move {
            let engine = inner.asker.engine();
            let inputs = used.inputs.to_bytes();
            if let Err(error) = engine.abandon_claim(used.id, inputs).await {
                tracing::warn!(%error, "a state could not be released");
            }
            inner.used_states.remove(used.id);
            drop(sender);
        };
        self.inner.tasks.spawn_on(release, &runtime);
    }
}

/// Waits for the outcome of the first call; `None` if it was dropped.
async fn wait_for_outcome<T: Clone + 'static>(
    mut outcome: watch::Receiver<Option<AnyOutcome>>,
) -> Option<T> {
    let outcome = outcome.wait_for(Option::is_some).await.ok()?;
    outcome.as_ref()?.downcast_ref::<T>().cloned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::client::Capabilities;

    #[test]
    fn a_state_whose_outcome_was_evicted_stays_used() {
        let client = Client {
            era: None,
            capabilities: Capabilities::default(),
            principal: "local".into(),
            respondent: None,
            name: None,
            is_remote: false,
            is_local: true,
            progress: None,
        };
        let states = UsedStates::new(&McpSettings::default());
        let claim = |number: usize| {
            let mut id = [0; 24];
            id[..8].copy_from_slice(&number.to_be_bytes());
            let used = StateUse {
                id,
                inputs: Digest::of(&json!("answer")),
                expires: UnixTime::from_millis(2),
            };
            let claimed = states.claim(&client, used, UnixTime::from_millis(1));
            (claimed, id)
        };
        for number in 0..=MAX_OUTCOMES {
            let (claimed, id) = claim(number);
            assert!(matches!(claimed, Ok(Claimed::New(_))));
            states.note_outcome(id);
        }
        assert!(matches!(claim(0).0, Err(ClaimError::Used)));
        assert!(matches!(claim(1).0, Ok(Claimed::Repeat(_))));
    }
}
