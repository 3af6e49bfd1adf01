//! The control API's HTTP: requests that are ambiguous, endless or too large.

use std::io::{BufReader, Read as _, Write as _};
use std::time::Duration;

use serde_json::json;

use crate::service::{Service, message};
use crate::tally::Tally;
use crate::times;
use crate::wire::{connect, exchange, hangs_up, read_reply, request};

/// Every status on a connection, until it ends or times out.
fn statuses(service: &Service, bytes: &[u8]) -> Vec<u16> {
    let mut stream = connect(&service.address);
    crate::wire::patient(&stream, Duration::from_secs(2));
    let _ = stream.write_all(bytes);
    let mut stream = BufReader::new(stream);
    let mut statuses = Vec::new();
    while let Some(reply) = read_reply(&mut stream, true) {
        statuses.push(reply.status);
    }
    statuses
}

#[test]
fn a_request_that_could_be_read_in_two_ways_hides_no_second_one() {
    let service = Service::start(&[]);
    let ask = message("elicitation/create", &json!({"prompt": "Smuggled?"}));
    let inner = format!(
        "POST /rpc HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{ask}",
        ask.len()
    );
    let long = inner.len();
    let head = "POST /rpc HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    let mut tally = Tally::new();
    for (what, bytes) in [
        (
            "a length and chunks",
            format!(
                "{head}content-length: {long}\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{inner}"
            ),
        ),
        (
            "chunks and a length",
            format!(
                "{head}transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n{inner}"
            ),
        ),
        (
            "two lengths",
            format!("{head}content-length: 2\r\ncontent-length: {long}\r\n\r\n{{}}{inner}"),
        ),
        (
            "two lengths in a line",
            format!("{head}content-length: 2, {long}\r\n\r\n{{}}{inner}"),
        ),
        (
            "a length with a sign",
            format!("{head}content-length: +2\r\n\r\n{{}}{inner}"),
        ),
        (
            "a length below 0",
            format!("{head}content-length: -1\r\n\r\n{{}}{inner}"),
        ),
        (
            "a length in hex",
            format!("{head}content-length: 0x2\r\n\r\n{{}}{inner}"),
        ),
        (
            "a length beyond all numbers",
            format!("{head}content-length: 18446744073709551618\r\n\r\n{{}}{inner}"),
        ),
        (
            "an unknown encoding",
            format!("{head}transfer-encoding: xchunked\r\n\r\n0\r\n\r\n{inner}"),
        ),
        (
            "chunks that are not last",
            format!("{head}transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n{inner}"),
        ),
        (
            "a space before the colon",
            format!("{head}content-length : 0\r\n\r\n{inner}"),
        ),
        (
            "a folded line",
            format!("{head}x: a\r\n content-length: {long}\r\n\r\n{inner}"),
        ),
        (
            "a bare carriage return",
            format!("{head}x: a\rtransfer-encoding: chunked\r\n\r\n{inner}"),
        ),
        ("a NUL in a value", format!("{head}x: a\0b\r\n\r\n{inner}")),
        (
            "a chunk of a negative size",
            format!("{head}transfer-encoding: chunked\r\n\r\n-1\r\n\r\n{inner}"),
        ),
        (
            "a chunk of a huge size",
            format!("{head}transfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n\r\n{inner}"),
        ),
    ] {
        let statuses = statuses(&service, bytes.as_bytes());
        // If the first request is rejected, nothing after it on that connection is read.
        let holds = statuses.iter().filter(|status| **status == 200).count() == 0;
        tally.note(what, holds, format_args!("{statuses:?}"));
    }
    let listed = service.call("elicitation/list", &json!({}));
    let count = listed["elicitations"].as_array().map_or(0, Vec::len);
    tally.note("nothing was asked", count == 0, &listed);
    service.serves_others("requests of two meanings");
    tally.finish();
}

