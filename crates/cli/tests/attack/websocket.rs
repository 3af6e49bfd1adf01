//! WebSockets of the control API: frames that no client should send.

use std::io::{BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::service::{ALICE, Service, TWO_ASKERS, message};
use crate::tally::Tally;
use crate::wire::{Reply, connect, exchange, patient, read_reply, request};

/// A handshake request with additional headers.
fn handshake(lines: &[(&str, &str)]) -> crate::wire::Request {
    let mut get = request("GET /ws")
        .header("connection", "upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    for (name, value) in lines {
        get = get.header(name, value);
    }
    get
}

fn shake(service: &Service, lines: &[(&str, &str)]) -> Option<Reply> {
    let bytes = handshake(lines).bytes(&service.address);
    exchange(connect(&service.address), &bytes, true)
}

/// An open socket.
struct Socket {
    stream: TcpStream,
    reader: BufReader<TcpStream>,
}

impl Socket {
    fn open(service: &Service) -> Self {
        let mut stream = connect(&service.address);
        stream
            .write_all(&handshake(&[]).bytes(&service.address))
            .expect("it is read");
        let mut reader = BufReader::new(stream.try_clone().expect("sockets can be shared"));
        let reply = read_reply(&mut reader, false).expect("there is a reply");
        assert_eq!(reply.status, 101, "{}", reply.head);
        Self { stream, reader }
    }

    /// Sends a frame with this first byte, masked with zeros, which change nothing.
    fn send(&mut self, first: u8, content: &[u8]) -> bool {
        self.stream.write_all(&frame(first, content)).is_ok()
    }

    /// The next text or close frame; `None` at the end.
    fn next(&mut self) -> Option<(u8, Vec<u8>)> {
        loop {
            let mut head = [0; 2];
            self.reader.read_exact(&mut head).ok()?;
            let length = match head[1] {
                126 => {
                    let mut length = [0; 2];
                    self.reader.read_exact(&mut length).ok()?;
                    usize::from(u16::from_be_bytes(length))
                }
                127 => {
                    let mut length = [0; 8];
                    self.reader.read_exact(&mut length).ok()?;
                    usize::try_from(u64::from_be_bytes(length)).ok()?
                }
                length => usize::from(length),
            };
            let mut content = vec![0; length];
            self.reader.read_exact(&mut content).ok()?;
            if matches!(head[0], 0x81 | 0x88) {
                return Some((head[0], content));
            }
        }
    }

    /// The close code; 0 if it closes without one, `None` if it stays open.
    fn closed(&mut self, patience: Duration) -> Option<u16> {
        patient(&self.stream, patience);
        loop {
            match self.next() {
                Some((0x88, content)) => {
                    let code = content
                        .get(..2)
                        .map(|code| u16::from_be_bytes([code[0], code[1]]));
                    return Some(code.unwrap_or(0));
                }
                Some(_) => {}
                None => {
                    let mut rest = [0; 1];
                    return match self.stream.read(&mut rest) {
                        Err(error)
                            if matches!(
                                error.kind(),
                                std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                            ) =>
                        {
                            None
                        }
                        _ => Some(0),
                    };
                }
            }
        }
    }

    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.send(0x81, message(method, params).as_bytes());
        let (_, content) = self.next().expect("there is an answer");
        serde_json::from_slice(&content).expect("it is JSON")
    }
}

fn frame(first: u8, content: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    if let Ok(length) = u8::try_from(content.len())
        && length < 126
    {
        frame.push(0x80 | length);
    } else if let Ok(length) = u16::try_from(content.len()) {
        frame.push(0xfe);
        frame.extend(length.to_be_bytes());
    } else {
        frame.push(0xff);
        frame.extend((content.len() as u64).to_be_bytes());
    }
    frame.extend([0; 4]);
    frame.extend_from_slice(content);
    frame
}

