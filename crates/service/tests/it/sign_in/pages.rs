//! What people see before and after they sign in.

use super::*;

#[tokio::test]
async fn a_person_signs_in_by_the_link_and_answers() {
    let realm = Realm::new().await;
    let id = realm.ask("ada").await;
    let mut browser = realm.browser();
    let page = realm.sign_in(&mut browser, "ada", &realm.path(id)).await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.text.contains("Deploy"));
    // An address of this browser, without the link's token.
    assert!(!realm.path(id).contains(&page.path));
    let sent = browser
        .post(&page.path, &answers(&page.csrf(), "send"))
        .await;
    assert_eq!(sent.location(), page.path);
    assert!(browser.open(&page.path).await.text.contains("Answer sent"));
    let status = realm.site.status(id).await;
    assert_eq!(status.as_str(), "completed");
}

#[tokio::test]
async fn whoever_is_not_signed_in_gets_one_page_for_every_address() {
    let realm = Realm::new().await;
    let (id, other) = (realm.ask("ada").await, realm.ask("bob").await);
    let mut browser = realm.browser();
    let first = browser.get(&realm.path(id)).await;
    assert!(first.is_sign_in());
    let wrong = format!("{}x", realm.path(id));
    let long = format!("/e/{id}/{}", "a".repeat(3000));
    let reference = browser.get(&realm.path(id)).await;
    for path in [
        &*realm.path(other),
        &wrong,
        &long,
        "/e/elic_nothing/key",
        "/inbox",
        "/inbox/list",
        "/inbox/any-key",
    ] {
        let page = browser.get(path).await;
        assert!(page.is_sign_in(), "{path}");
        assert_eq!(page.text, reference.text, "{path}");
        let mut headers = page.headers.clone();
        headers.remove("date");
        let mut expected = reference.headers.clone();
        expected.remove("date");
        assert_eq!(headers, expected, "{path}");
    }
    // Nothing of the question, in any of its words.
    assert!(!reference.text.contains("Deploy"), "{}", reference.text);
    assert!(!reference.text.contains("ada"), "{}", reference.text);
}

#[tokio::test]
async fn ten_tabs_of_one_browser_sign_in_at_once() {
    let realm = Realm::new().await;
    let id = realm.ask("ada").await;
    realm.provider.sign_in_as("ada", json!({}));
    let mut browser = realm.browser();
    let page = browser.open(&realm.path(id)).await;
    let mut callbacks = Vec::new();
    for _ in 0..10 {
        callbacks.push(browser.reach_provider(&page).await);
    }
    // Nothing is kept for each attempt.
    assert_eq!(browser.cookies.len(), 1, "{:?}", browser.cookies.keys());
    // The last tab comes back first.
    for callback in callbacks.iter().rev() {
        let mut tab = browser.clone();
        let page = tab.follow(callback).await;
        assert_eq!(page.status, StatusCode::OK, "{}", page.text);
        assert!(page.text.contains("Deploy"));
    }
    assert_eq!(realm.provider.requests().tokens, 10);
}

#[tokio::test]
async fn getting_a_page_neither_begins_a_sign_in_nor_ends_a_session() {
    let realm = Realm::new().await;
    let mut browser = realm.signed_in("ada").await;
    let before = realm.provider.requests();
    for path in ["/inbox?sign-in", "/sign-out", "/inbox", "/signed-out"] {
        browser.get(path).await;
    }
    assert_eq!(realm.provider.requests(), before);
    assert!(browser.has_session());
    let inbox = browser.open("/inbox").await;
    assert_eq!(inbox.status, StatusCode::OK);
    assert!(inbox.text.contains("Signed in as"));
}

#[tokio::test]
async fn a_session_ends_with_its_time() {
    let realm = Realm::new().await;
    let mut browser = realm.signed_in("ada").await;
    realm
        .site
        .world
        .pass(Duration::from_secs(8 * 3600 - 1))
        .await;
    assert_eq!(browser.get("/inbox").await.status, StatusCode::OK);
    realm.site.world.pass(Duration::from_secs(2)).await;
    assert!(browser.get("/inbox").await.is_sign_in());
}

#[tokio::test]
async fn any_node_takes_what_another_began() {
    let (realm, other) = Realm::with_two_nodes().await;
    let id = realm.ask("ada").await;
    realm.provider.sign_in_as("ada", json!({}));
    let mut browser = realm.browser();
    let page = browser.open(&realm.path(id)).await;
    let callback = browser.reach_provider(&page).await;
    let elsewhere = format!("http://{}", other.server.address);
    let callback_there = callback.replace(&browser.site, &elsewhere);
    let done = browser.fetch(Method::GET, &callback_there, None).await;
    assert!(browser.has_session(), "{}", done.location());
    let page = browser.open(&realm.path(id)).await;
    assert_eq!(page.status, StatusCode::OK);
    // The state was used there, so it is used here.
    let mut again = realm.browser();
    again.cookies = browser.cookies.clone();
    again.cookies.remove("entreat-session");
    let done = again.fetch(Method::GET, &callback, None).await;
    assert!(done.location().ends_with("?sign-in-failed"));
    assert!(!again.has_session());
    assert_eq!(realm.provider.requests().tokens, 1);
}

#[tokio::test]
async fn many_groups_do_not_fill_the_cookie() {
    let realm = Realm::new().await;
    let groups: Vec<String> = (0..600).map(|number| format!("group-{number}")).collect();
    let claims = json!({"name": "Ada", "groups": groups});
    realm.provider.sign_in_as("ada", claims);
    let mut browser = realm.browser();
    let page = browser.open("/inbox").await;
    let callback = browser.reach_provider(&page).await;
    let page = browser.follow(&callback).await;
    assert_eq!(page.status, StatusCode::OK);
    let cookie = &browser.cookies["entreat-session"];
    assert!(cookie.len() < 3700, "{}", cookie.len());
    let id = realm.ask("group:group-0").await;
    assert_eq!(browser.open(&realm.path(id)).await.status, StatusCode::OK);
}
