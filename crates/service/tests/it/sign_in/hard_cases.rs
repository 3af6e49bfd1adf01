//! The hardest cases of signing in, at the pages, by number.
//!
//! | case | tests, here unless a file is named |
//! |---|---|
//! | 1 | `the_link_of_somebody_else_and_one_that_nobody_has_are_one_page_and_cost_the_same` in `table.rs`, `bob_becomes_alice_and_bob_again_and_nothing_is_lost_or_seen` in `lapsed.rs` |
//! | 2 | `a_callback_works_once_and_only_in_the_browser_that_began` in `attacks.rs`, `any_node_takes_what_another_began` in `pages.rs` |
//! | 3 | `case_3_…` |
//! | 4 | `case_4_…`; a thousand unknown keys at a resource: `crates/wire/tests/it/issuer.rs` |
//! | 5 | `a_token_that_is_not_as_it_should_be_signs_nobody_in` in `attacks.rs`; all kinds of tokens: `crates/wire/tests/it/issuer.rs` |
//! | 6 | `the_page_of_a_question_is_for_the_tokens_person_or_there_is_none` in `crates/entreat/tests/it/tokens.rs` |
//! | 7 | `case_7_…`; a renewed token: `crates/entreat/tests/it/tokens.rs` and `resource_routes.rs` |
//! | 8 | `case_8_…`, `a_logout_at_one_node_ends_the_open_page_of_another` in `sign_outs.rs`, and `assertions.rs` |

use entreat_service::identity::HeaderIdentity;
use entreat_testkit::CapturedLog;
use entreat_testkit::provider::{ERROR_TEXT, Lie};
use url::form_urlencoded;

use super::*;

/// The parameters of an address.
fn parameters(address: &str) -> Vec<(String, String)> {
    let url = Url::parse(address).unwrap();
    url.query_pairs().into_owned().collect()
}

/// A callback of the site with these parameters.
fn callback(browser: &Browser, parameters: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(parameters);
    format!("{}/sign-in/callback?{}", browser.site, query.finish())
}

#[tokio::test]
async fn case_3_what_another_issuer_sends_back_is_refused_errors_included() {
    let (log, _guard) = CapturedLog::of_this_thread(tracing::Level::TRACE);
    let realm = Realm::new().await;
    realm.provider.sign_in_as("ada", json!({"name": "ada"}));
    let mallory = provider_in(&realm.site.world).await;
    mallory.sign_in_as("ada", json!({}));
    let mut browser = realm.browser();
    let page = browser.open("/inbox").await;
    let address = browser.start(&page).await;
    let begun = parameters(&address);
    let find = |name: &str| &*begun.iter().find(|(other, _)| other == name).unwrap().1;
    let state = find("state");

    // The attempt is continued at Mallory's, with the same state.
    let there = address.replace(&realm.provider.url(), &mallory.url());
    let mixed_up = browser.at_provider(&there).await;
    let honest = realm.provider.url();
    let (slash, upper) = (format!("{honest}/"), honest.to_uppercase());
    let foreign = mallory.url();
    let mut callbacks = vec![mixed_up];
    for iss in [&*slash, &upper, &foreign, "", "null"] {
        for answer in [("code", "code-1"), ("error", "access_denied")] {
            let all = [
                answer,
                ("state", state),
                ("iss", iss),
                ("error_description", ERROR_TEXT),
            ];
            callbacks.push(callback(&browser, &all));
        }
    }
    // Without `iss`, although the metadata promise it; and with two of them.
    for answer in [("code", "code-1"), ("error", "access_denied")] {
        let without = [answer, ("state", state), ("error_description", ERROR_TEXT)];
        callbacks.push(callback(&browser, &without));
        let twice = [
            answer,
            ("state", state),
            ("iss", &honest),
            ("iss", &foreign),
        ];
        callbacks.push(callback(&browser, &twice));
    }
    for callback in &callbacks {
        let page = browser.follow(callback).await;
        assert!(!browser.has_session(), "{callback}");
        assert!(page.is_sign_in(), "{callback}");
        assert!(page.text.contains("You were not signed in"), "{callback}");
        assert!(!page.text.contains("555-0100"), "{callback}");
    }
    // No code went anywhere, and none of this used the state up.
    assert_eq!(realm.provider.requests().tokens, 0);
    assert_eq!(mallory.requests().tokens, 0);
    let own = browser.at_provider(&address).await;
    assert_eq!(browser.follow(&own).await.status, StatusCode::OK);

    // An error of the right issuer: the page has words of its own.
    let mut browser = realm.browser();
    let page = browser.open("/inbox").await;
    let address = browser.start(&page).await;
    realm.provider.lie(Lie::ErrorInRedirect);
    let refused = browser.at_provider(&address).await;
    assert!(refused.contains("error_description="), "{refused}");
    let page = browser.follow(&refused).await;
    assert!(page.text.contains("You were not signed in"));
    assert!(!page.text.contains("555-0100"), "{}", page.text);
    assert!(!log.text().contains("555-0100"));
}

