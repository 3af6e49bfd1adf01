//! URLs from askers and answers.

use entreat_core::Form;
use entreat_engine::{ActError, Ask, AskError, Engine};
use entreat_testkit::{ScriptedResolver, VirtualClock};
use serde_json::json;

use crate::world::{START, unlimited};

async fn engine() -> Engine {
    let resolver = ScriptedResolver::new()
        .answers("public.example.com", &["93.184.215.14"])
        .answers("inside.example.com", &["93.184.215.14", "10.0.0.7"])
        .answers("six.example.com", &["::ffff:127.0.0.1"]);
    Engine::builder()
        .clock(VirtualClock::new(START))
        .resolver(resolver)
        .settings(unlimited())
        .start()
        .await
        .unwrap()
}

#[tokio::test]
async fn a_url_that_leads_inside_is_not_asked() {
    let asker = engine().await.asker("deployer");
    for (url, code) in [
        ("http://127.0.0.1/", "loopback"),
        ("https://inside.example.com/", "dns_private"),
        ("https://six.example.com/", "dns_loopback"),
        ("ftp://public.example.com/", "scheme"),
    ] {
        let error = asker.ask(Ask::url(url)).await.unwrap_err();
        let AskError::UnsafeUrl(reason) = error else {
            panic!("{url} is unsafe, but {error}");
        };
        assert_eq!(reason.code(), code, "{url}");
    }
    asker
        .ask(Ask::url("https://public.example.com/"))
        .await
        .unwrap();
    // A name that cannot be resolved may exist only in the person's network.
    asker
        .ask(Ask::url("https://unknown.example.com/"))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_callback_must_be_resolved() {
    let asker = engine().await.asker("deployer");
    let ask = |url| Ask::inline("Name?").unwrap().callback(url);
    // Safe, but there is no callback sender.
    let error = asker.ask(ask("https://public.example.com/hook")).await;
    assert!(matches!(error, Err(AskError::NoCallbacks)));
    for url in [
        "https://unknown.example.com/hook",
        "https://inside.example.com/hook",
    ] {
        let error = asker.ask(ask(url)).await.unwrap_err();
        assert!(matches!(error, AskError::UnsafeUrl(_)), "{url}: {error}");
    }
}

#[tokio::test]
async fn an_answered_url_is_resolved_before_it_is_believed() {
    let engine = engine().await;
    let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [
        {"id": "home", "type": "url", "label": "Home"},
        {"id": "lan", "type": "url", "label": "LAN", "validation": {"blockPrivateIPs": false}},
    ]}));
    let question = engine
        .asker("deployer")
        .ask(Ask::form(form.unwrap()))
        .await
        .unwrap();
    let host = engine.elicitation(question.id());
    let answer =
        json!({"home": "https://inside.example.com/", "lan": "https://inside.example.com/"});
    let error = host.submit(&answer).await.unwrap_err();
    let ActError::Invalid(refusal) = error else {
        panic!("it leads inside, but {error}");
    };
    assert_eq!(refusal.errors.len(), 1);
    assert_eq!(refusal.errors[0].field, "home");
    assert_eq!(refusal.errors[0].constraint, "blockPrivateIPs");
    host.submit(&json!({"home": "https://public.example.com/"}))
        .await
        .unwrap();
}
