//! What an issuer publishes, as last fetched: kept while the issuer is down, and fetched by one for
//! all who wait.
//!
//! A fetch runs in a task of its own, so that callers who leave neither break it off nor have it
//! begun anew.

use std::time::Duration;

use entreat_core::UnixTime;
use futures_util::future::{BoxFuture, Shared};
use futures_util::{FutureExt as _, TryFutureExt as _};
use parking_lot::Mutex;
use tokio_util::task::AbortOnDropHandle;

use super::IssuerError;

/// How long something is used without being fetched again.
const FRESH_FOR: Duration = Duration::from_secs(10 * 60);
/// How long it is used if it cannot be fetched again.
const KEPT_FOR: Duration = Duration::from_secs(24 * 60 * 60);
/// The least time between fetches on behalf of tokens with unknown keys.
const DEMANDED_EVERY: Duration = Duration::from_secs(30);
/// The least time between fetches that fail.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// Something to fetch.
pub(super) struct Fetched<T>(Mutex<State<T>>);

struct State<T> {
    /// What was fetched last, and when that began.
    kept: Option<(T, UnixTime)>,
    /// Why the latest fetch failed, if it did, and when it began.
    failure: Option<(IssuerError, UnixTime)>,
    /// When it was last fetched because something was missing.
    demanded: Option<UnixTime>,
    running: Option<Running<T>>,
}

type Fetch<T> = Shared<BoxFuture<'static, Result<T, IssuerError>>>;

struct Running<T> {
    fetch: Fetch<T>,
    began: UnixTime,
}

impl<T> Clone for Running<T> {
    fn clone(&self) -> Self {
        Self {
            fetch: self.fetch.clone(),
            began: self.began,
        }
    }
}

/// Something fetched.
pub(super) struct Latest<T> {
    pub(super) value: T,
    /// Whether it was fetched just now, so that there is nothing newer.
    pub(super) is_new: bool,
}

impl<T> Latest<T> {
    fn kept(value: T) -> Self {
        Self {
            value,
            is_new: false,
        }
    }
}

/// A fetch, which may go on without whoever began it.
pub(super) trait Fetching<T>:
    Future<Output = Result<T, IssuerError>> + Send + 'static
{
}

impl<T, F: Future<Output = Result<T, IssuerError>> + Send + 'static> Fetching<T> for F {}

impl<T: Clone + PartialEq + Send + Sync + 'static> Fetched<T> {
    pub(super) fn new() -> Self {
        Self(Mutex::new(State {
            kept: None,
            failure: None,
            demanded: None,
            running: None,
        }))
    }

    /// Returns what is kept. Fetches it first if nothing is, and in the background if it is old.
    pub(super) async fn get<F: Fetching<T>>(
        &self,
        now: UnixTime,
        fetch: impl FnOnce() -> F,
    ) -> Result<Latest<T>, IssuerError> {
        let running = {
            let mut state = self.0.lock();
            state.collect();
            if let Some(value) = state.usable(now) {
                if state.is_due(now) {
                    state.begin(now, fetch());
                }
                return Ok(Latest::kept(value));
            }
            if state.running.is_none()
                && let Some(error) = state.recent_failure(now, RETRY_AFTER)
            {
                return Err(error);
            }
            state.join(now, fetch)
        };
        self.result(running).await
    }

    /// Fetches it again because something is missing from it, unless that was done recently;
    /// returns what is kept then, or if fetching fails.
    pub(super) async fn demand<F: Fetching<T>>(
        &self,
        now: UnixTime,
        fetch: impl FnOnce() -> F,
    ) -> Result<Latest<T>, IssuerError> {
        let (kept, running) = {
            let mut state = self.0.lock();
            state.collect();
            let is_recent = |at| now.since(at) < DEMANDED_EVERY;
            let running = if state.running.is_some() {
                Some(state.join(now, fetch))
            } else if state.demanded.is_some_and(is_recent) {
                None
            } else {
                state.demanded = Some(now);
                Some(state.join(now, fetch))
            };
            (state.usable(now), running)
        };
        let result = match running {
            Some(running) => self.result(running).await,
            None => Err(IssuerError::Unavailable("it was asked recently".to_owned())),
        };
        match (result, kept) {
            (Err(_), Some(value)) => Ok(Latest::kept(value)),
            (result, _) => result,
        }
    }

    async fn result(&self, running: Running<T>) -> Result<Latest<T>, IssuerError> {
        running.fetch.clone().await?;
        let mut state = self.0.lock();
        state.collect();
        // Another fetch may have ended since.
        let value = state.usable(running.began);
        let value = value.ok_or_else(|| IssuerError::Unavailable("it answers late".to_owned()))?;
        Ok(Latest {
            value,
            is_new: true,
        })
    }
}