#[tokio::test]
async fn case_4_the_issuer_is_down_for_an_hour() {
    let realm = Realm::new().await;
    let id = realm.ask("ada").await;
    let mut ada = realm.browser();
    let page = realm.sign_in(&mut ada, "ada", &realm.path(id)).await;
    let mut bob = realm.signed_in("bob").await;
    realm.provider.sign_in_as("carol", json!({}));
    let mut carol = realm.browser();
    let start = carol.open("/inbox").await;
    let callback = carol.reach_provider(&start).await;
    realm.provider.lie(Lie::Down);
    for _ in 0..6 {
        realm.site.world.pass(Duration::from_secs(600)).await;
        let seen = ada.get(&page.path).await;
        assert_eq!(seen.status, StatusCode::OK);
    }
    // Whoever is signed in can answer.
    let sent = ada.post(&page.path, &answers(&page.csrf(), "send")).await;
    assert_eq!(sent.location(), page.path);
    assert!(!realm.is_live(id).await);
    // The keys that are known still check what the issuer signs.
    let claims = realm.provider.logout_claims(CLIENT, None, Some("bob"));
    let token = realm.provider.sign_as("logout+jwt", &claims);
    let url = format!("{}/sign-in/back-channel-logout", bob.site);
    assert_eq!(realm.provider.send_logout(&url, &token).await, 200);
    assert!(bob.get("/inbox").await.is_sign_in());
    // Whoever comes back from a sign-in learns that it is not their fault.
    let late = carol.follow(&callback).await;
    assert!(late.is_sign_in() && !carol.has_session());
    let start = carol.open("/inbox").await;
    realm.provider.be_honest();
    let callback = carol.reach_provider(&start).await;
    realm.provider.lie(Lie::Down);
    let late = carol.follow(&callback).await;
    assert!(
        late.text.contains("does not work at the moment"),
        "{}",
        late.text
    );
    assert!(!carol.has_session());
    realm.provider.be_honest();
    let callback = carol.reach_provider(&late).await;
    assert_eq!(carol.follow(&callback).await.status, StatusCode::OK);
}

#[tokio::test]
async fn case_4_an_issuer_that_was_never_reached_puts_sign_ins_off() {
    let realm = Realm::new().await;
    realm.provider.sign_in_as("ada", json!({}));
    realm.provider.lie(Lie::Down);
    let mut browser = realm.browser();
    let page = browser.open("/inbox").await;
    assert!(page.is_sign_in());
    let started = browser
        .post("/inbox?sign-in", &[("_csrf", &page.csrf())])
        .await;
    assert_eq!(started.location(), "/inbox?sign-in-later");
    let page = browser.open(started.location()).await;
    assert!(page.text.contains("does not work at the moment"));
    realm.provider.be_honest();
    realm.site.world.pass(Duration::from_secs(5)).await;
    let callback = browser.reach_provider(&page).await;
    assert_eq!(browser.follow(&callback).await.status, StatusCode::OK);
}

