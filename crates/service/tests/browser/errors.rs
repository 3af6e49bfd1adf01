//! Invalid answers: where errors appear, and how many attempts there are.

use entreat_core::{CancelReason, Outcome};
use serde_json::{Value, json};

use crate::driver::Browser;
use crate::{Scene, both_ways, with_the_script};

both_ways! {
    a_review_of_wrong_answers_names_them_at_the_top_and_at_their_fields,
    wrong_answers_can_be_sent_until_the_limit,
    an_error_that_the_author_worded_is_shown_so,
    answers_are_reviewed_changed_and_sent,
    what_only_sending_finds_is_said_in_the_language_of_the_page,
}
with_the_script! {
    a_field_that_is_left_says_what_is_wrong_with_it,
    a_field_that_is_checked_as_it_changes_says_so_while_it_has_the_focus,
    a_field_that_is_checked_when_sent_says_nothing_before,
    errors_go_with_their_reason_and_the_summary_with_its_last_error,
    an_error_about_two_fields_goes_when_the_other_one_changes,
    the_characters_that_are_left_are_counted_once_they_are_few,
}

fn two() -> Value {
    json!([
        {"id": "name", "type": "text", "label": "Name", "required": true,
         "validation": {"minLength": 3}},
        {"id": "count", "type": "number", "label": "Count", "validation": {"maximum": 9}},
    ])
}

async fn a_review_of_wrong_answers_names_them_at_the_top_and_at_their_fields(scene: Scene) {
    let page = &scene.browser;
    let question = scene.site.ask_fields(two()).await;
    page.open(&question).await;
    page.fill("#f1", "10").await;
    page.go_on().await;
    page.find("#summary").await;
    page.until("document.activeElement.id === 'summary'").await;
    assert!(
        page.client
            .title()
            .await
            .unwrap()
            .starts_with("Error: Release 1.4")
    );
    assert_eq!(page.count("#summary a").await, 2);
    assert!(page.text("#e0").await.contains("Name"));
    assert!(page.text("#e1").await.contains("Count"));
    assert_eq!(page.value("#f1").await, "10");
    for field in ["#f0", "#f1"] {
        let invalid = page.find(field).await.attr("aria-invalid").await.unwrap();
        assert_eq!(invalid.as_deref(), Some("true"));
    }
    // The link to the error.
    page.click("#summary li:last-child a").await;
    page.until("document.activeElement.id === 'f1'").await;
    assert!(question.is_live().await);
    // A review is not an attempt.
    assert_eq!(
        question
            .elicitation
            .status()
            .await
            .unwrap()
            .lifecycle()
            .attempts(),
        0
    );
    page.fill("#f0", "Zoë").await;
    page.fill("#f1", "9").await;
    page.review_and_send().await;
    assert_eq!(question.result().await, json!({"name": "Zoë", "count": 9}));
}

async fn wrong_answers_can_be_sent_until_the_limit(scene: Scene) {
    let page = &scene.browser;
    let fields = json!([{"id": "name", "type": "text", "label": "Name", "required": true,
        "validation": {"minLength": 3}}]);
    let question = scene.site.ask_fields(fields).await;
    page.open(&question).await;
    for (typed, left) in [("a", "2 attempts"), ("b", "your last attempt")] {
        page.fill("#f0", typed).await;
        page.go_on().await;
        let says = format!("document.querySelector('#summary p')?.textContent.includes('{left}')");
        page.until(&says).await;
        assert_eq!(page.value("#f0").await, typed);
    }
    page.fill("#f0", "c").await;
    page.go_on().await;
    page.find(".closing").await;
    let reason = CancelReason::MaxRetriesExceeded;
    assert_eq!(
        question.outcome().await.outcome(),
        Some(Outcome::Cancelled(reason))
    );
    assert_eq!(page.text(".answers dd").await, "c");
}

