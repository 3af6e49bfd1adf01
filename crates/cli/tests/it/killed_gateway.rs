//! Kills a gateway with calls parked, asked on pages and running. Nothing runs twice, and every
//! answer that was given is used or offered again.
//!
//! A few rounds; `cargo xtask crash --gateway` runs more.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::command;
use crate::killed::rounds;
use crate::killed_pages::{Page, exchange};
use crate::serve::{Service, folder};

/// People who answer on pages.
const PEOPLE: usize = 2;
const L11: &str = "2025-11-25";
const M: &str = "2026-07-28";

/// What a client knows of an order whose call did not end.
#[derive(Clone, Debug)]
struct Order {
    id: String,
    /// What the person has answered, or typed.
    name: String,
    how: How,
}

#[derive(Clone, Debug)]
enum How {
    /// In the client's own form: the request that brought the answer.
    Form(Value),
    /// On a page, which has said that it was sent.
    Sent,
    /// On a page, which has kept it as a draft.
    Typed { path: String },
}

/// Orders whose call was lost with an answer, and how many came to their end.
#[derive(Default)]
struct Ledger {
    open: Mutex<Vec<Order>>,
    charged: AtomicU64,
    next: AtomicU64,
}

impl Ledger {
    fn order(&self) -> (String, String) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        (format!("o{number}"), format!("Ada{number}"))
    }

    fn note(&self, order: &str, name: &str, how: How) {
        self.open.lock().expect("nobody panics").push(Order {
            id: order.to_owned(),
            name: name.to_owned(),
            how,
        });
    }

    /// The call has ended: nothing of it is open.
    fn charge(&self, order: &str) {
        let mut open = self.open.lock().expect("nobody panics");
        open.retain(|it| it.id != order);
        self.charged.fetch_add(1, Ordering::Relaxed);
    }
}

/// A client of one of the versions; `None` is a gateway that is dead.
struct Client<'a> {
    address: &'a str,
    session: Option<String>,
}

impl<'a> Client<'a> {
    /// A client of 2026-07-28 that shows forms.
    fn modern(address: &'a str) -> Self {
        Self {
            address,
            session: None,
        }
    }

    /// A client of 2025 that shows nothing.
    fn legacy(address: &'a str) -> Option<Self> {
        let mut client = Self::modern(address);
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": L11, "capabilities": {},
            "clientInfo": {"name": "client", "version": "1"}}});
        let (status, answer) = client.post(&hello)?;
        assert_eq!(status, 200, "{answer}");
        let session = answer.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            (name == "mcp-session-id").then(|| value.to_owned())
        });
        client.session = Some(session.expect("a session"));
        client.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Some(client)
    }

    fn post(&self, message: &Value) -> Option<(u16, String)> {
        let lines = match &self.session {
            Some(session) => {
                format!("mcp-session-id: {session}\r\nmcp-protocol-version: {L11}\r\n")
            }
            None if message["method"] == "tools/call" => {
                let name = message["params"]["name"].as_str().unwrap_or_default();
                format!(
                    "mcp-protocol-version: {M}\r\nmcp-method: tools/call\r\nmcp-name: {name}\r\n"
                )
            }
            None => String::new(),
        };
        let lines = format!(
            "{lines}content-type: application/json\r\n\
             accept: application/json, text/event-stream\r\n"
        );
        let body = message.to_string();
        exchange(self.address, "POST /mcp/till", &lines, &body)
    }

    /// Calls a tool; returns the response.
    fn call(&self, params: &Value) -> Option<Value> {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let (_, answer) = self.post(&call)?;
        let (_, body) = answer.split_once("\r\n\r\n")?;
        // Cut off in the middle by a kill.
        let response: Value = serde_json::from_str(body.trim()).ok()?;
        Some(response)
    }

    /// Charges an order on a page; returns the link, and what resumes the call.
    fn link(&self, order: &str, attempt: usize) -> Option<(String, String)> {
        let params = json!({"name": "charge",
            "arguments": {"order": order, "attempt": attempt.to_string()}});
        let linked = self.call(&params)?;
        let said = linked["result"]["content"][0]["text"].as_str();
        let said = said.unwrap_or_else(|| panic!("no link: {linked}"));
        let path = said.find("/e/").map(|at| &said[at..]).expect("a path");
        let path = path.split_whitespace().next().unwrap_or_default();
        let handle = said.split('"').nth(3).expect("a handle");
        Some((path.to_owned(), handle.to_owned()))
    }
}