#[tokio::test]
async fn case_4_a_key_set_of_50_mb_is_cut_off_and_the_next_one_counts() {
    for lie in [Lie::HugeKeySet, Lie::EmptyKeySet, Lie::RedirectedKeySet] {
        let realm = Realm::new().await;
        realm.provider.sign_in_as("ada", json!({}));
        let mut browser = realm.browser();
        let page = browser.open("/inbox").await;
        let callback = browser.reach_provider(&page).await;
        realm.provider.lie(lie);
        let page = browser.follow(&callback).await;
        assert!(!browser.has_session(), "{lie:?}");
        assert!(page.text.contains("does not work at the moment"), "{lie:?}");
        realm.provider.be_honest();
        realm.site.world.pass(Duration::from_secs(5)).await;
        let callback = browser.reach_provider(&page).await;
        assert_eq!(browser.follow(&callback).await.status, StatusCode::OK);
    }
}

#[tokio::test]
async fn case_7_a_session_ends_while_a_form_is_half_typed() {
    let session = Duration::from_secs(600);
    let realm = Realm::with(|settings| settings.session = session).await;
    let id = realm.ask("ada").await;
    let mut browser = realm.browser();
    let page = realm.sign_in(&mut browser, "ada", &realm.path(id)).await;
    realm.site.world.pass(session).await;
    // What the script saves on its own, half of the form.
    let csrf = page.csrf();
    let half = [("_csrf", &*csrf), ("_f", "1"), ("f.replicas", "3")];
    let draft = format!("{}/draft", page.path);
    let saved = browser.post(&draft, &half).await;
    assert_eq!(saved.status, StatusCode::FORBIDDEN);
    // Bob sits down at the same browser.
    let other = realm.sign_in(&mut browser, "bob", &page.path).await;
    assert!(other.is_not_found(), "{}", other.text);
    assert!(!other.text.contains("value=\"3\""));
    let own = format!("{}/review", page.path);
    assert!(browser.get(&own).await.is_not_found());
    // Ada goes on where she was.
    let back = realm.sign_in(&mut browser, "ada", &page.path).await;
    assert_eq!(back.status, StatusCode::OK);
    assert!(back.text.contains("value=\"3\""), "{}", back.text);
    assert!(realm.is_live(id).await);
}

#[tokio::test]
async fn case_8_a_proxy_that_adds_a_second_name_names_nobody() {
    let proxies = vec!["127.0.0.1/32".parse().unwrap()];
    let settings = PageSettings {
        identity: Identity::Header(HeaderIdentity::new("x-user", proxies).unwrap()),
        ..PageSettings::default()
    };
    let site = Site::of(World::new().await, None, settings).await;
    let form = Form::from_value(&deploy()).unwrap();
    let asker = site.world.session.asker();
    let id = asker.ask(Ask::form(form).respondent("ada")).await.unwrap();
    let path = path_of(&site.pages.link(id.id()));
    for (names, status) in [
        (&["ada"][..], StatusCode::OK),
        (&["mallory", "ada"], StatusCode::FORBIDDEN),
        (&["ada", "ada"], StatusCode::FORBIDDEN),
        (&["ada", ""], StatusCode::FORBIDDEN),
        // Joined to one, it is the name of nobody.
        (&["mallory, ada"], StatusCode::NOT_FOUND),
        (&[""], StatusCode::FORBIDDEN),
        (&[], StatusCode::FORBIDDEN),
    ] {
        let headers: Vec<_> = names.iter().map(|name| ("x-user", *name)).collect();
        let page = site.get(&path, &headers).await;
        assert_eq!(page.status, status, "{names:?}");
        let is_shown = text(&page).contains("Deploy");
        assert_eq!(is_shown, status == StatusCode::OK, "{names:?}");
    }
}
