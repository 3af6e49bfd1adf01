//! A program without pages uses the pages of another Entreat service.

use std::time::Duration;

use entreat::core::schema::Era;
use entreat::core::{ReferenceKind, TextFormat, Upload};
use entreat::engine::{Ask, Links as _, SubscriptionItem};
use entreat::service::RemotePages;
use entreat::{
    AskerSettings, CancelReason, ElicitationId, Entreat, Form, Outcome, Subscription,
    TypedForm as _,
};
use entreat_testkit::mcp::{Client, Kind, decline, visit};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::net::TcpStream;

use crate::asking::Server;
use crate::{KEY, LOOPBACK};

const CANARY: &str = "canary-on-another-page";

/// A key that nobody else may see.
#[derive(Form)]
struct ApiKey {
    #[form(sensitive)]
    key: String,
}

fn asking() -> Server {
    Server::new(|ask| async move {
        let ApiKey { key } = ask.form("key", "Your API key?").await?;
        Ok(format!("{} letters", key.len()))
    })
}

/// A service with pages, and a program that uses them.
async fn both() -> (Entreat, Entreat) {
    let service = Entreat::builder()
        .listen(LOOPBACK)
        .key(KEY, "robot", AskerSettings::default())
        .start()
        .await
        .expect("the service starts");
    let url = service.url().expect("it listens");
    let program = Entreat::builder().remote_pages(url, KEY).start().await;
    (service, program.expect("the program starts"))
}

/// The next question that was asked at the service.
async fn asked(events: &mut Subscription) -> ElicitationId {
    loop {
        if let Some(SubscriptionItem::Event(event)) = events.next().await
            && event.snapshot().outcome().is_none()
        {
            return event.snapshot().id();
        }
    }
}

/// The outcome of the next question at the service.
async fn ended(events: &mut Subscription) -> Outcome {
    let end = async {
        loop {
            if let Some(SubscriptionItem::Event(event)) = events.next().await
                && let Some(outcome) = event.snapshot().outcome()
            {
                return outcome;
            }
        }
    };
    let soon = tokio::time::timeout(Duration::from_secs(30), end);
    soon.await.expect("it ends there too")
}

/// What a browser gets there.
async fn fetch(url: &str) -> String {
    let rest = url.strip_prefix("http://").expect("a URL of HTTP");
    let (address, path) = rest.split_once('/').expect("a path");
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let request = format!("GET /{path} HTTP/1.0\r\nhost: {address}\r\n\r\n");
    let written = stream.write_all(request.as_bytes()).await;
    written.expect("it reads");
    let mut page = String::new();
    stream.read_to_string(&mut page).await.expect("it answers");
    page
}

/// Calls the tool until the client is asked; returns the call, the question, and how to continue.
async fn begin(client: &mut Client<DuplexStream>, kind: Kind) -> (u64, Value, Option<String>) {
    let call = client.start("t", json!({})).await;
    if kind.has_rounds() {
        let reply = client.reply_to(call, |_| unreachable!()).await;
        let params = reply.questions().remove(0).params;
        return (call, params, Some(reply.state().to_owned()));
    }
    let (request, question) = client.question().await;
    client.answer(request, visit()).await;
    (call, question.params, None)
}

#[tokio::test]
async fn texts_that_are_said_to_be_plain_stay_plain_there() {
    let (service, program) = both().await;
    let url = service.url().expect("it listens");
    let pages = RemotePages::new(&url, Some(KEY)).expect("a URL");
    let mut events = service.engine().subscribe();
    for format in TextFormat::ALL {
        let ask = Ask::form(ApiKey::form().clone()).text_format(format);
        let here = program.asker("me").ask(ask).await.expect("it is asked");
        pages.open(here).await.expect("it is asked there too");
        let there = service.engine().elicitation(asked(&mut events).await);
        let seen = there.status().await.expect("it is there");
        assert_eq!(seen.record().request.text_format(), format);
    }
    program.shutdown().await;
    pages.close().await;
    service.shutdown().await;
}

