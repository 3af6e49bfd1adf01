//! Just enough of HTTP to talk with a service: one request, one connection.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

/// A response: its status and body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

/// Sends a request on its own connection and reads the complete response. `head` is method and
/// path.
pub(crate) fn send(address: &str, head: &str, key: Option<&str>, body: &str) -> Answer {
    read_answer(begin(address, head, key, body))
}

/// Sends a request without reading the response.
pub(crate) fn begin(address: &str, head: &str, key: Option<&str>, body: &str) -> TcpStream {
    let key = key.map(|key| format!("authorization: Bearer {key}\r\n"));
    begin_with(address, head, &key.unwrap_or_default(), body)
}

/// Sends a request with additional headers.
pub(crate) fn begin_with(address: &str, head: &str, lines: &str, body: &str) -> TcpStream {
    let lines = format!("{lines}content-type: application/json\r\n");
    begin_plain(address, head, &lines, body)
}

/// Sends a request whose headers describe the body.
pub(crate) fn begin_plain(address: &str, head: &str, lines: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("the service listens");
    let text = format!(
        "{head} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{lines}\
         content-length: {}\r\n\r\n{body}",
        body.len(),
    );
    stream
        .write_all(text.as_bytes())
        .expect("the service reads");
    stream
}

pub(crate) fn read_answer(stream: TcpStream) -> Answer {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    stream.read_line(&mut line).expect("there is an answer");
    let status = line.split(' ').nth(1).and_then(|code| code.parse().ok());
    let status = status.unwrap_or_else(|| panic!("no status in {line:?}"));
    let (mut is_chunked, mut length) = (false, None);
    loop {
        line.clear();
        stream.read_line(&mut line).expect("the head ends");
        let head = line.trim_end().to_ascii_lowercase();
        if head.is_empty() {
            break;
        }
        is_chunked |= head == "transfer-encoding: chunked";
        if let Some(value) = head.strip_prefix("content-length: ") {
            length = value.parse().ok();
        }
    }
    let body = match length {
        _ if is_chunked => read_chunks(&mut stream),
        Some(length) => {
            let mut body = vec![0; length];
            stream.read_exact(&mut body).expect("the body is whole");
            body
        }
        None => Vec::new(),
    };
    let body = String::from_utf8(body).expect("bodies are text");
    Answer { status, body }
}

fn read_chunks(stream: &mut impl std::io::BufRead) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).expect("a chunk has a size");
        let size = usize::from_str_radix(line.trim_end(), 16).expect("a chunk has a size");
        let mut chunk = vec![0; size + 2];
        stream.read_exact(&mut chunk).expect("a chunk is whole");
        if size == 0 {
            return body;
        }
        body.extend_from_slice(&chunk[..size]);
    }
}

/// A call of the control API.
pub(crate) fn request(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
}

/// Calls a method, with a key or without.
pub(crate) fn call(address: &str, key: Option<&str>, method: &str, params: &Value) -> Answer {
    send(address, "POST /rpc", key, &request(method, params))
}

impl Answer {
    /// Returns the result of a successful call.
    pub(crate) fn result(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.body);
        let body: Value = serde_json::from_str(&self.body).expect("answers are JSON");
        assert!(body.get("error").is_none(), "{body}");
        body["result"].clone()
    }
}

/// An open WebSocket.
pub(crate) struct Socket(BufReader<TcpStream>);

impl Socket {
    pub(crate) fn open(address: &str) -> Self {
        let mut stream = TcpStream::connect(address).expect("the service listens");
        let request = format!(
            "GET /ws HTTP/1.1\r\nhost: {address}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
             sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        let written = stream.write_all(request.as_bytes());
        written.expect("the service reads");
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            stream.read_line(&mut line).expect("the head ends");
        }
        Self(stream)
    }

    /// Calls a method and reads the next message.
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Value {
        let text = request(method, params);
        // One complete text frame, masked as a client's must be; a mask of zeros changes nothing.
        let length = u16::try_from(text.len()).expect("tests send little");
        let mut frame = vec![0x81, 0xfe];
        frame.extend(length.to_be_bytes());
        frame.extend([0; 4]);
        frame.extend(text.as_bytes());
        let written = self.0.get_mut().write_all(&frame);
        written.expect("the service reads");
        loop {
            let (kind, message) = self.read();
            // Pings come in between.
            if kind == 0x81 {
                return serde_json::from_slice(&message).expect("messages are JSON");
            }
        }
    }

    fn read(&mut self) -> (u8, Vec<u8>) {
        let mut head = [0; 2];
        self.0.read_exact(&mut head).expect("there is a message");
        let length = match head[1] {
            126 => {
                let mut length = [0; 2];
                self.0.read_exact(&mut length).expect("it has a length");
                usize::from(u16::from_be_bytes(length))
            }
            127 => {
                let mut length = [0; 8];
                self.0.read_exact(&mut length).expect("it has a length");
                usize::try_from(u64::from_be_bytes(length)).expect("it fits")
            }
            length => usize::from(length),
        };
        let mut message = vec![0; length];
        self.0.read_exact(&mut message).expect("it is whole");
        (head[0], message)
    }
}

/// A page of a question, as a browser without scripts has it.
pub(crate) struct Page {
    address: String,
    here: String,
    lines: String,
    csrf: String,
}

impl Page {
    /// Opens the link that is somewhere in a line.
    pub(crate) fn open(said: &str) -> Self {
        let (_, link) = said.split_once("http://").expect("there is a link");
        let (address, path) = link.trim().split_once('/').expect("a link has a path");
        let mut page = String::new();
        let mut stream = begin(address, &format!("GET /{path}"), None, "");
        stream.read_to_string(&mut page).expect("the page is text");
        let between = |before: &str, after: &str| {
            let (_, rest) = page.split_once(before).expect("the page has it");
            rest.split_once(after).expect("it ends").0.to_owned()
        };
        Self {
            address: address.to_owned(),
            here: between("action=\"", "\""),
            lines: format!(
                "cookie: {}\r\norigin: null\r\n",
                between("set-cookie: ", ";")
            ),
            csrf: between("name=\"_csrf\" value=\"", "\""),
        }
    }

    /// The page after a rejected answer, with its errors.
    pub(crate) fn checked(&self) -> Answer {
        let head = format!("GET {}?check", self.here);
        read_answer(begin_with(&self.address, &head, &self.lines, ""))
    }

    /// The page of a question that has settled.
    pub(crate) fn closing(&self) -> Answer {
        let head = format!("GET {}", self.here);
        read_answer(begin_with(&self.address, &head, &self.lines, ""))
    }

    /// Presses a button with these fields filled in.
    pub(crate) fn post(&self, fields: &str, button: &str) -> Answer {
        let body = format!("_csrf={}&_f=0&{fields}&_do={button}", self.csrf);
        let head = format!("POST {}", self.here);
        read_answer(begin_with(&self.address, &head, &self.lines, &body))
    }
    /// Uploads a file to the field at this position, as the script does.
    pub(crate) fn upload(&self, place: usize, name: &str, content: &str) -> Answer {
        let lines = format!(
            "{}x-entreat-form: {}\r\nx-entreat-file: {name}\r\ncontent-type: text/plain\r\n",
            self.lines, self.csrf
        );
        let head = format!("POST {}/files/{place}", self.here);
        read_answer(begin_plain(&self.address, &head, &lines, content))
    }
}
