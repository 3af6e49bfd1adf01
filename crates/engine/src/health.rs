//! Store health, probed at most once a second.
//!
//! Readiness endpoints are public, and a probe writes to disk. So one probe serves all callers
//! within a second, and continues if the caller that started it is dropped.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;

use crate::engine::Inner;
use crate::step::task_lost;
use crate::store::StoreError;

/// How long a result is cached.
const CACHE_TTL: Duration = Duration::from_secs(1);
/// A store that takes longer counts as unavailable.
const TIMEOUT: Duration = Duration::from_secs(5);

type Answer = Result<(), Arc<StoreError>>;

/// The latest probe; locked while one is in flight.
#[derive(Default)]
pub(crate) struct Health(Arc<Mutex<Option<Probe>>>);

struct Probe {
    /// When it ended, by the engine's clock.
    at: Duration,
    answer: Answer,
}

impl Health {
    pub(crate) async fn check(&self, inner: &Arc<Inner>) -> Answer {
        let mut latest = self.0.clone().lock_owned().await;
        let now = inner.clock.elapsed();
        if let Some(probe) = &*latest
            && now.saturating_sub(probe.at) < CACHE_TTL
        {
            return probe.answer.clone();
        }
        let engine = inner.clone();
        let probe = inner.in_flight.spawn(async move {
            let answer = tokio::select! {
                answer = engine.store.check(engine.now()) => answer,
                () = engine.clock.sleep(TIMEOUT) => Err(timed_out()),
            };
            let answer = answer.map_err(Arc::new);
            *latest = Some(Probe {
                at: engine.clock.elapsed(),
                answer: answer.clone(),
            });
            answer
        });
        probe
            .await
            .unwrap_or_else(|error| Err(Arc::new(task_lost(error))))
    }
}

fn timed_out() -> StoreError {
    StoreError::Unavailable {
        attempt: "write a health check",
        source: "no response in time".into(),
    }
}
