//! Opening, copying and closing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use entreat_core::UnixTime;
use entreat_engine::{Store, StoreError};
use entreat_stores::{BackupError, EmbeddedOptions, EmbeddedStore, OpenError};
use entreat_testkit::records::{self, assert_same};

use crate::child;

fn open(path: &Path) -> Result<EmbeddedStore, OpenError> {
    EmbeddedStore::open(path, EmbeddedOptions::default())
}

fn refused(path: &Path) -> OpenError {
    match open(path) {
        Ok(_) => panic!("it opened"),
        Err(error) => error,
    }
}

fn at(millis: u64) -> UnixTime {
    UnixTime::from_millis(1_706_889_000_000 + millis)
}

#[tokio::test]
async fn a_store_that_is_open_is_not_opened_again_under_any_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path).unwrap();
    let other = folder.path().join("other.db");
    std::os::unix::fs::symlink(&path, &other).unwrap();
    for path in [&path, &other] {
        let error = refused(path);
        assert!(matches!(error, OpenError::InUse { .. }));
        assert!(error.to_string().contains("store.db is in use"), "{error}");
    }
    store.close().await;
    drop(open(&path).unwrap());
    drop(open(&other).unwrap());
}

#[test]
fn what_cannot_be_opened_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("no/store.db");
    let error = refused(&missing).to_string();
    assert!(
        error.ends_with("/no does not exist: create it first"),
        "{error}"
    );

    let text = folder.path().join("notes.txt");
    fs::write(
        &text,
        "not a database, but longer than its header is ".repeat(20),
    )
    .unwrap();
    let error = refused(&text);
    assert!(matches!(error, OpenError::NotAStore { .. }), "{error:?}");
    assert_eq!(fs::read(&text).unwrap().len(), 46 * 20, "it is left alone");

    assert!(matches!(
        refused(folder.path()),
        OpenError::NotAStore { .. }
    ));

    let foreign = folder.path().join("foreign.db");
    let connection = rusqlite::Connection::open(&foreign).unwrap();
    connection.execute_batch("CREATE TABLE theirs (x)").unwrap();
    assert!(matches!(refused(&foreign), OpenError::NotAStore { .. }));

    let newer = folder.path().join("newer.db");
    drop(open(&newer).unwrap());
    let connection = rusqlite::Connection::open(&newer).unwrap();
    connection.pragma_update(None, "user_version", 7).unwrap();
    drop(connection);
    let error = refused(&newer).to_string();
    let end = "newer.db has format 7, but this version supports up to 6: use a newer Entreat";
    assert!(error.ends_with(end), "{error}");
}

#[test]
fn only_the_owner_may_read_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path).unwrap();
    let files: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert!(files.len() >= 3, "{files:?}");
    for file in files {
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file:?}");
    }
    drop(store);
}

#[tokio::test]
async fn a_copy_is_a_store_of_one_moment_while_work_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(open(&folder.path().join("store.db")).unwrap());
    let mut records = Vec::new();
    for number in 0..200 {
        let record = records::pending("asker", at(number), number);
        store.create(record.clone()).await.unwrap();
        records.push(record);
    }
    let copy = folder.path().join("copy.db");
    let writing = tokio::spawn({
        let store = store.clone();
        async move {
            for number in 1000..1400 {
                let record = records::pending("asker", at(number), number);
                store.create(record).await.unwrap();
            }
        }
    });
    store.backup(&copy).await.unwrap();
    writing.await.unwrap();
    let mode = fs::metadata(&copy).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let again = store.backup(&copy).await.unwrap_err();
    assert!(matches!(again, BackupError::Exists { .. }), "{again}");
    let nowhere = store.backup(&folder.path().join("no/copy.db")).await;
    assert!(matches!(nowhere, Err(BackupError::File { .. })));

    let copied = open(&copy).unwrap();
    for record in &records {
        assert_same(&copied.load(record.id).await.unwrap().unwrap(), record);
    }
}

#[tokio::test]
async fn what_was_queued_is_done_before_a_store_closes_and_what_comes_later_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = Arc::new(open(&path).unwrap());
    let record = |number| records::pending("asker", at(number), number);
    // Queued by the calls themselves, before anything awaits them.
    let queued: Vec<_> = (0..500)
        .map(|number| store.create(record(number)))
        .collect();
    store.close().await;
    for creation in queued {
        creation.await.unwrap();
    }
    let id = record(0).id;
    let late: [Result<(), StoreError>; 6] = [
        store.due(at(0), 1).await.map(drop),
        store.live_counts().await.map(drop),
        store.create(record(900)).await.map(drop),
        store.load(id).await.map(drop),
        store.purge(at(9), 1).await.map(drop),
        store.load_note("note").await.map(drop),
    ];
    for answer in late {
        assert!(
            matches!(answer, Err(StoreError::Unavailable { .. })),
            "{answer:?}"
        );
    }
    let copy = store.backup(&folder.path().join("copy.db")).await;
    assert!(matches!(copy, Err(BackupError::Store { .. })));
    store.close().await;

    let store = open(&path).unwrap();
    for number in 0..500 {
        assert!(store.load(record(number).id).await.unwrap().is_some());
    }
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_done_and_a_drop_waits_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path).unwrap();
    let record = records::pending("asker", at(0), 0);
    drop(store.create(record.clone()));
    let never_polled = store.load_note("note");
    drop(store);
    drop(never_polled);
    let store = open(&path).unwrap();
    assert!(store.load(record.id).await.unwrap().is_some());
}

