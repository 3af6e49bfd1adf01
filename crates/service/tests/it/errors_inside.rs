//! Internal errors are logged, and not revealed to clients.

use std::sync::Arc;

use entreat_engine::MemoryStore;
use entreat_testkit::{Call, CapturedLog, Fault, FaultyStore};
use serde_json::json;

use crate::world::{World, deploy};

#[tokio::test]
async fn a_failing_store_is_in_the_log_and_not_in_the_answer() {
    let (log, _guard) = CapturedLog::of_this_thread(tracing::Level::INFO);
    let store = Arc::new(FaultyStore::new(MemoryStore::new()));
    let world = World::on(store.clone(), |_| {}).await;
    let id = world.ask().await;

    store.inject(Fault::of(Call::Load).times(1));
    let params = json!({"elicitationId": id});
    let error = world.error("elicitation/status", params).await;
    assert_eq!(
        error,
        json!({"code": -32603,
            "message": "Internal error; see the service's log. Try again later.",
            "data": {"type": "system", "details": "store"}})
    );
    store.inject(Fault::of(Call::Create).times(1));
    let params = json!({"formDefinition": deploy()});
    let error = world.error("elicitation/create", params).await;
    assert_eq!(error["data"]["details"], "store");

    let log = log.text();
    assert_eq!(
        log.matches("store unavailable while trying to").count(),
        2,
        "{log}"
    );
}
