//! The list of what waits.

use serde_json::json;

use crate::{Scene, both_ways, with_the_script};

both_ways! {
    the_inbox_lists_what_waits_and_what_is_over_and_opens_one,
}
with_the_script! {
    the_inbox_shows_a_new_question_by_itself,
}

async fn the_inbox_lists_what_waits_and_what_is_over_and_opens_one(scene: Scene) {
    let page = &scene.browser;
    page.goto(&scene.site.pages.inbox_link()).await;
    assert_eq!(page.text("#inbox .lead").await, "Nothing waits for you.");
    let fields = json!([{"id": "name", "type": "text", "label": "Name"}]);
    let first = scene.site.ask_fields(fields.clone()).await;
    let mut other = crate::site::form(fields);
    other["title"] = json!("Another");
    scene.site.pass(std::time::Duration::from_secs(1)).await;
    scene.site.ask(other).await;
    page.goto(&scene.site.pages.inbox_link()).await;
    let (_, token) = scene
        .site
        .pages
        .inbox_link()
        .rsplit_once('/')
        .map(own)
        .unwrap();
    assert!(
        !page
            .client
            .current_url()
            .await
            .unwrap()
            .as_str()
            .contains(&token)
    );
    assert_eq!(page.client.title().await.unwrap(), "(2) Inbox");
    let titles = page.text("#inbox .cards").await;
    assert!(
        titles.find("Another") < titles.find("Release 1.4"),
        "newest first: {titles}"
    );
    page.click(".card:last-child a").await;
    page.fill("#f0", "Zoë").await;
    page.go_on().await;
    page.until_headed("Sent. Thank you.").await;
    assert_eq!(first.result().await, json!({"name": "Zoë"}));
    page.goto(&scene.site.pages.inbox_link()).await;
    assert!(page.text(".settled").await.contains("Release 1.4"));
    assert!(!page.client.source().await.unwrap().contains("Zoë"));
}

fn own((before, after): (&str, &str)) -> (String, String) {
    (before.to_owned(), after.to_owned())
}

async fn the_inbox_shows_a_new_question_by_itself(scene: Scene) {
    let page = &scene.browser;
    page.goto(&scene.site.pages.inbox_link()).await;
    assert_eq!(page.count(".card").await, 0);
    let fields = json!([{"id": "name", "type": "text", "label": "Name"}]);
    let question = scene.site.ask_fields(fields).await;
    page.until("document.querySelectorAll('.card[data-id]').length === 1")
        .await;
    page.until("document.title === '(1) Inbox'").await;
    question.elicitation.decline().await.unwrap();
    page.until("document.querySelectorAll('.card[data-id]').length === 0")
        .await;
}
