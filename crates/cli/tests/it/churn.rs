//! Creates and ends questions, pages, files, sockets, streams, sessions and malformed input; memory
//! use must level off.
//!
//! A short run; `cargo xtask churn` runs for ten minutes, prints its measurements, and checks the
//! slope of the second half.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::command;
use crate::http::{self, Page, Socket};
use crate::serve::{Service, folder, form, serve};
use crate::session::Session;

/// The duration, unless `ENTREAT_CHURN_SECONDS` is set.
const SECONDS: u64 = 12;
/// A run of at least this many seconds has warmed up after its first half; its slope is checked.
const LONG: u64 = 120;
/// The fraction by which memory may grow in ten minutes.
const GROWTH: f64 = 0.05;
/// A short run is still warming up; this only catches runaway growth.
const RUNAWAY_KIB: f64 = 256.0 * 1024.0;

/// The repeated activities, by name.
type Deed = (&'static str, fn(&Programs, u64));

const DEEDS: [Deed; 8] = [
    ("questions answered", answer),
    ("questions left to time out", leave),
    ("pages filled in", fill_in),
    ("files sent", send_files),
    ("sockets", sockets),
    ("streams", streams),
    ("rubbish", rubbish),
    ("MCP sessions", sessions),
];

/// The programs under load.
struct Programs {
    service: Service,
    mcp: Session,
    mcp_address: String,
}

impl Programs {
    fn start(folder: &Path) -> Self {
        let mut command = serve(folder, &["--store", "q.db", "--log", "error"]);
        command
            .env("ENTREAT_RETENTION", "2s")
            .env("ENTREAT_LIMITS_LIVE", "10000")
            .env("ENTREAT_LIMITS_CREATIONS_PER_MINUTE", "none")
            .env("ENTREAT_LIMITS_REQUESTS_PER_SECOND", "none");
        let mut mcp = command_of_mcp(folder);
        mcp.env("ENTREAT_LIMITS_CREATIONS_PER_MINUTE", "none")
            .env("ENTREAT_LIMITS_REQUESTS_PER_SECOND", "none");
        let mcp = Session::spawn(mcp);
        let said = mcp.line_with("http://");
        let (_, address) = said
            .split_once("http://")
            .expect("it says where it listens");
        let (address, _) = address.split_once('/').expect("it says under which path");
        Self {
            service: Service::spawn(command),
            mcp_address: address.to_owned(),
            mcp,
        }
    }

    fn address(&self) -> &str {
        &self.service.address
    }

    /// The memory of each program, in KiB.
    fn memory(&self) -> [f64; 2] {
        [self.service.pid(), self.mcp.child.id()].map(|pid| {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status"));
            let status = status.expect("it runs");
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
            let kib = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
            kib.expect("the system counts memory")
        })
    }
}

fn command_of_mcp(folder: &Path) -> std::process::Command {
    let mut command = command(&["mcp", "--port", "0", "--log", "error"]);
    command.current_dir(folder).env("HOME", folder);
    command
}

fn answer(programs: &Programs, number: u64) {
    let service = &programs.service;
    let asked = service.call("elicitation/create", &form());
    let id = &asked["elicitationId"];
    match number % 4 {
        0 => service.call("elicitation/decline", &json!({"elicitationId": id})),
        1 => service.call("elicitation/cancel", &json!({"elicitationId": id})),
        _ => {
            let name = format!("Ada {number}").repeat(10);
            let answer = json!({"elicitationId": id, "responses": {"name": name}});
            service.call("elicitation/submit", &answer)
        }
    };
}

fn leave(programs: &Programs, _: u64) {
    let mut ask = form();
    ask["timeout"] = json!(1000);
    programs.service.call("elicitation/create", &ask);
}

/// The page of a new question.
fn open_page(programs: &Programs, fields: &Value) -> Page {
    let ask = json!({"timeout": 2000, "formDefinition":
        {"id": "f", "title": "F", "fields": fields}});
    let asked = programs.service.call("elicitation/create", &ask);
    Page::open(asked["page"].as_str().expect("there is a page"))
}

fn fill_in(programs: &Programs, number: u64) {
    let fields = json!([{"id": "a", "type": "text", "label": "A"}]);
    let page = open_page(programs, &fields);
    page.post(&format!("f.a={number}"), "step");
    if number.is_multiple_of(2) {
        page.post(&format!("f.a={number}"), "send");
    }
}

fn send_files(programs: &Programs, number: u64) {
    let fields = json!([{"id": "a", "type": "file", "label": "A"}]);
    let page = open_page(programs, &fields);
    let content = "x".repeat(50_000);
    let sent = page.upload(0, "a.txt", &content);
    assert_eq!(sent.status, 200, "{}", sent.body);
    if number.is_multiple_of(2) {
        page.post("", "send");
    }
}

fn sockets(programs: &Programs, _: u64) {
    let mut socket = Socket::open(programs.address());
    // Notifications about other questions arrive in between.
    let told = socket.call("elicitation/create", &form());
    assert!(told.get("error").is_none(), "{told}");
}

fn streams(programs: &Programs, number: u64) {
    let lines = match number % 2 {
        0 => String::new(),
        _ => format!("last-event-id: 1-{number:x}-1\r\n"),
    };
    let mut stream = http::begin_plain(programs.address(), "GET /events", &lines, "");
    let mut head = [0; 12];
    stream.read_exact(&mut head).expect("there is an answer");
}

fn rubbish(programs: &Programs, number: u64) {
    let address = programs.address();
    let unreadable = "[".repeat(1 + usize::try_from(number % 100).unwrap_or(0));
    http::send(address, "POST /rpc", None, &unreadable);
    http::send(address, "POST /rpc", Some("no key at all"), "{}");
    http::send(address, &format!("GET /e/{number}"), None, "");
    for half in ["POST /rpc HTTP/1.1\r\nhost:", "\r\n\r\n", "\0\0\0"] {
        let mut stream = TcpStream::connect(address).expect("it listens");
        // The server may disconnect at the first byte.
        let _ = stream.write_all(half.as_bytes());
    }
}

fn sessions(programs: &Programs, number: u64) {
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "agent", "version": "1"}});
    let body = http::request("initialize", &hello);
    let lines = format!(
        "accept: application/json, text/event-stream\r\nauthorization: Bearer {}\r\n",
        number % 7
    );
    let stream = http::begin_with(&programs.mcp_address, "POST /mcp", &lines, &body);
    let answer = http::read_answer(stream);
    assert_eq!(answer.status, 200, "{}", answer.body);
}

