//! Outcomes of a question, and the page after each.

use std::time::Duration;

use entreat_core::{CancelReason, Outcome};
use serde_json::{Value, json};

use crate::driver::Browser;
use crate::{Scene, both_ways};

both_ways! {
    declining_is_told_as_a_decision,
    cancelling_is_told_as_none,
    a_sent_answer_is_sent_for_good,
    another_browser_is_told_that_it_was_answered,
    what_expired_shows_what_was_typed_to_this_browser_alone,
    a_link_that_is_not_right_opens_nothing,
    the_address_of_one_browser_opens_nothing_in_another,
    what_the_asker_took_back_is_said_to_be_so,
    a_question_that_is_answered_in_one_tab_says_so_in_the_other,
    what_expires_while_somebody_types_shows_what_was_typed,
}

fn fields() -> Value {
    json!([
        {"id": "name", "type": "text", "label": "Name"},
        {"id": "key", "type": "text", "label": "Key", "sensitive": true},
    ])
}

async fn declining_is_told_as_a_decision(scene: Scene) {
    let page = &scene.browser;
    let question = scene.site.ask_fields(fields()).await;
    page.open(&question).await;
    page.click(".leave summary").await;
    page.click("button[value=decline]").await;
    page.until_headed("You chose not to answer").await;
    assert_eq!(question.outcome().await.outcome(), Some(Outcome::Declined));
}

async fn cancelling_is_told_as_none(scene: Scene) {
    let page = &scene.browser;
    let question = scene.site.ask_fields(fields()).await;
    page.open(&question).await;
    page.click(".leave summary").await;
    page.click("button[value=cancel]").await;
    page.find(".closing").await;
    let reason = CancelReason::UserCancelled;
    assert_eq!(
        question.outcome().await.outcome(),
        Some(Outcome::Cancelled(reason))
    );
}

async fn a_sent_answer_is_sent_for_good(scene: Scene) {
    let page = &scene.browser;
    let question = scene.site.ask_fields(fields()).await;
    page.open(&question).await;
    page.fill("#f0", "Zoë").await;
    page.review_and_send().await;
    // Back, reload, and the link again: the outcome doesn't change.
    page.client.back().await.unwrap();
    if !scene.has_script() && page.count("#review").await > 0 {
        // Without a script, a browser may show the cached page.
        page.go_on().await;
    }
    page.until_headed("Answer sent").await;
    page.client.refresh().await.unwrap();
    page.until_headed("Answer sent").await;
    page.open(&question).await;
    page.until_headed("Answer sent").await;
    assert!(!page.client.source().await.unwrap().contains("Zoë"));
    assert_eq!(question.result().await, json!({"name": "Zoë"}));
}

async fn another_browser_is_told_that_it_was_answered(scene: Scene) {
    let page = &scene.browser;
    let question = scene.site.ask_fields(fields()).await;
    page.open(&question).await;
    page.fill("#f0", "Zoë").await;
    page.review_and_send().await;
    let other = Browser::start(page.script, "en-US").await;
    other.open(&question).await;
    other.until_headed("Already answered").await;
    assert!(!other.client.source().await.unwrap().contains("Zoë"));
}

async fn what_expired_shows_what_was_typed_to_this_browser_alone(scene: Scene) {
    let page = &scene.browser;
    let question = scene.site.ask_fields(fields()).await;
    page.open(&question).await;
    page.fill("#f0", "a long story").await;
    page.fill("#f1", "hunter2").await;
    page.go_on().await;
    page.find("#review").await;
    scene.site.pass(Duration::from_secs(301)).await;
    if scene.has_script() {
        page.find(".sign.late").await;
    } else {
        page.go_on().await;
    }
    page.find(".sign.late").await;
    let typed = page.text(".answers").await;
    assert!(typed.contains("a long story"), "{typed}");
    assert!(typed.contains("secret, not shown"), "{typed}");
    assert!(!page.client.source().await.unwrap().contains("hunter2"));
    assert_eq!(question.outcome().await.outcome(), Some(Outcome::TimedOut));
    let other = Browser::start(page.script, "en-US").await;
    other.open(&question).await;
    other.find(".sign.late").await;
    assert!(
        !other
            .client
            .source()
            .await
            .unwrap()
            .contains("a long story")
    );
}

async fn what_expires_while_somebody_types_shows_what_was_typed(scene: Scene) {
    let page = &scene.browser;
    let question = scene.site.ask_fields(fields()).await;
    page.open(&question).await;
    page.fill("#f0", "a long story").await;
    page.fill("#f1", "hunter2").await;
    if scene.has_script() {
        question.keeps("key", json!("hunter2")).await;
    }
    scene.site.pass(Duration::from_secs(301)).await;
    if !scene.has_script() {
        page.go_on().await;
    }
    page.find(".sign.late").await;
    assert!(page.text(".answers").await.contains("a long story"));
    assert!(!page.client.source().await.unwrap().contains("hunter2"));
}

async fn a_link_that_is_not_right_opens_nothing(scene: Scene) {
    let page = &scene.browser;
    let question = scene.site.ask_fields(fields()).await;
    let (rest, _) = question.link.rsplit_once('/').unwrap();
    page.goto(&format!("{rest}/{}", "A".repeat(43))).await;
    page.until_headed("This link does not work").await;
    assert!(!page.client.source().await.unwrap().contains("Release 1.4"));
    assert!(question.is_live().await);
}

async fn the_address_of_one_browser_opens_nothing_in_another(scene: Scene) {
    let page = &scene.browser;
    let question = scene.site.ask_fields(fields()).await;
    page.open(&question).await;
    page.find("#question").await;
    let address = page.client.current_url().await.unwrap();
    let other = Browser::start(page.script, "en-US").await;
    other.goto(address.as_str()).await;
    other.until_headed("This link does not work").await;
    assert!(!other.client.source().await.unwrap().contains("Release 1.4"));
}

async fn what_the_asker_took_back_is_said_to_be_so(scene: Scene) {
    let page = &scene.browser;
    let question = scene.site.ask_fields(fields()).await;
    page.open(&question).await;
    page.fill("#f0", "a long story").await;
    if scene.has_script() {
        question.keeps("name", json!("a long story")).await;
    }
    question
        .elicitation
        .cancel(CancelReason::AskerCancelled)
        .await
        .unwrap();
    if !scene.has_script() {
        page.go_on().await;
    }
    page.find(".sign.no").await;
    assert!(page.text(".answers").await.contains("a long story"));
}

async fn a_question_that_is_answered_in_one_tab_says_so_in_the_other(scene: Scene) {
    let page = &scene.browser;
    let question = scene.site.ask_fields(fields()).await;
    page.open(&question).await;
    page.find("#question").await;
    let first = page.client.window().await.unwrap();
    let second = page.client.new_window(true).await.unwrap().handle;
    page.client.switch_to_window(second).await.unwrap();
    page.open(&question).await;
    page.fill("#f0", "Zoë").await;
    page.review_and_send().await;
    page.client.switch_to_window(first).await.unwrap();
    if !scene.has_script() {
        page.fill("#f0", "Another").await;
        page.go_on().await;
    }
    page.until_headed("Answer sent").await;
    assert_eq!(question.result().await, json!({"name": "Zoë"}));
}
