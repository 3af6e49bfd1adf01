//! The standard error of a server that was started here.
//!
//! It is forwarded at once, but held back during the handshake: an older server may fill it with
//! errors about the first request, which asks for its version. While the full screen is in use, it
//! is held back until the end.

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use tokio::task::JoinHandle;

use crate::output;

/// The maximum number of lines held back; older ones are dropped.
const MAX_HELD_LINES: usize = 200;
/// How long to wait for the last lines: a process that the server has left behind may keep its
/// stderr open.
const REST: Duration = Duration::from_millis(500);
/// The maximum length read at a time.
const MAX_CHUNK_BYTES: u64 = 8 * 1024;

/// Lines in the order in which they came.
#[derive(Default)]
struct Held {
    lines: VecDeque<String>,
    /// Whether lines are printed as they come.
    is_open: bool,
}

impl Held {
    fn take(&mut self, line: String) {
        if self.is_open {
            return print(&line);
        }
        if self.lines.len() == MAX_HELD_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }
}

/// Forwards a server's stderr until it is dropped.
pub(super) struct ServerStderr {
    held: Arc<Mutex<Held>>,
    task: JoinHandle<()>,
}

impl ServerStderr {
    /// Holds back what comes.
    pub(super) fn listen(stream: impl AsyncRead + Send + Unpin + 'static) -> Self {
        let held: Arc<Mutex<Held>> = Arc::default();
        let task = tokio::spawn(forward(stream, held.clone()));
        Self { held, task }
    }

    /// Goes on after the handshake, which has found an older server or not.
    pub(super) fn handshake_succeeded(&self, is_older: bool, stays_held: bool) {
        if is_older {
            self.drop_held();
        }
        if !stays_held {
            self.print_held();
            self.lock().is_open = true;
        }
    }

    /// Waits for the last lines of a server that has exited, or is about to.
    pub(super) async fn read_rest(&mut self) {
        let _ = tokio::time::timeout(REST, &mut self.task).await;
    }

    /// Prints the lines held back.
    pub(super) fn print_held(&self) {
        for line in self.lock().lines.drain(..) {
            print(&line);
        }
    }

    /// Drops the lines held back: they say only that the server is older.
    pub(super) fn drop_held(&self) {
        for line in self.lock().lines.drain(..) {
            tracing::debug!("the server, during the handshake: {line}");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ServerStderr {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn forward(stream: impl AsyncRead + Unpin, held: Arc<Mutex<Held>>) {
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        // In chunks, so that an endless line takes no unbounded memory.
        let mut part = (&mut reader).take(MAX_CHUNK_BYTES);
        if !matches!(part.read_until(b'\n', &mut line).await, Ok(1..)) {
            return;
        }
        let text = String::from_utf8_lossy(&line);
        let text = output::sanitize(text.trim_end()).into_owned();
        held.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take(text);
    }
}

fn print(line: &str) {
    // If stderr is closed, there is no place to report it.
    let _ = writeln!(io::stderr(), "{line}");
}
