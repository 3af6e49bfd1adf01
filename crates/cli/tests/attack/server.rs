//! Malicious servers for `entreat call`, over stdio and HTTP.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{Meter, PATIENCE, Program, entreat, eventually, folder};
use crate::wire::read_head;

/// The result of a call.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) cpu: Duration,
    pub(crate) peak_mib: u64,
}

impl Ended {
    pub(crate) fn told(&self) -> String {
        let cut = |text: &str| text.chars().take(300).collect::<String>();
        format!(
            "{:?} {:?} {} MiB: {} {}",
            self.code,
            self.cpu,
            self.peak_mib,
            cut(&self.stdout),
            cut(&self.stderr)
        )
    }

    /// Whether it exited by itself, within the resources of one call.
    pub(crate) fn is_calm(&self, cpu: Duration, peak_mib: u64) -> bool {
        self.code.is_some_and(|code| code <= 5) && self.cpu <= cpu && self.peak_mib <= peak_mib
    }
}

/// Waits for a call to exit; after a timeout it is killed and has no exit code.
pub(crate) fn ending(mut program: Program, meter: &Meter, patience: Duration) -> Ended {
    let mut peak_mib = 0;
    let ended = eventually(patience, || {
        peak_mib = peak_mib.max(meter.peak_mib());
        program.has_ended()
    });
    // Until a process is reaped, its CPU time can still be read.
    let cpu = meter.cpu();
    let ended = ended.then(|| program.ends_within(PATIENCE)).flatten();
    let stdout = if ended.is_some() {
        program.rest()
    } else {
        String::new()
    };
    Ended {
        code: ended.and_then(|ended| ended.code()),
        stdout,
        stderr: program.stderr(),
        cpu,
        peak_mib,
    }
}

/// A stdio server's reaction to each message: the lines it sends.
type Says = dyn FnMut(&Value) -> Vec<Vec<u8>> + Send;

/// Calls a tool of a scripted stdio server.
pub(crate) fn call_piped(
    flags: &[&str],
    answers: &str,
    patience: Duration,
    says: impl FnMut(&Value) -> Vec<Vec<u8>> + Send + 'static,
) -> Ended {
    let folder = folder();
    let (to_client, from_client) = pipes(folder.path());
    // Copies between pipes, so that the test acts as the server.
    let script = "cat < to-client & exec cat > from-client";
    let words = [
        &["call"],
        flags,
        &["--answers", "-", "tool", "--", "sh", "-c", script],
    ]
    .concat();
    let mut program = Program::spawn(entreat(folder.path(), &words));
    assert!(program.write(answers.as_bytes()));
    program.stdin = None;
    let meter = program.meter();
    let mut says: Box<Says> = Box::new(says);
    std::thread::spawn(move || {
        let reader = std::fs::File::open(from_client).expect("it is a pipe");
        let writer = std::fs::OpenOptions::new().write(true).open(to_client);
        let mut writer = writer.expect("it is a pipe");
        for line in BufReader::new(reader).split(b'\n').map_while(Result::ok) {
            let message: Value = serde_json::from_slice(&line).unwrap_or_default();
            for line in says(&message) {
                // The client may have exited.
                if writer
                    .write_all(&line)
                    .and_then(|()| writer.write_all(b"\n"))
                    .is_err()
                {
                    return;
                }
            }
        }
    });
    let ended = ending(program, &meter, patience);
    // Unblocks threads that still wait for a pipe.
    release(&folder);
    ended
}

pub(crate) fn pipes(folder: &Path) -> (std::path::PathBuf, std::path::PathBuf) {
    let (to, from) = (folder.join("to-client"), folder.join("from-client"));
    let made = Command::new("mkfifo").args([&to, &from]).status();
    assert!(made.is_ok_and(|made| made.success()), "pipes can be made");
    (to, from)
}

