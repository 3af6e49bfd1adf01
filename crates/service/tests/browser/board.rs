//! The board of operators.

use std::time::Duration;

use entreat_core::{CancelReason, Status};
use entreat_engine::Actor;
use serde_json::json;

use crate::driver::Browser;
use crate::site::{OPERATOR_KEY, Question, form};
use crate::states::inspect;
use crate::{Scene, Script, both_ways, with_the_script};

both_ways! {
    an_operator_enters_reassigns_extends_and_cancels,
    a_wrong_key_is_refused_and_another_can_be_entered,
    the_board_is_filtered_from_the_keyboard,
}
with_the_script! {
    the_board_shows_what_changes_and_keeps_the_focus,
    a_board,
    an_empty_board,
    a_question_on_the_board,
    a_cancelled_question_on_the_board,
    a_history,
    the_key_of_an_operator,
}

/// Asks with a title, for somebody, and with this many minutes.
async fn asked(scene: &Scene, title: &str, respondent: &str, minutes: u64) -> Question {
    let mut form = form(json!([{"id": "name", "type": "text", "label": "Name"}]));
    form["title"] = json!(title);
    let timeout = entreat_core::Timeout::of(Duration::from_secs(60 * minutes));
    let ask = scene
        .site
        .ask_with(form, |ask| ask.respondent(respondent).timeout(timeout));
    ask.await
}

async fn enter(scene: &Scene, key: &str) {
    let page = &scene.browser;
    page.goto(&scene.site.board()).await;
    page.until_headed("For operators only").await;
    page.fill("#key", key).await;
    page.go_on().await;
}

async fn an_operator_enters_reassigns_extends_and_cancels(scene: Scene) {
    let page = &scene.browser;
    let question = asked(&scene, "Release 1.4", "ada", 100).await;
    enter(&scene, OPERATOR_KEY).await;
    assert_eq!(page.text("tbody th a").await, "Release 1.4");
    assert!(
        !page
            .client
            .current_url()
            .await
            .unwrap()
            .as_str()
            .contains(OPERATOR_KEY)
    );
    page.click("tbody th a").await;
    page.until_headed("Release 1.4").await;
    page.fill("#to", "group:night-shift").await;
    page.click("button[value=reassign]").await;
    page.find(".notice").await;
    assert!(page.text(".facts").await.contains("night-shift"));
    let before = question.elicitation.status().await.unwrap();
    page.click("button[value=extend]").await;
    page.until("document.querySelector('.notice')?.textContent.includes('more time')")
        .await;
    let after = question.elicitation.status().await.unwrap();
    assert!(after.lifecycle().deadline() > before.lifecycle().deadline());
    page.click("#reason").await;
    page.click("#reason option[value=form_invalidated]").await;
    page.click("button[value=cancel]").await;
    page.until("document.querySelector('.notice')?.textContent.includes('cancelled')")
        .await;
    let settled = question.outcome().await;
    assert_eq!(settled.status(), Status::Cancelled);
    assert_eq!(
        settled.settled_by().map(|it| &*it.name),
        Some("night-watch")
    );
    page.click(".tabs a:last-child").await;
    page.until("document.querySelector('tbody td .state')?.textContent === 'Cancelled'")
        .await;
    page.click(".operator button").await;
    page.until_headed("For operators only").await;
}

async fn a_wrong_key_is_refused_and_another_can_be_entered(scene: Scene) {
    let page = &scene.browser;
    enter(&scene, "not-the-key").await;
    page.find("#key-error").await;
    assert_eq!(page.value("#key").await, "");
    page.fill("#key", OPERATOR_KEY).await;
    page.go_on().await;
    page.until("document.querySelector('.empty')?.textContent === 'No questions are open.'")
        .await;
}

async fn the_board_is_filtered_from_the_keyboard(scene: Scene) {
    let page = &scene.browser;
    asked(&scene, "Release 1.4", "ada", 100).await;
    asked(&scene, "Delete the old database", "group:ops", 100).await;
    enter(&scene, OPERATOR_KEY).await;
    page.until("document.querySelectorAll('tbody tr').length === 2")
        .await;
    page.type_into("#q", "database\n").await;
    page.until("document.querySelectorAll('tbody tr').length === 1")
        .await;
    assert!(
        page.text(".counts")
            .await
            .contains("1 question matches the filter")
    );
    assert_eq!(page.value("#q").await, "database");
    page.click(".go a").await;
    page.until("document.querySelectorAll('tbody tr').length === 2")
        .await;
}