#[test]
fn what_is_no_request_of_today_is_refused() {
    let service = Service::start(&[]);
    let mut tally = Tally::new();
    for (what, bytes) in [
        ("HTTP/0.9", &b"GET /healthz\r\n"[..]),
        ("HTTP/2 without asking", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        (
            "HTTP/3.0",
            b"GET /healthz HTTP/3.0\r\nhost: localhost\r\n\r\n",
        ),
        ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
        ("SSH", b"SSH-2.0-OpenSSH_9.6\r\n"),
        (
            "a proxy's address",
            b"PROXY TCP4 10.0.0.1 10.0.0.2 1 2\r\nGET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n",
        ),
        (
            "a method that is none",
            b"G\x00T /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n",
        ),
        (
            "a path with a space",
            b"GET /heal thz HTTP/1.1\r\nhost: localhost\r\n\r\n",
        ),
        (
            "a name with a space",
            b"GET /healthz HTTP/1.1\r\nho st: localhost\r\n\r\n",
        ),
        ("line ends without end", b"\r\n\r\n\r\n\r\n\r\n\r\n"),
        ("zeros", &[0; 4096]),
        ("ones", &[0xff; 4096]),
    ] {
        let statuses = statuses(&service, bytes);
        let holds = statuses.iter().all(|status| (400..600).contains(status));
        tally.note(what, holds, format_args!("{statuses:?}"));
    }
    service.serves_others("no requests");
    tally.finish();
}

#[test]
fn many_requests_in_one_breath_are_answered_in_their_order() {
    let service = Service::start(&[]);
    let count = times(300, 3000);
    let one = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let last = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let meter = service.program.meter();
    let bytes = one.repeat(count) + last;
    let mut stream = connect(&service.address);
    let mut reading = BufReader::new(stream.try_clone().expect("sockets can be shared"));
    let answered = std::thread::scope(|scope| {
        scope.spawn(move || stream.write_all(bytes.as_bytes()));
        let replies = std::iter::from_fn(|| read_reply(&mut reading, true));
        replies.filter(|reply| reply.status == 200).count()
    });
    let mut tally = Tally::new();
    tally.note(
        "a pipeline",
        answered == count + 1,
        format_args!("{answered} of {count}"),
    );
    meter.at_most("a pipeline", Duration::from_secs(10), 32);
    tally.finish();
}

#[test]
fn heads_and_bodies_beyond_their_limits_cost_little() {
    let service = Service::start(&[("HTTP_BODY_LIMIT", "1000000")]);
    let meter = service.program.meter();
    let mut tally = Tally::new();
    let large = "x".repeat(1 << 20);
    for (what, bytes) in [
        (
            "a long path",
            format!("GET /{large} HTTP/1.1\r\nhost: localhost\r\n\r\n"),
        ),
        (
            "a long method",
            format!("{large} / HTTP/1.1\r\nhost: localhost\r\n\r\n"),
        ),
        (
            "a long value",
            format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: {large}\r\n\r\n"),
        ),
        (
            "a long name",
            format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\n{large}: x\r\n\r\n"),
        ),
        (
            "many lines",
            format!(
                "GET /healthz HTTP/1.1\r\nhost: localhost\r\n{}\r\n",
                "a: b\r\n".repeat(100_000)
            ),
        ),
        (
            "a line without end",
            format!(
                "GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: {}",
                large.repeat(8)
            ),
        ),
    ] {
        let reply = exchange(connect(&service.address), bytes.as_bytes(), true);
        let status = reply.map(|reply| reply.status);
        tally.note(
            what,
            matches!(status, None | Some(400..=499)),
            format_args!("{status:?}"),
        );
    }
    let body = "x".repeat(8 << 20);
    let reply = request("POST /rpc").json(&body).try_send(&service.address);
    let status = reply.map(|reply| reply.status);
    tally.note(
        "a large body",
        matches!(status, None | Some(413)),
        format_args!("{status:?}"),
    );
    let chunk = format!("100000\r\n{large}\r\n").repeat(8);
    let head = "POST /rpc HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    let reply = exchange(
        connect(&service.address),
        format!("{head}{chunk}").as_bytes(),
        true,
    );
    let status = reply.map(|reply| reply.status);
    tally.note(
        "large chunks",
        matches!(status, None | Some(413)),
        format_args!("{status:?}"),
    );
    let tiny = "1;ext=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n \r\n".repeat(20_000);
    let reply = exchange(
        connect(&service.address),
        format!("{head}{tiny}0\r\n\r\n").as_bytes(),
        true,
    );
    let status = reply.map(|reply| reply.status);
    tally.note(
        "tiny chunks with long names",
        matches!(status, None | Some(400..=499)),
        format_args!("{status:?}"),
    );
    let trailers = format!("{head}0\r\n{}\r\n", "a: b\r\n".repeat(50_000));
    let reply = exchange(connect(&service.address), trailers.as_bytes(), true);
    let status = reply.map(|reply| reply.status);
    tally.note(
        "many trailers",
        matches!(status, None | Some(400..=499)),
        format_args!("{status:?}"),
    );
    service.serves_others("large requests");
    meter.at_most("large requests", Duration::from_secs(10), 48);
    tally.finish();
}

