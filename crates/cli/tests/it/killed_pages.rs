//! Kills a service while people fill in its pages, with two tabs on one question and concurrent
//! uploads. Everything that got a 200 is in the answer afterwards.
//!
//! A few rounds; `cargo xtask crash --service` runs more.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::killed::rounds;
use crate::serve::{Service, folder, serve};

/// People who each fill in their own form.
const PEOPLE: usize = 3;
/// Concurrent uploads per question.
const AT_ONCE: usize = 4;
/// Files per uploader.
const FILES: usize = 6;

/// What the page of one question acknowledged.
#[derive(Default)]
struct Person {
    /// The path of the page, whatever the service's port.
    path: String,
    /// For each of two fields, the last number acknowledged and the last number sent.
    typed: [Mutex<(u64, u64)>; 2],
    /// Acknowledged files, and files whose fate is unknown.
    taken: Mutex<BTreeSet<String>>,
    in_doubt: Mutex<BTreeSet<String>>,
}

/// The page of a question in a browser.
pub(crate) struct Page {
    address: String,
    here: String,
    cookie: String,
    csrf: String,
    html: String,
}

impl Page {
    /// Opens it; `None` if the service is gone.
    pub(crate) fn open(address: &str, path: &str) -> Option<Self> {
        let (_, page) = exchange(address, &format!("GET {path}"), "", "")?;
        let between = |before: &str, after: &str| {
            let (_, rest) = page.split_once(before)?;
            Some(rest.split_once(after)?.0.to_owned())
        };
        Some(Self {
            address: address.to_owned(),
            here: between("action=\"", "\"")?,
            cookie: between("set-cookie: ", ";")?,
            csrf: between("name=\"_csrf\" value=\"", "\"")?,
            html: page,
        })
    }

    /// The page as it was opened.
    pub(crate) fn html(&self) -> &str {
        &self.html
    }

    /// Presses a button; returns the status of the response.
    pub(crate) fn press(&self, button: &str, fields: &str) -> Option<u16> {
        let body = format!("_csrf={}&{fields}&_do={button}", self.csrf);
        let kind = "application/x-www-form-urlencoded";
        let lines = format!("cookie: {}\r\ncontent-type: {kind}\r\n", self.cookie);
        let head = format!("POST {}", self.here);
        exchange(&self.address, &head, &lines, &body).map(|(status, _)| status)
    }

    /// Uploads a file to the third field; returns the status of the response.
    fn upload(&self, name: &str, content: &str) -> Option<u16> {
        let lines = format!(
            "cookie: {}\r\nx-entreat-form: {}\r\nx-entreat-file: {name}\r\n\
             content-type: text/plain\r\n",
            self.cookie, self.csrf
        );
        let head = format!("POST {}/files/2", self.here);
        exchange(&self.address, &head, &lines, content).map(|(status, _)| status)
    }
}

/// Sends a request and reads the response; `None` if the service dies before sending a status.
pub(crate) fn exchange(
    address: &str,
    head: &str,
    lines: &str,
    body: &str,
) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    let text = format!(
        "{head} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{lines}\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(text.as_bytes()).ok()?;
    let mut answer = Vec::new();
    // The service may be killed in the middle of a response.
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1)?.parse().ok()?;
    Some((status, answer))
}

fn content(name: &str) -> String {
    format!("the contents of {name}\n").repeat(50)
}

/// Asks for two numbers and files; returns the question's id and the path of its page.
fn ask(address: &str) -> Option<(String, String)> {
    let form = json!({"id": "work", "title": "Work", "fields": [
        {"id": "left", "type": "number", "label": "Left"},
        {"id": "right", "type": "number", "label": "Right"},
        {"id": "files", "type": "file", "label": "Files", "validation": {"maxItems": 100}}]});
    let params = json!({"formDefinition": form});
    let body = crate::http::request("elicitation/create", &params);
    let kind = "content-type: application/json\r\n";
    let (status, answer) = exchange(address, "POST /rpc", kind, &body)?;
    assert_eq!(status, 200, "{answer}");
    let (_, body) = answer.split_once("\r\n\r\n")?;
    let answer: Value = serde_json::from_str(body).ok()?;
    let text = |name: &str| answer["result"][name].as_str().map(str::to_owned);
    let page = text("page")?;
    let path = page.find("/e/").expect("pages have a path");
    Some((text("elicitationId")?, page[path..].to_owned()))
}