async fn the_board_shows_what_changes_and_keeps_the_focus(scene: Scene) {
    let page = &scene.browser;
    asked(&scene, "Release 1.4", "ada", 100).await;
    enter(&scene, OPERATOR_KEY).await;
    page.find("tbody th a").await;
    page.eval("document.querySelector('tbody th a').focus()")
        .await;
    let urgent = asked(&scene, "Urgent", "bob", 5).await;
    page.until("document.querySelector('tbody th a')?.textContent === 'Urgent'")
        .await;
    page.until("document.activeElement.textContent === 'Release 1.4'")
        .await;
    page.until("document.title === '(2) Board'").await;
    urgent.elicitation.decline().await.unwrap();
    page.until("document.querySelectorAll('tbody tr').length === 1")
        .await;
}

/// A night on which several programs ask.
async fn busy(scene: &Scene) -> Question {
    for (title, respondent, minutes) in [
        (
            "Which region should the new cluster be in?",
            "group:platform",
            29,
        ),
        (
            "Rotate the signing keys of the payment service",
            "email:ada@example.com",
            500,
        ),
        (
            "Approve the expenses of the team offsite in Lisbon",
            "group:finance",
            2000,
        ),
    ] {
        asked(scene, title, respondent, minutes).await;
    }
    scene.site.pass(Duration::from_secs(27 * 60)).await;
    asked(
        scene,
        "Deploy version 7 to production?",
        "group:platform",
        15,
    )
    .await;
    let opened = asked(
        scene,
        "Who is on call at the weekend?",
        "https://id.example.com#83b1",
        240,
    );
    let opened = opened.await;
    opened.elicitation.open().await.unwrap();
    scene.site.pass(Duration::from_secs(90)).await;
    opened
}

async fn a_board(scene: Scene) {
    busy(&scene).await;
    enter(&scene, OPERATOR_KEY).await;
    scene.browser.find("tr.late").await;
    inspect("board", &scene.browser).await;
    scene
        .browser
        .goto(&format!("{}?q=nothing", scene.site.board()))
        .await;
    scene.browser.find(".empty").await;
    inspect("board-filtered", &scene.browser).await;
    let german = Browser::start(Script::On, "de-DE").await;
    let scene = Scene {
        site: scene.site,
        browser: german,
    };
    let page = &scene.browser;
    page.goto(&scene.site.board()).await;
    page.until_headed("Nur für Betreiber").await;
    page.fill("#key", OPERATOR_KEY).await;
    page.go_on().await;
    page.find("tr.late").await;
    inspect("board-german", page).await;
}

async fn an_empty_board(scene: Scene) {
    enter(&scene, OPERATOR_KEY).await;
    scene.browser.find(".empty").await;
    inspect("board-empty", &scene.browser).await;
}

async fn a_question_on_the_board(scene: Scene) {
    let opened = busy(&scene).await;
    enter(&scene, OPERATOR_KEY).await;
    scene.browser.find("tr.late").await;
    let id = opened.elicitation.id();
    scene
        .browser
        .goto(&format!("{}/q/{id}", scene.site.board()))
        .await;
    scene.browser.find("#to").await;
    inspect("board-question", &scene.browser).await;
}

async fn a_cancelled_question_on_the_board(scene: Scene) {
    let page = &scene.browser;
    asked(&scene, "Release 1.4", "group:platform", 10).await;
    enter(&scene, OPERATOR_KEY).await;
    page.click("tbody th a").await;
    page.click("#reason").await;
    page.click("#reason option[value=asker_cancelled]").await;
    page.click("button[value=cancel]").await;
    page.find(".notice").await;
    inspect("board-cancelled", page).await;
}

async fn a_history(scene: Scene) {
    for (title, name) in [
        (
            "Which region should the new cluster be in?",
            Some("Ada Lovelace"),
        ),
        ("Deploy version 7 to production?", None),
        (
            "Rotate the signing keys of the payment service",
            Some("Grace Hopper"),
        ),
    ] {
        let question = asked(&scene, title, "group:platform", 10).await;
        let elicitation = scene.site.engine.elicitation(question.elicitation.id());
        match name {
            Some(name) => {
                let account = format!("https://id.example.com#{}", &name[..3]);
                let actor = Actor {
                    account: account.into(),
                    name: name.into(),
                    is_operator: name.starts_with("Grace"),
                };
                let elicitation = elicitation.acting(actor);
                if name.starts_with("Grace") {
                    elicitation
                        .cancel(CancelReason::AskerCancelled)
                        .await
                        .unwrap();
                } else {
                    elicitation
                        .submit(&json!({"name": "eu-north"}))
                        .await
                        .unwrap();
                }
            }
            None => scene.site.pass(Duration::from_secs(700)).await,
        }
    }
    enter(&scene, OPERATOR_KEY).await;
    scene.browser.click(".tabs a:last-child").await;
    scene
        .browser
        .until("document.querySelectorAll('tbody tr').length === 3")
        .await;
    inspect("board-history", &scene.browser).await;
}

async fn the_key_of_an_operator(scene: Scene) {
    enter(&scene, "not-the-key").await;
    scene.browser.find("#key-error").await;
    inspect("board-key", &scene.browser).await;
}
