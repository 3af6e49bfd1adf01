//! Remembers which states were used, and what came of them: the same answers with the same state
//! get the same outcome, and others are refused.
//!
//! Kept in this process. Several processes that share nothing but keys cannot know of each other.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use entreat_core::UnixTime;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::digest::Digest;
use crate::seal::Refused;

type StateId = [u8; 24];
type Outcome = Arc<dyn Any + Send + Sync>;

/// So many are remembered; when there are more, those that end first are forgotten.
const MOST: usize = 10_000;

#[derive(Default)]
pub(crate) struct Claims(Mutex<HashMap<StateId, Claim>>);

struct Claim {
    inputs: Digest,
    expires: UnixTime,
    outcome: watch::Receiver<Option<Outcome>>,
}

/// What a state is good for.
pub(crate) enum Claimed<'a> {
    /// It was not used before: the call is to run, and its outcome to be told.
    Fresh(Running<'a>),
    /// It was used with the same answers.
    Again(watch::Receiver<Option<Outcome>>),
}

impl Claims {
    pub(crate) fn claim(
        &self,
        id: StateId,
        inputs: Digest,
        expires: UnixTime,
        now: UnixTime,
    ) -> Result<Claimed<'_>, Refused> {
        let mut claims = self.0.lock();
        if let Some(claim) = claims.get(&id) {
            return if claim.inputs == inputs {
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
            inputs,
            expires,
            outcome,
        };
        claims.insert(id, claim);
        Ok(Claimed::Fresh(Running {
            claims: self,
            id,
            teller: Some(teller),
        }))
    }
}

/// A call that runs with a state. Dropped without an outcome, the state is unused again.
pub(crate) struct Running<'a> {
    claims: &'a Claims,
    id: StateId,
    teller: Option<watch::Sender<Option<Outcome>>>,
}

impl Running<'_> {
    pub(crate) fn tell<T: Send + Sync + 'static>(mut self, outcome: T) {
        if let Some(teller) = self.teller.take() {
            teller.send_replace(Some(Arc::new(outcome)));
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if self.teller.is_some() {
            self.claims.0.lock().remove(&self.id);
        }
    }
}

/// Waits for the outcome of the call that came first; `None` if it was dropped.
pub(crate) async fn outcome_of<T: Clone + 'static>(
    mut outcome: watch::Receiver<Option<Outcome>>,
) -> Option<T> {
    let told = outcome.wait_for(Option::is_some).await.ok()?;
    told.as_ref()?.downcast_ref::<T>().cloned()
}