#[tokio::test]
async fn the_log_is_emptied_once_a_long_reader_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path).unwrap();
    let log = || {
        let log = folder.path().join("store.db-wal");
        fs::metadata(log).unwrap().len() >> 20
    };
    let text = "x".repeat(1 << 20);
    let write = async |numbers: std::ops::Range<u64>, text: &str| {
        for number in numbers {
            let mut record = records::pending("asker", at(number), number);
            record.to_mut().answer_state = records::drafted(&record, at(number), text)
                .answer_state
                .clone();
            store.create(record).await.unwrap();
        }
    };
    let reader = rusqlite::Connection::open(&path).unwrap();
    reader.execute_batch("BEGIN; SELECT * FROM note").unwrap();
    write(0..80, &text).await;
    assert!(log() > 70, "{} MiB", log());
    reader.execute_batch("COMMIT").unwrap();
    write(80..160, "{}").await;
    assert!(log() < 64, "{} MiB", log());
}

#[test]
fn neither_a_removed_lock_nor_another_name_lets_a_second_one_in() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path).unwrap();
    let other = folder.path().join("other.db");
    fs::hard_link(&path, &other).unwrap();
    assert!(matches!(refused(&other), OpenError::Linked { .. }));
    fs::remove_file(&other).unwrap();
    fs::remove_file(folder.path().join("store.db.lock")).unwrap();
    // In another process, too: this one must not close a handle of the file that it has open.
    let words = [path.to_str().unwrap()];
    let child = child::command("opening::child_that_opens", &words).status();
    assert!(child.unwrap().success(), "a second process got in");
    assert!(matches!(refused(&path), OpenError::InUse { .. }));
    drop(store);
}

#[test]
fn child_that_opens() {
    let Some(words) = child::words() else { return };
    let path = Path::new(&words[0]);
    assert!(EmbeddedStore::is_in_use(path));
    assert!(matches!(refused(path), OpenError::InUse { .. }));
}

#[test]
fn a_store_with_two_names_is_not_opened_by_either() {
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("store.db"), folder.path().join("b.db"));
    drop(open(&path).unwrap());
    fs::hard_link(&path, &other).unwrap();
    for path in [&path, &other] {
        let error = refused(path);
        assert!(matches!(error, OpenError::Linked { .. }), "{error}");
        assert!(error.to_string().contains("entreat backup"), "{error}");
    }
    fs::remove_file(&other).unwrap();
    drop(open(&path).unwrap());
}

#[test]
fn a_store_that_must_be_there_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let options = EmbeddedOptions {
        may_create: false,
        ..EmbeddedOptions::default()
    };
    let must_open = || EmbeddedStore::open(&path, options.clone()).map(drop);
    assert!(matches!(must_open(), Err(OpenError::NoStore { .. })));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

    // Empty, with its log still there: the log is not removed.
    fs::write(&path, "").unwrap();
    let log = folder.path().join("store.db-wal");
    fs::write(&log, "what is left of it").unwrap();
    assert!(matches!(must_open(), Err(OpenError::NoStore { .. })));
    assert_eq!(fs::read(&log).unwrap(), b"what is left of it");
    fs::remove_file(&log).unwrap();

    // A database without tables.
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("VACUUM").unwrap();
    drop(connection);
    assert!(matches!(must_open(), Err(OpenError::NoStore { .. })));
    drop(open(&path).unwrap());
    assert!(must_open().is_ok());
}

#[tokio::test]
async fn a_file_that_was_removed_or_replaced_fails_the_check_and_every_step() {
    for log in ["", "-wal"] {
        for replaced in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("store.db");
            let store = open(&path).unwrap();
            let record = records::pending("asker", at(0), 0);
            store.create(record.clone()).await.unwrap();
            store.check(at(1)).await.unwrap();
            let file = folder.path().join(format!("store.db{log}"));
            fs::rename(&file, folder.path().join("moved")).unwrap();
            if replaced {
                fs::copy(folder.path().join("moved"), &file).unwrap();
            }
            let failed: [Result<(), StoreError>; 3] = [
                store.check(at(2)).await,
                store.commit(records::declined(&record, at(3))).await,
                store
                    .create(records::pending("asker", at(3), 1))
                    .await
                    .map(drop),
            ];
            for answer in failed {
                assert!(
                    matches!(answer, Err(StoreError::Unavailable { .. })),
                    "{answer:?}"
                );
            }
            // Nothing is read from the replacement either.
            assert!(store.load_note("note").await.is_err());
            fs::rename(folder.path().join("moved"), &file).unwrap();
            store.check(at(4)).await.unwrap();
            assert_same(&store.load(record.id).await.unwrap().unwrap(), &record);
        }
    }
}