async fn an_error_that_the_author_worded_is_shown_so(scene: Scene) {
    let page = &scene.browser;
    let messages = json!({"pattern": "Say a version, such as 1.4.0"});
    let fields = json!([{"id": "v", "type": "text", "label": "Version",
        "validation": {"pattern": r"^\d+\.\d+\.\d+$", "messages": messages}}]);
    let question = scene.site.ask_fields(fields).await;
    page.open(&question).await;
    page.fill("#f0", "latest").await;
    page.go_on().await;
    assert_eq!(
        page.text("#summary a").await,
        "Say a version, such as 1.4.0"
    );
    assert!(
        page.text("#e0")
            .await
            .ends_with("Say a version, such as 1.4.0")
    );
}

async fn answers_are_reviewed_changed_and_sent(scene: Scene) {
    let page = &scene.browser;
    let fields = json!([
        {"id": "name", "type": "text", "label": "Name"},
        {"id": "key", "type": "text", "label": "Key", "sensitive": true},
        {"id": "colors", "type": "multi_select", "label": "Colors",
         "options": [{"value": "r", "title": "Red"}, {"value": "b", "title": "Blue"}]},
        {"id": "note", "type": "text", "label": "Note"},
    ]);
    let question = scene.site.ask_fields(fields).await;
    page.open(&question).await;
    page.fill("#f0", "Zoe").await;
    page.fill("#f1", "hunter2").await;
    page.click("#f2-0").await;
    page.click("#f2-1").await;
    page.go_on().await;
    let review = page.text("#review dl").await;
    for part in ["Zoe", "••••••••", "Red", "Blue", "No answer"] {
        assert!(review.contains(part), "{part} is not in {review}");
    }
    assert!(!review.contains("hunter2"));
    page.click("a.button").await;
    assert_eq!(page.value("#f0").await, "Zoe");
    page.fill("#f0", "Zoë").await;
    page.go_on().await;
    page.find("#review").await;
    page.click("#review .change[href$='#q3']").await;
    page.fill("#f3", "soon").await;
    page.review_and_send().await;
    let expected = json!({"name": "Zoë", "key": "hunter2", "colors": ["r", "b"], "note": "soon"});
    assert_eq!(question.result().await, expected);
}

fn checked(trigger: &str) -> Value {
    json!([
        {"id": "name", "type": "text", "label": "Name", "validation": {"minLength": 3},
         "rendering": {"validationTrigger": trigger, "debounceMs": 10}},
        {"id": "other", "type": "text", "label": "Other"},
    ])
}

async fn a_field_that_is_left_says_what_is_wrong_with_it(scene: Scene) {
    let page = &scene.browser;
    let question = scene.site.ask_fields(checked("on_blur")).await;
    page.open(&question).await;
    page.type_into("#f0", "ab").await;
    question.keeps("name", json!("ab")).await;
    assert!(!page.is_shown("#e0").await);
    page.press("\u{e004}").await;
    page.until("!document.getElementById('e0').hidden").await;
    assert_eq!(
        page.find("#f0")
            .await
            .attr("aria-invalid")
            .await
            .unwrap()
            .unwrap(),
        "true"
    );
    page.type_into("#f0", "c").await;
    page.until("document.getElementById('e0').hidden").await;
}

async fn a_field_that_is_checked_as_it_changes_says_so_while_it_has_the_focus(scene: Scene) {
    let page = &scene.browser;
    let question = scene.site.ask_fields(checked("on_change")).await;
    page.open(&question).await;
    page.type_into("#f0", "ab").await;
    page.until("!document.getElementById('e0').hidden").await;
    assert_eq!(page.eval("document.activeElement.id").await, "f0");
    page.type_into("#f0", "c").await;
    page.until("document.getElementById('e0').hidden").await;
}

async fn a_field_that_is_checked_when_sent_says_nothing_before(scene: Scene) {
    let page = &scene.browser;
    let question = scene.site.ask_fields(checked("on_submit")).await;
    page.open(&question).await;
    page.type_into("#f0", "ab\u{e004}").await;
    page.type_into("#f1", "x\u{e004}").await;
    question.keeps("other", json!("x")).await;
    assert!(!page.is_shown("#e0").await);
    page.go_on().await;
    page.find("#summary").await;
    assert!(page.is_shown("#e0").await);
}

