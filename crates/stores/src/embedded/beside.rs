//! Reads a store without opening it: beside the process that has it open, or while nobody has.
//!
//! Takes none of the locks that keep a second process out, and writes nothing, not even SQLite's
//! index of the log.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use entreat_core::Validators;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::files::with_ending;
use super::open::{OpenError, failed};
use super::schema::{self, Format};
use super::verify::{self, Fault};
use super::{inspect, live, wal};
use crate::forms::Forms;

/// How often a store is read again because a process opened or closed it meanwhile.
const ATTEMPTS: usize = 3;
/// The number of instructions of SQLite's virtual machine between two checks whether to stop.
const INSTRUCTIONS_PER_CHECK: i32 = 10_000;

/// Approximate number of forms to cache.
const CACHED_FORMS: usize = 100;

/// The result of [`EmbeddedStore::check`](super::EmbeddedStore::check).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checked {
    /// Everything was checked, and is intact.
    Intact,
    /// The time was up; what was checked is intact.
    Unfinished,
    /// An older Entreat wrote it: rows have no checksums until the next start, so only the pages
    /// were checked.
    OldFormat,
}

/// Runs `work` on a read-only connection; everything it reads is of one moment if it is one
/// statement or transaction.
pub(super) fn read<T>(
    path: &Path,
    mut work: impl FnMut(&mut Connection) -> Result<T, Fault>,
) -> Result<T, OpenError> {
    let path = path
        .canonicalize()
        .map_err(|error| failed(path, "find the file", error))?;
    if path.metadata().is_ok_and(|found| found.len() == 0) && !has_log(&path) {
        return Err(OpenError::NoStore { path });
    }
    let mut last = None;
    for _ in 0..ATTEMPTS {
        let before = Stamp::of(&path);
        let is_closed = !inspect::is_in_use(&path) && !has_log(&path);
        if !is_closed && !inspect::is_in_use(&path) {
            // Left by a process that was killed.
            let log = wal::is_damaged(&with_ending(&path, "-wal"));
            if log.map_err(|error| failed(&path, "read the log", error))? {
                return Err(Fault::Damaged("its log").of(&path));
            }
        }
        let done = connect(&path, is_closed)
            .map_err(Fault::from)
            .and_then(|mut connection| work(&mut connection));
        // A file that nobody had open is read without SQLite's locks. If somebody opened it
        // meanwhile, what was read may be of two moments.
        let is_undisturbed = Stamp::of(&path) == before && !inspect::is_in_use(&path);
        if !is_closed || is_undisturbed {
            return done.map_err(|fault| fault.of(&path));
        }
        last = Some(done);
    }
    match last {
        Some(Err(fault)) => Err(fault.of(&path)),
        Some(Ok(_)) | None => Err(OpenError::InUse { path }),
    }
}

/// Verifies everything in the store, as opening it does, until `stop` is set.
pub(super) fn check(path: &Path, stop: &Arc<AtomicBool>) -> Result<Checked, OpenError> {
    let checked = read(path, |connection| {
        let stop = stop.clone();
        let is_stopped = move || stop.load(Ordering::Relaxed);
        connection.progress_handler(INSTRUCTIONS_PER_CHECK, Some(is_stopped))?;
        // One transaction: a running service writes meanwhile.
        let snapshot = connection.transaction()?;
        verify_all(&snapshot)
    });
    match checked {
        Err(OpenError::Failed { .. }) if stop.load(Ordering::Relaxed) => Ok(Checked::Unfinished),
        checked => checked,
    }
}

/// Verifies everything in the store, for at most this long.
pub(super) async fn check_within(path: PathBuf, limit: Duration) -> Result<Checked, OpenError> {
    let stop = Arc::new(AtomicBool::new(false));
    let work = tokio::task::spawn_blocking({
        let (path, stop) = (path.clone(), stop.clone());
        move || check(&path, &stop)
    });
    tokio::pin!(work);
    let done = tokio::select! {
        done = &mut work => done,
        () = tokio::time::sleep(limit) => {
            stop.store(true, Ordering::Relaxed);
            work.await
        }
    };
    done.unwrap_or_else(|error| Err(failed(&path, "read the data", error.into())))
}