/// Opens both ends of the pipes once, so that a thread which waits for the other side ends.
pub(crate) fn release(folder: &TempDir) {
    for name in ["to-client", "from-client"] {
        let both = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open(folder.path().join(name));
        drop(both);
    }
}

/// The response of every server of 2025 to `initialize`, and to nothing else.
pub(crate) fn greeting(message: &Value) -> Option<Vec<u8>> {
    greeting_as(message, "server")
}

pub(crate) fn greeting_as(message: &Value, name: &str) -> Option<Vec<u8>> {
    (message["method"] == "initialize").then(|| {
        line(&json!({"jsonrpc": "2.0", "id": message["id"], "result": {
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": name, "version": "1"}}}))
    })
}

/// The result of a call, with a text.
pub(crate) fn result(id: &Value, text: &str) -> Vec<u8> {
    line(
        &json!({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": text}]}}),
    )
}

/// A question.
pub(crate) fn question(id: impl Into<Value>, params: &Value) -> Vec<u8> {
    line(
        &json!({"jsonrpc": "2.0", "id": id.into(), "method": "elicitation/create", "params": params}),
    )
}

pub(crate) fn line(message: &Value) -> Vec<u8> {
    message.to_string().into_bytes()
}

/// An HTTP server with an arbitrary reaction to a request: its head and its body.
pub(crate) struct HttpServer {
    pub(crate) address: String,
    pub(crate) heads: Arc<Mutex<Vec<String>>>,
}

impl HttpServer {
    pub(crate) fn start(
        react: impl Fn(&str, &Value, &mut TcpStream) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let address = listener.local_addr().expect("it listens").to_string();
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = heads.clone();
        let react = Arc::new(react);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (seen, react) = (seen.clone(), react.clone());
                std::thread::spawn(move || converse(stream, &seen, &*react));
            }
        });
        Self { address, heads }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    pub(crate) fn seen(&self) -> String {
        self.heads.lock().expect("nobody panics").join("\n")
    }
}

fn converse(
    mut stream: TcpStream,
    seen: &Mutex<Vec<String>>,
    react: &(dyn Fn(&str, &Value, &mut TcpStream) + Send + Sync),
) {
    let Ok(reading) = stream.try_clone() else {
        return;
    };
    let mut reader = BufReader::new(reading);
    while let Some(head) = read_head(&mut reader) {
        let lower = head.to_lowercase();
        let length = crate::browser::between(&lower, "content-length: ", "\r\n");
        let mut body = vec![0; length.parse().unwrap_or(0)];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        seen.lock().expect("nobody panics").push(head.clone());
        let message = serde_json::from_slice(&body).unwrap_or_default();
        react(&head, &message, &mut stream);
    }
}

/// Responds to a request with a message.
pub(crate) fn reply(stream: &mut TcpStream, message: &[u8]) {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        message.len()
    );
    let _ = stream.write_all(&[head.as_bytes(), message].concat());
}

/// Responds to the handshake of a client of 2025; returns whether it was one.
pub(crate) fn greets(head: &str, message: &Value, stream: &mut TcpStream) -> bool {
    if let Some(hello) = greeting(message) {
        reply(stream, &hello);
        return true;
    }
    if head.starts_with("GET ") {
        let _ = stream.write_all(b"HTTP/1.1 405 No\r\ncontent-length: 0\r\n\r\n");
        return true;
    }
    if message.get("id").is_none() {
        let _ = stream.write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n");
        return true;
    }
    false
}

/// Calls a tool of a server over HTTP.
pub(crate) fn call_http(
    server: &HttpServer,
    flags: &[&str],
    answers: &str,
    patience: Duration,
) -> Ended {
    let folder = folder();
    let url = server.url();
    let words = [&["call"], flags, &["--answers", "-", "tool", &*url]].concat();
    let mut program = Program::spawn(entreat(folder.path(), &words));
    assert!(program.write(answers.as_bytes()));
    program.stdin = None;
    let meter = program.meter();
    ending(program, &meter, patience)
}
