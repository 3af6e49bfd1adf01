//! The system's resolver, with bounds on time and threads.

use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::fair_queue::FairQueue;

use super::{LookUp, ResolveError, Resolver};

/// Asks as every program on the machine does: its hosts file, then its name servers.
///
/// A look-up occupies a thread that cannot be stopped, and with a name server that is silent it
/// does so for long. So few are under way at once, and a share of them for each asker; each counts
/// until its thread is free again, even if nobody waits for the answer any more.
///
/// Names are looked up as they are, so the machine's search list applies. Whatever address
/// comes of that is judged like any other.
#[derive(Clone, Debug)]
pub struct SystemResolver {
    threads: FairQueue<Box<str>>,
    limit: usize,
    patience: Duration,
    ask: fn(&str) -> io::Result<Vec<IpAddr>>,
}

/// Of the 512 blocking threads that tokio has, which a store needs too.
const LIMIT: usize = 32;
/// Of which one asker has so many.
const SHARE: usize = 8;

/// A resolver that tries a second server does so earlier; people wait for a form no longer.
const PATIENCE: Duration = Duration::from_secs(3);

impl SystemResolver {
    /// Waits 3 seconds for an answer, and has 32 look-ups under way at most, 8 for one asker.
    pub fn new() -> Self {
        Self {
            threads: FairQueue::new(LIMIT, SHARE),
            limit: LIMIT,
            patience: PATIENCE,
            ask,
        }
    }

    /// Sets how long a caller waits for an answer, its turn included.
    pub fn with_timeout(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self::new()
    }
}

impl Resolver for SystemResolver {
    fn resolve(&self, host: &str) -> LookUp<'_> {
        // The program's own share.
        self.resolve_for("", host)
    }

    fn resolve_for(&self, asker: &str, host: &str) -> LookUp<'_> {
        let (asker, host) = (asker.into(), host.to_owned());
        Box::pin(async move {
            let mut has_begun = false;
            let look_up = async {
                let permit = self.threads.acquire(asker).await;
                has_begun = true;
                let ask = self.ask;
                // What `tokio::net::lookup_host` does, but the permit goes with the thread: a
                // look-up that was given up still holds it.
                let thread = spawn_blocking(move || {
                    let answer = ask(&host);
                    drop(permit);
                    answer
                });
                thread.await.map_err(failed)?.map_err(read_error)
            };
            match timeout(self.patience, look_up).await {
                Ok(answer) => answer,
                Err(_) if has_begun => Err(ResolveError::TimedOut {
                    after: self.patience,
                }),
                Err(_) => Err(ResolveError::Busy {
                    limit: self.limit,
                    after: self.patience,
                }),
            }
        })
    }
}

fn ask(host: &str) -> io::Result<Vec<IpAddr>> {
    let mut addresses = Vec::new();
    for socket in (host, 0).to_socket_addrs()? {
        // The system lists an address once for each kind of socket.
        if !addresses.contains(&socket.ip()) {
            addresses.push(socket.ip());
        }
    }
    Ok(addresses)
}

/// Tells "no such name" from a resolver that could not say.
///
/// The standard library keeps the resolver's code to itself and shows its words only. Words that
/// are not known here count as a failure: that is the cautious reading, and all that hangs on
/// it is whether asking again makes sense.
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

    /// Holds every look-up until it is opened.
    static GATE: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());
    static ASKED: AtomicUsize = AtomicUsize::new(0);

    fn hang(host: &str) -> io::Result<Vec<IpAddr>> {
        ASKED.fetch_add(1, Ordering::SeqCst);
        let mut is_open = GATE.0.lock();
        while !*is_open {
            GATE.1.wait(&mut is_open);
        }
        drop(is_open);
        ask(host)
    }

    /// Opens the gate, also when a test fails: the runtime waits for its threads.
    struct Opener;

    impl Drop for Opener {
        fn drop(&mut self) {
            *GATE.0.lock() = true;
            GATE.1.notify_all();
        }
    }

    // One test, since the gate is shared. Tokio's paused time does not run by itself while a
    // thread hangs, so it is moved by hand.
    #[tokio::test(start_paused = true)]
    async fn a_hanging_look_up_is_given_up_but_keeps_its_place_until_its_thread_is_free() {
        let resolver = SystemResolver {
            threads: FairQueue::new(1, 1),
            limit: 1,
            ask: hang,
            ..SystemResolver::new()
        };
        let start = |host: &'static str| {
            let resolver = resolver.clone();
            tokio::spawn(async move { resolver.resolve_for("asker", host).await })
        };
        let step = async |millis| {
            // Tasks get to run before and after time moves.
            yield_now().await;
            tokio::time::advance(Duration::from_millis(millis)).await;
            yield_now().await;
        };

        let opener = Opener;
        let first = start("127.0.0.1");
        step(2_999).await;
        assert!(!first.is_finished());
        // The thread is real: without this it might begin after all is over.
        while ASKED.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
        step(2).await;
        let error = first.await.unwrap().unwrap_err();
        assert_eq!(error.to_string(), "no answer within 3s");

        let second = start("127.0.0.1");
        step(3_001).await;
        let error = second.await.unwrap().unwrap_err();
        assert_eq!(
            error.to_string(),
            "1 look-ups were under way for 3s, and no more are started"
        );

        let third = start("127.0.0.1");
        step(1).await;
        drop(opener);
        let answer = third.await.unwrap().unwrap();
        assert_eq!(answer, [IpAddr::from([127, 0, 0, 1])]);
        assert_eq!(ASKED.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn one_asker_does_not_take_the_look_ups_of_others() {
        let resolver = SystemResolver::new();
        let acquire = |asker: &str| resolver.threads.acquire(asker.into()).now_or_never();
        let hanging: Vec<_> = (0..SHARE).map(|_| acquire("greedy").unwrap()).collect();
        assert!(acquire("greedy").is_none());
        assert!(acquire("other").is_some());
        drop(hanging);
    }
}