fn verify_all(connection: &Connection) -> Result<Checked, Fault> {
    match schema::format(connection)? {
        Format::Current => {}
        Format::Older => {
            verify::pages(connection)?;
            return Ok(Checked::OldFormat);
        }
        Format::Newer { found, known } => return Err(Fault::Newer { found, known }),
        Format::Foreign => return Err(Fault::NotAStore),
    }
    let forms = Forms::new(CACHED_FORMS, Validators::default());
    verify::verify(connection, &forms)?;
    live::load(connection, &forms)?;
    Ok(Checked::Intact)
}

pub(super) fn has_log(path: &Path) -> bool {
    let log = with_ending(path, "-wal").metadata();
    log.is_ok_and(|log| log.len() > 0)
}

/// When and how a file was last changed.
#[derive(PartialEq, Eq)]
struct Stamp(Option<(u64, Option<SystemTime>)>);

impl Stamp {
    fn of(path: &Path) -> Self {
        let metadata = path.metadata().ok();
        Self(metadata.map(|found| (found.len(), found.modified().ok())))
    }
}

/// Connects read-only. `is_closed`: nobody has it open, and it has no log.
fn connect(path: &Path, is_closed: bool) -> rusqlite::Result<Connection> {
    // Without these, SQLite would create files beside the store, or write to its index of the log.
    if is_closed {
        return connect_as(path, "immutable=1");
    }
    connect_as(path, "mode=ro&readonly_shm=1").or_else(|error| match error.sqlite_error_code() {
        // The index does not suffice for a reader that leaves it alone: nobody has read the log
        // since it was begun, or the index is missing.
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen) => connect_as(path, "mode=ro"),
        _ => Err(error),
    })
}

fn connect_as(path: &Path, query: &str) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = match uri(path, query) {
        Some(uri) => Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)?,
        None => Connection::open_with_flags(path, flags)?,
    };
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.pragma_update(None, "cell_size_check", true)?;
    // Nothing is opened before the first read.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
}

/// The path as SQLite's URI; `None` where paths are not that simple.
fn uri(path: &Path, query: &str) -> Option<String> {
    use std::fmt::Write as _;

    if !cfg!(unix) {
        return None;
    }
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
            // Writing to a string cannot fail.
            byte => drop(write!(uri, "%{byte:02X}")),
        }
    }
    uri.push('?');
    uri.push_str(query);
    Some(uri)
}

#[cfg(test)]
mod tests {
    use super::super::{EmbeddedOptions, EmbeddedStore};
    use super::*;

    #[tokio::test]
    async fn a_check_ends_when_it_is_told_to_and_finds_damage_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("q.db");
        let store = EmbeddedStore::open(&path, EmbeddedOptions::default()).unwrap();
        store.close().await;
        let stop = Arc::new(AtomicBool::new(false));
        assert_eq!(check(&path, &stop).unwrap(), Checked::Intact);
        let connection = Connection::open(&path).unwrap();
        // Many rows, none with a checksum.
        connection
            .execute_batch(
                "INSERT INTO note (name, text)
                 WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
                 SELECT 'note ' || i, 'text' FROM n",
            )
            .unwrap();
        drop(connection);
        let damaged = check(&path, &stop).unwrap_err();
        assert!(matches!(damaged, OpenError::Damaged { part: "a note", .. }));
        stop.store(true, Ordering::Relaxed);
        assert_eq!(check(&path, &stop).unwrap(), Checked::Unfinished);
    }

    #[test]
    fn a_path_of_any_characters_is_one_uri() {
        let uri = uri(Path::new("/a b/%41?x#y/ü.db"), "mode=ro");
        let expected = "file:/a%20b/%2541%3Fx%23y/%C3%BC.db?mode=ro";
        assert_eq!(uri.as_deref(), cfg!(unix).then_some(expected));
    }
}
