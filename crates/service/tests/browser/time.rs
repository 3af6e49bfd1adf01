//! The time left, and extensions.

use std::time::Duration;

use entreat_core::Timeout;
use entreat_engine::Ask;
use serde_json::{Value, json};

use crate::site::{DAY, form};
use crate::{Scene, both_ways, with_the_script};

both_ways! {
    a_day_is_told_as_a_day_and_not_as_23_hours,
    more_time_is_given_and_what_was_typed_stays,
    more_time_is_given_on_the_review_too,
    the_button_for_more_time_goes_when_there_is_none,
}
with_the_script! {
    the_end_is_announced_before_it_comes_and_the_warning_goes_with_more_time,
}

fn fields() -> Value {
    json!([
        {"id": "name", "type": "text", "label": "Name"},
        {"id": "note", "type": "text", "label": "Note"},
    ])
}

impl Scene {
    /// How long a question is still open.
    async fn left(&self, question: &crate::site::Question) -> Duration {
        let status = question.elicitation.status().await.unwrap();
        status.lifecycle().remaining(self.site.engine.now())
    }
}

async fn a_day_is_told_as_a_day_and_not_as_23_hours(scene: Scene) {
    let page = &scene.browser;
    let in_a_day = |ask: Ask| ask.timeout(Timeout::of(DAY));
    let question = scene.site.ask_with(form(fields()), in_a_day).await;
    for (passed, words) in [
        (1, "about a day left"),
        (3600, "about 23 hours left"),
        (22 * 3600, "about 60 minutes left"),
    ] {
        scene.site.pass(Duration::from_secs(passed)).await;
        page.open(&question).await;
        page.find("#question").await;
        // With the script, this is what it has made of it.
        assert_eq!(page.text(".until").await, words);
    }
}

async fn more_time_is_given_and_what_was_typed_stays(scene: Scene) {
    let page = &scene.browser;
    let question = scene.site.ask_fields(fields()).await;
    page.open(&question).await;
    assert_eq!(page.text(".until").await, "about 5 minutes left");
    page.fill("#f0", "Zoë").await;
    page.click("button[value=extend]").await;
    page.until("document.querySelector('.until')?.textContent === 'about 10 minutes left'")
        .await;
    assert_eq!(scene.left(&question).await, Duration::from_secs(600));
    assert_eq!(page.value("#f0").await, "Zoë");
    page.review_and_send().await;
    assert_eq!(question.result().await, json!({"name": "Zoë"}));
}

async fn more_time_is_given_on_the_review_too(scene: Scene) {
    let page = &scene.browser;
    let question = scene.site.ask_fields(fields()).await;
    page.open(&question).await;
    page.fill("#f0", "Zoë").await;
    page.go_on().await;
    page.find("#review").await;
    page.click("button[value='extend.review']").await;
    page.until("document.querySelector('.until')?.textContent === 'about 10 minutes left'")
        .await;
    page.find("#review").await;
    assert_eq!(scene.left(&question).await, Duration::from_secs(600));
}

async fn the_button_for_more_time_goes_when_there_is_none(scene: Scene) {
    let page = &scene.browser;
    let question = scene.site.ask_fields(fields()).await;
    page.open(&question).await;
    for minutes in [10, 15] {
        page.click("button[value=extend]").await;
        let until = "document.querySelector('.until')?.textContent";
        page.until(&format!("{until} === 'about {minutes} minutes left'"))
            .await;
    }
    page.until("!document.querySelector('button[value=extend]')")
        .await;
}

async fn the_end_is_announced_before_it_comes_and_the_warning_goes_with_more_time(scene: Scene) {
    let page = &scene.browser;
    let question = scene.site.ask_fields(fields()).await;
    page.open(&question).await;
    assert_eq!(
        page.eval("document.querySelector('.alarm').textContent")
            .await,
        ""
    );
    scene.site.pass(Duration::from_secs(250)).await;
    page.until("document.querySelector('.alarm[role=alert]').textContent")
        .await;
    page.until("document.querySelector('.clock.late .until').textContent.includes('seconds')")
        .await;
    page.click("button[value=extend]").await;
    page.until("!document.querySelector('.alarm').textContent")
        .await;
    assert_eq!(page.count(".clock.late").await, 0);
}
