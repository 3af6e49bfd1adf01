//! Bit flips on disk: reads return the right data, or an error.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use entreat_core::UnixTime;
use entreat_engine::store::{Claim, Created, Query, Respondents, StatusFilter};
use entreat_engine::{Extras, Record, Store, StoreError};
use entreat_stores::{EmbeddedOptions, EmbeddedStore, OpenError};
use entreat_testkit::{records, samples};

fn at(millis: u64) -> UnixTime {
    UnixTime::from_millis(1_706_889_000_000 + millis)
}

const RECORDS: u64 = 120;

fn open(path: &Path) -> Result<EmbeddedStore, OpenError> {
    EmbeddedStore::open(path, EmbeddedOptions::default())
}

fn asked(number: u64) -> Record {
    let asker = ["ann", "bob", "cleo"][usize::try_from(number % 3).unwrap()];
    let form = if number.is_multiple_of(5) {
        samples::comprehensive()
    } else {
        samples::minimal()
    };
    let timeout = entreat_core::Timeout::default();
    let record = records::pending_with(asker, at(number), number, timeout, form);
    match number % 4 {
        0 => records::with_key(record, &format!("key {number}")),
        _ => record,
    }
}

fn claim(number: u8) -> Claim {
    Claim {
        key: [number; 24],
        inputs: [number; 16],
        expires: at(9_000_000 + u64::from(number)),
        holder: None,
        outcome: None,
    }
}

/// The results of all queries on a store, as text.
async fn everything(store: &EmbeddedStore) -> Result<String, StoreError> {
    use std::fmt::Write as _;

    let mut text = String::new();
    let mut put = |what: &dyn std::fmt::Debug| writeln!(text, "{what:?}").unwrap();
    for number in 0..RECORDS + 3 {
        let id = records::id(at(number), number);
        put(&store.load(id).await?);
        put(&store
            .load_for(id, &Arc::from("bob"))
            .await?
            .map(|found| found.version));
    }
    for which in [StatusFilter::All, StatusFilter::Live] {
        for asker in [None, Some("ann"), Some("bob")] {
            let query = Query {
                asker: asker.map(Arc::from),
                respondents: None,
                which,
                before: None,
                limit: usize::MAX,
            };
            let ids = |listed: &Record| (listed.id, listed.version);
            put(&store.list(query).await?.iter().map(ids).collect::<Vec<_>>());
        }
    }
    let mut counts = store.live_counts().await?;
    counts.sort();
    put(&counts);
    put(&store.due(at(100_000_000), usize::MAX).await?.ids.len());
    put(&store.load_note("greeting").await?);
    for number in 0..4 {
        put(&store.claim(claim(number)).await?);
    }
    for number in (0..RECORDS).step_by(4) {
        let again = asked(number);
        // Under another id, as a caller with an idempotency key would.
        let mut record = records::pending(&again.request.asker, at(number), 5000 + number);
        record = records::with_key(record, &format!("key {number}"));
        let first: Created = store.create(record).await?;
        put(&first);
    }
    Ok(text)
}

/// Creates a store with some of everything in it. It is closed, or left as by a killed process.
async fn make(folder: &Path, killed: bool) -> PathBuf {
    let path = folder.join("store.db");
    let store = open(&path).unwrap();
    for number in 0..RECORDS {
        let record = asked(number);
        store.create(record.clone()).await.unwrap();
        let text = format!(
            "{{\"name\":\"{}\"}}",
            "x".repeat(usize::try_from(number * 40).unwrap())
        );
        match number % 3 {
            0 => {}
            1 => {
                let drafted = records::drafted(&record, at(number + 1), &text);
                store.commit(drafted).await.unwrap();
            }
            _ => {
                let answered = records::answered(&record, at(number + 1), &text);
                store.commit(answered).await.unwrap();
            }
        }
    }
    store
        .save_note("greeting", "hello".to_owned())
        .await
        .unwrap();
    for number in 0..4 {
        store.claim(claim(number)).await.unwrap();
        if number < 2 {
            let outcome = vec![number; 300];
            let key = [number; 24];
            store.end_claim(key, None, outcome).await.unwrap();
        }
    }
    // Damage in the last transaction cannot be distinguished from an interrupted write.
    store.save_note("last", "lost".to_owned()).await.unwrap();
    if killed {
        for file in ["store.db", "store.db-wal"] {
            fs::copy(folder.join(file), folder.join(format!("copy-{file}"))).unwrap();
        }
    }
    store.close().await;
    if killed {
        for file in ["store.db", "store.db-wal"] {
            fs::rename(folder.join(format!("copy-{file}")), folder.join(file)).unwrap();
        }
    }
    path
}

