//! A complete form by keyboard only.

use serde_json::{Value, json};

use crate::{Scene, both_ways};

both_ways! {
    a_form_is_filled_in_reviewed_and_sent_by_keys_alone,
    enter_sends_a_form_of_one_field,
    the_first_key_leads_past_what_comes_before_the_question,
}

const TAB: &str = "\u{e004}";
const ENTER: &str = "\u{e007}";
const DOWN: &str = "\u{e015}";

fn fields() -> Value {
    json!([
        {"id": "name", "type": "text", "label": "Name", "required": true},
        {"id": "on", "type": "boolean", "label": "On", "rendering": {"displayStyle": "toggle"}},
        {"id": "color", "type": "select", "label": "Color", "required": true,
         "options": ["red", "green"], "rendering": {"displayStyle": "segmented"}},
        {"id": "colors", "type": "multi_select", "label": "Colors",
         "options": ["red", "green"], "rendering": {"displayStyle": "chips"}},
    ])
}

impl Scene {
    /// Presses Tab until something has the focus; fails if the focus wraps around.
    async fn tab_to(&self, css: &str) {
        let wanted = format!("document.activeElement.matches({})", json!(css));
        for _ in 0..40 {
            self.browser.press(TAB).await;
            if self.browser.eval(&wanted).await == true {
                return;
            }
        }
        panic!("no way to {css} by Tab");
    }
}

async fn a_form_is_filled_in_reviewed_and_sent_by_keys_alone(scene: Scene) {
    let page = &scene.browser;
    let question = scene.site.ask_fields(fields()).await;
    page.open(&question).await;
    scene.tab_to("#f0").await;
    page.press("Zoe").await;
    scene.tab_to("#f1").await;
    page.press(" ").await;
    scene.tab_to("[name='f.color']").await;
    page.press(" ").await;
    page.press(DOWN).await;
    scene.tab_to("#f3-1").await;
    page.press(" ").await;
    scene.tab_to("button.primary").await;
    page.press(ENTER).await;
    page.find("#review").await;
    scene.tab_to("button.primary").await;
    page.press(ENTER).await;
    page.until_headed("Answer sent").await;
    let expected = json!({"name": "Zoe", "on": true, "color": "green", "colors": ["green"]});
    assert_eq!(question.result().await, expected);
}

async fn enter_sends_a_form_of_one_field(scene: Scene) {
    let page = &scene.browser;
    let fields = json!([{"id": "name", "type": "text", "label": "Name"}]);
    let question = scene.site.ask_fields(fields).await;
    page.open(&question).await;
    scene.tab_to("#f0").await;
    page.press("Zoe").await;
    page.press(ENTER).await;
    page.until_headed("Answer sent").await;
    assert_eq!(question.result().await, json!({"name": "Zoe"}));
}

async fn the_first_key_leads_past_what_comes_before_the_question(scene: Scene) {
    let page = &scene.browser;
    let question = scene.site.ask_fields(fields()).await;
    page.open(&question).await;
    page.press(TAB).await;
    assert_eq!(page.eval("document.activeElement.className").await, "skip");
    assert!(page.is_shown(".skip").await);
}