impl<T: Clone + PartialEq + Send + Sync + 'static> State<T> {
    /// Takes the result of a fetch that has ended.
    fn collect(&mut self) {
        let Some(Running { fetch, began }) = &self.running else {
            return;
        };
        let Some(result) = fetch.clone().now_or_never() else {
            return;
        };
        let began = *began;
        self.running = None;
        match result {
            Ok(value) => {
                // What is unchanged stays the same object, by which caches know it.
                let same = self.kept.take().map(|(kept, _)| kept);
                let value = same.filter(|kept| *kept == value).unwrap_or(value);
                self.kept = Some((value, began));
                self.failure = None;
            }
            Err(error) => self.failure = Some((error, began)),
        }
    }

    fn usable(&self, now: UnixTime) -> Option<T> {
        let (value, at) = self.kept.as_ref()?;
        (now.since(*at) < KEPT_FOR).then(|| value.clone())
    }

    /// Whether what is kept is old enough to be fetched again.
    fn is_due(&self, now: UnixTime) -> bool {
        let is_old = |(_, at): &(T, UnixTime)| now.since(*at) >= FRESH_FOR;
        self.running.is_none()
            && self.kept.as_ref().is_some_and(is_old)
            && self.recent_failure(now, DEMANDED_EVERY).is_none()
    }

    fn recent_failure(&self, now: UnixTime, within: Duration) -> Option<IssuerError> {
        let (error, at) = self.failure.as_ref()?;
        (now.since(*at) < within).then(|| error.clone())
    }

    /// Returns the fetch that runs, or begins one.
    fn join<F: Fetching<T>>(&mut self, now: UnixTime, fetch: impl FnOnce() -> F) -> Running<T> {
        match &self.running {
            Some(running) => running.clone(),
            None => self.begin(now, fetch()),
        }
    }

    fn begin(&mut self, now: UnixTime, fetch: impl Fetching<T>) -> Running<T> {
        let task = AbortOnDropHandle::new(tokio::spawn(fetch));
        let ended = |_| IssuerError::Unavailable("fetching was broken off".to_owned());
        let running = Running {
            fetch: task
                .unwrap_or_else(move |error| Err(ended(error)))
                .boxed()
                .shared(),
            began: now,
        };
        self.running = Some(running.clone());
        running
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use tokio::sync::Semaphore;

    use super::*;

    /// Counts fetches, which end when the test allows it.
    #[derive(Clone)]
    struct Source {
        fetches: Arc<AtomicU32>,
        is_up: Arc<Semaphore>,
    }

    impl Source {
        fn new(is_up: bool) -> Self {
            Self {
                fetches: Arc::default(),
                is_up: Arc::new(Semaphore::new(if is_up { 1000 } else { 0 })),
            }
        }

        fn fetches(&self) -> u32 {
            self.fetches.load(Ordering::Relaxed)
        }

        fn fetch(&self) -> impl Future<Output = Result<u32, IssuerError>> + Send + 'static {
            let number = self.fetches.fetch_add(1, Ordering::Relaxed) + 1;
            let is_up = self.is_up.clone();
            async move {
                let permit = is_up.acquire().await;
                let permit = permit.map_err(|_| IssuerError::Unavailable("down".to_owned()))?;
                drop(permit);
                Ok(number)
            }
        }
    }

    fn at(seconds: u64) -> UnixTime {
        UnixTime::from_millis(seconds * 1000)
    }

    async fn get(
        fetched: &Fetched<u32>,
        source: &Source,
        seconds: u64,
    ) -> Result<u32, IssuerError> {
        let latest = fetched.get(at(seconds), || source.fetch()).await?;
        Ok(latest.value)
    }

    async fn demand(
        fetched: &Fetched<u32>,
        source: &Source,
        seconds: u64,
    ) -> Result<u32, IssuerError> {
        let latest = fetched.demand(at(seconds), || source.fetch()).await?;
        Ok(latest.value)
    }

    #[tokio::test]
    async fn what_is_missing_is_fetched_once_in_thirty_seconds() {
        let (fetched, source) = (Fetched::new(), Source::new(true));
        assert_eq!(get(&fetched, &source, 0).await, Ok(1));
        assert_eq!(demand(&fetched, &source, 1).await, Ok(2));
        for seconds in [2, 15, 30] {
            assert_eq!(demand(&fetched, &source, seconds).await, Ok(2));
        }
        assert_eq!(demand(&fetched, &source, 31).await, Ok(3));
    }

    #[tokio::test]
    async fn one_fetches_for_all_and_leaving_does_not_break_it_off() {
        let (fetched, source) = (Fetched::new(), Source::new(false));
        // The first one leaves while its fetch runs.
        assert!(get(&fetched, &source, 0).now_or_never().is_none());
        let all = futures_util::future::join_all((0..100).map(|_| get(&fetched, &source, 1)));
        source.is_up.add_permits(100);
        assert!(all.await.into_iter().all(|it| it == Ok(1)));
        assert_eq!(source.fetches(), 1);
    }

    #[tokio::test]
    async fn while_the_issuer_is_down_what_is_known_is_kept_for_a_day() {
        let (fetched, source) = (Fetched::new(), Source::new(true));
        assert_eq!(get(&fetched, &source, 0).await, Ok(1));
        source.is_up.close();
        for hour in 1..24 {
            assert_eq!(get(&fetched, &source, hour * 3600).await, Ok(1), "{hour}");
            assert_eq!(demand(&fetched, &source, hour * 3600 + 40).await, Ok(1));
        }
        let down = Err(IssuerError::Unavailable("down".to_owned()));
        assert_eq!(get(&fetched, &source, 24 * 3600).await, down);
    }

    #[tokio::test]
    async fn a_failure_is_not_repeated_for_everybody() {
        let (fetched, source) = (Fetched::new(), Source::new(false));
        source.is_up.close();
        for milliseconds in [0, 1, 4999] {
            let now = UnixTime::from_millis(milliseconds);
            assert!(fetched.get(now, || source.fetch()).await.is_err());
        }
        assert_eq!(source.fetches(), 1);
        assert!(get(&fetched, &source, 5).await.is_err());
        assert_eq!(source.fetches(), 2);
    }

    #[tokio::test]
    async fn what_is_old_is_fetched_while_nobody_waits() {
        let (fetched, source) = (Fetched::new(), Source::new(true));
        assert_eq!(get(&fetched, &source, 0).await, Ok(1));
        assert_eq!(get(&fetched, &source, 599).await, Ok(1));
        assert_eq!(get(&fetched, &source, 600).await, Ok(1));
        while source.fetches() < 2 || get(&fetched, &source, 600).await == Ok(1) {
            tokio::task::yield_now().await;
        }
        assert_eq!(source.fetches(), 2);
        assert_eq!(get(&fetched, &source, 601).await, Ok(2));
    }
}
