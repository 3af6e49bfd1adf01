//! Starts and kills the process, and compares acknowledged writes with the store.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use entreat_core::ElicitationId;
use entreat_engine::store::{Created, Query, StatusFilter};
use entreat_engine::{Record, Store};
use entreat_stores::{EmbeddedOptions, EmbeddedStore};
use entreat_testkit::records;
use tokio::runtime::Runtime;

use super::work::{self, CALLERS, READY};

/// A crash test on one store.
pub(crate) struct Crash<S> {
    path: PathBuf,
    start: S,
    runtime: Runtime,
    chance: fastrand::Rng,
    /// Acknowledged writes of records that were not purged.
    promised: BTreeMap<ElicitationId, Promised>,
    /// Purged records, which must not reappear.
    purged: Vec<ElicitationId>,
    report: Report,
}

struct Promised {
    version: u32,
    key: String,
}

/// Totals of all rounds.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) rounds: u64,
    pub(crate) created: u64,
    pub(crate) drafted: u64,
    pub(crate) settled: u64,
    pub(crate) slowest_open: Duration,
}

impl<S: Fn(&Path, u64) -> Command> Crash<S> {
    /// Tests a store at this path; `start` starts the process of a round.
    pub(crate) fn new(path: PathBuf, start: S) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        Self {
            path,
            start,
            runtime: runtime.expect("a runtime"),
            chance: fastrand::Rng::new(),
            promised: BTreeMap::new(),
            purged: Vec::new(),
            report: Report::default(),
        }
    }

    /// Runs the rounds on a store with `pending` records; panics if a write was lost.
    pub(crate) fn run(&mut self, rounds: u64, pending: u64, mut say: impl FnMut(&str)) -> &Report {
        self.fill(pending);
        for round in 1..=rounds {
            self.kill(round);
            self.verify(round);
            if round % 20 == 0 {
                let kept = self.promised.len();
                say(&format!("round {round}: {kept} elicitations as promised"));
            }
        }
        self.report.rounds = rounds;
        if rounds == 0 {
            drop(self.open());
        }
        &self.report
    }

    fn fill(&mut self, pending: u64) {
        let store = self.open();
        self.runtime.block_on(async {
            let numbers: Vec<u64> = (0..pending).collect();
            for some in numbers.chunks(1000) {
                let creations = some.iter().map(|number| {
                    let now = work::moment(0, *number / 1000);
                    let record = records::pending("asker", now, *number);
                    let promised = Promised {
                        version: 0,
                        key: work::key(0, *number),
                    };
                    let record = records::with_key(record, &promised.key);
                    self.promised.insert(record.id, promised);
                    store.create(record)
                });
                for creation in creations.collect::<Vec<_>>() {
                    creation.await.expect("it is kept");
                }
            }
            store.close().await;
        });
    }

    /// Lets a process run briefly and kills it.
    fn kill(&mut self, round: u64) {
        let mut child = (self.start)(&self.path, round)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let is_ready = |line: &String| line.ends_with(READY);
        let ready = lines.by_ref().map_while(Result::ok).find(is_ready);
        assert!(ready.is_some(), "the store did not open in round {round}");
        let moment = Duration::from_micros(self.chance.u64(1_000..400_000));
        let killer = std::thread::spawn(move || end(child, moment));
        // The last line may be incomplete; then it does not parse.
        for line in lines.map_while(Result::ok) {
            self.promise(&line);
        }
        killer.join().expect("it is killed");
    }

    fn promise(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let [id, version, key] = words[..] else {
            return;
        };
        let (Ok(id), Ok(version)) = (id.parse(), version.parse()) else {
            return;
        };
        match version {
            0 => self.report.created += 1,
            1 => self.report.drafted += 1,
            _ => self.report.settled += 1,
        }
        let key = key.to_owned();
        let before = self.promised.insert(id, Promised { version, key });
        let expected = before.map_or(0, |promised| promised.version + 1);
        assert_eq!(version, expected, "{id} was acknowledged out of order");
    }

    fn verify(&mut self, round: u64) {
        let store = self.open();
        let kept = self.runtime.block_on(everything(&store));
        for (id, promised) in &self.promised {
            let record = kept.get(id);
            let record = record.unwrap_or_else(|| panic!("round {round}: {id} is lost"));
            promised.check(record);
        }
        // Each caller may have had one unacknowledged creation in flight.
        let unexpected: Vec<_> = kept
            .values()
            .filter(|record| !self.promised.contains_key(&record.id))
            .collect();
        let most = usize::try_from(CALLERS).expect("few");
        assert!(unexpected.len() <= most, "{} too many", unexpected.len());
        for record in unexpected {
            assert_eq!(record.version.0, 0, "{} was never created", record.id);
            assert!(!self.purged.contains(&record.id), "{} came back", record.id);
        }
        self.runtime.block_on(self.repeat(&store, &kept));
        let purged = self.runtime.block_on(async {
            let purged = store.purge(work::moment(round + 1, 0), usize::MAX).await;
            let purged = purged.expect("it is purged");
            store.close().await;
            purged
        });
        self.forget(&kept, purged);
    }

    /// Repeats some creations: idempotency keys prevent duplicates.
    async fn repeat(&self, store: &EmbeddedStore, kept: &BTreeMap<ElicitationId, Record>) {
        for (number, (id, promised)) in (0..).zip(self.promised.iter().rev().take(50)) {
            let now = work::moment(9_999, number);
            let again = records::with_key(records::pending("asker", now, number), &promised.key);
            let created = store.create(again).await.expect("it answers");
            assert_eq!(created, Created::Existing(*id));
        }
        assert_eq!(everything(store).await.len(), kept.len());
    }

    /// Takes the live records as the new baseline.
    fn forget(&mut self, kept: &BTreeMap<ElicitationId, Record>, purged: usize) {
        self.purged.clear();
        let settled = kept.values().filter(|r| !r.lifecycle.is_live());
        self.purged.extend(settled.map(|record| record.id));
        assert_eq!(self.purged.len(), purged);
        self.promised.clear();
        for record in kept.values().filter(|r| r.lifecycle.is_live()) {
            let extras = record.request.extras.as_ref();
            let key = extras.and_then(|extras| extras.idempotency_key.as_deref());
            let promised = Promised {
                version: record.version.0,
                key: key.unwrap_or_default().to_owned(),
            };
            self.promised.insert(record.id, promised);
        }
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "how long a store takes to open is told to a person"
    )]
    fn open(&mut self) -> EmbeddedStore {
        let began = Instant::now();
        let store = EmbeddedStore::open(&self.path, EmbeddedOptions::default());
        self.report.slowest_open = self.report.slowest_open.max(began.elapsed());
        store.expect("it opens after a crash")
    }
}

