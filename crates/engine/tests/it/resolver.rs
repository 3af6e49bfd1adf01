//! The guard against hostile resolvers.

use std::error::Error as _;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use entreat_core::UnixTime;
use entreat_core::url_guard::Policy;
use entreat_engine::{ResolveError, Unresolved, UrlError, VettedUrl, resolve_and_check};
use entreat_testkit::{CapturedLog, ScriptedResolver, VirtualClock};

const PUBLIC: &str = "93.184.215.14";
const PUBLIC_V6: &str = "2606:2800:21f:cb07:6820:80da:af6b:8b2c";

async fn refuse(resolver: &ScriptedResolver, url: &str) -> Result<VettedUrl, UrlError> {
    resolve_and_check(resolver, url, &Policy::web(), Unresolved::Refuse).await
}

async fn accept(resolver: &ScriptedResolver, url: &str) -> Result<VettedUrl, UrlError> {
    resolve_and_check(resolver, url, &Policy::web(), Unresolved::Accept).await
}

fn sockets(cleared: &VettedUrl) -> Vec<String> {
    cleared
        .socket_addrs()
        .map(|socket: SocketAddr| socket.to_string())
        .collect()
}

fn failed() -> ResolveError {
    ResolveError::Failed {
        source: Arc::new(io::Error::other("no route to the name server")),
    }
}

#[tokio::test]
async fn a_host_that_turns_private_is_still_reached_where_it_was_judged() {
    let resolver = ScriptedResolver::new()
        .answers("rebind.example.com", &[PUBLIC])
        .answers("rebind.example.com", &["127.0.0.1"]);
    let url = "https://rebind.example.com:8443/hook?key=1";
    let cleared = refuse(&resolver, url).await.unwrap();
    assert_eq!(sockets(&cleared), [format!("{PUBLIC}:8443")]);
    assert_eq!(sockets(&cleared), [format!("{PUBLIC}:8443")]);
    assert_eq!((cleared.url(), cleared.host()), (url, "rebind.example.com"));
    assert_eq!(resolver.all_lookups(), 1);

    let error = refuse(&resolver, url).await.unwrap_err();
    assert_eq!((error.code(), resolver.all_lookups()), ("dns_loopback", 2));
}

#[tokio::test]
async fn every_address_has_to_pass() {
    for (answer, expected) in [
        (&[PUBLIC, PUBLIC_V6][..], "ok"),
        (&[PUBLIC, "10.0.0.5"], "dns_private"),
        (&["10.0.0.5", PUBLIC], "dns_private"),
        (&[PUBLIC, PUBLIC_V6, "::1"], "dns_loopback"),
        (&["169.254.169.254"], "dns_private"),
        (&["::ffff:10.0.0.5"], "dns_private"),
        (&["::ffff:127.0.0.1"], "dns_loopback"),
        (&["64:ff9b::a00:5"], "dns_private"),
        (&["2002:a00:5::1"], "dns_private"),
        (&["fd00::5"], "dns_private"),
        (&["0.0.0.0"], "dns_loopback"),
    ] {
        let resolver = ScriptedResolver::new().answers("example.com", answer);
        for outcome in [
            refuse(&resolver, "https://example.com/").await,
            accept(&resolver, "https://example.com/").await,
        ] {
            match outcome {
                Ok(cleared) => {
                    assert_eq!(expected, "ok", "{answer:?}");
                    assert_eq!(cleared.addresses().len(), answer.len());
                }
                Err(error) => assert_eq!(error.code(), expected, "{answer:?}"),
            }
        }
        assert_eq!(resolver.all_lookups(), 2);
    }
}

#[tokio::test]
async fn a_name_without_addresses_passes_where_nobody_connects() {
    let resolver = ScriptedResolver::new()
        .answers("empty.example.com", &[])
        .fails("down.example.com", failed())
        .fails(
            "slow.example.com",
            ResolveError::TimedOut {
                after: Duration::from_secs(3),
            },
        );
    for (host, refused) in [
        ("empty.example.com", "dns_empty"),
        ("unknown.example.com", "dns_empty"),
        ("down.example.com", "unresolved"),
        ("slow.example.com", "unresolved"),
    ] {
        let url = format!("https://{host}/");
        let cleared = accept(&resolver, &url).await.unwrap();
        assert_eq!((cleared.host(), cleared.port()), (host, Some(443)));
        assert_eq!(sockets(&cleared), [""; 0], "{host}");
        let error = refuse(&resolver, &url).await.unwrap_err();
        assert_eq!((error.code(), error.host()), (refused, Some(host)));
    }
    let error = refuse(&resolver, "https://down.example.com/")
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the host name down.example.com cannot be resolved"
    );
    let cause = error.source().unwrap();
    assert_eq!(cause.to_string(), "the resolver failed");
    assert_eq!(
        cause.source().unwrap().to_string(),
        "no route to the name server"
    );
}

#[tokio::test]
async fn what_the_guard_blocks_is_never_looked_up() {
    let resolver = ScriptedResolver::new();
    for (url, code) in [
        ("https://user@example.com/", "userinfo"),
        ("ftp://example.com/", "scheme"),
        ("https://example.com:25/", "port"),
        ("https://metadata.goog./", "metadata_name"),
        ("https://printer/", "single_label"),
        ("https://2130706433/", "loopback"),
        ("https://[::ffff:10.0.0.5]/", "reserved_address"),
    ] {
        assert_eq!(
            accept(&resolver, url).await.unwrap_err().code(),
            code,
            "{url}"
        );
    }
    assert_eq!(resolver.all_lookups(), 0);
}

