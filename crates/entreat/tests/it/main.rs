//! The assembled parts, as a program uses them.

mod asked_over_http;
mod asking;
mod extension;
mod gateway;
mod listener;
mod principals;
mod processes;
mod remote;
mod resource_routes;
mod service_at;
mod single_use;
mod tokens;

use std::net::SocketAddr;

use entreat::core::{ValidatorError, Validators};
use entreat::engine::{ActError, SystemEntropy};
use entreat::service::Brand;
use entreat::service::identity::{HeaderIdentity, Identity};
use entreat::{
    Ask, AskerSettings, EngineSettings, Entreat, EntreatError, Form, KeyRing, Status, TypedForm,
};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

const KEY: &str = "0123456789abcdef";
const LOOPBACK: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

#[derive(Form)]
struct Person {
    #[expect(dead_code, reason = "asked for, and not read here")]
    name: String,
}

fn question() -> Ask {
    Ask::form(Person::form().clone())
}

fn keys() -> KeyRing {
    let entropy = SystemEntropy::new().expect("there is randomness");
    KeyRing::generate(&entropy)
}

/// The same keys, as a program reads them at its next start.
fn copy(keys: &KeyRing) -> KeyRing {
    let text = keys.to_text();
    let text = str::from_utf8(text.expose()).expect("keys are kept as text");
    KeyRing::from_text(text).expect("kept keys can be read")
}

/// Calls a method and gives the whole answer.
async fn call(address: SocketAddr, key: Option<&str>, method: &str) -> String {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method}).to_string();
    let key = key.map(|key| format!("authorization: Bearer {key}\r\n"));
    let request = format!(
        "POST /rpc HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{}\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        key.unwrap_or_default(),
        body.len(),
    );
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let written = stream.write_all(request.as_bytes()).await;
    written.expect("it reads");
    let mut answer = String::new();
    let read = stream.read_to_string(&mut answer).await;
    read.expect("it answers");
    answer
}

/// Fetches a path; the headers end with line breaks.
async fn get(address: SocketAddr, path: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let request = format!("GET {path} HTTP/1.0\r\nhost: {address}\r\n{headers}\r\n");
    let sent = stream.write_all(request.as_bytes()).await;
    sent.expect("it reads");
    let mut response = String::new();
    let received = stream.read_to_string(&mut response).await;
    received.expect("it responds with text");
    response
}

#[tokio::test]
async fn without_an_address_nothing_is_served() {
    let entreat = Entreat::builder().start().await.unwrap();
    assert_eq!((entreat.local_addr(), entreat.url()), (None, None));
    let asked = entreat.asker("test").ask(question()).await.unwrap();
    assert_eq!(asked.status().await.unwrap().status(), Status::Pending);
    entreat.shutdown().await;
}

#[tokio::test]
async fn askers_come_with_keys_and_from_this_machine_without() {
    let entreat = Entreat::builder()
        .listen(LOOPBACK)
        .key(KEY, "robot", AskerSettings::default())
        .public_url("http://localhost:1")
        .metrics(|| "measured 1\n".to_owned())
        .start()
        .await
        .unwrap();
    let address = entreat.local_addr().unwrap();
    assert_eq!(entreat.url().unwrap(), "http://localhost:1");
    for key in [None, Some(KEY)] {
        let answer = call(address, key, "forms/list").await;
        assert!(
            answer.ends_with(r#""result":{"templates":[]}}"#),
            "{answer}"
        );
    }
    let answer = call(address, Some("another"), "forms/list").await;
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    entreat.shutdown().await;
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn where_a_proxy_is_in_front_everybody_needs_a_key_unless_the_program_says_otherwise() {
    let proxies = vec!["127.0.0.1".parse().unwrap()];
    let by_header = Identity::Header(HeaderIdentity::new("x-user", proxies).unwrap());
    let builder = || {
        let builder = Entreat::builder().listen(LOOPBACK);
        builder.key(KEY, "robot", AskerSettings::default())
    };
    let public = || builder().public_url("https://ask.example.com");
    for (builder, status) in [
        (public(), "401"),
        (public().local_without_key(true), "200"),
        (builder().identity(by_header), "401"),
        (builder(), "200"),
    ] {
        let entreat = builder.start().await.unwrap();
        let address = entreat.local_addr().unwrap();
        let answer = call(address, None, "forms/list").await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{answer}"
        );
        let answer = call(address, Some(KEY), "forms/list").await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        entreat.shutdown().await;
    }
}

#[tokio::test]
async fn whoever_wants_keys_gets_nothing_without() {
    let builder = || Entreat::builder().listen(LOOPBACK).local_without_key(false);
    let refused = builder().start().await.unwrap_err();
    assert!(matches!(refused, EntreatError::NoKey { .. }), "{refused}");

    let entreat = builder().key(KEY, "robot", AskerSettings::default());
    let entreat = entreat.start().await.unwrap();
    let address = entreat.local_addr().unwrap();
    let answer = call(address, None, "forms/list").await;
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    entreat.shutdown().await;
}

#[tokio::test]
async fn an_address_that_others_reach_needs_a_key_and_gives_nobody_a_way_around_it() {
    for open in ["0.0.0.0:0", "[::]:0"] {
        let open: SocketAddr = open.parse().unwrap();
        // Not even if the program allows this machine.
        for builder in [
            Entreat::builder(),
            Entreat::builder().local_without_key(true),
        ] {
            let refused = builder.listen(open).start().await.unwrap_err();
            assert!(matches!(refused, EntreatError::NoKey { address } if address == open));
        }
    }
    let entreat = Entreat::builder()
        .listen(([0, 0, 0, 0], 0))
        .key(KEY, "robot", AskerSettings::default())
        .start()
        .await
        .unwrap();
    let port = entreat.local_addr().unwrap().port();
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let answer = call(address, None, "forms/list").await;
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    entreat.shutdown().await;
}

#[tokio::test]
async fn what_cannot_start_leaves_nothing_running() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("q.db");
    let keys = keys();
    let holder = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let taken = holder.local_addr().unwrap();
    let builder = || Entreat::builder().embedded(&path, copy(&keys));

    let refused = builder().listen(taken).start().await.unwrap_err();
    assert!(matches!(refused, EntreatError::Listen { address, .. } if address == taken));
    let nowhere = folder.path().join("nowhere");
    let refused = builder().templates(nowhere).start().await.unwrap_err();
    assert!(matches!(refused, EntreatError::Templates(_)), "{refused}");
    // The store can be opened again.
    let entreat = builder().start().await.unwrap();
    let refused = builder().start().await.unwrap_err();
    assert!(matches!(refused, EntreatError::Open(_)), "{refused}");
    entreat.shutdown().await;
    let other = self::keys();
    let wrong = Entreat::builder().embedded(&path, other).start().await;
    assert!(matches!(wrong.unwrap_err(), EntreatError::Engine(_)));
}

