//! Approving in a form that the client shows.

use std::time::Duration;

use serde_json::json;

use super::caller::{Caller, Eras};
use super::{READ, ask, forms, no, refusal, world, yes};
use crate::world::{Ways, text};

#[tokio::test]
async fn an_approved_call_runs_once_in_every_pair_of_eras() {
    for eras in Eras::ALL {
        let world = world(Ways::None, vec![ask("delete_*")]).await;
        let mut caller = Caller::new(&world, eras, forms()).await;
        let arguments = json!({"path": "/tmp/x", "n": 9_007_199_254_740_993_u64});
        caller.call("delete_file", arguments.clone()).await;
        let asked = caller.question(&world).await;
        caller.pair.server.nothing().await;
        assert_eq!(
            asked.params["requestedSchema"]["required"],
            json!(["approve"]),
            "{eras:?}"
        );
        world.pass(READ).await;
        caller
            .answer(&asked, "delete_file", arguments.clone(), yes())
            .await;
        caller.runs("delete_file", &arguments, "deleted").await;
        let result = caller.result().await;
        assert_eq!(
            result["result"]["content"],
            text("deleted")["content"],
            "{eras:?}"
        );
        caller.pair.server.nothing().await;
        // An approval is for one call.
        caller.call("delete_file", arguments.clone()).await;
        caller.question(&world).await;
        caller.pair.server.nothing().await;
    }
}

#[tokio::test]
async fn a_refusal_tells_the_model_why_in_every_pair_of_eras() {
    for eras in Eras::ALL {
        let world = world(Ways::None, vec![ask("*")]).await;
        let mut caller = Caller::new(&world, eras, forms()).await;
        for (answer, expected) in [
            (
                no("Use the trash instead."),
                "said no. Their reason: Use the trash instead.",
            ),
            (no("  "), "said no. Do not repeat"),
            (json!({"action": "decline"}), "said no"),
            (json!({"action": "cancel"}), "without a decision"),
            (
                json!({"action": "accept", "content": {"approve": "true"}}),
                "not valid",
            ),
            (json!({"action": "accept"}), "not valid"),
        ] {
            caller.call("delete", json!({})).await;
            let asked = caller.question(&world).await;
            world.pass(READ).await;
            caller.answer(&asked, "delete", json!({}), answer).await;
            let refused = refusal(&caller.result().await);
            assert!(refused.starts_with("The call was not run: "), "{refused}");
            assert!(refused.contains(expected), "{eras:?}: {refused}");
        }
        caller.pair.server.nothing().await;
    }
}

#[tokio::test]
async fn an_answer_that_nobody_can_have_read_does_not_count() {
    for eras in Eras::ALL {
        let world = world(Ways::Browser, vec![ask("*")]).await;
        let mut caller = Caller::new(&world, eras, forms()).await;
        caller.call("delete", json!({"a": 1})).await;
        let asked = caller.question(&world).await;
        world.pass(Duration::from_millis(200)).await;
        caller
            .answer(&asked, "delete", json!({"a": 1}), yes())
            .await;
        let page = world.opened().await;
        caller.pair.server.nothing().await;
        world.answer(&page, json!({"approve": true})).await;
        caller.runs("delete", &json!({"a": 1}), "done").await;
        caller.result().await;
        // From now on, this client is not asked any more.
        caller.call("delete", json!({"a": 2})).await;
        let page = world.opened().await;
        world
            .answer(&page, json!({"approve": false, "reason": "no"}))
            .await;
        assert!(refusal(&caller.result().await).contains("Their reason: no"));
        caller.pair.server.nothing().await;
    }
}

#[tokio::test]
async fn an_answer_that_nobody_can_have_read_is_an_error_if_there_is_no_page() {
    let world = world(Ways::None, vec![ask("*")]).await;
    let mut caller = Caller::new(&world, Eras::Legacy, forms()).await;
    caller.call("delete", json!({})).await;
    let asked = caller.question(&world).await;
    world.pass(Duration::from_millis(299)).await;
    caller.answer(&asked, "delete", json!({}), yes()).await;
    let refused = refusal(&caller.result().await);
    assert!(refused.contains("faster than a person reads"), "{refused}");
    caller.pair.server.nothing().await;
}

#[tokio::test]
async fn a_client_that_shows_nothing_gets_a_page_too() {
    let world = world(Ways::Browser, vec![ask("*")]).await;
    let mut caller = Caller::new(&world, Eras::Legacy, forms()).await;
    caller.call("delete", json!({})).await;
    caller.question(&world).await;
    world.nothing_opened().await;
    world.pass(Duration::from_secs(30)).await;
    let page = world.opened().await;
    world.answer(&page, json!({"approve": true})).await;
    // The client's dialog closes.
    let withdrawn = caller.pair.client.next().await;
    assert_eq!(withdrawn["method"], "notifications/cancelled");
    caller.runs("delete", &json!({}), "done").await;
    caller.result().await;
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_without_pages_gets_an_error() {
    for eras in Eras::ALL {
        let world = world(Ways::None, vec![ask("*")]).await;
        let mut caller = Caller::new(&world, eras, json!({})).await;
        caller.call("delete", json!({})).await;
        let refused = refusal(&caller.result().await);
        assert!(refused.contains("nobody could be asked"), "{refused}");
        caller.pair.server.nothing().await;
    }
}
