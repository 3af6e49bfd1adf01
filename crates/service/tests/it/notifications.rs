//! Notifications to the asker.

use std::time::Duration;

use entreat_engine::{Subscription, SubscriptionItem};
use entreat_service::rpc::Notification;
use serde_json::{Value, json};

use crate::world::{World, answer, deploy};

/// All notifications so far, as sent over the wire.
async fn told(events: &mut Subscription) -> Vec<Value> {
    let mut told = Vec::new();
    loop {
        let next = tokio::select! {
            biased;
            heard = events.next() => heard,
            () = std::future::ready(()) => None,
        };
        match next {
            Some(SubscriptionItem::Event(event)) => {
                if let Some(notification) = Notification::of(&event) {
                    let text: Value = serde_json::from_str(&notification.to_text()).unwrap();
                    assert_eq!(text["method"], notification.method());
                    assert_eq!(text["params"], notification.params());
                    told.push(text);
                }
            }
            Some(SubscriptionItem::Lagged(missed)) => panic!("{missed} events were missed"),
            Some(SubscriptionItem::Missed) => panic!("this store tells of no changes elsewhere"),
            None => return told,
        }
    }
}

fn notification(method: &str, params: Value) -> Value {
    let method = format!("notifications/elicitation/{method}");
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

#[tokio::test]
async fn each_outcome_is_told_exactly_once() {
    let world = World::new().await;
    let mut events = world.session.asker().subscribe();

    let id = world.ask().await;
    let part = json!({"elicitationId": id, "partial": true, "responses": {"replicas": 2}});
    world.result("elicitation/submit", part).await;
    world.submit(&id, json!({"target": "moon"})).await;
    world
        .submit(&id, json!({"target": "staging", "token": "s3cret"}))
        .await;
    world.submit(&id, answer()).await;
    assert_eq!(
        told(&mut events).await,
        [notification(
            "complete",
            json!({"elicitationId": id, "status": "completed",
                   "result": {"target": "staging", "token": "[sealed]"}}),
        )]
    );

    let id = world.ask().await;
    let params = json!({"elicitationId": id});
    world.call("elicitation/decline", params.clone()).await;
    world.call("elicitation/cancel", params.clone()).await;
    let expected = json!({"elicitationId": id, "status": "declined"});
    assert_eq!(
        told(&mut events).await,
        [notification("declined", expected)]
    );

    let id = world.ask().await;
    for _ in 0..4 {
        world.submit(&id, json!({})).await;
    }
    let expected = json!({"elicitationId": id, "status": "cancelled",
        "reason": "max_retries_exceeded"});
    assert_eq!(
        told(&mut events).await,
        [notification("cancelled", expected)]
    );
}

#[tokio::test]
async fn a_warning_comes_before_the_timeout() {
    let world = World::new().await;
    let mut events = world.session.asker().subscribe();
    let id = world.ask().await;
    world.pass(Duration::from_secs(241)).await;
    assert_eq!(
        told(&mut events).await,
        [notification(
            "timeout_warning",
            json!({"elicitationId": id, "remainingMs": 59_000, "extensionAllowed": true,
                   "extensionDuration": 300_000}),
        )]
    );
    world.pass(Duration::from_secs(60)).await;
    world.submit(&id, answer()).await;
    let expected = json!({"elicitationId": id, "status": "timeout"});
    assert_eq!(told(&mut events).await, [notification("timeout", expected)]);
}

#[tokio::test]
async fn a_secret_prompt_and_a_result_from_elsewhere_are_told() {
    let world = World::new().await;
    let mut events = world.session.asker().subscribe();
    let id = world
        .create(json!({"prompt": "Token?", "sensitive": true}))
        .await;
    let params = json!({"elicitationId": id, "result": "s3cret"});
    world.result("elicitation/complete", params).await;
    let url = world.create(json!({"url": "https://example.com/"})).await;
    let params = json!({"elicitationId": url, "result": {"user": 7}});
    world.result("elicitation/complete", params).await;
    let told = told(&mut events).await;
    assert_eq!(told[0]["params"]["result"], "[sealed]");
    assert_eq!(told[1]["params"]["result"], json!({"user": 7}));
    assert_eq!(told.len(), 2);
}

#[tokio::test]
async fn others_are_not_told() {
    let world = World::new().await;
    let mut events = world.engine.asker("stranger").subscribe();
    let id = world.create(json!({"formDefinition": deploy()})).await;
    world.submit(&id, answer()).await;
    assert_eq!(told(&mut events).await, Vec::<Value>::new());
}