async fn what_only_sending_finds_is_said_in_the_language_of_the_page(scene: Scene) {
    let fields = json!([
        {"id": "site", "type": "url", "label": "Seite", "rendering": {"testButton": true}},
    ]);
    let question = scene.site.ask_fields(fields).await;
    let page = Browser::start(scene.browser.script, "de-CH,de,en").await;
    let says = "Seite muss zu einer öffentlichen Adresse führen";
    page.open(&question).await;
    // The address is resolved when it is sent, and when it is tested.
    page.fill("#f0", "https://inside.example.com/").await;
    page.go_on().await;
    assert_eq!(page.text("#summary a").await, says);
    assert!(page.text("#e0").await.ends_with(says));
    page.click(".test button").await;
    assert_eq!(page.text(".verdict.bad").await, says);
    assert!(question.is_live().await);
}

async fn errors_go_with_their_reason_and_the_summary_with_its_last_error(scene: Scene) {
    let page = &scene.browser;
    let fields = json!([
        {"id": "a", "type": "text", "label": "A", "required": true,
         "validation": {"minLength": 3}},
        {"id": "b", "type": "text", "label": "What is B?", "required": true},
    ]);
    let question = scene.site.ask_fields(fields).await;
    page.open(&question).await;
    page.go_on().await;
    page.find("#summary").await;
    assert_eq!(
        page.text("#summary ul").await,
        "A is required\nAnswer this question"
    );
    // Another error takes the place of the first.
    page.type_into("#f0", "ab").await;
    page.until("document.querySelector('#summary li').textContent.includes('at least 3')")
        .await;
    assert!(
        page.text("#e0")
            .await
            .ends_with("A must be at least 3 characters")
    );
    page.type_into("#f0", "c").await;
    page.until("document.getElementById('e0').hidden").await;
    // What is missing is still said.
    assert_eq!(page.text("#summary ul").await, "Answer this question");
    assert!(page.is_shown("#e1").await);
    page.type_into("#f1", "x").await;
    page.until("!document.getElementById('summary')").await;
    assert!(!page.is_shown("#e1").await);
    let title = page.client.title().await.unwrap();
    assert!(title.starts_with("Release 1.4"), "{title}");
    let invalid = page.find("#f1").await.attr("aria-invalid").await.unwrap();
    assert_eq!(invalid, None);
    page.review_and_send().await;
    assert_eq!(question.result().await, json!({"a": "abc", "b": "x"}));
}

async fn an_error_about_two_fields_goes_when_the_other_one_changes(scene: Scene) {
    let page = &scene.browser;
    let mut form = crate::site::form(json!([
        {"id": "from", "type": "number", "label": "From"},
        {"id": "to", "type": "number", "label": "To"},
    ]));
    form["validation"] = json!({"rules": [
        {"rule": "compare", "left": "to", "operator": "gt", "right": "from"}]});
    let question = scene.site.ask(form).await;
    page.open(&question).await;
    page.fill("#f0", "5").await;
    page.fill("#f1", "3").await;
    page.go_on().await;
    page.find("#summary").await;
    page.fill("#f0", "2").await;
    page.until("!document.getElementById('summary')").await;
    assert_eq!(page.count(".error:not([hidden])").await, 0);
}

async fn the_characters_that_are_left_are_counted_once_they_are_few(scene: Scene) {
    let page = &scene.browser;
    let fields = json!([
        {"id": "name", "type": "text", "label": "Name", "validation": {"maxLength": 10}},
        {"id": "other", "type": "text", "label": "Other"},
    ]);
    let question = scene.site.ask_fields(fields).await;
    page.open(&question).await;
    page.type_into("#f0", "12345").await;
    assert!(!page.is_shown(".count").await);
    page.type_into("#f0", "678").await;
    assert_eq!(page.text(".count").await, "2 characters left");
    page.type_into("#f0", "9").await;
    assert_eq!(page.text(".count").await, "1 character left");
    page.type_into("#f0", "01").await;
    assert_eq!(page.text(".count.over").await, "1 character too many");
    page.until(
        "document.querySelector('#q0 > [role=status]').textContent === '1 character too many'",
    )
    .await;
}
