//! A server in a separate process, over stdio.
//!
//! The process is this program again, running one test: a server with its own clock. The person's
//! actions on a page, the passing of time, and the final checks go over a second connection, one
//! line each way.

use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use entreat_core::{CancelReason, Outcome};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::unix::pipe;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::sync::Mutex;

use crate::axes::Ending;
use crate::world::Here;

/// The variable with the address of the control connection; it also marks a child.
const CONTROL: &str = "ENTREAT_TEST_MATRIX";

/// The other process, as the test sees it.
pub(crate) struct Child {
    /// Killed when this is dropped.
    _process: tokio::process::Child,
    control: Mutex<Control>,
}

struct Control {
    lines: Lines<BufReader<OwnedReadHalf>>,
    writer: OwnedWriteHalf,
}

impl Control {
    fn new(stream: TcpStream) -> Self {
        let (reader, writer) = stream.into_split();
        let lines = BufReader::new(reader).lines();
        Self { lines, writer }
    }

    async fn next(&mut self) -> Option<String> {
        self.lines.next_line().await.unwrap()
    }

    async fn say(&mut self, line: &str) {
        let line = format!("{line}\n");
        self.writer.write_all(line.as_bytes()).await.unwrap();
    }
}

impl Child {
    /// Starts a child, and returns the pipes for MCP.
    pub(crate) async fn start() -> (Self, (ChildStdout, ChildStdin)) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        // The test harness writes to stdout too, so MCP uses other pipes.
        let mut process = Command::new("sh")
            .args(["-c", r#"exec "$0" "$@" 3>&1 1>/dev/null"#])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "child::child_that_serves", "--nocapture"])
            .env(CONTROL, address.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let pipes = (
            process.stdout.take().unwrap(),
            process.stdin.take().unwrap(),
        );
        let (stream, _) = listener.accept().await.unwrap();
        let child = Self {
            _process: process,
            control: Mutex::new(Control::new(stream)),
        };
        (child, pipes)
    }

    async fn ask(&self, line: &str) -> String {
        let mut control = self.control.lock().await;
        control.say(line).await;
        control.next().await.unwrap()
    }

    pub(crate) async fn advance(&self, time: Duration) {
        self.ask(&format!("advance {}", time.as_millis())).await;
    }

    pub(crate) async fn visit(&self, url: &str, ending: Ending) {
        self.ask(&format!("visit {} {url}", ending.name())).await;
    }

    /// The outcomes of this many questions; after that, nothing is left.
    pub(crate) async fn end(&self, number: usize) -> Vec<Outcome> {
        let outcomes = self.ask(&format!("end {number}")).await;
        outcomes.split_whitespace().map(read).collect()
    }

    /// Waits until its server has ended after the client disconnected.
    pub(crate) async fn has_ended(&self) {
        self.ask("served").await;
    }
}

fn write(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "completed",
        Outcome::Declined => "declined",
        Outcome::Cancelled(CancelReason::UserCancelled) => "cancelled",
        Outcome::Cancelled(CancelReason::ClientDisconnected) => "disconnected",
        Outcome::Cancelled(_) => "other",
        Outcome::TimedOut => "timeout",
    }
}

fn read(text: &str) -> Outcome {
    match text {
        "completed" => Outcome::Completed,
        "declined" => Outcome::Declined,
        "cancelled" => Outcome::Cancelled(CancelReason::UserCancelled),
        "disconnected" => Outcome::Cancelled(CancelReason::ClientDisconnected),
        "timeout" => Outcome::TimedOut,
        _ => Outcome::Cancelled(CancelReason::AskerCancelled),
    }
}

/// The code that runs in the child process.
#[expect(
    clippy::disallowed_methods,
    reason = "the test harness leaves no other way to tell a test that it is a child"
)]
#[tokio::test]
async fn child_that_serves() {
    let Ok(address) = std::env::var(CONTROL) else {
        return;
    };
    let address: SocketAddr = address.parse().unwrap();
    let mut control = Control::new(TcpStream::connect(address).await.unwrap());
    let here = Here::new().await;
    let input = pipe::OpenOptions::new().open_receiver("/dev/fd/0").unwrap();
    let output = pipe::OpenOptions::new().open_sender("/dev/fd/3").unwrap();
    let server = here.server.clone();
    let mut serving = Some(tokio::spawn(async move {
        let running = server.serve((input, output)).await.unwrap();
        running.waiting().await.unwrap();
    }));
    while let Some(line) = control.next().await {
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        let said = match word {
            "advance" => {
                here.clock
                    .advance(Duration::from_millis(rest.parse().unwrap()));
                String::new()
            }
            "visit" => {
                let (ending, url) = rest.rsplit_once(' ').unwrap();
                let ending = Ending::ALL.into_iter().find(|it| it.name() == ending);
                here.visit(url, ending.unwrap()).await;
                String::new()
            }
            "served" => {
                serving.take().unwrap().await.unwrap();
                String::new()
            }
            "end" => {
                let kept = here.end(rest.parse().unwrap()).await;
                let words: Vec<_> = kept.into_iter().map(write).collect();
                words.join(" ")
            }
            other => panic!("no command: {other}"),
        };
        control.say(&said).await;
    }
}
