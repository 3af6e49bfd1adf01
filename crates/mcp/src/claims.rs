//! Remembers which states were used, and what came of them: the same answers with the same state
//! get the same outcome, and others are refused.
//!
//! This process remembers what it has run itself, and lets others wait for a call that still runs.
//! Where the engine's store outlives the process, it knows what was used before; there outcomes
//! are sealed, because they may hold answers. Several processes that share nothing but keys cannot
//! know of each other.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use entreat_core::UnixTime;
use entreat_engine::StoreError;
use entreat_engine::store::Claim as StoredClaim;
use parking_lot::Mutex;
use rmcp::ErrorData;
use tokio::sync::watch;

use crate::digest::Digest;
use crate::finished::{Finished, Keepable};
use crate::mcp::Inner;
use crate::seal::{Refused, refused};

type StateId = [u8; 24];
type Outcome = Arc<dyn Any + Send + Sync>;

/// So many are remembered; when there are more, those that end first are forgotten.
const MOST: usize = 10_000;

/// A state that is used: which one, with what, and until when it can be.
#[derive(Clone, Copy)]
pub(crate) struct Use {
    pub(crate) id: StateId,
    pub(crate) inputs: Digest,
    pub(crate) expires: UnixTime,
}

#[derive(Default)]
pub(crate) struct Claims(Mutex<HashMap<StateId, Claim>>);

struct Claim {
    inputs: Digest,
    expires: UnixTime,
    outcome: watch::Receiver<Option<Outcome>>,
}

/// What a state is good for, as far as this process knows.
enum Claimed {
    /// It was not used before: the call is to run, and its outcome to be told.
    Fresh(watch::Sender<Option<Outcome>>),
    /// It was used with the same answers.
    Again(watch::Receiver<Option<Outcome>>),
}

impl Claims {
    fn claim(&self, used: Use, now: UnixTime) -> Result<Claimed, Refused> {
        let mut claims = self.0.lock();
        if let Some(claim) = claims.get(&used.id) {
            return if claim.inputs == used.inputs {
                Ok(Claimed::Again(claim.outcome.clone()))
            } else {
                Err(Refused::Used)
            };
        }
        if claims.len() >= MOST {
            claims.retain(|_, claim| claim.expires > now);
        }
        if claims.len() >= MOST {
            let mut ends: Vec<_> = claims.values().map(|claim| claim.expires).collect();
            let (_, middle, _) = ends.select_nth_unstable(MOST / 10);
            let first = *middle;
            claims.retain(|_, claim| claim.expires > first);
        }
        let (teller, outcome) = watch::channel(None);
        let claim = Claim {
            inputs: used.inputs,
            expires: used.expires,
            outcome,
        };
        claims.insert(used.id, claim);
        Ok(Claimed::Fresh(teller))
    }

    fn forget(&self, id: StateId) {
        self.0.lock().remove(&id);
    }
}

impl Inner {
    /// Runs a call with a state, unless that was done before.
    pub(crate) async fn once_per_state<R: Keepable>(
        self: &Arc<Self>,
        used: Use,
        name: &str,
        run: impl Future<Output = Finished<R>>,
    ) -> Finished<R> {
        loop {
            let now = self.asker.engine().now();
            match self.claims.claim(used, now) {
                Err(reason) => return Finished::error(refused(&reason, name)),
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
                    let finished = match running.before().await {
                        Ok(None) => {
                            let finished = run.await;
                            running.keep(&finished).await;
                            finished
                        }
                        Ok(Some(finished)) => finished,
                        Err(Before::Refused(reason)) => {
                            return Finished::error(refused(&reason, name));
                        }
                        Err(Before::Unknown(error)) => {
                            tracing::error!(%error, "the store does not tell what was used");
                            let message = "the store does not answer; try again later";
                            return Finished::error(ErrorData::internal_error(message, None));
                        }
                    };
                    running.tell(finished.clone());
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

    /// Keeps the outcome for after this process.
    async fn keep<R: Keepable>(&self, finished: &Finished<R>) {
        let Some(text) = self.is_stored.then(|| finished.text()).flatten() else {
            return;
        };
        let sealed = self.inner.sealer.seal_outcome(self.used.id, &text);
        let kept = self.inner.asker.engine().end_claim(self.used.id, sealed);
        if let Err(error) = kept.await {
            // Whoever comes within this process still gets it.
            tracing::error!(%error, "an outcome was not kept");
        }
    }

    fn tell<T: Send + Sync + 'static>(mut self, outcome: T) {
        if let Some(teller) = self.teller.take() {
            teller.send_replace(Some(Arc::new(outcome)));
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
            inner.claims.forget(used.id);
            return;
        };
        // Until the store knows, whoever comes waits: the teller lives on in the task.
        let release = async move {
            let engine = inner.asker.engine();
            let inputs = used.inputs.to_bytes();
            if let Err(error) = engine.release_claim(used.id, inputs).await {
                tracing::warn!(%error, "a state stays used");
            }
            inner.claims.forget(used.id);
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
