//! What must not be shown again: typed secrets, and the token of a link.

use serde_json::{Value, json};

use crate::{Scene, both_ways};

both_ways! {
    a_secret_is_kept_and_never_on_a_page_again,
    a_secret_can_be_forgotten,
    a_secret_that_is_not_valid_has_to_be_typed_again,
    the_token_of_the_link_is_nowhere_after_it_was_opened,
}

fn fields() -> Value {
    json!([
        {"id": "name", "type": "text", "label": "Name"},
        {"id": "key", "type": "text", "label": "Key", "sensitive": true, "required": true},
    ])
}

impl Scene {
    /// Types a secret, and waits until it is saved.
    async fn type_secret(&self) -> crate::site::Question {
        let page = &self.browser;
        let question = self.site.ask_fields(fields()).await;
        page.open(&question).await;
        page.fill("#f0", "Zoë").await;
        page.fill("#f1", "hunter2").await;
        if self.has_script() {
            question.keeps("key", json!("hunter2")).await;
        } else {
            page.go_on().await;
            page.find("#review").await;
        }
        page.open(&question).await;
        page.find(".kept-secret").await;
        question
    }
}

async fn a_secret_is_kept_and_never_on_a_page_again(scene: Scene) {
    let page = &scene.browser;
    let question = scene.type_secret().await;
    assert!(!page.client.source().await.unwrap().contains("hunter2"));
    assert_eq!(page.value("#f1").await, "");
    page.go_on().await;
    page.find("#review").await;
    assert!(!page.client.source().await.unwrap().contains("hunter2"));
    page.go_on().await;
    page.until_headed("Answer sent").await;
    assert!(!page.client.source().await.unwrap().contains("hunter2"));
    assert_eq!(
        question.result().await,
        json!({"name": "Zoë", "key": "hunter2"})
    );
}

async fn a_secret_can_be_forgotten(scene: Scene) {
    let page = &scene.browser;
    let question = scene.type_secret().await;
    page.click("button[value='forget.1']").await;
    page.until("!document.querySelector('.kept-secret')").await;
    page.go_on().await;
    page.find("#summary").await;
    assert!(question.is_live().await);
}

async fn the_token_of_the_link_is_nowhere_after_it_was_opened(scene: Scene) {
    let page = &scene.browser;
    let question = scene.site.ask_fields(fields()).await;
    let (_, token) = question.link.rsplit_once('/').unwrap();
    page.open(&question).await;
    page.find("#question").await;
    let address = page.client.current_url().await.unwrap();
    assert!(!address.as_str().contains(token));
    assert_eq!(page.eval("document.referrer").await, "");
    let history = page.devtools("Page.getNavigationHistory", json!({})).await;
    // The driver enters the link; the browser's history has the final address.
    let mut entries = history["entries"].as_array().unwrap().iter();
    assert!(entries.len() > 0);
    assert!(
        entries.all(|entry| !entry["url"].as_str().unwrap().contains(token)),
        "{history}"
    );
    assert!(!page.client.source().await.unwrap().contains(token));
    // The page doesn't send its address as a referrer either.
    page.fill("#f1", "hunter2").await;
    page.go_on().await;
    page.find("#review").await;
    assert_eq!(page.eval("document.referrer").await, "");
}

async fn a_secret_that_is_not_valid_has_to_be_typed_again(scene: Scene) {
    let page = &scene.browser;
    let fields = json!([
        {"id": "name", "type": "text", "label": "Name"},
        {"id": "key", "type": "text", "label": "Key", "sensitive": true,
         "validation": {"minLength": 8}},
    ]);
    let question = scene.site.ask_fields(fields).await;
    page.open(&question).await;
    page.fill("#f1", "hunter2").await;
    page.go_on().await;
    page.find("#summary").await;
    assert!(page.text("#e1").await.contains("Type it again."));
    assert_eq!(page.value("#f1").await, "");
    assert_eq!(page.count(".kept-secret").await, 0);
    assert!(!page.client.source().await.unwrap().contains("hunter2"));
    page.fill("#f1", "long enough").await;
    page.review_and_send().await;
    assert_eq!(question.result().await, json!({"key": "long enough"}));
}
