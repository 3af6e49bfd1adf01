//! The end of sessions.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;

const LOGOUT: &str = "/sign-in/back-channel-logout";

#[tokio::test]
async fn a_person_signs_out_here_and_at_the_provider() {
    let realm = Realm::new().await;
    let mut browser = realm.signed_in("ada").await;
    let copied = browser.clone();
    let inbox = browser.open("/inbox").await;
    let csrf = inbox.csrf();
    let page = browser.post("/sign-out", &[("_csrf", &csrf)]).await;
    assert!(page.text.contains("You are signed out"));
    assert!(!browser.has_session());
    let provider = between(&page.text, "content=\"0; url=", "\"").replace("&amp;", "&");
    let provider = provider.replace("&#38;", "&");
    assert!(provider.starts_with(&format!("{}/logout?", realm.provider.url())));
    let back = browser.at_provider(&provider).await;
    let page = browser.fetch(Method::GET, &back, None).await;
    assert!(page.text.contains("You are signed out"));
    assert_eq!(realm.provider.requests().logouts, 1);
    // A copy of the cookie is worth nothing any more.
    let mut thief = copied;
    assert!(thief.get("/inbox").await.is_sign_in());
    // Whoever signs in again has a session of their own.
    realm.sign_in(&mut browser, "ada", "/inbox").await;
    assert_eq!(browser.get("/inbox").await.status, StatusCode::OK);
}

#[tokio::test]
async fn the_provider_ends_one_session_or_all_of_a_person() {
    let realm = Realm::new().await;
    let mut first = realm.signed_in("ada").await;
    let session = realm.provider.session();
    let mut second = realm.signed_in("ada").await;
    let mut other = realm.signed_in("bob").await;
    let url = format!("{}{LOGOUT}", first.site);
    let send = async |session: Option<&str>, subject: Option<&str>| {
        let claims = realm.provider.logout_claims(CLIENT, session, subject);
        let token = realm.provider.sign_as("logout+jwt", &claims);
        realm.provider.send_logout(&url, &token).await
    };
    assert_eq!(send(session.as_deref(), None).await, 200);
    assert!(first.get("/inbox").await.is_sign_in());
    assert_eq!(second.get("/inbox").await.status, StatusCode::OK);
    assert_eq!(send(None, Some("ada")).await, 200);
    assert!(second.get("/inbox").await.is_sign_in());
    assert_eq!(other.get("/inbox").await.status, StatusCode::OK);
    // Later sign-ins count, and can be ended as well.
    realm.site.world.pass(Duration::from_secs(2)).await;
    let mut third = realm.signed_in("ada").await;
    assert_eq!(third.get("/inbox").await.status, StatusCode::OK);
    realm.site.world.pass(Duration::from_secs(2)).await;
    assert_eq!(send(None, Some("ada")).await, 200);
    assert!(third.get("/inbox").await.is_sign_in());
}

#[tokio::test]
async fn what_is_no_logout_token_ends_no_session() {
    let realm = Realm::new().await;
    let mut browser = realm.signed_in("ada").await;
    let url = format!("{}{LOGOUT}", browser.site);
    let of = |client: &str| realm.provider.logout_claims(client, None, Some("ada"));
    let mut with_nonce = of(CLIENT);
    with_nonce["nonce"] = json!("n");
    let mut without_event = of(CLIENT);
    without_event.as_object_mut().unwrap().remove("events");
    for claims in [
        of("somebody-else"),
        with_nonce,
        without_event,
        realm.provider.id_claims("ada", CLIENT, "n"),
    ] {
        let token = realm.provider.sign(&claims);
        assert_eq!(realm.provider.send_logout(&url, &token).await, 400);
    }
    for token in ["", "a.b.c"] {
        assert_eq!(realm.provider.send_logout(&url, token).await, 400);
    }
    assert_eq!(browser.get("/inbox").await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_logout_at_one_node_ends_the_open_page_of_another() {
    let (realm, other) = Realm::with_two_nodes().await;
    let id = realm.ask("ada").await;
    let mut browser = realm.browser();
    let page = realm.sign_in(&mut browser, "ada", &realm.path(id)).await;
    // The other node hears of the logout.
    let claims = realm.provider.logout_claims(CLIENT, None, Some("ada"));
    let token = realm.provider.sign_as("logout+jwt", &claims);
    let there = format!("http://{}{LOGOUT}", other.server.address);
    assert_eq!(realm.provider.send_logout(&there, &token).await, 200);
    // This node asked the store a moment ago, and shows pages for some seconds.
    assert_eq!(browser.get(&page.path).await.status, StatusCode::OK);
    // Nothing is sent, though.
    let sent = browser
        .post(&page.path, &answers(&page.csrf(), "send"))
        .await;
    assert!(sent.is_sign_in());
    assert!(realm.is_live(id).await);
    realm.site.world.pass(Duration::from_secs(11)).await;
    assert!(browser.get(&page.path).await.is_sign_in());
}

/// Begins to send a body of this length to the address for logouts, with these bytes of it; returns
/// the status line of the response.
async fn send_begun(site: &Site, length: usize, body: &[u8]) -> String {
    let mut stream = TcpStream::connect(site.server.address).await.unwrap();
    let head = format!(
        "POST {LOGOUT} HTTP/1.1\r\nhost: {}\r\ncontent-length: {length}\r\n\
         content-type: application/x-www-form-urlencoded\r\n\r\n",
        site.server.address
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    // The service may have answered and closed before all of it is sent.
    let _ = stream.write_all(body).await;
    let mut response = [0; 12];
    let read = stream.read_exact(&mut response);
    crate::wire::soon(read).await.unwrap();
    String::from_utf8(response.to_vec()).unwrap()
}

#[tokio::test]
async fn a_logout_whose_body_is_too_long_or_never_ends_is_cut_off() {
    let short = |settings: &mut PageSettings| {
        settings.body_timeout = Duration::from_millis(50);
    };
    let realm = Realm::of(World::new().await, |_| {}, short).await;
    let mut ada = realm.signed_in("ada").await;
    let claims = realm.provider.logout_claims(CLIENT, None, Some("ada"));
    let token = realm.provider.sign_as("logout+jwt", &claims);
    let good = format!("logout_token={token}");

    // A body that never ends, even if what is there would do.
    let never = send_begun(&realm.site, good.len() + 1, good.as_bytes()).await;
    assert_eq!(never, "HTTP/1.1 400");
    // One that is too long, whether it all arrives or is only announced.
    let long = format!("{good}&padding={}", "x".repeat(64 << 10));
    let sent = send_begun(&realm.site, long.len(), long.as_bytes()).await;
    assert_eq!(sent, "HTTP/1.1 400");
    let announced = send_begun(&realm.site, 1 << 30, good.as_bytes()).await;
    assert_eq!(announced, "HTTP/1.1 400");
    assert_eq!(ada.get("/inbox").await.status, StatusCode::OK);
    // The same token in time.
    let sent = send_begun(&realm.site, good.len(), good.as_bytes()).await;
    assert_eq!(sent, "HTTP/1.1 200");
    assert!(ada.get("/inbox").await.is_sign_in());
}
