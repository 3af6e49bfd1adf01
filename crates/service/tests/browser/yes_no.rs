//! A question that two buttons answer.

use entreat_core::Outcome;
use serde_json::{Value, json};

use crate::{Scene, both_ways};

both_ways! {
    one_press_answers,
    the_keyboard_answers,
    who_does_not_answer_has_not_said_no,
    more_time_is_no_answer,
}

fn fields() -> Value {
    json!([{"id": "go", "type": "boolean", "label": "Delete the old release?", "required": true}])
}

async fn one_press_answers(scene: Scene) {
    let page = &scene.browser;
    for (button, answer) in [("Yes", true), ("No", false)] {
        let question = scene.site.ask_fields(fields()).await;
        page.open(&question).await;
        assert_eq!(page.count(".actions").await, 0);
        let value = button.to_lowercase();
        let button_css = format!("button[value='send.{value}']");
        assert_eq!(page.text(&button_css).await, button);
        page.click(&button_css).await;
        page.until_headed("Answer sent").await;
        assert_eq!(question.result().await, json!({"go": answer}));
    }
}

async fn the_keyboard_answers(scene: Scene) {
    let page = &scene.browser;
    let question = scene.site.ask_fields(fields()).await;
    page.open(&question).await;
    page.find("#question").await;
    // The link to the question, more time, Yes, No.
    for _ in 0..4 {
        page.press("\u{e004}").await;
    }
    let name = page.eval("document.activeElement.textContent").await;
    assert_eq!(name, "No");
    // What a screen reader says of the buttons: the question is the name of their group.
    let group = "document.activeElement.closest('fieldset').querySelector('legend').textContent";
    assert_eq!(page.eval(group).await, "Delete the old release?");
    page.press("\u{e007}").await;
    page.until_headed("Answer sent").await;
    assert_eq!(question.result().await, json!({"go": false}));
}

async fn who_does_not_answer_has_not_said_no(scene: Scene) {
    let page = &scene.browser;
    let question = scene.site.ask_fields(fields()).await;
    page.open(&question).await;
    page.click(".leave summary").await;
    page.click("button[value=decline]").await;
    page.until_headed("You chose not to answer").await;
    assert!(page.text("main").await.contains("does not mean “No”"));
    assert_eq!(question.outcome().await.outcome(), Some(Outcome::Declined));
}

async fn more_time_is_no_answer(scene: Scene) {
    let page = &scene.browser;
    let question = scene.site.ask_fields(fields()).await;
    page.open(&question).await;
    page.click("button[value=extend]").await;
    page.until("document.querySelector('.until')?.textContent === 'about 10 minutes left'")
        .await;
    assert!(question.is_live().await);
    page.click("button[value='send.yes']").await;
    page.until_headed("Answer sent").await;
    assert_eq!(question.result().await, json!({"go": true}));
}
