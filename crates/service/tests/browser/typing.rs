//! Typed text is not lost, and pages are in the person's language.

use serde_json::{Value, json};

use crate::driver::Browser;
use crate::{Scene, both_ways, with_the_script};

both_ways! {
    a_reload_keeps_what_was_typed,
    whoever_reads_german_is_asked_in_german,
    an_address_in_the_text_of_an_asker_is_text,
}
with_the_script! {
    leaving_before_it_is_kept_is_asked_about,
}

fn fields() -> Value {
    json!([
        {"id": "name", "type": "text", "label": "Name"},
        {"id": "on", "type": "boolean", "label": "On"},
        {"id": "story", "type": "text", "label": "Story", "rendering": {"rows": 3}},
    ])
}

async fn a_reload_keeps_what_was_typed(scene: Scene) {
    let page = &scene.browser;
    let question = scene.site.ask_fields(fields()).await;
    page.open(&question).await;
    page.fill("#f0", "Zoë").await;
    page.click("#f1").await;
    page.fill("#f2", "\n one\ntwo").await;
    if scene.has_script() {
        question.keeps("story", json!("\n one\ntwo")).await;
    } else {
        page.go_on().await;
        page.find("#review").await;
    }
    // By the link, since a browser may fill in a form by itself when a page is reloaded.
    page.client.refresh().await.unwrap();
    page.open(&question).await;
    assert_eq!(page.value("#f0").await, "Zoë");
    assert!(page.find("#f1").await.is_selected().await.unwrap());
    assert_eq!(page.value("#f2").await, "\n one\ntwo");
}

async fn whoever_reads_german_is_asked_in_german(scene: Scene) {
    let question = scene
        .site
        .ask_fields(json!([
            {"id": "name", "type": "text", "label": "Name", "required": true},
        ]))
        .await;
    let page = Browser::start(scene.browser.script, "de-CH,de,en").await;
    page.open(&question).await;
    page.find("html[lang=de]").await;
    assert_eq!(page.text("button.primary").await, "Senden");
    page.go_on().await;
    page.find("#summary").await;
    assert!(page.client.title().await.unwrap().starts_with("Fehler"));
    // Errors are in the same language.
    let says = page.text("#summary a").await;
    assert!(!says.contains("required"), "{says}");
}

async fn an_address_in_the_text_of_an_asker_is_text(scene: Scene) {
    let page = &scene.browser;
    let mut form = crate::site::form(fields());
    form["description"] = json!("Look at https://example.com/ first");
    let question = scene.site.ask(form).await;
    page.open(&question).await;
    assert!(page.text(".lead").await.contains("https://example.com/"));
    assert_eq!(page.count("a[href*='example.com']").await, 0);
}

async fn leaving_before_it_is_kept_is_asked_about(scene: Scene) {
    let page = &scene.browser;
    let mut fields = fields();
    fields[0]["rendering"] = json!({"debounceMs": 60_000});
    let question = scene.site.ask_fields(fields).await;
    page.open(&question).await;
    let asks = "!dispatchEvent(new Event('beforeunload', {cancelable: true}))";
    assert_eq!(page.eval(asks).await, false);
    page.type_into("#f0", "Zoë").await;
    assert_eq!(page.eval(asks).await, true);
    page.press("\u{e004}").await;
    question.keeps("name", json!("Zoë")).await;
    page.until("document.querySelector('.kept').textContent.startsWith('Draft saved')")
        .await;
    assert_eq!(page.eval(asks).await, false);
}
