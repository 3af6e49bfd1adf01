//! Kills a service under load, repeatedly: everything that got a 200 survives, every outcome has a
//! callback at least once, and nothing that never settled has one.
//!
//! A few rounds; `cargo xtask crash --service` runs more.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::http;
use crate::serve::{Service, folder, serve};

/// The number of kills, unless `ENTREAT_CRASH_ROUNDS` is set.
const ROUNDS: usize = 4;
/// Concurrent clients.
const CLIENTS: usize = 6;
/// A callback attempt that was lost with the service is repeated within this time, with a margin.
const PATIENCE: Duration = Duration::from_secs(90);

/// What the service has acknowledged.
#[derive(Default)]
struct Acknowledged {
    /// Questions, and the answer of each that was acknowledged.
    asked: Mutex<BTreeMap<String, Option<Value>>>,
    /// Questions whose answer was sent; whether it arrived is not known.
    tried: Mutex<BTreeSet<String>>,
}

/// Outcomes that were delivered by callback.
type Called = Arc<Mutex<BTreeSet<String>>>;

/// Receives callbacks on its own port.
fn receive() -> (u16, Called) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let port = listener.local_addr().expect("it listens").port();
    let called = Called::default();
    let heard = called.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            // A service that is killed in the meantime disconnects.
            if let Ok(id) = stream.and_then(hear) {
                heard.lock().expect("nobody panics").insert(id);
            }
        }
    });
    (port, called)
}

/// Reads and acknowledges a callback; returns its elicitation.
fn hear(mut stream: TcpStream) -> std::io::Result<String> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut length, mut id, mut line) = (0, String::new(), String::new());
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let head = line.trim_end();
        if head.is_empty() {
            break;
        }
        if let Some(value) = head.strip_prefix("content-length: ") {
            length = value.parse().unwrap_or_default();
        }
        if let Some(value) = head.strip_prefix("webhook-id: ") {
            value.clone_into(&mut id);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n")?;
    Ok(id)
}

/// A persistent connection; `None` when the service is dead.
struct Client(BufReader<TcpStream>);

impl Client {
    fn connect(address: &str) -> Option<Self> {
        Some(Self(BufReader::new(TcpStream::connect(address).ok()?)))
    }