#[test]
fn slow_heads_and_bodies_are_cut_off_and_keep_nobody_waiting() {
    let settings = [("HTTP_HEAD_TIMEOUT", "1s"), ("HTTP_BODY_TIMEOUT", "1s")];
    let service = Service::start(&settings);
    let mut tally = Tally::new();
    for (what, begun) in [
        ("nothing", &b""[..]),
        ("half a line", b"GET /hea"),
        ("half a head", b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: "),
        ("half a body", b"POST /rpc HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"),
        ("half a chunk", b"POST /rpc HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"),
    ] {
        let begin = |_| {
            let mut stream = connect(&service.address);
            stream.write_all(begun).expect("it is read");
            stream
        };
        let mut held: Vec<_> = (0..100).map(begin).collect();
        service.serves_others(what);
        let cut = held.iter_mut().filter_map(|stream| hangs_up(stream, Duration::from_secs(20)).then_some(())).count();
        tally.note(what, cut == 100, format_args!("{cut} of 100 were cut off"));
    }
    // Sending one byte now and then doesn't help.
    let mut stream = connect(&service.address);
    let begun = crate::program::now();
    let mut is_cut = false;
    for byte in b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: "
        .iter()
        .cycle()
    {
        std::thread::sleep(Duration::from_millis(100));
        if stream.write_all(&[*byte]).is_err() {
            is_cut = true;
            break;
        }
        if begun.elapsed() > Duration::from_secs(20) {
            break;
        }
    }
    tally.note(
        "byte by byte",
        is_cut,
        format_args!("still open after {:?}", begun.elapsed()),
    );
    tally.finish();
}

#[test]
fn a_reader_that_does_not_read_is_cut_off() {
    let service = Service::start(&[("HTTP_WRITE_TIMEOUT", "1s"), ("HTTP_HEAD_TIMEOUT", "5s")]);
    let meter = service.program.meter();
    let one = "GET /openrpc.json HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let begin = |_| {
        let mut stream = connect(&service.address);
        crate::wire::patient(&stream, Duration::from_millis(200));
        let _ = stream.write_all(one.repeat(2000).as_bytes());
        stream
    };
    let held: Vec<_> = (0..3).map(begin).collect();
    service.serves_others("readers that do not read");
    std::thread::sleep(Duration::from_secs(2));
    let mut cut = 0;
    for mut stream in held {
        crate::wire::patient(&stream, Duration::from_secs(20));
        let mut all = Vec::new();
        // Reading now returns what was in flight, and then the end.
        cut += usize::from(!matches!(stream.read_to_end(&mut all), Err(error)
            if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)));
    }
    let mut tally = Tally::new();
    tally.note(
        "three who do not read",
        cut == 3,
        format_args!("{cut} of 3 were cut off"),
    );
    meter.at_most("readers that do not read", Duration::from_secs(20), 64);
    tally.finish();
}

#[test]
fn bodies_that_are_not_plain_json_are_not_read() {
    let service = Service::start(&[]);
    let meter = service.program.meter();
    let good = message("elicitation/create", &json!({"prompt": "Asked?"}));
    // Ten kilobytes that would decompress to ten megabytes.
    let bomb = vec![0x1f; 10 << 10];
    let mut tally = Tally::new();
    for (kind, encoding) in [
        ("text/plain", ""),
        ("application/x-www-form-urlencoded", ""),
        ("multipart/form-data; boundary=x", ""),
        ("application/json; charset=utf-16", ""),
        ("application/jsonp", ""),
        ("text/json", ""),
        ("", ""),
        ("application/json", "gzip"),
        ("application/json", "br"),
        ("application/json", "deflate"),
        ("application/json", "zstd"),
        ("application/json", "identity, gzip"),
    ] {
        let mut post = request("POST /rpc");
        if !encoding.is_empty() {
            post = post.header("content-encoding", encoding);
        }
        let body = if encoding.is_empty() {
            good.clone().into_bytes()
        } else {
            bomb.clone()
        };
        let reply = post.body(kind, body).send(&service.address);
        tally.note(
            format_args!("{kind} {encoding}"),
            reply.status == 415,
            reply.told(),
        );
    }
    let twice = request("POST /rpc")
        .header("content-type", "text/plain")
        .json(&good)
        .send(&service.address);
    tally.note("two types", matches!(twice.status, 400 | 415), twice.told());
    let listed = service.call("elicitation/list", &json!({}));
    let count = listed["elicitations"].as_array().map_or(0, Vec::len);
    tally.note("nothing was asked", count == 0, &listed);
    meter.at_most("other bodies", Duration::from_secs(5), 16);
    tally.finish();
}
