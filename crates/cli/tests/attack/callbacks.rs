//! Callbacks to receivers that hang, lie or never stop sending.

use std::io::{BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;

use crate::program::eventually;
use crate::service::{ALICE, MALLORY, Question, SOON, Service, TWO_ASKERS, text_field};
use crate::tally::Tally;
use crate::wire::read_head;

const SECRET: (&str, &str) = (
    "CALLBACKS_SECRET",
    "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
);
const LOOPBACK: (&str, &str) = ("CALLBACKS_LOOPBACK", "true");

/// A receiver of callbacks, and its behaviour.
struct Receiver {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
    calls: Arc<AtomicUsize>,
}

impl Receiver {
    fn start(react: impl Fn(TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let port = listener.local_addr().expect("it listens").port();
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let calls = Arc::new(AtomicUsize::new(0));
        let (told, counted) = (heads.clone(), calls.clone());
        let react = Arc::new(react);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (told, counted, react) = (told.clone(), counted.clone(), react.clone());
                std::thread::spawn(move || {
                    let mut reader =
                        BufReader::new(stream.try_clone().expect("sockets can be shared"));
                    if let Some(head) = read_head(&mut reader) {
                        told.lock().expect("nobody panics").push(head);
                    }
                    counted.fetch_add(1, Ordering::Relaxed);
                    react(stream);
                });
            }
        });
        Self { port, heads, calls }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hook", self.port)
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }
}

/// Accepts every callback.
fn takes(mut stream: TcpStream) {
    let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n");
}

/// Doesn't respond until after every timeout.
fn hangs(mut stream: TcpStream) {
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
}

/// Asks with a callback, and answers immediately.
fn settle(service: &Service, key: &str, callback: &str) {
    let form = json!({"id": "f", "title": "T", "fields": text_field()});
    let params = json!({"formDefinition": form, "callback": callback});
    let asked = service.call_as(key, "elicitation/create", &params);
    let question = Question::read(&asked["result"]);
    let answer = json!({"elicitationId": question.id, "responses": {"name": "Ada"}});
    let done = service.call_as(key, "elicitation/submit", &answer);
    assert!(done.get("result").is_some(), "{asked} {done}");
}

#[test]
fn hooks_of_one_that_hang_do_not_delay_those_of_another() {
    let service = Service::configured(TWO_ASKERS, &[SECRET, LOOPBACK, ("LIMITS_LIVE", "1000")]);
    let slow = Receiver::start(hangs);
    for _ in 0..100 {
        settle(&service, MALLORY, &slow.url());
    }
    eventually(SOON, || slow.calls() > 0);
    let good = Receiver::start(takes);
    settle(&service, ALICE, &good.url());
    let came = eventually(SOON, || good.calls() > 0);
    let mut tally = Tally::new();
    tally.note(
        "a hundred that hang",
        came,
        format_args!("nothing came in {SOON:?}, while {} hang", slow.calls()),
    );
    service.serves_others("hooks that hang");
    tally.finish();
}