/// The slope of the second half of a series, in KiB per second, and its mean.
fn second_half(samples: &[f64]) -> (f64, f64) {
    let half = &samples[samples.len() / 2..];
    let indices = || (0_u32..).map(f64::from);
    let count = indices().nth(half.len()).unwrap_or_default();
    let mean = half.iter().sum::<f64>() / count;
    let middle = (count - 1.0) / 2.0;
    let slopes = indices().zip(half).map(|(x, y)| (x - middle) * (y - mean));
    let spread = indices().take(half.len()).map(|x| (x - middle).powi(2));
    (slopes.sum::<f64>() / spread.sum::<f64>(), mean)
}

#[expect(clippy::print_stderr, reason = "the figures are for whoever runs it")]
#[test]
fn memory_levels_off_while_everything_comes_and_goes() {
    #[expect(clippy::disallowed_methods, reason = "how a longer run is asked for")]
    let asked_for = std::env::var("ENTREAT_CHURN_SECONDS");
    let seconds = asked_for.ok().and_then(|text| text.parse().ok());
    let seconds: u64 = seconds.unwrap_or(SECONDS);
    let folder = folder();
    let programs = Programs::start(folder.path());
    let done: BTreeMap<_, _> = DEEDS.map(|(name, _)| (name, AtomicU64::new(0))).into();
    let is_over = AtomicBool::new(false);
    let mut samples: [Vec<f64>; 2] = Default::default();
    std::thread::scope(|scope| {
        for (name, deed) in DEEDS {
            let (programs, done, is_over) = (&programs, &done[name], &is_over);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    deed(programs, done.fetch_add(1, Ordering::Relaxed));
                }
            });
        }
        for _ in 0..seconds {
            std::thread::sleep(Duration::from_secs(1));
            for (samples, memory) in samples.iter_mut().zip(programs.memory()) {
                samples.push(memory);
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    for (name, done) in &done {
        let done = done.load(Ordering::Relaxed);
        eprintln!("{done:>9} {name}");
        assert!(done > 0, "no {name}");
    }
    for (program, samples) in ["serve", "mcp"].iter().zip(&samples) {
        let (slope, mean) = second_half(samples);
        let in_ten_minutes = slope * 600.0;
        eprintln!(
            "entreat {program}: {mean:.0} KiB in the second half, slope {slope:.2} KiB/s, which \
             is {:.1} % in ten minutes",
            100.0 * in_ten_minutes / mean
        );
        let last = samples.last().copied().unwrap_or_default();
        assert!(last < RUNAWAY_KIB, "{program} holds {last} KiB");
        if seconds >= LONG {
            assert!(in_ten_minutes < GROWTH * mean, "{program} grows");
        }
    }
    programs.mcp.kill();
    assert_eq!(programs.service.end().code, 0);
}