#[tokio::test]
async fn a_secret_is_given_on_the_page_of_the_other_service() {
    let (service, program) = both().await;
    for kind in [Era::V2025_11_25, Era::V2026_07_28].map(Kind::url) {
        let mut events = service.engine().subscribe();
        let mut client = asking().client(&program, kind, kind.capabilities()).await;
        let (call, question, state) = begin(&mut client, kind).await;
        assert_eq!(question["mode"], "url");
        let url = question["url"].as_str().unwrap();
        assert!(url.starts_with(&service.url().unwrap()), "{url}");
        let page = fetch(url).await;
        assert!(page.starts_with("HTTP/1.0 200"), "{page}");
        assert!(page.contains("Your API key?"), "{page}");

        let there = service.engine().elicitation(asked(&mut events).await);
        there.submit(&json!({"key": CANARY})).await.unwrap();
        let reply = match state {
            None => client.reply_to(call, |_| unreachable!()).await,
            Some(state) => {
                let extra = json!({"requestState": state, "inputResponses": {"key": visit()}});
                client.round("t", json!({}), extra).await
            }
        };
        assert_eq!(reply.text(), format!("{} letters", CANARY.len()));
        assert!(!client.transcript.concat().contains(CANARY));
    }
    program.shutdown().await;
    service.shutdown().await;
}

/// A document.
#[derive(Form)]
struct Document {
    document: Upload<'static>,
}

#[tokio::test]
async fn a_file_comes_from_the_other_service_whole_or_as_its_link() {
    let (service, program) = both().await;
    let kind = Kind::url(Era::V2025_11_25);
    let server = Server::new(|ask| async move {
        let Document { document } = ask.form("document", "A document?").await?;
        Ok(format!("{} {}", document.filename(), document.size()))
    });
    let mut client = server.client(&program, kind, kind.capabilities()).await;
    let link = json!({"type": "url", "location": "https://ask.example.com/files/a"});
    for content in [json!("YWJj"), link] {
        let mut events = service.engine().subscribe();
        let (call, ..) = begin(&mut client, kind).await;
        let there = service.engine().elicitation(asked(&mut events).await);
        let file = json!({"filename": "a.txt", "content_type": "text/plain", "size": 3,
            "content": content});
        // As the page does with an upload.
        let there = there.accepting_references(ReferenceKind::Url);
        there.submit(&json!({"document": file})).await.unwrap();
        let reply = client.reply_to(call, |_| unreachable!()).await;
        assert_eq!(reply.text(), "a.txt 3");
    }
    program.shutdown().await;
    service.shutdown().await;
}

#[tokio::test]
async fn what_ends_on_one_side_ends_on_the_other() {
    let (service, program) = both().await;
    let kind = Kind::url(Era::V2025_11_25);
    let mut events = service.engine().subscribe();
    let mut client = asking().client(&program, kind, kind.capabilities()).await;
    // Nobody needs the answer any more.
    let (call, ..) = begin(&mut client, kind).await;
    let cancelled = json!({"requestId": call});
    client.notify("notifications/cancelled", cancelled).await;
    let withdrawn = Outcome::Cancelled(CancelReason::AskerCancelled);
    assert_eq!(ended(&mut events).await, withdrawn);

    // The person declines in the client, and there is nothing left to answer on the page.
    let reply = client.call("t", json!({}), |_| decline()).await;
    assert_eq!(reply.text(), "the person declined to answer `key`");
    assert_eq!(ended(&mut events).await, withdrawn);

    // The person declines on the page.
    let mut fresh = service.engine().subscribe();
    let (call, ..) = begin(&mut client, kind).await;
    let there = service.engine().elicitation(asked(&mut fresh).await);
    there.decline().await.unwrap();
    let reply = client.reply_to(call, |_| unreachable!()).await;
    assert_eq!(reply.text(), "the person declined to answer `key`");

    // Open questions are withdrawn before the program exits.
    let mut fresh = service.engine().subscribe();
    begin(&mut client, kind).await;
    asked(&mut fresh).await;
    drop(client);
    assert_eq!(ended(&mut fresh).await, withdrawn);
    program.shutdown().await;
    assert_eq!(service.engine().live(), 0);
    service.shutdown().await;
}

#[tokio::test]
async fn a_service_that_is_not_there_is_told_and_so_is_an_address_that_is_none() {
    let wrong = Entreat::builder().remote_pages("ask.example", KEY).start();
    let message = wrong.await.map(drop).unwrap_err().to_string();
    assert!(message.contains("another service"), "{message}");

    let (service, program) = both().await;
    service.shutdown().await;
    let kind = Kind::url(Era::V2026_07_28);
    let mut client = asking().client(&program, kind, kind.capabilities()).await;
    let reply = client.round("t", json!({}), json!({})).await;
    let (_, message) = reply.error();
    assert!(
        message.contains("is `entreat serve` running there?"),
        "{message}"
    );
    assert_eq!(program.engine().live(), 0);
    program.shutdown().await;
}
