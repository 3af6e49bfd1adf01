//! Raw HTTP requests that no library would send.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use crate::program::PATIENCE;

/// A response.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// The raw head.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Every value of a header.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines
            .filter(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
            .collect()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.all(name).first().copied().unwrap_or_default()
    }

    /// Status, head and body, for failure messages.
    pub(crate) fn told(&self) -> String {
        format!("{} {}", self.status, self.text())
    }
}

/// A connection with timeouts.
pub(crate) fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).expect("somebody listens");
    patient(&stream, PATIENCE);
    stream
}

pub(crate) fn patient(stream: &TcpStream, patience: Duration) {
    let set = stream.set_read_timeout(Some(patience));
    set.and_then(|()| stream.set_write_timeout(Some(patience)))
        .expect("sockets have timeouts");
}

/// A connection from another address of this machine.
pub(crate) fn connect_from(source: &str, address: &str) -> std::io::Result<TcpStream> {
    let source: SocketAddr = format!("{source}:0").parse().expect("it is an address");
    let target: SocketAddr = address.parse().expect("it is an address");
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let stream = runtime.enable_all().build()?.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4()?;
        socket.bind(source)?;
        socket.connect(target).await?.into_std()
    })?;
    stream.set_nonblocking(false)?;
    patient(&stream, PATIENCE);
    Ok(stream)
}

/// A request builder. `Host`, `Connection` and `Content-Length` are added unless they are set.
pub(crate) struct Request {
    line: String,
    lines: Vec<(String, String)>,
    body: Vec<u8>,
}

/// A request with this method and path.
pub(crate) fn request(line: &str) -> Request {
    Request {
        line: line.to_owned(),
        lines: Vec::new(),
        body: Vec::new(),
    }
}

impl Request {
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.lines.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn body(self, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        self.header("content-type", kind).plain_body(body)
    }

    /// A body with no header but its length.
    pub(crate) fn plain_body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    pub(crate) fn json(self, body: &str) -> Self {
        self.body("application/json", body)
    }

    pub(crate) fn bytes(&self, address: &str) -> Vec<u8> {
        let has = |name: &str| {
            self.lines
                .iter()
                .any(|(found, _)| found.eq_ignore_ascii_case(name))
        };
        let mut head = format!("{} HTTP/1.1\r\n", self.line);
        for (name, value) in &self.lines {
            head.extend([name, ": ", value, "\r\n"]);
        }
        let length = self.body.len().to_string();
        for (name, value) in [
            ("host", address),
            ("connection", "close"),
            ("content-length", &length),
        ] {
            if !has(name) {
                head.extend([name, ": ", value, "\r\n"]);
            }
        }
        head.push_str("\r\n");
        [head.as_bytes(), &self.body].concat()
    }

    /// Sends it on its own connection and reads the response.
    pub(crate) fn send(&self, address: &str) -> Reply {
        self.try_send(address)
            .unwrap_or_else(|| panic!("no reply to {}", self.line))
    }

    /// Sends it to a server that may disconnect instead of responding.
    pub(crate) fn try_send(&self, address: &str) -> Option<Reply> {
        let has_body = !self.line.starts_with("HEAD ");
        exchange(connect(address), &self.bytes(address), has_body)
    }
}

/// Sends bytes and reads one response. A server may respond before it has read everything.
pub(crate) fn exchange(mut stream: TcpStream, bytes: &[u8], has_body: bool) -> Option<Reply> {
    let reading = stream.try_clone().expect("sockets can be shared");
    std::thread::scope(|scope| {
        let reply = scope.spawn(move || read_reply(&mut BufReader::new(reading), has_body));
        let _ = stream.write_all(bytes);
        reply.join().expect("reading does not panic")
    })
}

/// Reads one response; `None` if the connection ends or times out before it is complete.
pub(crate) fn read_reply(stream: &mut impl BufRead, has_body: bool) -> Option<Reply> {
    let head = read_head(stream)?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let mut reply = Reply {
        status,
        head,
        body: Vec::new(),
    };
    if !has_body || status < 200 || status == 204 || status == 304 {
        return Some(reply);
    }
    let length: Option<usize> = reply.header("content-length").parse().ok();
    if reply
        .header("transfer-encoding")
        .eq_ignore_ascii_case("chunked")
    {
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).ok()?;
            let size = usize::from_str_radix(line.trim_end(), 16).ok()?;
            let mut chunk = vec![0; size + 2];
            stream.read_exact(&mut chunk).ok()?;
            if size == 0 {
                break;
            }
            reply.body.extend_from_slice(&chunk[..size]);
        }
    } else if let Some(length) = length {
        reply.body = vec![0; length];
        stream.read_exact(&mut reply.body).ok()?;
    } else {
        stream.read_to_end(&mut reply.body).ok()?;
    }
    Some(reply)
}

/// Reads the head of a message, to the empty line that ends it.
pub(crate) fn read_head(stream: &mut impl BufRead) -> Option<String> {
    let mut head = Vec::new();
    loop {
        let before = head.len();
        if stream.read_until(b'\n', &mut head).ok()? == 0 {
            return None;
        }
        if matches!(&head[before..], b"\r\n" | b"\n") {
            return Some(String::from_utf8_lossy(&head).into_owned());
        }
    }
}

/// Whether the peer disconnects within this time; its output until then is ignored.
pub(crate) fn hangs_up(stream: &mut TcpStream, patience: Duration) -> bool {
    patient(stream, patience);
    let mut part = [0; 4096];
    loop {
        match stream.read(&mut part) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => {
                use std::io::ErrorKind::{TimedOut, WouldBlock};
                return !matches!(error.kind(), TimedOut | WouldBlock);
            }
        }
    }
}

/// Percent-encodes text for a form or an address.
pub(crate) fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
