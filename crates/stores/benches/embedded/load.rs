//! Callers that each take elicitations from creation to the answer.

use std::sync::Arc;
use std::time::Instant;

use entreat_core::UnixTime;
use entreat_engine::{Record, Store};
use entreat_stores::EmbeddedStore;
use entreat_testkit::records;
use tokio::task::JoinSet;

use crate::bare_log::BareLog;

/// Elicitations per caller.
const TURNS: u64 = 120;

/// The operations under test.
pub(crate) trait Contestant: Send + Sync + 'static {
    fn create(&self, record: &Record) -> impl Future<Output = ()> + Send;
    fn commit(&self, record: &Record) -> impl Future<Output = ()> + Send;
}

impl Contestant for EmbeddedStore {
    async fn create(&self, record: &Record) {
        Store::create(self, record.clone()).await.expect("kept");
    }

    async fn commit(&self, record: &Record) {
        Store::commit(self, record.clone()).await.expect("kept");
    }
}

impl Contestant for BareLog {
    async fn create(&self, record: &Record) {
        self.append(record).await;
    }

    async fn commit(&self, record: &Record) {
        self.append(record).await;
    }
}

/// Measures steps per second.
pub(crate) async fn drive(callers: u64, first: u64, contestant: Arc<impl Contestant>) -> f64 {
    let began = Instant::now();
    let mut running = JoinSet::new();
    for caller in 0..callers {
        let contestant = contestant.clone();
        running.spawn(async move {
            for turn in 0..TURNS {
                let now = UnixTime::from_millis(1_700_000_000_000 + first + turn);
                let number = first + turn * callers + caller;
                let asked = records::pending("asker", now, number);
                contestant.create(&asked).await;
                let drafted = records::drafted(&asked, now, r#"{"name":"A"}"#);
                contestant.commit(&drafted).await;
                let answered = records::answered(&drafted, now, r#"{"name":"Ada"}"#);
                contestant.commit(&answered).await;
            }
        });
    }
    while let Some(done) = running.join_next().await {
        done.expect("no caller fails");
    }
    let steps = u32::try_from(callers * TURNS * 3).expect("few");
    f64::from(steps) / began.elapsed().as_secs_f64()
}

/// Creates this many pending records.
pub(crate) async fn fill(store: Arc<EmbeddedStore>, pending: u64) {
    let mut running = JoinSet::new();
    for caller in 0..256 {
        let store = store.clone();
        running.spawn(async move {
            for number in (caller..pending).step_by(256) {
                let now = UnixTime::from_millis(1_700_000_000_000 + number / 50);
                let record = records::pending("asker", now, number);
                Store::create(&*store, record).await.expect("kept");
            }
        });
    }
    while let Some(done) = running.join_next().await {
        done.expect("no caller fails");
    }
    store.close().await;
}
