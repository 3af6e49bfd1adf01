//! Errors about time.

use std::time::Duration;

use serde_json::{Value, json};

use crate::world::{World, answer};

#[tokio::test]
async fn bad_timeouts_are_told_by_kind_and_bounds() {
    let world = World::new().await;
    let refused = |timeout: Value| {
        let world = &world;
        async move {
            let params = json!({"prompt": "Name?", "timeout": timeout});
            let error = world.error("elicitation/create", params).await;
            assert_eq!(error["code"], -32602);
            assert_eq!(error["data"]["type"], "timeout");
            error
        }
    };
    let error = refused(json!(500)).await;
    assert_eq!(
        error["message"],
        "`timeout` is 500 ms, below the minimum of 1000 ms; the service's setting \
         `timeouts.inline.min`, for all askers or for this one, changes that."
    );
    assert_eq!(
        error["data"],
        json!({"type": "timeout", "reason": "timeout_too_small", "param": "timeout",
               "key": "timeout", "requested": 500, "minimum": 1000,
               "setting": "timeouts.inline.min"})
    );
    let error = refused(json!(300_001)).await;
    assert_eq!(
        error["data"],
        json!({"type": "timeout", "reason": "timeout_too_large", "param": "timeout",
               "key": "timeout", "requested": 300_001, "maximum": 300_000,
               "setting": "timeouts.inline.max"})
    );
    let error = refused(json!({"extension_duration": 300_001})).await;
    assert_eq!(error["data"]["setting"], "timeouts.inline.max");
    // Fixed, or up to the request itself.
    for bad in [
        json!({"max_extensions": 101}),
        json!({"warn_before": 30_000}),
    ] {
        let error = refused(bad).await;
        assert_eq!(error["data"].get("setting"), None);
    }
    for bad in [json!(0), json!(-5), json!(1.5), json!("60"), json!(null)] {
        let error = refused(bad.clone()).await;
        assert_eq!(error["data"]["reason"], "invalid_timeout", "{bad}");
        assert_eq!(error["data"]["requested"], bad);
    }
    let error = refused(json!({"initial": 5000})).await;
    assert_eq!(error["data"]["reason"], "invalid_timeout");
}

#[tokio::test]
async fn a_late_answer_loses_before_and_after_the_timer_fired() {
    let world = World::new().await;
    let id = world.ask().await;
    world.clock.advance(Duration::from_secs(301));
    let late = |elapsed: u64| {
        json!({"code": -32016,
            "message": format!(
                "The elicitation timed out: {elapsed} ms have passed, and its timeout was 300000 ms."),
            "data": {"type": "timeout", "elapsed_ms": elapsed, "timeout_ms": 300_000}})
    };
    assert_eq!(world.submit(&id, answer()).await["error"], late(301_000));
    world.pass(Duration::from_secs(1)).await;
    assert_eq!(world.submit(&id, answer()).await["error"], late(302_000));
    let error = world
        .error("elicitation/decline", json!({"elicitationId": id}))
        .await;
    assert_eq!(error["code"], -32009);
    assert_eq!(
        error["data"],
        json!({"type": "submission", "state": "timeout", "reason": "already_timeout"})
    );
}

#[tokio::test]
async fn extensions_are_refused_with_the_reason() {
    let world = World::new().await;
    let refused = |id: Value, duration: Option<u64>| {
        let world = &world;
        async move {
            let mut params = json!({"elicitationId": id});
            if let Some(duration) = duration {
                params["extensionDuration"] = duration.into();
            }
            let error = world.error("elicitation/extend_timeout", params).await;
            assert_eq!(error["code"], -32017);
            assert_eq!(error["data"]["type"], "timeout");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("`timeouts.MODE."), "{message}");
            error["data"]["reason"].clone()
        }
    };
    let fixed = json!({"prompt": "Name?", "timeout": {"extension_allowed": false}});
    let fixed = world.create(fixed).await;
    assert_eq!(refused(fixed, None).await, "not_allowed");

    let id = world.ask().await;
    assert_eq!(refused(id.clone(), Some(300_001)).await, "too_long");
    assert_eq!(refused(id.clone(), Some(u64::MAX)).await, "too_long");
    for _ in 0..2 {
        let params = json!({"elicitationId": id});
        world.result("elicitation/extend_timeout", params).await;
    }
    assert_eq!(refused(id, None).await, "none_left");
}
