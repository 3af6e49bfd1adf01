//! Over stdio: an echo server, relays to compare with, and a client.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use memchr::{memchr, memchr_iter, memrchr};
use serde_json::Value;

use crate::message::{Action, Calls, Echo, Era, initialize, initialized, question};
use crate::{IN_FLIGHT, Way};

const CHUNK: usize = 64 << 10;

/// Answers the lines of a client.
pub(crate) fn serve(era: Era) {
    let echo = Echo::new(era);
    let (mut input, mut output) = (Source::new(bare(std::io::stdin())), bare(std::io::stdout()));
    let (mut buffer, mut out) = (Vec::new(), Vec::new());
    // Its question is open for one call at a time.
    let mut asking = None;
    while input.read(&mut buffer) {
        let mut rest = buffer.as_slice();
        while let Some(end) = memchr(b'\n', rest) {
            let (line, after) = rest.split_at(end);
            rest = &after[1..];
            out.clear();
            match echo.answer(line, &mut out) {
                Action::Answer => out.push(b'\n'),
                Action::Ask(id) => {
                    asking = Some(id.to_owned());
                    writeln!(out, "{}", question("q")).unwrap();
                }
                Action::Answered(_) => {
                    echo.result(&asking.take().unwrap(), &mut out);
                    out.push(b'\n');
                }
                Action::Nothing => {}
            }
            // By itself, as SDKs do.
            if output.write_all(&out).is_err() {
                return;
            }
        }
        let done = buffer.len() - rest.len();
        buffer.drain(..done);
    }
}

/// Reads as much at once as there is.
struct Source<R> {
    from: R,
    chunk: Vec<u8>,
}

impl<R: Read> Source<R> {
    fn new(from: R) -> Self {
        Self {
            from,
            chunk: vec![0; CHUNK],
        }
    }

    /// Appends what can be read; `false` at the end.
    fn read(&mut self, buffer: &mut Vec<u8>) -> bool {
        let read = self.from.read(&mut self.chunk).unwrap_or(0);
        buffer.extend_from_slice(&self.chunk[..read]);
        read > 0
    }
}

/// A standard stream without Rust's own buffers, which look for lines.
fn bare(stream: impl AsFd) -> File {
    File::from(stream.as_fd().try_clone_to_owned().unwrap())
}

/// The least that a relay does: passes bytes between its own client and a child. With trees, it
/// reads each message into one and writes it again.
pub(crate) fn pump(command: &[String], has_trees: bool) {
    let mut child = Command::new(&command[0])
        .args(&command[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    std::thread::scope(|scope| {
        scope.spawn(|| pass(bare(std::io::stdin()), stdin, has_trees));
        pass(stdout, bare(std::io::stdout()), has_trees);
    });
    child.wait().unwrap();
}

fn pass(from: impl Read, mut to: impl Write, has_trees: bool) {
    let mut from = Source::new(from);
    let (mut buffer, mut out) = (Vec::new(), Vec::new());
    while from.read(&mut buffer) {
        if has_trees {
            let Some(last) = memrchr(b'\n', &buffer) else {
                continue;
            };
            for line in buffer[..last].split(|byte| *byte == b'\n') {
                let tree: Value = serde_json::from_slice(line).unwrap();
                serde_json::to_writer(&mut out, &tree).unwrap();
                out.push(b'\n');
            }
            buffer.drain(..=last);
        } else {
            std::mem::swap(&mut buffer, &mut out);
            buffer.clear();
        }
        if to.write_all(&out).is_err() {
            return;
        }
        out.clear();
    }
}

/// A client that has a child for a server.
pub(crate) struct LineClient {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    stdout: Source<ChildStdout>,
    calls: Calls,
    buffer: Vec<u8>,
    out: Vec<u8>,
    next: u64,
}

impl LineClient {
    pub(crate) fn start(command: &mut Command, calls: Calls) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut client = Self {
            stdin: child.stdin.take(),
            stdout: Source::new(child.stdout.take().unwrap()),
            child,
            calls,
            buffer: Vec::new(),
            out: Vec::new(),
            next: 10,
        };
        if client.calls.era == Era::Legacy {
            client.request(&initialize());
            client.send(&initialized());
        }
        let answer = client.call();
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(answer["result"]["content"][0]["type"], "text", "{answer}");
        client
    }

    pub(crate) fn next_id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn write(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    /// Sends a request, and returns the next message.
    pub(crate) fn request(&mut self, message: &Value) -> Value {
        self.send(message);
        serde_json::from_slice(&self.line()).unwrap()
    }

    fn line(&mut self) -> Vec<u8> {
        self.buffer.clear();
        while self.buffer.last() != Some(&b'\n') {
            assert!(self.stdout.read(&mut self.buffer), "it has exited");
        }
        std::mem::take(&mut self.buffer)
    }

    fn call(&mut self) -> Vec<u8> {
        self.send_call();
        self.line()
    }

    fn send_call(&mut self) {
        let mut out = std::mem::take(&mut self.out);
        self.calls.add(&mut out);
        out.push(b'\n');
        self.write(&out);
        out.clear();
        self.out = out;
    }
}

impl Way for LineClient {
    fn one(&mut self) -> Duration {
        let began = Instant::now();
        let line = self.call();
        let took = began.elapsed();
        self.buffer = line;
        took
    }

    fn flight(&mut self, limit: Duration) -> f64 {
        let (began, mut done, mut open, mut due) = (Instant::now(), 0_u32, 0, IN_FLIGHT);
        self.buffer.clear();
        loop {
            // Each is written by itself, as SDKs do.
            for _ in 0..due {
                self.send_call();
            }
            open += due;
            assert!(self.stdout.read(&mut self.buffer), "it has exited");
            let answered = memchr_iter(b'\n', &self.buffer).count();
            if let Some(last) = memrchr(b'\n', &self.buffer) {
                self.buffer.drain(..=last);
            }
            done += u32::try_from(answered).unwrap();
            open -= answered;
            due = if began.elapsed() < limit { answered } else { 0 };
            if open == 0 {
                return f64::from(done) / began.elapsed().as_secs_f64();
            }
        }
    }
}

impl Drop for LineClient {
    fn drop(&mut self) {
        self.stdin.take();
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(5) {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