#[test]
fn answers_to_hooks_are_bounded_and_redirects_not_followed() {
    let target = Receiver::start(takes);
    let to_target = target.url();
    let mut tally = Tally::new();
    let redirect = |status: &str| {
        format!("HTTP/1.1 {status} Moved\r\nlocation: {to_target}\r\ncontent-length: 0\r\n\r\n")
    };
    let service = Service::configured(TWO_ASKERS, &[SECRET, LOOPBACK, ("LIMITS_LIVE", "1000")]);
    let meter = service.program.meter();
    for (what, answer) in [
        ("301", redirect("301")),
        ("302", redirect("302")),
        ("303", redirect("303")),
        ("307", redirect("307")),
        ("308", redirect("308")),
        (
            "a head of 4 MiB",
            format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "x".repeat(4 << 20)),
        ),
        (
            "a million lines",
            format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(1_000_000)),
        ),
        ("no HTTP", "SSH-2.0-x\r\n".to_owned()),
        ("nothing", String::new()),
        ("half a head", "HTTP/1.1 200 OK\r\nx".to_owned()),
        (
            "102 without end",
            "HTTP/1.1 102 Processing\r\n\r\n".repeat(10_000),
        ),
        (
            "a huge length",
            "HTTP/1.1 200 OK\r\ncontent-length: 99999999999999\r\n\r\n".to_owned()
                + &"x".repeat(8 << 20),
        ),
    ] {
        let hook = Receiver::start(move |mut stream| {
            let _ = stream.write_all(answer.as_bytes());
        });
        settle(&service, MALLORY, &hook.url());
        let came = eventually(SOON, || hook.calls() > 0);
        tally.note(what, came, "it was not called");
    }
    let endless = Receiver::start(|mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 500 No\r\ntransfer-encoding: chunked\r\n\r\n");
        let chunk = [b"10000\r\n".to_vec(), vec![b'x'; 1 << 16], b"\r\n".to_vec()].concat();
        for _ in 0..2_000 {
            if stream.write_all(&chunk).is_err() {
                return;
            }
        }
    });
    settle(&service, MALLORY, &endless.url());
    eventually(SOON, || endless.calls() > 0);
    let good = Receiver::start(takes);
    settle(&service, ALICE, &good.url());
    tally.note(
        "another's arrives",
        eventually(SOON, || good.calls() > 0),
        "nothing came",
    );
    tally.note(
        "no redirect is followed",
        target.calls() == 0,
        format_args!("{} came", target.calls()),
    );
    service.serves_others("answers to hooks");
    meter.at_most("answers to hooks", Duration::from_secs(20), 96);
    tally.finish();
}

#[test]
fn a_hook_gets_a_signature_and_nothing_that_opens_the_service() {
    let service = Service::configured(TWO_ASKERS, &[SECRET, LOOPBACK]);
    let hook = Receiver::start(takes);
    settle(&service, ALICE, &hook.url());
    assert!(eventually(SOON, || hook.calls() > 0), "nothing came");
    let head = hook
        .heads
        .lock()
        .expect("nobody panics")
        .join("")
        .to_lowercase();
    let mut tally = Tally::new();
    tally.note(
        "it is signed",
        head.contains("webhook-signature: v1,"),
        &head,
    );
    for word in ["authorization", "cookie", "whsec_", "alice-alice"] {
        tally.note(format_args!("no {word}"), !head.contains(word), &head);
    }
    tally.finish();
}

#[test]
fn a_hook_that_speaks_tls_wrongly_harms_nobody() {
    let service = Service::configured(TWO_ASKERS, &[SECRET, LOOPBACK]);
    let meter = service.program.meter();
    let mut tally = Tally::new();
    for (what, answer) in [
        ("plain words", b"HTTP/1.1 200 OK\r\n\r\n".to_vec()),
        (
            "a record of 16 MiB",
            [&[0x16, 3, 3, 0xff, 0xff][..], &vec![0; 16 << 20]].concat(),
        ),
        ("an alert", vec![0x15, 3, 3, 0, 2, 2, 40]),
        ("nothing", Vec::new()),
    ] {
        let answer = Arc::new(answer);
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let port = listener.local_addr().expect("it listens").port();
        let called = Arc::new(AtomicUsize::new(0));
        let counted = called.clone();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                counted.fetch_add(1, Ordering::Relaxed);
                let _ = stream.write_all(&answer);
            }
        });
        settle(&service, MALLORY, &format!("https://127.0.0.1:{port}/hook"));
        let came = eventually(SOON, || called.load(Ordering::Relaxed) > 0);
        tally.note(what, came, "it was not called");
    }
    service.serves_others("TLS that is none");
    meter.at_most("TLS that is none", Duration::from_secs(5), 32);
    tally.finish();
}
