//! A server in a process of its own on one core, clients on the other, and HTTP by hand between
//! them: whatever a client library does would be measured too.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use entreat::service::http;
use entreat::{AskerSettings, EngineSettings, Limits};
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpStream};

/// How long each server is measured, after a while that does not count.
pub(crate) const WARM_UP: Duration = Duration::from_millis(500);
pub(crate) const MEASURED: Duration = Duration::from_secs(3);

pub(crate) fn settings() -> EngineSettings {
    EngineSettings {
        live: usize::MAX - 1,
        retention: Duration::from_secs(2),
        asker: unlimited(),
        ..EngineSettings::default()
    }
}

fn unlimited() -> AskerSettings {
    AskerSettings {
        limits: Limits::none(),
        ..AskerSettings::default()
    }
}

/// A runtime on one thread, on the core that this process was put on.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

pub(crate) fn serve(server: impl Future<Output = ()>) {
    runtime().block_on(server);
}

pub(crate) fn listen() -> TcpListener {
    let listener = http::listen(([127, 0, 0, 1], 0).into()).unwrap();
    println!("{}", listener.local_addr().unwrap().port());
    listener
}

/// A server in a process of its own, on the first core if cores can be chosen.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) port: u16,
}

impl Server {
    pub(crate) fn start(role: &str) -> Self {
        Self::with(role, &[])
    }

    pub(crate) fn with(role: &str, arguments: &[&str]) -> Self {
        let exe = std::env::current_exe().unwrap();
        let role = format!("--role={role}");
        let spawn = |mut command: Command| {
            command.arg(&role).args(arguments);
            command.stdout(Stdio::piped()).spawn()
        };
        let mut pinned = Command::new("taskset");
        pinned.args(["-c", "0"]).arg(&exe);
        let mut child = spawn(pinned)
            .or_else(|_| spawn(Command::new(&exe)))
            .unwrap();
        let mut line = String::new();
        let output = child.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        let port = line.trim().parse().unwrap();
        Self { child, port }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The body of the next response.
pub(crate) async fn response<'b>(stream: &mut TcpStream, buffer: &'b mut Vec<u8>) -> &'b str {
    buffer.clear();
    loop {
        assert!(stream.read_buf(buffer).await.unwrap() > 0, "hung up");
        let Some(head) = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") else {
            continue;
        };
        let text = std::str::from_utf8(&buffer[..head]).unwrap();
        let lower = text.to_ascii_lowercase();
        let length = lower.split("content-length: ").nth(1).unwrap();
        let length: usize = length.split("\r\n").next().unwrap().parse().unwrap();
        if buffer.len() >= head + 4 + length {
            return std::str::from_utf8(&buffer[head + 4..head + 4 + length]).unwrap();
        }
    }
}
