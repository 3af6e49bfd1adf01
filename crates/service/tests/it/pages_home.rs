//! The start page of a service.

use axum::http::{Method, StatusCode};
use entreat_service::identity::{HeaderIdentity, Identity};
use entreat_service::page::PageSettings;

use crate::pages::{Site, text};

fn signed_in() -> PageSettings {
    let proxies = vec!["127.0.0.1".parse().unwrap()];
    PageSettings {
        identity: Identity::Header(HeaderIdentity::new("x-user", proxies).unwrap()),
        ..PageSettings::default()
    }
}

#[tokio::test]
async fn the_start_page_says_what_this_is_and_where_to_go() {
    let site = Site::new().await;
    let page = site.get("/", &[]).await;
    assert_eq!(page.status, StatusCode::OK);
    let html = text(&page);
    for part in [
        "<h1>Entreat</h1>",
        "open the link that you were sent",
        "use the link to your inbox",
        "documentation of Entreat",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    // A link to the inbox lets in whoever has it, so it is not here.
    assert!(!html.contains("/inbox"), "{html}");
    assert!(!page.headers.contains_key("set-cookie"));
    let german = text(&site.get("/", &[("accept-language", "de")]).await);
    assert!(german.contains("lang=\"de\"") && german.contains("Frage"));
    let posted = site.send(Method::POST, "/", &[], String::new()).await;
    assert_eq!(posted.status, StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn an_inbox_without_its_link_says_how_to_get_it() {
    let site = Site::new().await;
    let page = site.get("/inbox", &[]).await;
    assert_eq!(page.status, StatusCode::FORBIDDEN);
    let html = text(&page);
    assert!(html.contains("run the command “entreat inbox”"), "{html}");
}

#[tokio::test]
async fn only_who_is_signed_in_finds_the_inbox_at_the_start_page() {
    let site = Site::at(Some("https://ask.example.com"), signed_in()).await;
    let named = text(&site.get("/", &[("x-user", "zoe")]).await);
    assert!(named.contains("href=\"/inbox\""), "{named}");
    let stranger = site.get("/", &[]).await;
    assert_eq!(stranger.status, StatusCode::OK);
    assert!(!text(&stranger).contains("inbox"), "{}", text(&stranger));
}

#[tokio::test]
async fn strangers_learn_only_that_this_is_entreat() {
    let site = Site::new().await;
    let before = text(&site.get("/", &[("host", "evil.example")]).await);
    assert!(!before.contains("inbox"), "{before}");
    let form = serde_json::json!({"id": "f", "title": "Plans", "fields": [
        {"id": "a", "type": "text", "label": "A"}]});
    site.visit_form(form).await;
    let after = text(&site.get("/", &[("host", "evil.example")]).await);
    assert_eq!(before, after);
}
