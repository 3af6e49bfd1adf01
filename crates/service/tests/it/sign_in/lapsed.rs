//! Forms of people who are signed out, or signed in as somebody else, before they send them.

use entreat_testkit::{Call, FaultyStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;

async fn draft(realm: &Realm, id: ElicitationId) -> Value {
    let elicitation = realm.site.world.engine.elicitation(id);
    elicitation.read_draft().await.unwrap().into()
}

#[tokio::test]
async fn a_form_that_is_sent_after_its_session_ended_is_saved_and_shown_to_its_author() {
    let realm = Realm::new().await;
    let id = realm.ask("ada").await;
    let mut browser = realm.browser();
    let page = realm.sign_in(&mut browser, "ada", &realm.path(id)).await;
    browser.cookies.remove("entreat-session");
    let sent = browser
        .post(&page.path, &answers(&page.csrf(), "send"))
        .await;
    assert!(sent.is_sign_in());
    assert!(!sent.text.contains("staging"), "{}", sent.text);
    assert!(realm.is_live(id).await);
    assert_eq!(draft(&realm, id).await["target"], "staging");
    let back = realm.sign_in(&mut browser, "ada", &page.path).await;
    assert_eq!(back.status, StatusCode::OK);
    assert!(back.text.contains("value=\"3\""), "{}", back.text);
    let done = browser
        .post(&page.path, &answers(&back.csrf(), "send"))
        .await;
    assert_eq!(done.status, StatusCode::SEE_OTHER);
    assert!(!realm.is_live(id).await);
}

#[tokio::test]
async fn bob_becomes_alice_and_bob_again_and_nothing_is_lost_or_seen() {
    let realm = Realm::new().await;
    let id = realm.ask("bob").await;
    let mut browser = realm.browser();
    let page = realm.sign_in(&mut browser, "bob", &realm.path(id)).await;
    realm.sign_in_elsewhere(&mut browser, "alice").await;
    // Bob's form arrives in Alice's session.
    let sent = browser
        .post(&page.path, &answers(&page.csrf(), "send"))
        .await;
    assert!(sent.is_not_found(), "{}", sent.text);
    assert!(!sent.text.contains("staging"));
    assert!(realm.is_live(id).await);
    // Neither in the page nor in its files is there anything for her.
    for path in [
        page.path.clone(),
        format!("{}/review", page.path),
        format!("{}/state", page.path),
        format!("{}/again", page.path),
    ] {
        assert!(browser.get(&path).await.is_not_found(), "{path}");
    }
    realm.sign_in_elsewhere(&mut browser, "bob").await;
    let back = browser.open(&page.path).await;
    assert!(back.text.contains("value=\"3\""), "{}", back.text);
    assert_eq!(draft(&realm, id).await["token"], "typed-secret");
}

#[tokio::test]
async fn the_script_is_told_that_what_it_saves_is_of_somebody_who_is_signed_out() {
    let realm = Realm::new().await;
    let id = realm.ask("ada").await;
    let mut browser = realm.browser();
    let page = realm.sign_in(&mut browser, "ada", &realm.path(id)).await;
    browser.cookies.remove("entreat-session");
    let path = format!("{}/draft", page.path);
    let saved = browser.post(&path, &answers(&page.csrf(), "")).await;
    assert_eq!(saved.status, StatusCode::FORBIDDEN);
    let told: Value = serde_json::from_str(&saved.text).unwrap();
    assert_eq!(told["live"], true);
    assert!(told["complaint"].as_str().unwrap().contains("signed out"));
    assert_eq!(draft(&realm, id).await["replicas"], "3");
    // A form that was not rendered for this browser is not saved.
    let forged = browser.post(&path, &answers("forged", "")).await;
    assert!(forged.is_sign_in());
}

#[tokio::test]
async fn people_of_one_group_do_not_see_what_another_one_types() {
    let realm = Realm::new().await;
    let id = realm.ask("group:deployers").await;
    let mut tabs = Vec::new();
    for subject in ["ada", "bob"] {
        let claims = json!({"name": subject, "groups": ["deployers"]});
        realm.provider.sign_in_as(subject, claims);
        let mut browser = realm.browser();
        let page = browser.open(&realm.path(id)).await;
        let callback = browser.reach_provider(&page).await;
        let page = browser.follow(&callback).await;
        assert_eq!(page.status, StatusCode::OK);
        tabs.push((browser, page));
    }
    let [(ada, adas), (bob, bobs)] = &mut tabs[..] else {
        unreachable!()
    };
    ada.post(&adas.path, &answers(&adas.csrf(), "save")).await;
    assert!(ada.get(&adas.path).await.text.contains("value=\"3\""));
    let seen = bob.get(&bobs.path).await;
    assert_eq!(seen.status, StatusCode::OK);
    assert!(!seen.text.contains("value=\"3\""), "{}", seen.text);
    assert!(!seen.text.contains("already entered"), "{}", seen.text);
    // Whoever answers first wins, with nothing of the other's.
    let fields = [
        ("_csrf", &*bobs.csrf()),
        ("_f", "0"),
        ("f.target", "production"),
        ("_f", "1"),
        ("f.replicas", ""),
        ("_f", "2"),
        ("f.token", ""),
        ("_do", "send"),
    ];
    bob.post(&bobs.path, &fields).await;
    let asker = realm.site.world.session.asker();
    let settled = asker.elicitation(id).status().await.unwrap();
    assert_eq!(settled.result(), Some(json!({"target": "production"})));
}

#[tokio::test]
async fn an_answer_that_arrives_while_the_question_becomes_somebody_elses_is_none() {
    let store = Arc::new(FaultyStore::new(MemoryStore::new()));
    let realm = Realm::on(store.clone()).await;
    let id = realm.ask("ada").await;
    let mut browser = realm.browser();
    let page = realm.sign_in(&mut browser, "ada", &realm.path(id)).await;
    let cookies = browser.cookies.iter();
    let cookies: Vec<String> = cookies.map(|(name, it)| format!("{name}={it}")).collect();
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.extend_pairs(answers(&page.csrf(), "send"));
    let form = form.finish();
    let address = realm.site.server.address;
    let head = format!(
        "POST {} HTTP/1.1\r\nhost: {address}\r\ncookie: {}\r\norigin: null\r\n\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n",
        page.path,
        cookies.join("; "),
        form.len()
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    let before = store.calls(Call::Load);
    stream.write_all(head.as_bytes()).await.unwrap();
    // Until she was found to be the one who may answer.
    let known = async {
        while store.calls(Call::Load) == before {
            tokio::task::yield_now().await;
        }
    };
    crate::wire::soon(known).await;
    let engine = &realm.site.world.engine;
    engine.elicitation(id).reassign("bob").await.unwrap();
    stream.write_all(form.as_bytes()).await.unwrap();
    let mut status = [0; 12];
    let read = stream.read_exact(&mut status);
    crate::wire::soon(read).await.unwrap();
    assert_eq!(&status, b"HTTP/1.1 404");
    assert!(realm.is_live(id).await);
    assert_eq!(draft(&realm, id).await, json!({}));
}

impl Realm {
    /// Signs a person in at another tab.
    async fn sign_in_elsewhere(&self, browser: &mut Browser, subject: &str) {
        self.provider.sign_in_as(subject, json!({"name": subject}));
        let mut tab = browser.clone();
        tab.cookies.remove("entreat-session");
        let page = tab.open("/inbox").await;
        let callback = tab.reach_provider(&page).await;
        tab.follow(&callback).await;
        browser.cookies = tab.cookies;
    }
}