#[test]
fn a_page_of_another_origin_opens_no_socket() {
    let service = Service::start(&[]);
    let mut tally = Tally::new();
    for origin in [
        "https://evil.example",
        "http://127.0.0.1:1",
        "http://localhost:3000",
        "http://localhost",
        "http://[::1]:8080",
        "https://127.0.0.1",
        "null",
        "file://",
        "http://127.0.0.1.nip.io",
        "http://localhost.evil.example",
        "",
    ] {
        let reply = shake(&service, &[("origin", origin)]);
        let status = reply.map(|reply| reply.status);
        tally.note(
            format_args!("origin: {origin}"),
            matches!(status, Some(403)),
            format_args!("{status:?}"),
        );
    }
    let own = format!("http://{}", service.address);
    let port_of_other = "http://127.0.0.1:1";
    for (what, lines) in [
        (
            "two origins",
            vec![("origin", &*own), ("origin", "https://evil.example")],
        ),
        (
            "another port, a loopback name",
            vec![("origin", port_of_other), ("sec-fetch-site", "same-site")],
        ),
        (
            "a name that is pointed here",
            vec![("host", "evil.example")],
        ),
        ("cross-site", vec![("sec-fetch-site", "cross-site")]),
    ] {
        let status = shake(&service, &lines).map(|reply| reply.status);
        tally.note(
            what,
            matches!(status, Some(400 | 403)),
            format_args!("{status:?}"),
        );
    }
    tally.finish();
}

#[test]
fn other_requests_of_a_page_on_another_port_are_refused_too() {
    let service = Service::start(&[]);
    let body = message("elicitation/create", &json!({"prompt": "Asked?"}));
    let mut tally = Tally::new();
    for origin in [
        "http://127.0.0.1:1",
        "http://localhost:3000",
        "https://localhost",
    ] {
        let reply = request("POST /rpc")
            .header("origin", origin)
            .json(&body)
            .send(&service.address);
        tally.note(
            format_args!("POST /rpc, origin: {origin}"),
            reply.status == 403,
            reply.told(),
        );
        let get = request("GET /events")
            .header("origin", origin)
            .bytes(&service.address);
        let mut stream = connect(&service.address);
        stream.write_all(&get).expect("it is read");
        let head = crate::wire::read_head(&mut BufReader::new(stream)).unwrap_or_default();
        tally.note(
            format_args!("GET /events, origin: {origin}"),
            head.contains(" 403 "),
            &head,
        );
    }
    tally.finish();
}

#[test]
fn a_socket_needs_a_key_where_calls_do_and_not_in_its_address() {
    let service = Service::configured(TWO_ASKERS, &[]);
    let mut tally = Tally::new();
    let bearer = format!("Bearer {ALICE}");
    for (what, lines) in [
        ("no key", vec![]),
        (
            "a wrong key",
            vec![("authorization", "Bearer wrong-wrong-wrong")],
        ),
        ("a key as protocol", vec![("sec-websocket-protocol", ALICE)]),
        (
            "two keys",
            vec![
                ("authorization", "Bearer wrong-wrong-wrong"),
                ("authorization", &*bearer),
            ],
        ),
    ] {
        let status = shake(&service, &lines).map(|reply| reply.status);
        tally.note(
            what,
            matches!(status, Some(400 | 401)),
            format_args!("{status:?}"),
        );
    }
    let bytes = handshake(&[]).bytes(&service.address);
    let text = String::from_utf8_lossy(&bytes).replace(
        "GET /ws ",
        &format!("GET /ws?key={ALICE}&access_token={ALICE} "),
    );
    let status =
        exchange(connect(&service.address), text.as_bytes(), true).map(|reply| reply.status);
    tally.note(
        "a key in the address",
        matches!(status, Some(401)),
        format_args!("{status:?}"),
    );
    tally.finish();
}

#[test]
fn handshakes_that_are_none_open_nothing() {
    let service = Service::start(&[]);
    let whole = String::from_utf8(handshake(&[]).bytes(&service.address)).expect("it is text");
    let mut tally = Tally::new();
    for (what, bytes) in [
        (
            "no version",
            whole.replace("sec-websocket-version: 13\r\n", ""),
        ),
        ("an old version", whole.replace("version: 13", "version: 8")),
        (
            "no key",
            whole.replace("sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n", ""),
        ),
        ("no upgrade", whole.replace("upgrade: websocket\r\n", "")),
        (
            "another upgrade",
            whole.replace("upgrade: websocket", "upgrade: h2c"),
        ),
        ("another method", whole.replace("GET /ws", "POST /ws")),
    ] {
        let status =
            exchange(connect(&service.address), bytes.as_bytes(), true).map(|reply| reply.status);
        tally.note(what, status != Some(101), format_args!("{status:?}"));
    }
    tally.finish();
}