/// Parameters of a call of 2026-07-28. Those that sample have a connection of their own.
fn charge(order: &str, attempt: usize, samples: bool) -> Value {
    let mut capabilities = json!({"elicitation": {"form": {}}});
    if samples {
        capabilities["sampling"] = json!({});
    }
    json!({"name": "charge", "arguments": {"order": order, "attempt": attempt.to_string()},
        "_meta": {"io.modelcontextprotocol/protocolVersion": M,
            "io.modelcontextprotocol/clientInfo": {"name": "client", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": capabilities}})
}

/// The retry of a call with an answer.
fn answered(params: &Value, round: &Value, name: &str) -> Value {
    let requests = round["result"]["inputRequests"].as_object();
    let key = requests.and_then(|requests| requests.keys().next());
    let key = key.unwrap_or_else(|| panic!("no question: {round}"));
    let mut params = params.clone();
    params["requestState"] = round["result"]["requestState"].clone();
    params["inputResponses"] = json!({key: {"action": "accept", "content": {"name": name}}});
    params
}

fn is_charged(response: &Value, name: &str) -> bool {
    let said = response["result"]["content"][0]["text"].as_str();
    said == Some(&format!("charged {name}"))
}

/// Answers in the client's own form, until the gateway dies.
fn fill_in_forms(address: &str, ledger: &Ledger) {
    let client = Client::modern(address);
    let work = || {
        let (order, name) = ledger.order();
        let params = charge(&order, 0, false);
        let round = client.call(&params)?;
        // Longer than it takes a person to read nothing.
        std::thread::sleep(Duration::from_millis(310));
        let retry = answered(&params, &round, &name);
        ledger.note(&order, &name, How::Form(retry.clone()));
        let done = client.call(&retry)?;
        assert!(is_charged(&done, &name), "{done}");
        ledger.charge(&order);
        Some(())
    };
    while work().is_some() {}
}

/// Parks a call, whose person answers when the gateway is dead.
fn park(address: &str, ledger: &Ledger) {
    let (order, name) = ledger.order();
    let params = charge(&order, 0, true);
    if let Some(round) = Client::modern(address).call(&params) {
        let retry = answered(&params, &round, &name);
        ledger.note(&order, &name, How::Form(retry));
    }
}

/// Answers on pages, until the gateway dies. Every third answer is typed and not sent.
fn fill_in_pages(address: &str, ledger: &Ledger) {
    let Some(client) = Client::legacy(address) else {
        return;
    };
    let work = || {
        let (order, name) = ledger.order();
        let (path, handle) = client.link(&order, 0)?;
        let page = Page::open(address, &path)?;
        let fields = format!("_f=0&f.name={name}");
        if page.press("step", &fields)? == 303 {
            ledger.note(&order, &name, How::Typed { path });
        }
        if ledger.next.load(Ordering::Relaxed).is_multiple_of(3) {
            return Some(());
        }
        let status = page.press("send", &fields)?;
        assert_eq!(status, 303);
        ledger
            .open
            .lock()
            .expect("nobody panics")
            .retain(|it| it.id != order);
        ledger.note(&order, &name, How::Sent);
        let arguments = json!({"name": "resume_question", "arguments": {"question": handle}});
        let done = client.call(&arguments)?;
        assert!(is_charged(&done, &name), "{done}");
        ledger.charge(&order);
        Some(())
    };
    while work().is_some() {}
}

/// What the server's ledger says: how often each attempt was asked for, and with which name each
/// ran.
fn read_ledger(folder: &Path) -> (BTreeMap<String, usize>, BTreeMap<String, Vec<String>>) {
    let text = std::fs::read_to_string(folder.join("ledger")).unwrap_or_default();
    let (mut asked, mut ran) = (BTreeMap::new(), BTreeMap::<_, Vec<_>>::new());
    for line in text.lines() {
        let words: Vec<_> = line.split(' ').collect();
        let attempt = format!("{} {}", words[1], words[2]);
        match words[0] {
            "asked" => *asked.entry(attempt).or_default() += 1,
            _ => ran.entry(attempt).or_default().push(words[3].to_owned()),
        }
    }
    (asked, ran)
}

/// Every answer of a call that was lost is offered again, or has reached the server.
fn verify(service: &Service, folder: &Path, ledger: &Ledger) -> usize {
    let address = service.address.clone();
    let open = std::mem::take(&mut *ledger.open.lock().expect("nobody panics"));
    let modern = Client::modern(&address);
    let legacy = Client::legacy(&address).expect("the gateway is back");
    let (_, ran) = read_ledger(folder);
    let mut offered = 0;
    for lost in &open {
        let Order {
            id: order,
            name,
            how,
        } = lost;
        match how {
            How::Form(retry) => {
                let told = modern.call(retry).expect("the gateway is back");
                let data = &told["error"]["data"];
                let expected = json!({"reason": "call_lost", "mayHaveRun": true});
                assert_eq!(*data, expected, "{lost:?}: {told}");
                let params = charge(order, 1, false);
                let round = modern.call(&params).expect("the gateway is back");
                let requests = round["result"]["inputRequests"].as_object();
                let question = requests.and_then(|it| it.values().next());
                let question = question.unwrap_or_else(|| panic!("no question: {round}"));
                let schema = &question["params"]["requestedSchema"];
                assert_eq!(schema["properties"]["name"]["default"], *name, "{lost:?}");
                std::thread::sleep(Duration::from_millis(310));
                let done = modern.call(&answered(&params, &round, name));
                assert!(is_charged(&done.expect("the gateway is back"), name));
                offered += 1;
            }
            How::Sent | How::Typed { .. } => {
                let (path, handle) = legacy.link(order, 1).expect("the gateway is back");
                if let How::Typed { path } = how {
                    let old = exchange(&address, &format!("GET {path}"), "", "");
                    let (_, old) = old.expect("the gateway is back");
                    assert!(
                        !old.contains("name=\"_csrf\""),
                        "somebody may send it: {old}"
                    );
                }
                let page = Page::open(&address, &path).expect("the page is there");
                let is_offered = page.html().contains(&format!("value=\"{name}\""));
                // The server had it, and had ended the call.
                let has_run = ran.contains_key(&format!("{order} 0"));
                assert!(
                    is_offered || has_run,
                    "{lost:?} was not offered again: {}",
                    page.html()
                );
                offered += usize::from(is_offered);
                let fields = format!("_f=0&f.name={name}");
                assert_eq!(page.press("send", &fields), Some(303));
                let resume = json!({"name": "resume_question", "arguments": {"question": handle}});
                let done = legacy.call(&resume).expect("the gateway is back");
                assert!(is_charged(&done, name), "{done}");
            }
        }
    }
    offered
}

fn start(folder: &Path) -> Service {
    let mut command = command(&[
        "gateway",
        "--listen",
        "127.0.0.1:0",
        "--store",
        "q.db",
        "--log",
        "warn",
    ]);
    command
        .current_dir(folder)
        .env("HOME", folder)
        .env("PATH", "/usr/local/bin:/usr/bin:/bin");
    let mut service = Service::spawn(command);
    service.address = service.address.trim_end_matches("/mcp").to_owned();
    service
}

#[test]
fn a_gateway_that_is_killed_runs_nothing_twice_and_loses_no_answer() {
    let folder = folder();
    std::fs::write(folder.path().join("till.sh"), include_str!("till.sh")).expect("it is written");
    let config = "[[upstream]]\nname = 'till'\ncommand = ['sh', 'till.sh', 'ledger']\n\
                  questions_per_minute = 1000000\n";
    std::fs::write(folder.path().join("entreat.toml"), config).expect("it is written");
    let ledger = Ledger::default();
    let mut chance = fastrand::Rng::with_seed(13);
    let mut offered = 0;
    for _ in 0..rounds() {
        let service = start(folder.path());
        let address = service.address.clone();
        std::thread::scope(|scope| {
            scope.spawn(|| park(&address, &ledger));
            scope.spawn(|| fill_in_forms(&address, &ledger));
            for _ in 0..PEOPLE {
                scope.spawn(|| fill_in_pages(&address, &ledger));
            }
            std::thread::sleep(Duration::from_millis(chance.u64(500..1200)));
            service.kill();
        });
        let service = start(folder.path());
        offered += verify(&service, folder.path(), &ledger);
        assert_eq!(service.end().code, 0);
    }
    let (asked, ran) = read_ledger(folder.path());
    for (attempt, times) in &asked {
        assert_eq!(*times, 1, "{attempt} reached the server more than once");
    }
    for (attempt, names) in &ran {
        assert_eq!(names.len(), 1, "{attempt} ran with {names:?}");
    }
    assert!(ledger.charged.load(Ordering::Relaxed) > 0, "no call ended");
    assert!(offered > 0, "no answer was offered again");
}
