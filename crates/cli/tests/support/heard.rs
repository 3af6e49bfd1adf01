//! What a stream of a running program has brought so far.

use std::io::Read;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a test waits for words that should come at once.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a stream has brought so far.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<(Mutex<String>, Condvar)>);

impl Heard {
    /// Listens on a thread of its own until the stream ends.
    pub(crate) fn listen(&self, mut stream: impl Read + Send + 'static) -> JoinHandle<()> {
        let heard = self.clone();
        std::thread::spawn(move || {
            let mut part = [0; 1024];
            // A terminal ends with an error when its last user is gone.
            while let Ok(length @ 1..) = stream.read(&mut part) {
                let text = String::from_utf8_lossy(&part[..length]);
                let (all, changed) = &*heard.0;
                all.lock().expect("no listener panics").push_str(&text);
                changed.notify_all();
            }
        })
    }

    /// Waits for a whole line with these words.
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

    /// Waits until something is found in all that has come; `None` if it does not come in time.
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
