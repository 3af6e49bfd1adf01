//! What somebody else could put in place of a sign-in.

use entreat_testkit::CapturedLog;
use entreat_testkit::provider::{ERROR_TEXT, Forgery, Lie};

use super::*;

/// Signs in while the provider lies; returns the page that the browser ends at.
async fn sign_in_despite(lie: Lie) -> (Realm, Browser, Page) {
    let realm = Realm::new().await;
    realm.provider.sign_in_as("ada", json!({}));
    let mut browser = realm.browser();
    let page = browser.open("/inbox").await;
    let address = browser.start(&page).await;
    realm.provider.lie(lie);
    let callback = browser.at_provider(&address).await;
    let page = browser.follow(&callback).await;
    (realm, browser, page)
}

#[tokio::test]
async fn a_token_that_is_not_as_it_should_be_signs_nobody_in() {
    let mut lies: Vec<Lie> = Forgery::ALL.into_iter().map(Lie::IdToken).collect();
    lies.extend([
        Lie::OtherNonce,
        Lie::NoNonce,
        Lie::ForeignParty,
        Lie::AccessTokenForIdToken,
        Lie::ErrorAtTokenEndpoint,
    ]);
    for lie in lies {
        let (_, browser, page) = sign_in_despite(lie).await;
        assert!(!browser.has_session(), "{lie:?}");
        assert!(page.is_sign_in(), "{lie:?}: {}", page.text);
        assert!(page.text.contains("You were not signed in"), "{lie:?}");
    }
}

#[tokio::test]
async fn a_callback_that_does_not_name_the_issuer_is_refused_before_its_code_is_used() {
    for lie in [
        Lie::OtherIssuerInRedirect,
        Lie::NoIssuerInRedirect,
        Lie::ErrorFromOtherIssuer,
    ] {
        let (realm, browser, page) = sign_in_despite(lie).await;
        assert!(!browser.has_session(), "{lie:?}");
        assert!(page.is_sign_in(), "{lie:?}");
        assert_eq!(realm.provider.requests().tokens, 0, "{lie:?}");
    }
}

#[tokio::test]
async fn nothing_of_an_error_is_shown_or_logged_but_its_code() {
    let (log, _guard) = CapturedLog::of_this_thread(tracing::Level::TRACE);
    for lie in [Lie::ErrorInRedirect, Lie::ErrorAtTokenEndpoint] {
        let (_, _, page) = sign_in_despite(lie).await;
        assert!(page.text.contains("You were not signed in"));
        assert!(!page.text.contains("555-0100"), "{lie:?}");
    }
    let log = log.text();
    assert!(log.contains("access_denied"), "{log}");
    assert!(!log.contains("555-0100"), "{log}");
    assert!(!ERROR_TEXT.is_empty());
}

#[tokio::test]
async fn a_callback_works_once_and_only_in_the_browser_that_began() {
    let realm = Realm::new().await;
    realm.provider.sign_in_as("mallory", json!({}));
    let mut mallory = realm.browser();
    let page = mallory.open("/inbox").await;
    let callback = mallory.reach_provider(&page).await;
    // Alice opens Mallory's callback: with a cookie of her own, and without any.
    for opened_before in [true, false] {
        let mut alice = realm.browser();
        if opened_before {
            alice.open("/inbox").await;
        }
        let page = alice.follow(&callback).await;
        assert!(!alice.has_session());
        assert!(page.is_sign_in());
    }
    assert_eq!(realm.provider.requests().tokens, 0);
    // It still works for Mallory, once.
    let cookies = mallory.cookies.clone();
    mallory.follow(&callback).await;
    assert!(mallory.has_session());
    let mut again = realm.browser();
    again.cookies = cookies;
    assert!(again.follow(&callback).await.is_sign_in());
    assert!(!again.has_session());
    assert_eq!(realm.provider.requests().tokens, 1);
    // Whoever loads the page again while signed in goes on.
    let page = mallory.follow(&callback).await;
    assert_eq!(page.status, StatusCode::OK);
}

