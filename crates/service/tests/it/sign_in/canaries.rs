//! What nobody else may read: codes, states, tokens, cookies, and who people are.

use entreat_testkit::CapturedLog;
use metrics_util::debugging::DebuggingRecorder;

use super::*;

/// Headers and body of every answer on a person's way through sign-in, page, board and sign-out.
struct Seen(Vec<Page>);

impl Seen {
    /// Where no canary may be: what a browser keeps, and tells others.
    fn check(&self, canaries: &[&str]) {
        for page in &self.0 {
            let header = |name: &str| page.headers.get(name).map(|it| it.to_str().unwrap());
            let path = &page.path;
            assert_eq!(header("referrer-policy"), Some("no-referrer"), "{path}");
            assert_eq!(header("cache-control"), Some("no-store"), "{path}");
            // An address that stays in the history is one without a redirect.
            let stays = page.status != StatusCode::SEE_OTHER;
            for canary in canaries {
                let is_kept = stays && page.path.contains(canary);
                assert!(!is_kept, "{canary} in {path}");
                assert!(!page.text.contains(canary), "{canary} at {path}");
                let is_own = header("location").is_some_and(|to| to.starts_with('/'));
                if is_own {
                    let to = page.location();
                    assert!(!to.contains(canary), "{canary} in {to}");
                }
            }
        }
    }
}

#[tokio::test]
async fn no_code_state_token_cookie_or_name_is_in_logs_traces_metrics_referrers_or_history() {
    let (log, _guard) = CapturedLog::with_spans_of_this_thread();
    let recorder = DebuggingRecorder::new();
    let metrics = recorder.snapshotter();
    let _local = metrics::set_default_local_recorder(&recorder);
    let realm = Realm::new().await;
    let claims = json!({"name": "Canary Name", "email": "canary@example.com",
        "email_verified": true, "groups": ["canary-group"], "roles": ["operator"]});
    realm.provider.sign_in_as("canary-subject", claims);
    let id = realm.ask("canary-subject").await;

    let mut browser = realm.browser();
    let mut seen = Vec::new();
    let first = browser.get(&realm.path(id)).await;
    let callback = browser.reach_provider(&first).await;
    seen.push(first);
    // Twice, as by a page that is loaded again.
    for _ in 0..2 {
        seen.push(browser.fetch(Method::GET, &callback, None).await);
    }
    let session = browser.cookies["entreat-session"].clone();
    let page = browser.open(&realm.path(id)).await;
    let csrf = page.csrf();
    seen.push(browser.post(&page.path, &answers(&csrf, "save")).await);
    seen.push(browser.post(&page.path, &answers(&csrf, "send")).await);
    let other = realm.ask("canary-subject").await;
    let path = format!("/board/q/{other}");
    let board = browser.get(&path).await;
    let extend = [("_csrf", &*board.csrf()), ("_do", "extend")];
    seen.push(browser.post(&path, &extend).await);
    let inbox = browser.get("/inbox").await;
    let logout = realm
        .provider
        .logout_claims(CLIENT, None, Some("canary-subject"));
    let logout = realm.provider.sign_as("logout+jwt", &logout);
    let url = format!("{}/sign-in/back-channel-logout", browser.site);
    realm.provider.send_logout(&url, &logout).await;
    seen.push(browser.post("/sign-out", &[("_csrf", &inbox.csrf())]).await);

    let url = Url::parse(&callback).unwrap();
    let parameter = |name: &str| {
        let found = url.query_pairs().find(|(other, _)| other == name);
        found.unwrap().1.into_owned()
    };
    let (code, state) = (parameter("code"), parameter("state"));
    let secrets = [
        CLIENT_SECRET,
        &code,
        &state,
        &session,
        &browser.cookies["entreat"],
        &logout,
    ];
    Seen(seen).check(&secrets);

    let log = log.text();
    let metrics = format!("{:?}", metrics.snapshot().into_vec());
    assert!(metrics.contains("elicitation_completed_total"), "{metrics}");
    let persons = ["Canary", "canary@", "canary-group", "typed-secret"];
    for canary in secrets.iter().chain(&persons) {
        let place = log.find(canary);
        let around = place.map(|at| &log[at.saturating_sub(200)..at + 20]);
        assert_eq!(around, None, "{canary}");
        assert!(!metrics.contains(canary), "{canary}");
    }
    assert!(!metrics.contains("canary-subject"), "{metrics}");
    // Only what an operator changes is logged with who did.
    let lines = log.lines().filter(|line| line.contains("canary-subject"));
    for line in lines {
        assert!(line.contains("an operator changed a question"), "{line}");
    }
}
