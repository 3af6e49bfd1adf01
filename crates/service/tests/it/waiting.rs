//! `elicitation/await`: how long, and at what cost.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use entreat_service::rpc::ResponseFuture;
use serde_json::json;

use crate::world::{World, answer, parsed, request};

impl World {
    fn await_message(id: &serde_json::Value, timeout: Option<u64>) -> String {
        let mut params = json!({"elicitationId": id});
        if let Some(timeout) = timeout {
            params["timeout"] = timeout.into();
        }
        request("elicitation/await", params)
    }
}

/// Whether the response is still pending.
async fn waits(answering: &mut ResponseFuture) -> bool {
    poll_fn(|context| {
        let polled = Pin::new(&mut *answering).poll(context);
        Poll::Ready(polled.is_pending())
    })
    .await
}

#[tokio::test]
async fn a_wait_without_a_limit_ends_with_the_outcome() {
    let world = World::new().await;
    let id = world.ask().await;
    let message = World::await_message(&id, None);
    let mut waiting = world.rpc.answer(&world.session, message.as_bytes());
    drop(message);
    assert!(waits(&mut waiting).await);
    world.pass(Duration::from_secs(60)).await;
    assert!(waits(&mut waiting).await);
    world.submit(&id, answer()).await;
    let record = parsed(&waiting.await);
    assert_eq!(record["result"]["status"], "completed");
    assert_eq!(record["result"]["result"], answer());
}

#[tokio::test]
async fn a_wait_ends_with_a_timeout_of_the_question_too() {
    let world = World::new().await;
    let id = world.ask().await;
    let message = World::await_message(&id, None);
    let mut waiting = world.rpc.answer(&world.session, message.as_bytes());
    assert!(waits(&mut waiting).await);
    world.pass(Duration::from_secs(301)).await;
    assert_eq!(parsed(&waiting.await)["result"]["status"], "timeout");
}

#[tokio::test]
async fn a_wait_that_is_over_gives_the_record_as_it_stands() {
    let world = World::with(|settings| {
        // The request that starts the wait is the last one under the limit.
        settings.asker.limits.requests_per_second = std::num::NonZeroU32::new(2);
    })
    .await;
    let id = world.ask().await;
    let message = World::await_message(&id, Some(400));
    let mut waiting = world.rpc.answer(&world.session, message.as_bytes());
    assert!(waits(&mut waiting).await);
    world.clock.advance(Duration::from_millis(400));
    assert_eq!(parsed(&waiting.await)["result"]["status"], "pending");
}

#[tokio::test]
async fn a_wait_of_no_time_looks_once() {
    let world = World::new().await;
    let id = world.ask().await;
    for status in ["pending", "completed"] {
        let params = json!({"elicitationId": id, "timeout": 0});
        let record = world.result("elicitation/await", params).await;
        assert_eq!(record["status"], status);
        world.submit(&id, answer()).await;
    }
}

#[tokio::test]
async fn a_wait_of_ages_is_one_of_a_day() {
    let world = World::new().await;
    let id = world.ask().await;
    let message = World::await_message(&id, Some(u64::MAX));
    let mut waiting = world.rpc.answer(&world.session, message.as_bytes());
    assert!(waits(&mut waiting).await);
    // Nothing else runs between these lines, so only the wait checks the clock.
    world.clock.advance(Duration::from_secs(24 * 60 * 60 - 1));
    assert!(waits(&mut waiting).await);
    world.clock.advance(Duration::from_secs(1));
    assert!(!waits(&mut waiting).await);
}

#[tokio::test]
async fn who_waits_is_told_how_it_stands_when_the_service_shuts_down() {
    let world = World::new().await;
    let id = world.ask().await;
    let message = World::await_message(&id, None);
    let mut waiting = world.rpc.answer(&world.session, message.as_bytes());
    assert!(waits(&mut waiting).await);
    world.engine.shutdown().await;
    let answer = parsed(&waiting.await);
    assert_eq!(answer["result"]["status"], "pending");
    assert_eq!(answer["result"]["elicitationId"], id);
}

/// The memory of one waiting call: its own size and its allocations.
fn held_by(world: &World, message: &str) -> u64 {
    let mut waiting = None;
    let mut context = Context::from_waker(Waker::noop());
    let allocated = allocation_counter::measure(|| {
        let mut answering = world.rpc.answer(&world.session, message.as_bytes());
        assert!(Pin::new(&mut answering).poll(&mut context).is_pending());
        waiting = Some(answering);
    });
    drop(waiting);
    u64::try_from(allocated.bytes_current).unwrap() + size_of::<ResponseFuture>() as u64
}

#[tokio::test]
async fn a_waiting_call_holds_a_few_hundred_bytes() {
    let world = World::new().await;
    let id = world.ask().await;
    for (timeout, most) in [(None, 200), (Some(60_000), 500)] {
        let message = World::await_message(&id, timeout);
        // The first one allocates capacity for others.
        held_by(&world, &message);
        let held = held_by(&world, &message);
        assert!(held <= most, "{held} bytes with a timeout of {timeout:?}");
    }
    assert!(
        size_of::<ResponseFuture>() <= 128,
        "{}",
        size_of::<ResponseFuture>()
    );
}
