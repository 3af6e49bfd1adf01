//! What a server that was started here says on its standard error.
//!
//! It is passed on as it comes, unless the whole screen is being drawn on: then it is held back
//! until the end.

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use tokio::task::JoinHandle;

use crate::output;

/// So many lines are held back; of more, the last ones are told.
const HELD: usize = 200;
/// So much of one line is read at a time.
const LONGEST: u64 = 8 * 1024;

type Held = Arc<Mutex<VecDeque<String>>>;

/// Listens to a server, as long as it lives.
pub(super) struct Errors {
    held: Option<Held>,
    task: JoinHandle<()>,
}

impl Errors {
    pub(super) fn listen(
        stream: impl AsyncRead + Send + Unpin + 'static,
        is_held_back: bool,
    ) -> Self {
        let held: Option<Held> = is_held_back.then(Arc::default);
        let task = tokio::spawn(pass_on(stream, held.clone()));
        Self { held, task }
    }

    /// Tells what was held back.
    pub(super) fn tell(&self) {
        if let Some(held) = &self.held {
            let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
            for line in held.drain(..) {
                say(&line);
            }
        }
    }
}

impl Drop for Errors {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn pass_on(stream: impl AsyncRead + Unpin, held: Option<Arc<Mutex<VecDeque<String>>>>) {
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        // In parts, so that a line without an end is no trouble.
        let mut part = (&mut reader).take(LONGEST);
        if !matches!(part.read_until(b'\n', &mut line).await, Ok(1..)) {
            return;
        }
        let text = String::from_utf8_lossy(&line);
        let text = output::plain(text.trim_end()).into_owned();
        match &held {
            None => say(&text),
            Some(held) => {
                let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
                if held.len() == HELD {
                    held.pop_front();
                }
                held.push_back(text);
            }
        }
    }
}

fn say(line: &str) {
    // Nobody listens if this fails, so there is nobody to tell.
    let _ = writeln!(io::stderr(), "{line}");
}