/// The files of a store, by their suffixes.
type Files = Vec<(String, Vec<u8>)>;

struct Tally {
    right: usize,
    refused: usize,
    failed: usize,
}

/// Flips some bits in copies of a store, and compares their contents with the original's.
async fn flip(killed: bool, rounds: u64, seed: u64) -> Tally {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path(), killed).await;
    let files: Files = ["", "-wal"]
        .map(|ending| {
            (
                ending.to_owned(),
                path.with_file_name(format!("store.db{ending}")),
            )
        })
        .into_iter()
        .filter_map(|(ending, file)| Some((ending, fs::read(file).ok()?)))
        .filter(|(_, bytes)| !bytes.is_empty())
        .collect();
    let copy = |round: u64, damage: &mut dyn FnMut(&mut Files)| {
        let mut files = files.clone();
        damage(&mut files);
        let folder = folder.path().join(round.to_string());
        fs::create_dir(&folder).unwrap();
        for (ending, bytes) in &files {
            fs::write(folder.join(format!("store.db{ending}")), bytes).unwrap();
        }
        folder.join("store.db")
    };
    let whole = open(&copy(u64::MAX, &mut |_| {})).unwrap();
    let expected = everything(&whole).await.unwrap();
    drop(whole);
    let mut tally = Tally {
        right: 0,
        refused: 0,
        failed: 0,
    };
    let mut random = fastrand::Rng::with_seed(seed);
    for round in 0..rounds {
        let mut flipped = Vec::new();
        let damaged = copy(round, &mut |files| {
            for _ in 0..random.usize(1..=3) {
                let total: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
                let mut place = random.usize(..total);
                let bit = random.u8(..8);
                for (ending, bytes) in &mut *files {
                    if place < bytes.len() {
                        bytes[place] ^= 1 << bit;
                        flipped.push(format!("{ending}:{place}.{bit}"));
                        break;
                    }
                    place -= bytes.len();
                }
            }
        });
        match open(&damaged) {
            Err(_) => tally.refused += 1,
            Ok(store) => match everything(&store).await {
                Err(_) => tally.failed += 1,
                Ok(found) => {
                    assert!(found == expected, "round {round}, seed {seed}: {flipped:?}");
                    tally.right += 1;
                }
            },
        }
        fs::remove_dir_all(damaged.parent().unwrap()).unwrap();
    }
    tally
}

#[tokio::test]
async fn flipped_bits_of_a_closed_store_give_no_wrong_answer() {
    let tally = flip(false, 300, 7).await;
    assert!(
        tally.right > 0 && tally.refused > 0,
        "{} {} {}",
        tally.right,
        tally.refused,
        tally.failed
    );
}

#[tokio::test]
async fn flipped_bits_of_a_store_whose_process_was_killed_give_no_wrong_answer() {
    let tally = flip(true, 300, 8).await;
    assert!(
        tally.right > 0 && tally.refused > 0,
        "{} {} {}",
        tally.right,
        tally.refused,
        tally.failed
    );
}

/// Changes on disk while the store is open.
#[tokio::test]
async fn a_row_that_is_not_as_it_was_written_is_an_error_for_whoever_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path(), false).await;
    let store = open(&path).unwrap();
    let outside = rusqlite::Connection::open(&path).unwrap();
    let change = |sql: &str| outside.execute_batch(sql).unwrap();
    let changes = [
        "version = version + 1",
        "asker = 'eve'",
        "form = NULL",
        "state = zeroblob(20)",
        "request = substr(request, 2)",
    ];
    for (number, change) in (2..).step_by(3).zip(changes) {
        let id = records::id(at(number), number);
        let sql = format!("UPDATE settled SET {change} WHERE id = ?1");
        assert_eq!(outside.execute(&sql, [id.as_bytes()]).unwrap(), 1);
        let answer = store.load(id).await;
        assert!(
            matches!(answer, Err(StoreError::Unreadable { .. })),
            "{change}: {answer:?}"
        );
    }
    let everything = Query {
        asker: None,
        respondents: None,
        which: StatusFilter::All,
        before: None,
        limit: 500,
    };
    assert!(store.list(everything).await.is_err());
    change("UPDATE note SET text = 'hallo' WHERE name = 'greeting'");
    assert!(store.load_note("greeting").await.is_err());
    change("UPDATE claim SET expires = expires + 1");
    assert!(store.claim(claim(0)).await.is_err());
    change("UPDATE idempotency SET id = (SELECT id FROM live LIMIT 1) WHERE key = 'key 8'");
    let again = records::with_key(records::pending("cleo", at(0), 9000), "key 8");
    assert!(matches!(
        store.create(again).await,
        Err(StoreError::Unreadable { .. })
    ));
    drop(store);
    let error = open(&path).map(drop).unwrap_err();
    assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
    assert!(
        error.to_string().contains("restore it from a backup"),
        "{error}"
    );
}