    fn call(&mut self, method: &str, params: &Value) -> Option<Value> {
        let body = http::request(method, params);
        let text = format!(
            "POST /rpc HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        self.0.get_mut().write_all(text.as_bytes()).ok()?;
        let (mut length, mut line) = (0, String::new());
        loop {
            line.clear();
            let read = self.0.read_line(&mut line).ok()?;
            if read == 0 {
                return None;
            }
            let head = line.trim_end().to_ascii_lowercase();
            if head.is_empty() {
                break;
            }
            if let Some(value) = head.strip_prefix("content-length: ") {
                length = value.parse().ok()?;
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).ok()?;
        let answer: Value = serde_json::from_slice(&body).ok()?;
        assert!(answer.get("error").is_none(), "{answer}");
        Some(answer["result"].clone())
    }
}

/// Asks, and answers most of its questions, until the service dies.
fn work(address: &str, port: u16, number: &AtomicU64, known: &Acknowledged) {
    let Some(mut client) = Client::connect(address) else {
        return;
    };
    let form = json!({"id": "who", "title": "Who?", "fields": [
        {"id": "name", "type": "text", "label": "Name", "required": true}]});
    let callback = format!("http://127.0.0.1:{port}/");
    loop {
        let number = number.fetch_add(1, Ordering::Relaxed);
        let ask = json!({"formDefinition": form, "callback": callback});
        let Some(created) = client.call("elicitation/create", &ask) else {
            return;
        };
        let id = created["elicitationId"].as_str().expect("it has an id");
        let mut asked = known.asked.lock().expect("nobody panics");
        asked.insert(id.to_owned(), None);
        drop(asked);
        if number.is_multiple_of(4) {
            continue;
        }
        let answer = json!({"name": format!("Ada {number}")});
        let mut tried = known.tried.lock().expect("nobody panics");
        tried.insert(id.to_owned());
        drop(tried);
        let submit = json!({"elicitationId": id, "responses": answer});
        if client.call("elicitation/submit", &submit).is_none() {
            return;
        }
        let mut asked = known.asked.lock().expect("nobody panics");
        asked.insert(id.to_owned(), Some(answer));
    }
}

/// Compares the store with what was acknowledged; returns the settled questions.
fn verify(address: &str, known: &Acknowledged) -> BTreeSet<String> {
    let mut client = Client::connect(address).expect("the service is back");
    let asked = known.asked.lock().expect("nobody panics");
    let tried = known.tried.lock().expect("nobody panics");
    let mut settled = BTreeSet::new();
    for (id, answer) in &*asked {
        // A new wait on a settled question returns immediately.
        let params = json!({"elicitationId": id, "timeout": 0});
        let found = client
            .call("elicitation/await", &params)
            .expect("it is there");
        let status = found["status"].as_str().expect("it has a status");
        match answer {
            Some(answer) => assert_eq!((status, &found["result"]), ("completed", answer), "{id}"),
            None if tried.contains(id) => assert!(["pending", "completed"].contains(&status)),
            None => assert_eq!(status, "pending", "{id}"),
        }
        if status == "completed" {
            settled.insert(id.clone());
        }
    }
    settled
}

fn start(folder: &Path) -> Service {
    let mut command = serve(folder, &["--store", "q.db", "--log", "warn"]);
    let secret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    command
        .env("ENTREAT_CALLBACKS_SECRET", secret)
        .env("ENTREAT_CALLBACKS_LOOPBACK", "true")
        // Unanswered questions stay pending, however long the test takes.
        .env("ENTREAT_TIMEOUTS_FORM_MAX", "24h")
        .env("ENTREAT_TIMEOUTS_FORM_DEFAULT", "24h")
        .env("ENTREAT_LIMITS_LIVE", "1000000")
        .env("ENTREAT_LIMITS_LIVE_IN_ALL", "1000000")
        .env("ENTREAT_LIMITS_CREATIONS_PER_MINUTE", "none")
        .env("ENTREAT_LIMITS_REQUESTS_PER_SECOND", "none");
    Service::spawn(command)
}

/// Returns the number of rounds.
pub(crate) fn rounds() -> usize {
    #[expect(clippy::disallowed_methods, reason = "how a longer run is asked for")]
    let said = std::env::var("ENTREAT_CRASH_ROUNDS");
    said.ok()
        .and_then(|said| said.parse().ok())
        .unwrap_or(ROUNDS)
}

#[test]
fn a_service_that_is_killed_loses_no_answer_and_no_callback() {
    let folder = folder();
    let (port, called) = receive();
    let known = Acknowledged::default();
    let number = AtomicU64::new(0);
    let mut chance = fastrand::Rng::with_seed(7);
    let mut asked_before = 0;
    for round in 0..rounds() {
        let service = start(folder.path());
        let address = service.address.clone();
        verify(&address, &known);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..CLIENTS {
                scope.spawn(|| {
                    work(&address, port, &number, &known);
                    assert!(is_over.load(Ordering::Relaxed), "it hung up by itself");
                });
            }
            std::thread::sleep(Duration::from_millis(chance.u64(100..500)));
            is_over.store(true, Ordering::Relaxed);
            service.kill();
        });
        let asked = known.asked.lock().expect("nobody panics").len();
        assert!(asked > asked_before, "nothing was asked in round {round}");
        asked_before = asked;
    }
    let service = start(folder.path());
    let settled = verify(&service.address, &known);
    assert!(!settled.is_empty());
    let step = Duration::from_millis(200);
    for _ in 0..PATIENCE.as_millis() / step.as_millis() {
        let called = called.lock().expect("nobody panics").clone();
        if settled.is_subset(&called) {
            // No callback for anything that never settled. Questions that were not acknowledged are
            // unknown, but none of them was answered.
            assert_eq!(called.difference(&settled).count(), 0);
            assert_eq!(service.end().code, 0);
            return;
        }
        std::thread::sleep(step);
    }
    let called = called.lock().expect("nobody panics");
    let missing = settled.difference(&called).count();
    panic!("{missing} of {} callbacks never came", settled.len());
}
