//! The system's resolver, with a timeout and a limit on threads.

use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::fair_queue::FairQueue;

use super::{Lookup, ResolveError, Resolver};

/// Resolves with the system's `getaddrinfo`: hosts file, then name servers.
///
/// A lookup blocks a thread that cannot be cancelled, for long if a name server does not answer. So
/// lookups in flight are limited in total and per asker, and each counts until its thread returns,
/// even after its caller timed out.
///
/// The system's search list applies to names. The resulting addresses are checked like any others.
#[derive(Clone, Debug)]
pub struct SystemResolver {
    threads: FairQueue<Box<str>>,
    limit: usize,
    timeout: Duration,
    lookup: fn(&str) -> io::Result<Vec<IpAddr>>,
}

/// Limit on lookups in flight. Tokio has 512 blocking threads, which the store needs too.
const LIMIT: usize = 32;
/// One asker's share.
const SHARE: usize = 8;

/// Long enough for a resolver to try a second server, short enough for a waiting person.
const TIMEOUT: Duration = Duration::from_secs(3);

impl SystemResolver {
    /// Creates a resolver with a timeout of 3 seconds and 32 lookups in flight, 8 per asker.
    pub fn new() -> Self {
        Self {
            threads: FairQueue::new(LIMIT, SHARE),
            limit: LIMIT,
            timeout: TIMEOUT,
            lookup: getaddrinfo,
        }
    }
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self::new()
    }
}

impl Resolver for SystemResolver {
    fn resolve(&self, host: &str) -> Lookup<'_> {
        // The host program has a share too.
        self.resolve_for("", host)
    }

    fn resolve_for(&self, asker: &str, host: &str) -> Lookup<'_> {
        let (asker, host) = (asker.into(), host.to_owned());
        Box::pin(async move {
            let mut has_started = false;
            let lookup = async {
                let permit = self.threads.acquire(asker).await;
                has_started = true;
                let resolve = self.lookup;
                // Not `tokio::net::lookup_host`: the thread must hold the permit even after the
                // caller timed out.
                let thread = spawn_blocking(move || {
                    let answer = resolve(&host);
                    drop(permit);
                    answer
                });
                thread.await.map_err(failed)?.map_err(read_error)
            };
            match timeout(self.timeout, lookup).await {
                Ok(answer) => answer,
                Err(_) if has_started => Err(ResolveError::TimedOut {
                    after: self.timeout,
                }),
                Err(_) => Err(ResolveError::Busy {
                    limit: self.limit,
                    after: self.timeout,
                }),
            }
        })
    }
}

fn getaddrinfo(host: &str) -> io::Result<Vec<IpAddr>> {
    let mut addresses = Vec::new();
    for socket in (host, 0).to_socket_addrs()? {
        // The system lists an address once per socket type.
        if !addresses.contains(&socket.ip()) {
            addresses.push(socket.ip());
        }
    }
    Ok(addresses)
}

