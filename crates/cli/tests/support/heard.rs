//! The output of a running program so far.

use std::io::Read;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a test waits for output that should be immediate.
const PATIENCE: Duration = Duration::from_secs(60);

/// The output of a stream so far.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<(Mutex<String>, Condvar)>);

impl Heard {
    /// Reads on its own thread until the stream ends.
    pub(crate) fn listen(&self, mut stream: impl Read + Send + 'static) -> JoinHandle<()> {
        let heard = self.clone();
        std::thread::spawn(move || {
            let mut part = [0; 1024];
            // A terminal ends with an error when its last user closes it.
            while let Ok(length @ 1..) = stream.read(&mut part) {
                let text = String::from_utf8_lossy(&part[..length]);
                let (all, changed) = &*heard.0;
                all.lock().expect("no listener panics").push_str(&text);
                changed.notify_all();
            }
        })
    }

    /// Waits for a complete line that contains these words.
    pub(crate) fn line_with(&self, words: &str) -> String {
        let line = self.until(|all| {
            let mut lines = all
                .split_inclusive('\n')
                .filter(|line| line.ends_with('\n'));
            let line = lines.find(|line| line.contains(words));
            line.map(|line| line.trim_end().to_owned())
        });
        line.unwrap_or_else(|| panic!("no line with `{words}` in:\n{}", self.text()))
    }

    /// Waits until a match is found in all output so far; `None` after a timeout.
    pub(crate) fn until<T>(&self, find: impl Fn(&str) -> Option<T>) -> Option<T> {
        let (all, changed) = &*self.0;
        let all = all.lock().expect("no listener panics");
        let is_awaited = |all: &mut String| find(all).is_none();
        let waited = changed.wait_timeout_while(all, PATIENCE, is_awaited);
        let (all, _) = waited.expect("no listener panics");
        find(&all)
    }

    pub(crate) fn text(&self) -> String {
        self.0.0.lock().expect("no listener panics").clone()
    }
}