#[test]
fn frames_that_break_the_protocol_end_the_socket_and_nothing_else() {
    let service = Service::start(&[("HTTP_BODY_LIMIT", "100000")]);
    let meter = service.program.meter();
    let unmasked = [&[0x81, 2][..], b"{}"].concat();
    let huge_length = [&[0x81, 0xff][..], &u64::MAX.to_be_bytes(), &[0; 4]].concat();
    let long_ping = frame(0x89, &[0; 200]);
    let mut tally = Tally::new();
    for (what, bytes) in [
        ("a frame without a mask", unmasked),
        ("a length beyond all", huge_length),
        ("a long ping", long_ping),
        ("a split ping", frame(0x09, b"x")),
        ("a reserved bit", frame(0xc1, b"{}")),
        ("a reserved kind", frame(0x83, b"{}")),
        ("the middle of a message first", frame(0x80, b"{}")),
        (
            "a message within a message",
            [frame(0x01, b"{"), frame(0x81, b"{}")].concat(),
        ),
        ("no UTF-8", frame(0x81, b"\xff\xfe")),
        ("half a letter", frame(0x81, b"\xe2\x82")),
        ("bytes", frame(0x82, b"{}")),
        (
            "a message that is too large",
            frame(0x81, &vec![b' '; 200_000]),
        ),
        (
            "pieces that are too large together",
            frame(0x01, &vec![b' '; 60_000])
                .into_iter()
                .chain(frame(0x00, &vec![b' '; 60_000]))
                .collect(),
        ),
        ("a goodbye of one byte", frame(0x88, b"x")),
        (
            "a goodbye of a wrong code",
            frame(0x88, &999_u16.to_be_bytes()),
        ),
        (
            "a goodbye that is no text",
            frame(0x88, b"\x03\xe8\xff\xff"),
        ),
        (
            "a request of HTTP",
            b"GET / HTTP/1.1\r\nhost: x\r\n\r\n".to_vec(),
        ),
    ] {
        let mut socket = Socket::open(&service);
        let _ = socket.stream.write_all(&bytes);
        let code = socket.closed(Duration::from_secs(10));
        tally.note(what, code.is_some(), "it stays open");
    }
    let mut socket = Socket::open(&service);
    let answer = socket.call("forms/list", &json!({}));
    tally.note("others go on", answer.get("result").is_some(), &answer);
    meter.at_most("broken frames", Duration::from_secs(5), 16);
    tally.finish();
}

#[test]
fn floods_of_small_frames_cost_little_memory() {
    let service = Service::start(&[("HTTP_BODY_LIMIT", "1000000"), ("HTTP_WRITE_TIMEOUT", "2s")]);
    let mut tally = Tally::new();
    for (what, one) in [
        ("pings", frame(0x89, &[0; 100])),
        ("pongs", frame(0x8a, &[0; 100])),
        ("empty texts", frame(0x81, b"")),
        ("texts that are no calls", frame(0x81, b"0")),
        (
            "calls",
            frame(0x81, message("rpc.discover", &json!({})).as_bytes()),
        ),
        (
            "pieces without end",
            [frame(0x01, b" "), frame(0x00, b" ").repeat(20)].concat(),
        ),
    ] {
        let meter = service.program.meter();
        let mut socket = Socket::open(&service);
        patient(&socket.stream, Duration::from_secs(1));
        let bytes = one.repeat(100);
        // The client never reads.
        for _ in 0..100 {
            if socket.stream.write_all(&bytes).is_err() {
                break;
            }
        }
        service.serves_others(what);
        let peak = meter.peak_mib();
        tally.note(what, peak <= 96, format_args!("{peak} MiB"));
    }
    tally.finish();
}

#[test]
fn waits_without_number_on_one_socket_are_bounded() {
    let service = Service::start(&[("HTTP_CALLS_PER_SOCKET", "50")]);
    let question = service.ask(&crate::service::text_field());
    let meter = service.program.meter();
    let mut socket = Socket::open(&service);
    patient(&socket.stream, Duration::from_secs(1));
    let wait = frame(
        0x81,
        message("elicitation/await", &json!({"elicitationId": question.id})).as_bytes(),
    );
    for _ in 0..20_000 {
        if socket.stream.write_all(&wait).is_err() {
            break;
        }
    }
    service.serves_others("waits");
    let mut tally = Tally::new();
    let peak = meter.peak_mib();
    tally.note("20,000 waits", peak <= 64, format_args!("{peak} MiB"));
    let answer = json!({"elicitationId": question.id, "responses": {"name": "Ada"}});
    let done = service.call("elicitation/submit", &answer);
    tally.note("the question goes on", done["status"] == "completed", &done);
    tally.finish();
}