/// Types in two tabs and uploads files concurrently, then sends the form, until the service dies.
fn fill_in(page: &Page, person: &Person) {
    let number = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for (place, typed) in person.typed.iter().enumerate() {
            scope.spawn(move || {
                for value in 1..=10 {
                    typed.lock().expect("nobody panics").1 = value;
                    let name = ["left", "right"][place];
                    let fields = format!("_f={place}&f.{name}={value}");
                    match page.press("step", &fields) {
                        Some(303) => typed.lock().expect("nobody panics").0 = value,
                        Some(status) => panic!("typing: {status}"),
                        None => return,
                    }
                }
            });
        }
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                for _ in 0..FILES {
                    let name = format!("{}.txt", number.fetch_add(1, Ordering::Relaxed));
                    let mut in_doubt = person.in_doubt.lock().expect("nobody panics");
                    in_doubt.insert(name.clone());
                    drop(in_doubt);
                    match page.upload(&name, &content(&name)) {
                        Some(200) => {
                            let mut taken = person.taken.lock().expect("nobody panics");
                            taken.insert(name);
                        }
                        Some(status) => panic!("uploading: {status}"),
                        None => return,
                    }
                }
            });
        }
    });
    // Two tabs send the form at the same moment.
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| page.press("send", ""));
        }
    });
}

/// Completes a question, and compares the answer with what was acknowledged.
fn verify(service: &Service, id: &str, person: &Person) {
    let settled = || service.call("elicitation/status", &json!({"elicitationId": id}));
    let mut found = settled();
    if found["status"] != "completed" {
        let page = Page::open(&service.address, &person.path).expect("the page is there");
        assert_eq!(page.press("send", ""), Some(303), "{id}");
        found = settled();
    }
    assert_eq!(found["status"], "completed", "{id}: {found}");
    let result = &found["result"];
    for (name, typed) in ["left", "right"].iter().zip(&person.typed) {
        let (kept, sent) = *typed.lock().expect("nobody panics");
        let value = result[*name].as_u64().unwrap_or(0);
        assert!((kept..=sent).contains(&value), "{id}: {name} is {value}");
    }
    let files = result["files"].as_array().cloned().unwrap_or_default();
    let mut names = BTreeSet::new();
    for file in &files {
        let name = file["filename"].as_str().expect("files have names");
        let bytes = file["content"].as_str().expect("small files are inline");
        let bytes = STANDARD.decode(bytes).expect("files are base64");
        assert_eq!(bytes, content(name).into_bytes(), "{id}: {name}");
        assert!(names.insert(name.to_owned()), "{id}: {name} is there twice");
    }
    let taken = person.taken.lock().expect("nobody panics");
    let in_doubt = person.in_doubt.lock().expect("nobody panics");
    let lost: Vec<_> = taken.difference(&names).collect();
    assert_eq!(lost, [""; 0], "{id}: files that got their 200");
    assert!(names.is_subset(&in_doubt), "{id}: nobody sent {names:?}");
}

fn start(folder: &Path) -> Service {
    let mut command = serve(folder, &["--store", "q.db", "--log", "warn"]);
    command
        .env("ENTREAT_LIMITS_CREATIONS_PER_MINUTE", "none")
        .env("ENTREAT_LIMITS_REQUESTS_PER_SECOND", "none");
    Service::spawn(command)
}

#[test]
fn a_service_that_is_killed_loses_nothing_that_its_pages_took() {
    let folder = folder();
    let mut chance = fastrand::Rng::with_seed(11);
    let mut taken = 0;
    for _ in 0..rounds() {
        let service = start(folder.path());
        let people: Mutex<BTreeMap<String, Person>> = Mutex::default();
        let address = service.address.clone();
        std::thread::scope(|scope| {
            for _ in 0..PEOPLE {
                scope.spawn(|| {
                    while let Some((id, path)) = ask(&address) {
                        let page = Page::open(&address, &path);
                        let person = Person {
                            path,
                            ..Person::default()
                        };
                        if let Some(page) = page {
                            fill_in(&page, &person);
                        }
                        people.lock().expect("nobody panics").insert(id, person);
                    }
                });
            }
            std::thread::sleep(Duration::from_millis(chance.u64(200..900)));
            service.kill();
        });
        let service = start(folder.path());
        for (id, person) in people.lock().expect("nobody panics").iter() {
            verify(&service, id, person);
            taken += person.taken.lock().expect("nobody panics").len();
        }
        service.kill();
    }
    assert!(taken > 0, "no file was taken in any round");
}
