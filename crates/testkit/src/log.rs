//! Captures log output in tests.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

/// Captured log output. Clones share it.
///
/// [`writer`](Self::writer) goes to a subscriber of `tracing_subscriber`, as in
/// `tracing_subscriber::fmt().with_writer(log.writer())`.
#[derive(Clone, Debug, Default)]
pub struct CapturedLog(Arc<Mutex<Vec<u8>>>);

impl CapturedLog {
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
