//! Health checks of the store.

use std::sync::Arc;
use std::time::Duration;

use entreat_engine::store::MemoryStore;
use entreat_engine::{Engine, Store};
use entreat_testkit::{Call, Fault, FaultyStore, SeededEntropy, VirtualClock};

use crate::world::START;

async fn engine(store: Arc<dyn Store>, clock: &VirtualClock) -> Engine {
    Engine::builder()
        .shared_store(store)
        .clock(clock.clone())
        .entropy(SeededEntropy::new(7))
        .start()
        .await
        .unwrap()
}

#[tokio::test]
async fn a_store_that_cannot_write_is_told_and_so_is_that_it_can_again() {
    let store = Arc::new(FaultyStore::new(MemoryStore::new()));
    let clock = VirtualClock::new(START);
    let engine = engine(store.clone(), &clock).await;
    assert!(engine.check().await.is_ok());
    clock.advance(Duration::from_secs(2));
    // Reads still work.
    store.inject(Fault::of_any(&[Call::KeepNote, Call::Commit, Call::Check]));
    assert!(engine.check().await.is_err());
    store.heal();
    clock.advance(Duration::from_secs(2));
    assert!(engine.check().await.is_ok());
}

#[tokio::test]
async fn however_many_ask_the_store_is_looked_at_once_a_second() {
    let store = Arc::new(FaultyStore::new(MemoryStore::new()));
    let clock = VirtualClock::new(START);
    let engine = engine(store.clone(), &clock).await;
    store.inject(Fault::of(Call::Check));
    for _ in 0..100 {
        assert!(engine.check().await.is_err());
    }
    assert_eq!(store.failures(), 1);
    // A cancelled health check doesn't trigger another one.
    clock.advance(Duration::from_secs(2));
    for _ in 0..100 {
        let mut asking = Box::pin(engine.check());
        let _ = futures_util::poll!(&mut asking);
    }
    tokio::task::yield_now().await;
    assert!(engine.check().await.is_err());
    assert_eq!(store.failures(), 2);
}
