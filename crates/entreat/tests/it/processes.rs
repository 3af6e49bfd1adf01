//! Several processes that share nothing but keys.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use entreat::core::schema::Era;
use entreat::mcp::rmcp::ErrorData;
use entreat::{Entreat, KeyRing};
use entreat_testkit::mcp::{HttpClient, Kind, accept};
use serde_json::json;

use crate::asking::Server;
use crate::keys;

/// The variable that says where a child writes its effects; it also marks a child.
const EFFECTS: &str = "ENTREAT_TEST_EFFECTS";

/// A process that serves MCP until it is dropped.
struct Process {
    child: Child,
    address: SocketAddr,
}

impl Process {
    fn start(effects: &Path, keys: &str) -> Self {
        let program = std::env::current_exe().expect("this program");
        let child = Command::new(program)
            .args(["--exact", "processes::child_that_serves", "--nocapture"])
            .env(EFFECTS, effects)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.expect("it starts");
        let mut stdin = child.stdin.take().expect("it is ours");
        stdin.write_all(keys.as_bytes()).expect("it reads");
        drop(stdin);
        let stdout = BufReader::new(child.stdout.take().expect("it is ours"));
        let mut lines = stdout.lines().map_while(Result::ok);
        let address = lines.find_map(|line| {
            let (_, address) = line.split_once("listening on ")?;
            address.parse().ok()
        });
        // Drains the pipe, so that the child never blocks.
        std::thread::spawn(move || lines.for_each(drop));
        let address = address.expect("it says where it listens");
        Self { child, address }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Errors don't matter: the test is over.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asks three questions, each after an effect.
fn three_questions(effects: String) -> Server {
    Server::new(move |ask| {
        let effects = effects.clone();
        async move {
            let mut told = Vec::new();
            for key in ["one", "two", "three"] {
                let before = format!("before {key}");
                let effect = ask.once(&before, async || {
                    let file = std::fs::OpenOptions::new().append(true).open(&effects);
                    let written = file.and_then(|mut file| writeln!(file, "{key}"));
                    let done = written.map(|()| std::process::id());
                    done.map_err(|error| ErrorData::internal_error(error.to_string(), None))
                });
                let process = effect.await?;
                told.push(format!("{process}:{}", ask.text(key, "Next?").await?));
            }
            Ok(told.join(" "))
        }
    })
}

#[tokio::test]
async fn a_flow_of_three_questions_goes_round_robin_through_two_processes() {
    let folder = tempfile::tempdir().unwrap();
    let effects = folder.path().join("effects");
    std::fs::write(&effects, "").unwrap();
    let text = keys().to_text();
    let keys = str::from_utf8(text.expose()).unwrap();
    let processes = [
        Process::start(&effects, keys),
        Process::start(&effects, keys),
    ];
    let kind = Kind::form(Era::V2026_07_28);
    let mut client = HttpClient::new(kind, processes[0].address);
    let mut extra = json!({});
    let mut rounds = 0;
    let reply = loop {
        client.address = processes[rounds % 2].address;
        let reply = client.round("t", json!({}), extra).await;
        let Some(key) = reply.questions().pop().and_then(|question| question.key) else {
            break reply;
        };
        rounds += 1;
        extra = json!({"requestState": reply.state(),
            "inputResponses": {key: accept(json!({"text": rounds.to_string()}))}});
    };
    // Each effect ran in the process that handled its round, and nowhere else.
    let [one, two] = processes.each_ref().map(|process| process.child.id());
    assert_ne!(one, two);
    assert_eq!(reply.text(), format!("{one}:1 {two}:2 {one}:3"));
    assert_eq!(rounds, 3);
    let effects = std::fs::read_to_string(&effects).unwrap();
    assert_eq!(effects, "one\ntwo\nthree\n");
}

#[expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "how a test is told that it is a child, and how it tells where it listens"
)]
#[tokio::test]
async fn child_that_serves() {
    let Ok(effects) = std::env::var(EFFECTS) else {
        return;
    };
    let keys = std::io::read_to_string(std::io::stdin()).unwrap();
    let keys = KeyRing::from_text(&keys).unwrap();
    let entreat = Entreat::builder().sealing_keys(keys).start().await.unwrap();
    let address = three_questions(effects).listen(&entreat).await;
    println!("listening on {address}");
    std::future::pending::<()>().await;
}
