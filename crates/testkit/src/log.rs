//! Captures log output in tests.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use tracing::subscriber::DefaultGuard;
use tracing::{Dispatch, Level};
use tracing_subscriber::fmt::format::FmtSpan;

/// Captured log output. Clones share it.
///
/// [`of_this_thread`](Self::of_this_thread) begins to capture. For another format,
/// [`writer`](Self::writer) goes to a subscriber of `tracing_subscriber`, as in
/// `tracing_subscriber::fmt().with_writer(log.writer())`.
#[derive(Clone, Debug, Default)]
pub struct CapturedLog(Arc<Mutex<Vec<u8>>>);

/// Captures the log until it is dropped.
#[must_use]
#[derive(Debug)]
pub struct LogGuard {
    _log: DefaultGuard,
    _silent: Dispatch,
}

impl CapturedLog {
    /// Captures what this thread logs, down to a level.
    pub fn of_this_thread(level: Level) -> (Self, LogGuard) {
        Self::capture(level, FmtSpan::NONE)
    }

    /// Captures everything that this thread logs, and every span with its fields, as traces have
    /// them.
    pub fn with_spans_of_this_thread() -> (Self, LogGuard) {
        Self::capture(Level::TRACE, FmtSpan::FULL)
    }

    fn capture(level: Level, spans: FmtSpan) -> (Self, LogGuard) {
        let log = Self::default();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_max_level(level)
            .with_span_events(spans)
            .with_writer(log.writer())
            .finish();
        // With a single subscriber, the first test that logs a line would decide for all whether it
        // is enabled.
        let silent = tracing_subscriber::fmt().with_writer(io::sink);
        let guard = LogGuard {
            _silent: Dispatch::new(silent.finish()),
            _log: tracing::subscriber::set_default(subscriber),
        };
        (log, guard)
    }

    /// Returns a factory of writers to this log.
    pub fn writer(&self) -> impl Fn() -> Self + Send + Sync + 'static {
        let log = self.clone();
        move || log.clone()
    }

    /// Returns all captured text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock()).into_owned()
    }

    /// Returns the text captured since the last call.
    pub fn take(&self) -> String {
        let bytes = std::mem::take(&mut *self.0.lock());
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl io::Write for CapturedLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
