//! The standard error of a server that was started here.
//!
//! It is forwarded at once, unless the full screen is in use: then it is held back until the end.

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use tokio::task::JoinHandle;

use crate::output;

/// The maximum number of lines held back; older ones are dropped.
const MAX_HELD_LINES: usize = 200;
/// The maximum length read at a time.
const MAX_CHUNK_BYTES: u64 = 8 * 1024;

type HeldLines = Arc<Mutex<VecDeque<String>>>;

/// Forwards a server's stderr until it is dropped.
pub(super) struct ServerStderr {
    held: Option<HeldLines>,
    task: JoinHandle<()>,
}

impl ServerStderr {
    pub(super) fn listen(
        stream: impl AsyncRead + Send + Unpin + 'static,
        is_held_back: bool,
    ) -> Self {
        let held: Option<HeldLines> = is_held_back.then(Arc::default);
        let task = tokio::spawn(forward(stream, held.clone()));
        Self { held, task }
    }

    /// Prints the lines held back.
    pub(super) fn print_held(&self) {
        if let Some(held) = &self.held {
            let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
            for line in held.drain(..) {
                print(&line);
            }
        }
    }
}

impl Drop for ServerStderr {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn forward(stream: impl AsyncRead + Unpin, held: Option<HeldLines>) {
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
        match &held {
            None => print(&text),
            Some(held) => {
                let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
                if held.len() == MAX_HELD_LINES {
                    held.pop_front();
                }
                held.push_back(text);
            }
        }
    }
}

fn print(line: &str) {
    // If stderr is closed, there is no place to report it.
    let _ = writeln!(io::stderr(), "{line}");
}
