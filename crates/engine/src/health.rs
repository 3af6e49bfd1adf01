//! Whether the store can keep something: looked at seldom, however often it is asked.
//!
//! Anybody may ask a service whether it is ready. A look writes to disk, so that one look serves
//! everybody who asks within a second, and goes on if the one who caused it goes away.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;

use crate::engine::Inner;
use crate::step::given_up;
use crate::store::StoreError;

/// So long an answer holds.
const FRESH: Duration = Duration::from_secs(1);
/// So long a store may take; then it counts as unavailable.
const PATIENCE: Duration = Duration::from_secs(5);

type Answer = Result<(), Arc<StoreError>>;

/// The latest look; locked while there is one under way.
#[derive(Default)]
pub(crate) struct Health(Arc<Mutex<Option<Look>>>);

struct Look {
    /// When it ended, by the engine's clock.
    at: Duration,
    answer: Answer,
}

impl Health {
    pub(crate) async fn check(&self, inner: &Arc<Inner>) -> Answer {
        let mut latest = self.0.clone().lock_owned().await;
        let now = inner.clock.elapsed();
        if let Some(look) = &*latest
            && now.saturating_sub(look.at) < FRESH
        {
            return look.answer.clone();
        }
        let engine = inner.clone();
        let look = inner.in_flight.spawn(async move {
            let answer = tokio::select! {
                answer = engine.store.check(engine.now()) => answer,
                () = engine.clock.sleep(PATIENCE) => Err(silent()),
            };
            let answer = answer.map_err(Arc::new);
            *latest = Some(Look {
                at: engine.clock.elapsed(),
                answer: answer.clone(),
            });
            answer
        });
        look.await
            .unwrap_or_else(|gone| Err(Arc::new(given_up(gone))))
    }
}

fn silent() -> StoreError {
    StoreError::Unavailable {
        attempt: "keep something",
        source: "it did not answer in time".into(),
    }
}
