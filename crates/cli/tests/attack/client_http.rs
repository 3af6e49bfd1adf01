//! `entreat call` with a malicious server over HTTP.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::server::{HttpServer, call_http, greets, reply, result};
use crate::tally::Tally;
use crate::times;

const PATIENCE: Duration = Duration::from_secs(40);
const FLAGS: &[&str] = &[
    "--era",
    "legacy",
    "--header",
    "Authorization: Bearer canary-token",
];

/// A server that completes the handshake, and handles a call like this.
fn server(react: impl Fn(&Value, &mut TcpStream) + Send + Sync + 'static) -> HttpServer {
    HttpServer::start(move |head, message, stream| {
        if !greets(head, message, stream) {
            react(message, stream);
        }
    })
}

#[test]
fn a_token_never_goes_to_another_place() {
    let mut tally = Tally::new();
    for status in ["301", "302", "303", "307", "308"] {
        let other = HttpServer::start(|_, message, stream| {
            reply(stream, &result(&message["id"], "stolen"));
        });
        let target = other.url();
        let at_once = target.clone();
        let redirecting = HttpServer::start(move |_, _, stream| {
            let answer = format!(
                "HTTP/1.1 {status} Moved\r\nlocation: {at_once}\r\ncontent-length: 0\r\n\r\n"
            );
            let _ = stream.write_all(answer.as_bytes());
        });
        let ended = call_http(&redirecting, FLAGS, "[]", PATIENCE);
        let holds = !other.seen().to_lowercase().contains("canary-token")
            && ended.code.is_some_and(|code| code != 0);
        tally.note(
            format_args!("{status} at once"),
            holds,
            format_args!("{} {}", other.seen(), ended.told()),
        );
        let redirecting = server(move |_, stream| {
            let answer = format!(
                "HTTP/1.1 {status} Moved\r\nlocation: {target}\r\ncontent-length: 0\r\n\r\n"
            );
            let _ = stream.write_all(answer.as_bytes());
        });
        let ended = call_http(&redirecting, FLAGS, "[]", PATIENCE);
        let holds = !other.seen().to_lowercase().contains("canary-token")
            && !ended.stdout.contains("stolen");
        tally.note(
            format_args!("{status} at the call"),
            holds,
            format_args!("{} {}", other.seen(), ended.told()),
        );
    }
    let looping = HttpServer::start(|head, _, stream| {
        let host = crate::browser::between(&head.to_lowercase(), "host: ", "\r\n");
        let answer = format!(
            "HTTP/1.1 307 Moved\r\nlocation: http://{host}/mcp\r\ncontent-length: 0\r\n\r\n"
        );
        let _ = stream.write_all(answer.as_bytes());
    });
    let ended = call_http(&looping, FLAGS, "[]", PATIENCE);
    let requests = looping.heads.lock().expect("nobody panics").len();
    tally.note(
        "redirects in a circle",
        requests < 30 && ended.code == Some(2),
        format_args!("{requests} requests, {}", ended.told()),
    );
    tally.finish();
}

#[test]
fn a_server_that_wants_a_sign_in_elsewhere_is_told_and_nothing_is_fetched() {
    let other = HttpServer::start(|_, _, stream| reply(stream, b"{}"));
    let place = other.url();
    let asking = HttpServer::start(move |_, _, stream| {
        let answer = format!(
            "HTTP/1.1 401 No\r\nwww-authenticate: Bearer resource_metadata=\"{place}\", error=\"\u{1b}[2J\"\r\ncontent-length: 0\r\n\r\n"
        );
        let _ = stream.write_all(answer.as_bytes());
    });
    let ended = call_http(&asking, FLAGS, "[]", PATIENCE);
    let mut tally = Tally::new();
    tally.note("nothing is fetched", other.seen().is_empty(), other.seen());
    tally.note(
        "it is told",
        ended.code == Some(2) && !ended.stderr.contains('\u{1b}'),
        ended.told(),
    );
    tally.finish();
}

#[test]
fn replies_that_are_none_end_the_call_with_an_error() {
    let mut tally = Tally::new();
    for (what, answer) in [
        ("no HTTP", "SSH-2.0-x\r\n".to_owned()),
        ("a head of 4 MiB", format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "x".repeat(4 << 20))),
        ("HTML", "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 31\r\n\r\n<script>\u{1b}[2Jalert(1)</script>".to_owned()),
        ("no JSON", "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1\r\n\r\n{".to_owned()),
        ("deep JSON", {
            let deep = ["[".repeat(100_000), "]".repeat(100_000)].concat();
            format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{deep}", deep.len())
        }),
        ("compressed", "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\n\u{1f}abc".to_owned()),
        ("500 with escapes", "HTTP/1.1 500 \u{1b}[2J\r\ncontent-type: text/plain\r\ncontent-length: 4\r\n\r\n\u{1b}[2J".to_owned()),
        ("a length that lies", "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\nconnection: close\r\n\r\n{}".to_owned()),
        ("nothing", String::new()),
    ] {
        let answering = server(move |_, stream| {
            let _ = stream.write_all(answer.as_bytes());
            let _ = stream.shutdown(std::net::Shutdown::Both);
        });
        let ended = call_http(&answering, FLAGS, "[]", PATIENCE);
        let is_told = matches!(ended.code, Some(1 | 2)) && !ended.stderr.contains('\u{1b}');
        tally.note(what, is_told && ended.is_calm(Duration::from_secs(10), 96), ended.told());
    }
    tally.finish();
}

#[test]
fn streams_without_end_do_not_fill_memory() {
    let mut tally = Tally::new();
    for (what, piece) in [
        ("comments", b": x\n\n".repeat(10_000)),
        ("events that are no messages", b"data: x\n\n".repeat(10_000)),
        ("a line", vec![b'x'; 1 << 16]),
        (
            "one event of many lines",
            b"data: xxxxxxxxxxxxxxxx\n".repeat(3_000),
        ),
        ("fields that are none", b"x: y\n".repeat(10_000)),
        ("ids", b"id: 1\nretry: 0\n\n".repeat(5_000)),
    ] {
        let streaming = server(move |_, stream| {
            let head =
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            let _ = stream.write_all(head);
            // More than the maximum of one message, unless the client disconnects first.
            for _ in 0..(times(72, 200) << 20) / piece.len() {
                if stream.write_all(&piece).is_err() {
                    return;
                }
            }
            let _ = stream.shutdown(std::net::Shutdown::Both);
        });
        let ended = call_http(&streaming, FLAGS, "[]", PATIENCE);
        // Several times the maximum of one event; whether the client keeps waiting or exits is up
        // to it.
        tally.note(what, ended.peak_mib <= 320, ended.told());
    }
    tally.finish();
}

#[test]
fn a_body_without_end_is_cut_off() {
    let streaming = server(|_, stream| {
        let _ = stream.write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n",
        );
        let piece = vec![b' '; 1 << 20];
        for _ in 0..times(80, 300) {
            if stream.write_all(&piece).is_err() {
                return;
            }
        }
    });
    let ended = call_http(&streaming, FLAGS, "[]", PATIENCE);
    let mut tally = Tally::new();
    tally.note(
        "spaces without end",
        ended.is_calm(Duration::from_secs(20), 200) && ended.code == Some(2),
        ended.told(),
    );
    tally.finish();
}
