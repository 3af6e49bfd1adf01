//! Fields that appear, disappear, open and close depending on answers.

use serde_json::{Value, json};

use crate::site::form;
use crate::{Scene, both_ways};

both_ways! {
    a_field_appears_when_its_condition_holds_and_its_answer_is_sent,
    what_was_typed_stays_when_a_field_goes_and_comes_back,
    a_field_is_enabled_and_disabled_by_an_answer,
    a_required_field_that_became_visible_is_asked_before_the_review,
    a_section_goes_and_comes_back_with_its_fields,
}

impl Scene {
    /// Updates the page after an answer; the script does so by itself.
    async fn follow(&self) {
        if !self.has_script() {
            self.browser.click("button.step").await;
        }
    }

    async fn until_field(&self, place: usize, is_shown: bool) {
        let hidden = format!("document.getElementById('q{place}').hidden");
        let wanted = if is_shown {
            format!("!{hidden}")
        } else {
            hidden
        };
        self.browser.until(&wanted).await;
    }
}

fn dependent(action: &str) -> Value {
    let condition = json!({"operator": "equals", "field": "more", "value": true});
    let mut form = form(json!([
        {"id": "more", "type": "boolean", "label": "More"},
        {"id": "why", "type": "text", "label": "Why"},
        {"id": "name", "type": "text", "label": "Name"},
    ]));
    form["validation"] =
        json!({"dependencies": {"why": {"condition": condition, "action": action}}});
    form
}

async fn a_field_appears_when_its_condition_holds_and_its_answer_is_sent(scene: Scene) {
    let page = &scene.browser;
    let question = scene.site.ask(dependent("show")).await;
    page.open(&question).await;
    assert!(!page.is_shown("#q1").await);
    page.fill("#f2", "Zoë").await;
    page.click("#f0").await;
    scene.follow().await;
    scene.until_field(1, true).await;
    assert_eq!(page.value("#f2").await, "Zoë");
    page.fill("#f1", "because").await;
    page.review_and_send().await;
    let expected = json!({"more": true, "why": "because", "name": "Zoë"});
    assert_eq!(question.result().await, expected);
}

async fn what_was_typed_stays_when_a_field_goes_and_comes_back(scene: Scene) {
    let page = &scene.browser;
    let question = scene.site.ask(dependent("hide")).await;
    page.open(&question).await;
    page.fill("#f1", "because").await;
    page.click("#f0").await;
    scene.follow().await;
    scene.until_field(1, false).await;
    page.click("#f0").await;
    scene.follow().await;
    scene.until_field(1, true).await;
    assert_eq!(page.value("#f1").await, "because");
    page.click("#f0").await;
    scene.follow().await;
    scene.until_field(1, false).await;
    page.review_and_send().await;
    assert_eq!(question.result().await, json!({"more": true}));
}

async fn a_field_is_enabled_and_disabled_by_an_answer(scene: Scene) {
    let page = &scene.browser;
    for (action, at_first) in [("enable", false), ("disable", true)] {
        let question = scene.site.ask(dependent(action)).await;
        page.open(&question).await;
        assert_eq!(page.find("#f1").await.is_enabled().await.unwrap(), at_first);
        page.click("#f0").await;
        scene.follow().await;
        page.until(&format!(
            "document.getElementById('f1').disabled === {at_first}"
        ))
        .await;
        page.review_and_send().await;
        assert_eq!(question.result().await, json!({"more": true}));
    }
}

async fn a_required_field_that_became_visible_is_asked_before_the_review(scene: Scene) {
    let page = &scene.browser;
    let mut form = dependent("show");
    form["fields"][1]["required"] = json!(true);
    let question = scene.site.ask(form).await;
    page.open(&question).await;
    page.click("#f0").await;
    if scene.has_script() {
        scene.until_field(1, true).await;
        page.go_on().await;
        page.find("#summary").await;
    } else {
        page.go_on().await;
        let notice = page.text(".notice").await;
        assert_eq!(
            notice,
            "Your answers lead to more questions. Answer them below."
        );
    }
    page.fill("#f1", "because").await;
    page.review_and_send().await;
    assert_eq!(
        question.result().await,
        json!({"more": true, "why": "because"})
    );
}

async fn a_section_goes_and_comes_back_with_its_fields(scene: Scene) {
    let page = &scene.browser;
    let shown = |value: &str| json!({"conditionalDisplay": {"operator": "contains", "field": "parts", "value": value}});
    let question = scene
        .site
        .ask_fields(json!([
            {"id": "parts", "type": "multi_select", "label": "Parts", "options": ["web", "db"]},
            {"id": "web", "type": "text", "label": "Host", "section": "Network",
             "rendering": shown("web")},
            {"id": "db", "type": "text", "label": "Database", "rendering": shown("db")},
        ]))
        .await;
    page.open(&question).await;
    assert!(!page.is_shown("#t1").await);
    // The second field alone is enough for the heading.
    page.click("#f0-1").await;
    scene.follow().await;
    scene.until_field(2, true).await;
    assert_eq!(page.text("#t1").await, "Network");
    assert!(!page.is_shown("#q1").await);
    page.click("#f0-1").await;
    scene.follow().await;
    scene.until_field(2, false).await;
    assert!(!page.is_shown("#t1").await);
    page.click("#f0-0").await;
    scene.follow().await;
    scene.until_field(1, true).await;
    page.fill("#f1", "example.com").await;
    page.go_on().await;
    page.find("#review").await;
    assert_eq!(page.text("#review h2").await, "Network");
    page.click("button.primary").await;
    let expected = json!({"parts": ["web"], "web": "example.com"});
    assert_eq!(question.result().await, expected);
}