#[tokio::test]
async fn a_store_of_the_format_before_is_opened_and_keeps_everything() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path(), false).await;
    let store = open(&path).unwrap();
    let expected = everything(&store).await.unwrap();
    store.close().await;
    // Parts were the same then, but for their checksums.
    let outside = rusqlite::Connection::open(&path).unwrap();
    outside
        .execute_batch(
            "UPDATE live SET request = substr(request, 1, length(request) - 8),
                 state = substr(state, 1, length(state) - 8);
             UPDATE settled SET request = substr(request, 1, length(request) - 8),
                 state = substr(state, 1, length(state) - 8);
             ALTER TABLE note DROP COLUMN sum;
             ALTER TABLE claim DROP COLUMN sum;
             ALTER TABLE claim DROP COLUMN holder;
             DROP INDEX settled_by_respondent;
             ALTER TABLE live DROP COLUMN respondent;
             ALTER TABLE settled DROP COLUMN respondent;
             PRAGMA user_version = 3;",
        )
        .unwrap();
    drop(outside);
    for _ in 0..2 {
        let store = open(&path).unwrap();
        assert_eq!(everything(&store).await.unwrap(), expected);
        store.close().await;
    }
}

#[tokio::test]
async fn questions_of_the_format_before_are_found_by_their_respondent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path).unwrap();
    let mut ids = Vec::new();
    let respondents = ["email:Ada@example.com", "bob"].into_iter().cycle();
    for (number, respondent) in (0..6).zip(respondents) {
        let mut record = records::pending("asker", at(number), number);
        record.to_mut().request.extras = Some(Arc::new(Extras {
            respondent: Some(respondent.into()),
            ..Extras::default()
        }));
        store.create(record.clone()).await.unwrap();
        if number < 4 {
            let declined = records::declined(&record, at(100));
            store.commit(declined).await.unwrap();
        }
        ids.push(record.id);
    }
    store.close().await;
    let outside = rusqlite::Connection::open(&path).unwrap();
    outside
        .execute_batch(
            "DROP INDEX settled_by_respondent;
             ALTER TABLE live DROP COLUMN respondent;
             ALTER TABLE settled DROP COLUMN respondent;
             ALTER TABLE claim DROP COLUMN holder;
             PRAGMA user_version = 4;",
        )
        .unwrap();
    drop(outside);
    let store = open(&path).unwrap();
    let query = Query {
        asker: None,
        respondents: Some(Respondents::new(["email:ada@example.com"])),
        which: StatusFilter::All,
        before: None,
        limit: 10,
    };
    let found = store.list(query).await.unwrap();
    let found: Vec<_> = found.iter().map(|record| record.id).collect();
    assert_eq!(found, [ids[4], ids[2], ids[0]]);
    store.close().await;
}

#[tokio::test]
async fn claims_of_the_format_before_are_nobodys_and_a_changed_holder_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path).unwrap();
    store.claim(claim(1)).await.unwrap();
    store.close().await;
    let outside = rusqlite::Connection::open(&path).unwrap();
    outside
        .execute_batch("ALTER TABLE claim DROP COLUMN holder; PRAGMA user_version = 5;")
        .unwrap();
    drop(outside);

    let store = open(&path).unwrap();
    let epoch = store.holder();
    assert_eq!(store.find_claim([1; 24]).await.unwrap(), Some(claim(1)));
    let mine = Claim {
        holder: Some(epoch),
        ..claim(1)
    };
    assert!(store.take_over_claim(mine.clone(), None).await.unwrap());
    store.close().await;

    // The next opening is another holder, for which the earlier one is gone.
    let store = open(&path).unwrap();
    assert_eq!(store.find_claim([1; 24]).await.unwrap(), Some(mine));
    assert_ne!(store.holder(), epoch);
    assert!(store.is_gone(epoch).await.unwrap());
    assert!(!store.is_gone(store.holder()).await.unwrap());
    store.close().await;

    let outside = rusqlite::Connection::open(&path).unwrap();
    let changed = "UPDATE claim SET holder = zeroblob(16)";
    outside.execute(changed, []).unwrap();
    drop(outside);
    let damaged = open(&path).err();
    assert!(
        matches!(
            damaged,
            Some(OpenError::Damaged {
                part: "a claim",
                ..
            })
        ),
        "{damaged:?}"
    );
}