impl Promised {
    fn check(&self, record: &Record) {
        let (id, found, promised) = (record.id, record.version.0, self.version);
        // One more step may have been committed but not acknowledged.
        assert!(
            found == promised || found == promised + 1,
            "{id} is at {found}, {promised} was acknowledged"
        );
        assert_eq!(record.lifecycle.is_live(), found < 2, "{id} at {found}");
        let held = record.answer_state.as_ref();
        let text = match found {
            0 => None,
            1 => held.and_then(|held| held.draft.as_ref()),
            _ => held.and_then(|held| held.result.as_ref()),
        };
        let expected = (found > 0).then(|| work::text(record, found));
        assert_eq!(text.map(|text| &*text.text), expected.as_deref(), "{id}");
    }
}

/// Lists all records, each once.
async fn everything(store: &EmbeddedStore) -> BTreeMap<ElicitationId, Record> {
    let query = Query {
        asker: None,
        respondents: None,
        which: StatusFilter::All,
        before: None,
        limit: usize::MAX,
    };
    let listed = store.list(query).await.expect("it is read");
    let count = listed.len();
    let kept: BTreeMap<_, _> = listed.into_iter().map(|r| (r.id, r)).collect();
    assert_eq!(kept.len(), count, "something is listed twice");
    kept
}

/// Kills the process after this delay.
fn end(mut child: Child, moment: Duration) {
    std::thread::sleep(moment);
    child.kill().expect("it runs until it is killed");
    child.wait().expect("it has ended");
}
