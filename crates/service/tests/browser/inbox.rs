//! The inbox.

use serde_json::json;

use crate::driver::Browser;
use crate::{Scene, both_ways, with_the_script};

both_ways! {
    the_inbox_lists_what_waits_and_what_is_over_and_opens_one,
}
with_the_script! {
    the_inbox_shows_a_new_question_by_itself,
    whoever_allows_it_is_notified_of_a_new_question_behind_another_tab,
    whoever_was_not_asked_yet_can_allow_notifications,
}

async fn the_inbox_lists_what_waits_and_what_is_over_and_opens_one(scene: Scene) {
    let page = &scene.browser;
    page.goto(&scene.site.pages.inbox_link()).await;
    assert_eq!(
        page.text("#inbox .lead").await,
        "Nothing is waiting for you."
    );
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
    page.until_headed("Answer sent").await;
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

/// Sets a permission of this site: `granted`, `denied` or `prompt`.
async fn notifications(page: &Browser, setting: &str) {
    let permission = json!({"permission": {"name": "notifications"}, "setting": setting});
    page.devtools("Browser.setPermission", permission).await;
}

/// Records notifications where other tabs of the site find them.
const WRITE_DOWN: &str = "(() => {
    const { permission } = Notification;
    window.Notification = class {
        static permission = permission;
        constructor(title, { body }) { localStorage.told = (localStorage.told || '') + title + '|' + body + '\\n'; }
    };
    return permission;
})()";

async fn whoever_allows_it_is_notified_of_a_new_question_behind_another_tab(scene: Scene) {
    let page = &scene.browser;
    let fields = json!([{"id": "name", "type": "text", "label": "Name"}]);
    notifications(page, "granted").await;
    page.goto(&scene.site.pages.inbox_link()).await;
    assert!(!page.is_shown(".notify").await, "there is nothing to ask");
    assert_eq!(page.eval(WRITE_DOWN).await, "granted");
    // No notification while the inbox is visible.
    let first = scene.site.ask_fields(fields.clone()).await;
    page.until("document.title === '(1) Inbox'").await;
    assert_eq!(page.eval("localStorage.told ?? ''").await, "");
    page.lose_focus().await;
    let second = page.client.new_window(true).await.unwrap().handle;
    page.client.switch_to_window(second).await.unwrap();
    page.goto(&first.link).await;
    let mut other = crate::site::form(fields);
    other["title"] = json!("<b>Another</b>");
    scene.site.ask(other).await;
    page.until("localStorage.told").await;
    let told = page.eval("localStorage.told").await;
    assert_eq!(told, "A new question is waiting|<b>Another</b>\n");
}

async fn whoever_was_not_asked_yet_can_allow_notifications(scene: Scene) {
    let page = &scene.browser;
    notifications(page, "prompt").await;
    page.goto(&scene.site.pages.inbox_link()).await;
    assert!(page.is_shown(".notify").await);
    let ask = "Notification.requestPermission = async () => { window.asked = true; }";
    page.eval(ask).await;
    page.click(".notify").await;
    page.until("window.asked").await;
    page.until("document.querySelector('.notify').hidden").await;
    notifications(page, "denied").await;
    page.goto(&scene.site.pages.inbox_link()).await;
    assert!(!page.is_shown(".notify").await, "no is no");
}
