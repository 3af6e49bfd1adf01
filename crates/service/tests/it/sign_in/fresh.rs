//! Questions that ask for a fresh sign-in.

use entreat_engine::RespondentAuth;

use super::*;

fn auth(max_age: Option<u32>, acr: Option<&str>) -> RespondentAuth {
    RespondentAuth {
        max_age,
        acr: acr.map(Box::from),
    }
}

/// A question for Ada that wants such a sign-in, in a browser in which she is signed in.
async fn asked(wanted: RespondentAuth) -> (Realm, ElicitationId, Browser, Page) {
    let realm = Realm::new().await;
    let ask = |ask: Ask| ask.respondent_auth(wanted);
    let id = realm.ask_with("ada", ask).await;
    let mut browser = realm.browser();
    let page = realm.sign_in(&mut browser, "ada", &realm.path(id)).await;
    (realm, id, browser, page)
}

#[tokio::test]
async fn an_old_sign_in_is_renewed_before_the_answer_is_sent() {
    let (realm, id, mut browser, page) = asked(auth(Some(300), None)).await;
    realm.site.world.pass(Duration::from_secs(301)).await;
    let sent = browser
        .post(&page.path, &answers(&page.csrf(), "send"))
        .await;
    assert_eq!(sent.location(), format!("{}/again", page.path));
    assert!(realm.is_live(id).await);
    let again = browser.open(sent.location()).await;
    assert!(again.text.contains("Sign in again to send"));
    assert!(again.text.contains("ada"));
    let callback = browser.reach_provider(&again).await;
    let review = browser.follow(&callback).await;
    // What was typed is there, ready to be sent.
    assert_eq!(review.path, format!("{}/review", page.path));
    assert!(review.text.contains("staging"));
    let fields = [("_csrf", &*review.csrf()), ("_do", "send")];
    browser.post(&page.path, &fields).await;
    assert_eq!(realm.site.status(id).await.as_str(), "completed");
}

#[tokio::test]
async fn a_sign_in_of_this_moment_can_be_asked_for() {
    let (realm, id, mut browser, page) = asked(auth(Some(0), None)).await;
    realm.site.world.pass(Duration::from_secs(1)).await;
    let sent = browser
        .post(&page.path, &answers(&page.csrf(), "send"))
        .await;
    let again = browser.open(sent.location()).await;
    let callback = browser.reach_provider(&again).await;
    let review = browser.follow(&callback).await;
    // However long the review takes, within ten minutes.
    realm.site.world.pass(Duration::from_secs(300)).await;
    let fields = [("_csrf", &*review.csrf()), ("_do", "send")];
    browser.post(&page.path, &fields).await;
    assert_eq!(realm.site.status(id).await.as_str(), "completed");
}

#[tokio::test]
async fn a_class_of_authentication_is_asked_for_and_checked() {
    let (realm, id, mut browser, page) = asked(auth(None, Some("urn:example:hardware"))).await;
    let sent = browser
        .post(&page.path, &answers(&page.csrf(), "send"))
        .await;
    let again = browser.open(sent.location()).await;
    let address = browser.start(&again).await;
    assert!(address.contains("acr_values=urn%3Aexample%3Ahardware"));
    // The provider is asked for less than the question wants.
    let less = address.replace("hardware", "password");
    let callback = browser.at_provider(&less).await;
    let refused = browser.follow(&callback).await;
    assert!(
        refused.text.contains("Sign in again to send"),
        "{}",
        refused.text
    );
    assert!(refused.text.contains("You were not signed in"));
    let callback = browser.reach_provider(&again).await;
    let review = browser.follow(&callback).await;
    let fields = [("_csrf", &*review.csrf()), ("_do", "send")];
    browser.post(&page.path, &fields).await;
    assert_eq!(realm.site.status(id).await.as_str(), "completed");
}

#[tokio::test]
async fn whoever_signs_in_again_as_somebody_else_sends_nothing() {
    let (realm, _, mut browser, page) = asked(auth(Some(0), None)).await;
    realm.site.world.pass(Duration::from_secs(1)).await;
    let sent = browser
        .post(&page.path, &answers(&page.csrf(), "send"))
        .await;
    let again = browser.open(sent.location()).await;
    realm.provider.sign_in_as("bob", json!({}));
    let callback = browser.reach_provider(&again).await;
    let lost = browser.follow(&callback).await;
    assert!(lost.is_not_found());
    assert!(lost.text.contains("Use another account"));
    // Ada's draft is there when she is back.
    let back = realm.sign_in(&mut browser, "ada", &page.path).await;
    assert!(back.text.contains("value=\"3\""), "{}", back.text);
}

#[tokio::test]
async fn a_fresh_sign_in_can_be_asked_for_only_where_people_sign_in() {
    let realm = Realm::new().await;
    let mut world = World::new().await;
    let params =
        |auth: Value| json!({"prompt": "Name?", "respondent": "ada", "respondentAuth": auth});
    let error = world
        .error("elicitation/create", params(json!({"maxAge": 300})))
        .await;
    assert_eq!(error["data"]["reason"], "no_sign_in", "{error}");
    world.rpc = world.rpc.clone().with_links(realm.site.pages.clone());
    for auth in [
        json!({"maxAge": 0}),
        json!({"acr": "urn:example:mfa"}),
        json!({"maxAge": 60, "acr": "1"}),
    ] {
        world.result("elicitation/create", params(auth)).await;
    }
    for auth in [
        json!({}),
        json!({"maxAge": -1}),
        json!({"maxAge": 1.5}),
        json!({"maxAge": "60"}),
        json!({"maxage": 60}),
        json!({"acr": ""}),
        json!({"acr": "two words"}),
        json!({"maxAge": 99_999_999_999_u64}),
    ] {
        let error = world
            .error("elicitation/create", params(auth.clone()))
            .await;
        assert_eq!(error["data"]["param"], "respondentAuth", "{auth}");
    }
}

#[tokio::test]
async fn the_provider_is_asked_for_one_prompt() {
    let (realm, _, mut browser, page) = asked(auth(Some(0), None)).await;
    realm.site.world.pass(Duration::from_secs(1)).await;
    let again = browser.open(&format!("{}/again", page.path)).await;
    let csrf = again.csrf();
    let path = format!("{}?sign-in", again.path);
    let fields = [("_csrf", &*csrf), ("account", "other")];
    let started = browser.post(&path, &fields).await;
    let prompts = started.location().matches("prompt=").count();
    assert_eq!(prompts, 1, "{}", started.location());
}
