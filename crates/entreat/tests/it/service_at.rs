//! Agents ask through a running service: their questions outlive them.

use std::fs;
use std::path::Path;
use std::time::Duration;

use entreat::core::schema::Era;
use entreat::core::{Mode, TimeoutBounds};
use entreat::{AskerSettings, ElicitationId, Entreat};
use entreat_testkit::mcp::{Client, Kind};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::DuplexStream;

use crate::{KEY, LOOPBACK};

const DAYS: Duration = Duration::from_secs(30 * 24 * 60 * 60);

async fn service(settings: AskerSettings) -> Entreat {
    let service = Entreat::builder()
        .listen(LOOPBACK)
        .key(KEY, "agents", settings);
    service.start().await.expect("the service starts")
}

fn patient() -> AskerSettings {
    let mut settings = AskerSettings::default();
    let bounds = TimeoutBounds::new(Duration::from_secs(300), Duration::from_secs(1), DAYS);
    settings
        .timeouts
        .set_bounds(Mode::Form, bounds.expect("bounds"));
    settings
}

/// A run of `entreat mcp --service`, with its agent.
async fn agent(service: &Entreat, folder: &Path) -> (Entreat, Client<DuplexStream>) {
    let url = service.url().expect("it listens");
    let program = Entreat::builder()
        .service_at(url, Some(KEY.to_owned()))
        .start()
        .await;
    let program = program.expect("the program starts");
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let server = program.ask_server_in(folder);
    tokio::spawn(async move {
        if let Ok(running) = server.serve(theirs).await {
            let _ = running.waiting().await;
        }
    });
    let client = Client::connect(Kind::none(Era::V2025_11_25), ours).await;
    (program, client)
}

async fn ask(client: &mut Client<DuplexStream>, mut arguments: Value) -> Value {
    arguments["wait"] = false.into();
    let reply = client.round("ask_user", arguments, json!({})).await;
    reply.result()["structuredContent"].clone()
}

async fn status(client: &mut Client<DuplexStream>, left: &Value) -> Value {
    let question = json!({"question": left["question"]});
    let reply = client.round("ask_status", question, json!({})).await;
    reply.result()["structuredContent"].clone()
}

async fn submit(service: &Entreat, left: &Value, answers: Value) {
    let id = left["question"].as_str().map(str::parse::<ElicitationId>);
    let id = id.expect("an id").expect("a valid id");
    let submitted = service.engine().elicitation(id).submit(&answers).await;
    submitted.expect("the page takes the answers");
}

#[tokio::test]
async fn a_later_run_finds_the_answer() {
    let (service, folder) = (service(patient()).await, TempDir::new().unwrap());
    let (program, mut client) = agent(&service, folder.path()).await;
    let left = ask(
        &mut client,
        json!({"question": "Name?", "context": "For the badge."}),
    )
    .await;
    assert!(
        left["url"]
            .as_str()
            .unwrap()
            .starts_with(&service.url().unwrap()),
        "{left}"
    );
    assert!(!left["next"].as_str().unwrap().contains("stops"), "{left}");
    assert_eq!(status(&mut client, &left).await["status"], "pending");
    drop(client);
    program.shutdown().await;

    submit(&service, &left, json!({"answer": "Ada"})).await;
    let (program, mut client) = agent(&service, folder.path()).await;
    let found = status(&mut client, &left).await;
    assert_eq!(
        found,
        json!({"status": "completed", "answers": {"answer": "Ada"}})
    );
    program.shutdown().await;
    service.shutdown().await;
}

#[tokio::test]
async fn a_secret_is_saved_by_a_later_run_and_never_shown() {
    let (service, folder) = (service(patient()).await, TempDir::new().unwrap());
    let (program, mut client) = agent(&service, folder.path()).await;
    let secret = json!({"question": "Key?", "secret_to": {"file": ".env", "name": "KEY"}});
    let left = ask(&mut client, secret).await;
    drop(client);
    program.shutdown().await;
    submit(&service, &left, json!({"answer": "canary-9"})).await;
    let (program, mut client) = agent(&service, folder.path()).await;
    let found = status(&mut client, &left).await;
    assert_eq!(found["saved_to"]["name"], "KEY", "{found}");
    assert!(!client.transcript.concat().contains("canary"));
    let text = fs::read_to_string(folder.path().join(".env")).unwrap();
    assert_eq!(text, "KEY='canary-9'\n");
    program.shutdown().await;
    service.shutdown().await;
}

#[tokio::test]
async fn a_question_can_be_withdrawn_and_others_are_not_there() {
    let (service, folder) = (service(patient()).await, TempDir::new().unwrap());
    let (program, mut client) = agent(&service, folder.path()).await;
    let left = ask(&mut client, json!({"question": "Name?"})).await;
    let question = json!({"question": left["question"]});
    let reply = client.round("ask_cancel", question, json!({})).await;
    assert_eq!(
        reply.result()["structuredContent"],
        json!({"status": "cancelled"})
    );
    // The service's own question is not the agent's.
    let form = json!({"id": "f", "title": "F", "fields": [
        {"id": "a", "type": "text", "label": "A"}]});
    let form = entreat::core::Form::from_value(&form).unwrap();
    let other = service
        .asker("agents")
        .ask(entreat::Ask::form(form))
        .await
        .unwrap();
    let question = json!({"question": other.id()});
    for tool in ["ask_status", "ask_cancel"] {
        let reply = client.round(tool, question.clone(), json!({})).await;
        assert!(reply.text().contains("There is no question"), "{tool}");
    }
    program.shutdown().await;
    service.shutdown().await;
}

#[tokio::test]
async fn a_refusal_names_the_setting_that_would_allow_it() {
    let (service, folder) = (
        service(AskerSettings::default()).await,
        TempDir::new().unwrap(),
    );
    let (program, mut client) = agent(&service, folder.path()).await;
    let arguments = json!({"question": "Name?", "wait": false, "timeout_seconds": 7200});
    let reply = client.round("ask_user", arguments, json!({})).await;
    assert_eq!(reply.result()["isError"], true);
    for part in [
        "`timeout_seconds` must be at most 300",
        "`timeouts.form.max`",
    ] {
        assert!(reply.text().contains(part), "{}", reply.text());
    }
    // Without a wish, it is as long as the service allows.
    let left = ask(&mut client, json!({"question": "Name?"})).await;
    assert_eq!(left["status"], "pending", "{left}");
    let id: ElicitationId = left["question"].as_str().unwrap().parse().unwrap();
    let found = service.engine().elicitation(id).status().await.unwrap();
    assert_eq!(found.lifecycle().timeout().as_secs(), 300);
    service.shutdown().await;
    let arguments = json!({"question": "Name?", "wait": false});
    let reply = client.round("ask_user", arguments, json!({})).await;
    assert!(
        reply.text().contains("is `entreat serve` running there?"),
        "{}",
        reply.text()
    );
    program.shutdown().await;
}