#[tokio::test]
async fn an_address_is_not_looked_up() {
    let resolver = ScriptedResolver::new();
    let cleared = refuse(&resolver, "http://0x5d.0xb8d70e/").await.unwrap();
    assert_eq!(sockets(&cleared), ["93.184.215.14:80"]);
    let cleared = refuse(&resolver, "https://[2606:4700::1111]:444/")
        .await
        .unwrap();
    assert_eq!(sockets(&cleared), ["[2606:4700::1111]:444"]);
    assert_eq!(cleared.host(), "[2606:4700::1111]");
    assert_eq!(resolver.all_lookups(), 0);
}

#[tokio::test]
async fn names_are_asked_for_in_one_spelling() {
    let resolver = ScriptedResolver::new()
        .answers("example.com", &[PUBLIC])
        .answers("xn--r8jz45g.jp", &[PUBLIC]);
    for url in [
        "https://EXAMPLE.com./x",
        "https://example.com.",
        "https://例え.jp/",
    ] {
        let cleared = refuse(&resolver, url).await.unwrap();
        assert_eq!(sockets(&cleared), [format!("{PUBLIC}:443")], "{url}");
        assert_eq!(cleared.url(), url);
    }
    assert_eq!(resolver.lookups("example.com"), 2);
}

#[tokio::test]
async fn an_open_policy_lets_local_names_through_to_local_addresses() {
    let resolver = ScriptedResolver::new()
        .answers("nas.lan", &["192.168.1.9"])
        .answers("localhost", &["127.0.0.1", "::1"]);
    let open = Policy::web().block_private(false).block_localhost(false);
    for (url, count) in [("http://nas.lan/", 1), ("http://localhost:3000/", 2)] {
        let cleared = resolve_and_check(&resolver, url, &open, Unresolved::Refuse).await;
        assert_eq!(cleared.unwrap().socket_addrs().count(), count, "{url}");
    }
    // Allowing private hosts doesn't allow this machine.
    let half_open = Policy::web().block_private(false);
    let resolver = ScriptedResolver::new().answers("nas.lan", &["192.168.1.9", "127.0.0.1"]);
    let outcome = resolve_and_check(&resolver, "http://nas.lan/", &half_open, Unresolved::Accept);
    assert_eq!(outcome.await.unwrap_err().code(), "dns_loopback");
}

#[tokio::test]
async fn a_scheme_without_a_port_leads_nowhere() {
    let resolver = ScriptedResolver::new().answers("example.com", &[PUBLIC]);
    let policy = Policy::new(["foo"]);
    let cleared = resolve_and_check(&resolver, "foo://example.com/", &policy, Unresolved::Refuse);
    let cleared = cleared.await.unwrap();
    assert_eq!((cleared.port(), cleared.addresses().len()), (None, 1));
    assert_eq!(cleared.socket_addrs().count(), 0);
}

#[tokio::test]
async fn a_slow_answer_is_waited_for_and_judged_like_any_other() {
    let clock = VirtualClock::new(UnixTime::default());
    let resolver = ScriptedResolver::new()
        .answers("example.com", &["10.0.0.5"])
        .delayed(clock.clone(), Duration::from_secs(2));
    let task = tokio::spawn(async move { refuse(&resolver, "https://example.com/").await });
    tokio::task::yield_now().await;
    clock.advance(Duration::from_millis(1_999));
    tokio::task::yield_now().await;
    assert!(!task.is_finished());
    clock.advance(Duration::from_millis(1));
    assert_eq!(task.await.unwrap().unwrap_err().code(), "dns_private");
}

#[tokio::test(start_paused = true)]
async fn a_look_up_without_end_can_be_given_up() {
    let resolver = ScriptedResolver::new().never("example.com");
    let judging = refuse(&resolver, "https://example.com/");
    assert!(
        tokio::time::timeout(Duration::from_secs(10), judging)
            .await
            .is_err()
    );
    assert_eq!(resolver.all_lookups(), 1);
}

#[test]
fn a_log_names_the_host_and_the_reason_and_nothing_more() {
    let log = CapturedLog::default();
    let subscriber = tracing_subscriber::fmt()
        .without_time()
        .with_ansi(false)
        .with_max_level(tracing::Level::DEBUG)
        .with_target(false)
        .with_writer(log.writer())
        .finish();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    tracing::subscriber::with_default(subscriber, || {
        runtime.block_on(async {
            let resolver = ScriptedResolver::new()
                .answers("good.example.com", &[PUBLIC])
                .answers("bad.example.com", &["10.0.0.5"])
                .fails("down.example.com", failed());
            for url in [
                "https://good.example.com/path?secret=1",
                "https://bad.example.com/path?secret=1",
                "https://down.example.com/path?secret=1",
                "https://10.0.0.5/path?secret=1",
                "https://me:secret@example.com/",
                "gopher://secret",
            ] {
                let _ = refuse(&resolver, url).await;
            }
        });
    });
    let log = log.text();
    assert_eq!(
        log.lines().map(str::trim).collect::<Vec<_>>(),
        [
            r#"DEBUG blocked URL host="bad.example.com" reason="dns_private""#,
            r#"DEBUG blocked URL host="down.example.com" reason="unresolved""#,
            r#"DEBUG blocked URL host="10.0.0.5" reason="private_address""#,
            r#"DEBUG blocked URL reason="userinfo""#,
            r#"DEBUG blocked URL reason="scheme""#,
        ]
    );
}

#[tokio::test]
async fn debug_shows_no_more_of_a_url_than_its_host() {
    let resolver = ScriptedResolver::new().answers("example.com", &[PUBLIC]);
    let cleared = refuse(&resolver, "https://example.com/path?secret=1")
        .await
        .unwrap();
    assert!(!format!("{cleared:?}").contains("secret"));
}
