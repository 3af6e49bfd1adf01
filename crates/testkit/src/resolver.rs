//! A resolver with scripted answers.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::future::pending;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use entreat_engine::{Clock, Lookup, ResolveError, Resolver};
use parking_lot::Mutex;

/// Answers lookups from a script, and counts them. Clones share both.
///
/// Each host has a sequence of answers: one per lookup, and the last one repeats. Unknown hosts are
/// not found.
///
/// ```
/// use entreat_engine::Resolver;
/// use entreat_testkit::ScriptedResolver;
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// # runtime.block_on(async {
/// // A host that turns private after it was checked.
/// let resolver = ScriptedResolver::new()
///     .answers("rebind.example.com", &["93.184.215.14"])
///     .answers("rebind.example.com", &["127.0.0.1"]);
/// assert!(!resolver.resolve("rebind.example.com").await?[0].is_loopback());
/// assert!(resolver.resolve("rebind.example.com").await?[0].is_loopback());
/// assert_eq!(resolver.lookups("rebind.example.com"), 2);
/// # Ok::<(), entreat_engine::ResolveError>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct ScriptedResolver {
    state: Arc<Mutex<State>>,
    delay: Option<(Arc<dyn Clock>, Duration)>,
}

#[derive(Default)]
struct State {
    script: HashMap<String, VecDeque<Answer>>,
    counts: HashMap<String, usize>,
}

#[derive(Clone)]
enum Answer {
    Now(Result<Vec<IpAddr>, ResolveError>),
    Never,
}

impl ScriptedResolver {
    /// Creates a resolver that knows no host.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an answer for a host: these addresses, or an empty list.
    ///
    /// # Panics
    ///
    /// If one of them is not an IP address.
    #[track_caller]
    #[expect(clippy::panic, reason = "a mistake in the script of a test")]
    pub fn answers(self, host: &str, addresses: &[&str]) -> Self {
        let mut list = Vec::with_capacity(addresses.len());
        for address in addresses {
            let Ok(parsed) = address.parse() else {
                panic!("`{address}` is no IP address");
            };
            list.push(parsed);
        }
        self.then(host, Answer::Now(Ok(list)))
    }

    /// Adds an answer for a host: this error.
    pub fn fails(self, host: &str, error: ResolveError) -> Self {
        self.then(host, Answer::Now(Err(error)))
    }

    /// Adds a lookup that never completes.
    pub fn never(self, host: &str) -> Self {
        self.then(host, Answer::Never)
    }

    /// Delays every answer of this resolver, and of clones made later, by a clock.
    pub fn delayed(mut self, clock: impl Clock, by: Duration) -> Self {
        self.delay = Some((Arc::new(clock), by));
        self
    }

    /// Returns the number of lookups of a host.
    pub fn lookups(&self, host: &str) -> usize {
        self.state.lock().counts.get(host).copied().unwrap_or(0)
    }

    /// Returns the number of lookups of all hosts.
    pub fn all_lookups(&self) -> usize {
        self.state.lock().counts.values().sum()
    }

    fn then(self, host: &str, answer: Answer) -> Self {
        let mut state = self.state.lock();
        state
            .script
            .entry(host.into())
            .or_default()
            .push_back(answer);
        drop(state);
        self
    }

    fn next(&self, host: &str) -> Answer {
        let state = &mut *self.state.lock();
        *state.counts.entry(host.into()).or_default() += 1;
        let answers = state.script.get_mut(host);
        let next = answers.and_then(|answers| match answers.len() {
            0 | 1 => answers.front().cloned(),
            _ => answers.pop_front(),
        });
        next.unwrap_or(Answer::Now(Err(ResolveError::NotFound)))
    }
}

impl Resolver for ScriptedResolver {
    fn resolve(&self, host: &str) -> Lookup<'_> {
        let answer = self.next(host);
        let delay = self.delay.as_ref().map(|(clock, by)| clock.sleep(*by));
        Box::pin(async move {
            if let Some(delay) = delay {
                delay.await;
            }
            match answer {
                Answer::Now(answer) => answer,
                Answer::Never => pending().await,
            }
        })
    }
}

impl fmt::Debug for ScriptedResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedResolver")
            .field("lookups", &self.all_lookups())
            .finish_non_exhaustive()
    }
}