#[tokio::test]
async fn a_state_that_is_old_altered_or_of_another_time_is_refused() {
    let realm = Realm::new().await;
    realm.provider.sign_in_as("ada", json!({}));
    let mut browser = realm.browser();
    let page = browser.open("/inbox").await;
    let callback = browser.reach_provider(&page).await;
    let state = between(&callback, "state=", "&");
    let altered = callback.replace(&state, &format!("{}A", &state[..state.len() - 1]));
    let double = format!("{callback}&code=another");
    for callback in [
        altered,
        double,
        callback.replace("state=", "stat="),
        callback.replace("code=", "kode="),
    ] {
        let mut browser = browser.clone();
        assert!(browser.follow(&callback).await.is_sign_in(), "{callback}");
        assert!(!browser.has_session());
    }
    let page = browser.open("/inbox").await;
    let callback = browser.reach_provider(&page).await;
    realm.site.world.pass(Duration::from_secs(601)).await;
    assert!(browser.follow(&callback).await.is_sign_in());
    assert!(!browser.has_session());
    assert_eq!(realm.provider.requests().tokens, 0);
}

#[tokio::test]
async fn another_site_cannot_begin_a_sign_in_or_sign_anybody_out() {
    let realm = Realm::new().await;
    let mut browser = realm.signed_in("ada").await;
    let before = realm.provider.requests();
    for path in ["/inbox?sign-in", "/sign-out"] {
        for fields in [&[][..], &[("_csrf", "guess")]] {
            let page = browser.post(path, fields).await;
            assert_eq!(page.status, StatusCode::FORBIDDEN, "{path}");
        }
        // Without the cookie, as from another site.
        let page = realm.browser().post(path, &[]).await;
        assert_eq!(page.status, StatusCode::FORBIDDEN, "{path}");
    }
    assert_eq!(realm.provider.requests(), before);
    assert_eq!(browser.get("/inbox").await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_sign_in_leads_to_no_other_site() {
    let realm = Realm::new().await;
    realm.provider.sign_in_as("ada", json!({}));
    for path in ["//evil.example/", "/inbox//evil.example", "/e/%0d%0aX:y/z"] {
        let mut browser = realm.browser();
        let mut page = browser.open("/inbox").await;
        page.path = path.to_owned();
        let csrf = page.csrf();
        let started = browser
            .post(&format!("{path}?sign-in"), &[("_csrf", &csrf)])
            .await;
        if started.status != StatusCode::SEE_OTHER {
            continue;
        }
        let callback = browser.at_provider(started.location()).await;
        let done = browser.fetch(Method::GET, &callback, None).await;
        let to = done.location();
        assert!(to.starts_with('/') && !to.starts_with("//"), "{to}");
    }
}

#[tokio::test]
async fn a_session_of_another_browser_is_none() {
    let realm = Realm::new().await;
    let ada = realm.signed_in("ada").await;
    let mut thief = realm.browser();
    thief.open("/inbox").await;
    let session = ada.cookies["entreat-session"].clone();
    thief.cookies.insert("entreat-session".to_owned(), session);
    assert!(thief.get("/inbox").await.is_sign_in());
}

#[tokio::test]
async fn keys_that_change_between_redirect_and_callback_are_fetched_again() {
    let realm = Realm::new().await;
    realm.signed_in("ada").await;
    realm.provider.sign_in_as("bob", json!({}));
    let mut browser = realm.browser();
    let page = browser.open("/inbox").await;
    let callback = browser.reach_provider(&page).await;
    realm.site.world.pass(Duration::from_secs(31)).await;
    realm.provider.rotate_key();
    let page = browser.follow(&callback).await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
}

#[tokio::test]
async fn while_the_provider_is_down_sessions_go_on_and_sign_ins_are_put_off() {
    let realm = Realm::new().await;
    let mut ada = realm.signed_in("ada").await;
    let mut bob = realm.browser();
    let page = bob.open("/inbox").await;
    let callback = bob.reach_provider(&page).await;
    realm.provider.lie(Lie::Down);
    let page = bob.follow(&callback).await;
    assert!(
        page.text.contains("does not work at the moment"),
        "{}",
        page.text
    );
    assert!(!bob.has_session());
    assert_eq!(ada.get("/inbox").await.status, StatusCode::OK);
}
