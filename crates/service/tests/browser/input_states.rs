//! What a page says while somebody answers, in every theme and width: like `states.rs`.

use serde_json::json;

use crate::site::form;
use crate::states::inspect;
use crate::{Scene, with_the_script};

with_the_script! {
    a_question_of_yes_or_no,
    errors_of_one_field,
    a_secret_that_was_not_kept,
    an_address_with_warnings,
    characters_that_are_few,
}

async fn a_question_of_yes_or_no(scene: Scene) {
    let question = scene
        .site
        .ask_with(
            form(json!([
                {"id": "go", "type": "boolean", "label": "Delete the old release?",
                 "required": true, "description": "Nobody has used it for 30 days."},
            ])),
            |ask| ask.message("Version 1.4 runs everywhere. Version 1.3 still takes 40 GB."),
        )
        .await;
    let page = &scene.browser;
    page.open(&question).await;
    page.find(".yes-no").await;
    inspect("yes-no", page).await;
    page.click(".leave summary").await;
    inspect("yes-no-leave", page).await;
    let address = page.client.current_url().await.unwrap();
    page.goto(&format!("{address}?check")).await;
    page.find("#summary").await;
    inspect("yes-no-error", page).await;
}

async fn errors_of_one_field(scene: Scene) {
    let question = scene
        .site
        .ask_fields(json!([
            {"id": "version", "type": "text", "label": "Version", "required": true,
             "validation": {"minLength": 5, "maxLength": 12, "pattern": "^[0-9.]+$"},
             "rendering": {"placeholder": "1.4.0"}},
            {"id": "why", "type": "text", "label": "Why now?", "required": true},
        ]))
        .await;
    let page = &scene.browser;
    page.open(&question).await;
    page.fill("#f0", "soon").await;
    page.go_on().await;
    page.find("#summary").await;
    inspect("errors-two", page).await;
    // What the script leaves of them.
    page.fill("#f0", "1.4.0").await;
    page.until("document.querySelectorAll('#summary li').length === 1")
        .await;
    inspect("errors-one-left", page).await;
}

async fn a_secret_that_was_not_kept(scene: Scene) {
    let question = scene
        .site
        .ask_fields(json!([
            {"id": "key", "type": "text", "label": "API key", "sensitive": true,
             "validation": {"minLength": 20}},
            {"id": "note", "type": "text", "label": "Note"},
        ]))
        .await;
    let page = &scene.browser;
    page.open(&question).await;
    page.fill("#f0", "hunter2").await;
    page.go_on().await;
    page.find("#summary").await;
    assert_eq!(page.count("#summary li").await, 2);
    // Another answer does not change that.
    page.fill("#f1", "It is on paper.").await;
    question.keeps("note", json!("It is on paper.")).await;
    assert_eq!(page.count("#summary li").await, 2);
    assert_eq!(page.count("#e0 li").await, 2);
    inspect("secret-not-kept", page).await;
}

async fn an_address_with_warnings(scene: Scene) {
    let question = scene
        .site
        .ask_fields(json!([
            {"id": "link", "type": "url", "label": "Ticket", "rendering": {"testButton": true}},
            {"id": "note", "type": "text", "label": "Note"},
        ]))
        .await;
    let page = &scene.browser;
    page.open(&question).await;
    page.fill("#f0", "https://example.com:9443/?to=https://example.net/")
        .await;
    page.click(".test button").await;
    page.find(".warnings").await;
    inspect("address", page).await;
}

async fn characters_that_are_few(scene: Scene) {
    let question = scene
        .site
        .ask_fields(json!([
            {"id": "title", "type": "text", "label": "Title", "validation": {"maxLength": 40}},
            {"id": "code", "type": "text", "label": "Code",
             "validation": {"minLength": 3, "maxLength": 6}},
        ]))
        .await;
    let page = &scene.browser;
    page.open(&question).await;
    page.fill("#f0", "Release 1.4 goes to all regions now")
        .await;
    page.fill("#f1", "1234567").await;
    page.until("document.querySelectorAll('.count:not(:empty)').length === 2")
        .await;
    inspect("count", page).await;
}