/// Distinguishes "no such name" from a failure of the resolver.
///
/// The standard library exposes only the resolver's message, not its code. Unknown messages count
/// as failures; the distinction only decides whether a retry makes sense.
fn read_error(error: io::Error) -> ResolveError {
    const NOT_FOUND: &[&str] = &[
        // glibc
        "Name or service not known",
        "No address associated with hostname",
        // musl
        "Name does not resolve",
        "Name has no usable address",
        // macOS and the BSDs
        "nodename nor servname provided",
        "no address associated with name",
    ];
    // Windows: WSAHOST_NOT_FOUND, WSANO_DATA.
    let has_code = cfg!(windows) && matches!(error.raw_os_error(), Some(11_001 | 11_004));
    let text = error.to_string();
    if has_code || NOT_FOUND.iter().any(|words| text.contains(words)) {
        ResolveError::NotFound
    } else {
        failed(error)
    }
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> ResolveError {
    ResolveError::Failed {
        source: Arc::new(error),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::FutureExt as _;
    use parking_lot::{Condvar, Mutex};
    use tokio::task::yield_now;

    use super::*;

    #[tokio::test]
    async fn this_machine_knows_itself() {
        let answer = SystemResolver::new().resolve("localhost").await.unwrap();
        assert!(!answer.is_empty() && answer.iter().all(IpAddr::is_loopback));
        let mut once = answer.clone();
        once.dedup();
        assert_eq!(answer, once);
    }

    #[test]
    fn no_such_name_is_told_from_a_resolver_that_could_not_say() {
        let read = |text: &str| read_error(io::Error::other(text));
        let prefix = "failed to lookup address information:";
        for words in ["Name or service not known", "Name does not resolve"] {
            let error = read(&format!("{prefix} {words}"));
            assert!(matches!(error, ResolveError::NotFound), "{words}");
        }
        let error = read(&format!("{prefix} Temporary failure in name resolution"));
        assert!(matches!(error, ResolveError::Failed { .. }));
        assert_eq!(error.to_string(), "the resolver failed");
    }

    /// Blocks every lookup until it is opened.
    static GATE: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());
    static ASKED: AtomicUsize = AtomicUsize::new(0);

    fn hang(host: &str) -> io::Result<Vec<IpAddr>> {
        ASKED.fetch_add(1, Ordering::SeqCst);
        let mut is_open = GATE.0.lock();
        while !*is_open {
            GATE.1.wait(&mut is_open);
        }
        drop(is_open);
        getaddrinfo(host)
    }

    /// Opens the gate, also when a test fails: the runtime waits for its threads.
    struct Opener;

    impl Drop for Opener {
        fn drop(&mut self) {
            *GATE.0.lock() = true;
            GATE.1.notify_all();
        }
    }

    // One test, since the gate is shared. Tokio's paused time does not auto-advance while a
    // blocking thread runs, so the test advances it.
    #[tokio::test(start_paused = true)]
    async fn a_hanging_lookup_is_given_up_but_keeps_its_place_until_its_thread_is_free() {
        let resolver = SystemResolver {
            threads: FairQueue::new(1, 1),
            limit: 1,
            lookup: hang,
            ..SystemResolver::new()
        };
        let start = |host: &'static str| {
            let resolver = resolver.clone();
            tokio::spawn(async move { resolver.resolve_for("asker", host).await })
        };
        let step = async |millis| {
            // Lets tasks run before and after time advances.
            yield_now().await;
            tokio::time::advance(Duration::from_millis(millis)).await;
            yield_now().await;
        };

        let opener = Opener;
        let first = start("127.0.0.1");
        step(2_999).await;
        assert!(!first.is_finished());
        // The thread is real: without this it might start after the test is over.
        while ASKED.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
        step(2).await;
        let error = first.await.unwrap().unwrap_err();
        assert_eq!(error.to_string(), "no response within 3s");

        let second = start("127.0.0.1");
        step(3_001).await;
        let error = second.await.unwrap().unwrap_err();
        assert_eq!(
            error.to_string(),
            "1 lookups were in flight for 3s, which is the limit"
        );

        let third = start("127.0.0.1");
        step(1).await;
        drop(opener);
        let answer = third.await.unwrap().unwrap();
        assert_eq!(answer, [IpAddr::from([127, 0, 0, 1])]);
        assert_eq!(ASKED.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn one_asker_does_not_take_the_lookups_of_others() {
        let resolver = SystemResolver::new();
        let acquire = |asker: &str| resolver.threads.acquire(asker.into()).now_or_never();
        let mut hanging: Vec<_> = (0..8).map(|_| acquire("greedy").unwrap()).collect();
        let refused = resolver.resolve_for("greedy", "localhost").await;
        assert!(matches!(refused, Err(ResolveError::Busy { .. })));
        assert!(resolver.resolve_for("other", "localhost").await.is_ok());
        // All together have 32.
        let others = (8..32).map(|number| acquire(&(number / 8).to_string()).unwrap());
        hanging.extend(others);
        let refused = resolver.resolve_for("other", "localhost").await;
        assert!(matches!(refused, Err(ResolveError::Busy { .. })));
    }
}
