//! Questions after the asker's connection closes.

use entreat_engine::SubscriptionItem;
use entreat_service::rpc::Session;
use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn what_was_asked_on_a_connection_goes_with_it_unless_durable() {
    let world = World::new().await;
    let connected = Session::connected(world.engine.asker("deployer"));
    let mut ids = Vec::new();
    for durable in [false, true] {
        let params = json!({"prompt": "Name?", "durable": durable});
        let created = world
            .call_as(&connected, "elicitation/create", params)
            .await;
        ids.push(created["result"]["elicitationId"].clone());
    }
    let alone = world.ask().await;

    // A wait does not hold the connection: it ends when its question does.
    let message = crate::world::request("elicitation/await", json!({"elicitationId": ids[0]}));
    let waiting = world.rpc.answer(&connected, message.as_bytes());
    let mut events = world.engine.subscribe();
    drop(connected);
    world.engine.catch_up().await.unwrap();

    let record = crate::world::parsed(&waiting.await);
    assert_eq!(record["result"]["status"], "cancelled");
    assert_eq!(record["result"]["reason"], "client_disconnected");
    let Some(SubscriptionItem::Event(event)) = events.next().await else {
        panic!("nothing was told");
    };
    assert_eq!(json!(event.id()), ids[0]);
    for id in [&ids[1], &alone] {
        let params = json!({"elicitationId": id});
        let record = world.result("elicitation/status", params).await;
        assert_eq!(record["status"], "pending");
    }
}

#[tokio::test]
async fn a_clone_of_a_session_is_the_same_connection() {
    let world = World::new().await;
    let connected = Session::connected(world.engine.asker("deployer"));
    let clone = connected.clone();
    let params = json!({"prompt": "Name?"});
    world.call_as(&clone, "elicitation/create", params).await;
    drop(clone);
    world.engine.catch_up().await.unwrap();
    assert_eq!(world.engine.live(), 1);
    drop(connected);
    world.engine.catch_up().await.unwrap();
    assert_eq!(world.engine.live(), 0);
}