#[tokio::test]
async fn a_file_keeps_what_was_asked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("q.db");
    let keys = keys();
    let builder = || {
        let builder = Entreat::builder().embedded(&path, copy(&keys));
        builder.settings(EngineSettings::default()).listen(LOOPBACK)
    };
    let entreat = builder().start().await.unwrap();
    let asked = entreat.asker("test").ask(question()).await.unwrap();
    entreat.shutdown().await;

    let entreat = builder().start().await.unwrap();
    let found = entreat.engine().elicitation(asked.id());
    assert_eq!(found.status().await.unwrap().status(), Status::Pending);
    entreat.shutdown().await;
}

#[tokio::test]
async fn files_that_people_send_lie_beside_the_store_or_where_they_are_told_to() {
    let folder = tempfile::tempdir().expect("there is a place for folders");
    let path = folder.path().join("q.db");
    let brand = Brand {
        name: Some("The robot".to_owned()),
        color: "#0a7f5c".parse().ok(),
    };
    let builder = || Entreat::builder().listen(LOOPBACK).embedded(&path, keys());
    let entreat = builder().brand("robot", brand).start().await;
    entreat.expect("it starts").shutdown().await;
    assert!(folder.path().join("q.db.uploads").is_dir());

    let named = folder.path().join("files");
    let memory = || Entreat::builder().listen(LOOPBACK);
    let entreat = memory().uploads(&named).start().await;
    entreat.expect("it starts").shutdown().await;
    assert!(named.is_dir());
    // A path that is not a folder is an error, and nothing stays open.
    let file = folder.path().join("q.db");
    let refused = memory().uploads(file).start().await;
    assert!(matches!(refused, Err(EntreatError::Uploads(_))));
}

#[tokio::test]
async fn templates_and_what_a_store_kept_know_the_validators_of_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let definition = json!({"id": "who", "title": "Who?",
        "fields": [{"id": "user", "type": "text", "label": "User"}],
        "validation": {"custom_validators": ["no_admin"]}});
    let forms = folder.path().join("forms");
    std::fs::create_dir(&forms).unwrap();
    std::fs::write(forms.join("who.json"), definition.to_string()).unwrap();
    let mut validators = Validators::default();
    validators.register("no_admin", |answers| match answers.get("user") {
        Some(user) if user.as_str() == Some("admin") => {
            Err(ValidatorError::new("user", "Not as admin."))
        }
        _ => Ok(()),
    });
    let keys = keys();
    let start = || {
        Entreat::builder()
            .embedded(folder.path().join("questions.db"), copy(&keys))
            .templates(&forms)
            .validators(validators.clone())
            .start()
    };
    let entreat = start().await.unwrap();
    let template = entreat.rpc().templates().get("who").unwrap();
    let question = Ask::form(template.form.unwrap());
    let id = entreat.asker("test").ask(question).await.unwrap().id();
    entreat.shutdown().await;

    let entreat = start().await.unwrap();
    let question = entreat.engine().elicitation(id);
    let refused = question.submit(&json!({"user": "admin"})).await;
    assert!(matches!(refused, Err(ActError::Invalid(_))));
    question.submit(&json!({"user": "ada"})).await.unwrap();
    drop(question);
    entreat.shutdown().await;
}
