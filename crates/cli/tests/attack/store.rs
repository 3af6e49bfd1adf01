//! The store's files: a second process, a full disk, bit flips.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;

use crate::program::{Program, alone, entreat, eventually, folder, now};
use crate::service::{Service, serve, text_field};
use crate::tally::Tally;
use crate::times;

fn start(folder: TempDir, args: &[&str]) -> Service {
    let command = serve(folder.path(), args);
    Service::spawn(command, folder)
}

/// Whether a second service on a store refuses to start.
fn is_refused(folder: &Path, args: &[&str]) -> (bool, String) {
    let mut program = Program::spawn(serve(folder, args));
    let ended = program.ends_within(Duration::from_secs(8));
    let said = program.stderr();
    (ended.is_some_and(|ended| ended.code() == Some(2)), said)
}

#[test]
fn no_second_process_gets_in_by_another_name() {
    let service = start(folder(), &["--store", "q.db"]);
    service.ask(&text_field());
    let folder = service.folder.path();
    let store = folder.join("q.db");
    std::fs::hard_link(&store, folder.join("hard.db")).expect("links can be made");
    std::os::unix::fs::symlink(&store, folder.join("soft.db")).expect("links can be made");
    std::fs::create_dir(folder.join("sub")).expect("folders can be made");
    std::fs::hard_link(&store, folder.join("sub/q.db")).expect("links can be made");
    let keys = folder.join("q.db.keys").to_string_lossy().into_owned();
    let mut tally = Tally::new();
    for name in [
        "q.db",
        "./q.db",
        "sub/../q.db",
        "soft.db",
        "hard.db",
        "sub/q.db",
    ] {
        let (refused, said) = is_refused(folder, &["--store", name, "--keys", &keys]);
        tally.note(name, refused, said);
    }
    let locks = std::fs::read_dir(folder)
        .expect("it is ours")
        .filter_map(Result::ok);
    for lock in locks.filter(|entry| entry.file_name().to_string_lossy().ends_with(".lock")) {
        std::fs::remove_file(lock.path()).expect("it can be removed");
    }
    let (refused, said) = is_refused(folder, &["--store", "q.db"]);
    tally.note("without its .lock", refused, said);
    let (refused, said) = is_refused(folder, &["--store", "hard.db", "--keys", &keys]);
    tally.note("a hard link, without its .lock", refused, said);
    service.serves_others("second processes");
    tally.finish();
}

#[test]
fn a_service_whose_store_is_gone_is_not_ready() {
    let service = start(folder(), &["--store", "q.db"]);
    service.ask(&text_field());
    assert_eq!(service.get("/readyz").status, 200);
    for entry in std::fs::read_dir(service.folder.path())
        .expect("it is ours")
        .filter_map(Result::ok)
    {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("q.db") && !name.ends_with(".uploads") {
            std::fs::remove_file(entry.path()).expect("it can be removed");
        }
    }
    let mut status = 0;
    let told = eventually(Duration::from_secs(10), || {
        status = service.get("/readyz").status;
        status == 503
    });
    let mut tally = Tally::new();
    tally.note("a store that was deleted", told, format_args!("{status}"));
    tally.finish();
}

#[test]
fn a_service_that_cannot_write_is_not_ready_and_says_so() {
    let folder = folder();
    let mut command = Command::new("sh");
    // Limits the file size, as on a full disk; the signal is ignored.
    let script = r#"trap '' XFSZ; ulimit -f 400; exec "$0" serve --listen 127.0.0.1:0 --store q.db --log warn"#;
    command.args(["-c", script, env!("CARGO_BIN_EXE_entreat")]);
    alone(&mut command, folder.path());
    command
        .env("ENTREAT_LIMITS_CREATIONS_PER_MINUTE", "none")
        .env("ENTREAT_LIMITS_REQUESTS_PER_SECOND", "none")
        .env("ENTREAT_LIMITS_LIVE", "100000");
    let service = Service::spawn(command, folder);
    let prompt = "x".repeat(3000);
    // A failure may be the last: what is in the log can still be moved into the file.
    let mut failed_since = now();
    let is_full = eventually(Duration::from_secs(60), || {
        let reply = service.rpc("elicitation/create", &json!({"prompt": prompt}));
        if reply.json().get("error").is_none() {
            failed_since = now();
        }
        failed_since.elapsed() > Duration::from_secs(2)
    });
    assert!(is_full, "the disk was never full");
    let mut status = 0;
    let told = eventually(Duration::from_secs(10), || {
        status = service.get("/readyz").status;
        status == 503
    });
    let mut tally = Tally::new();
    tally.note(
        "a full disk",
        told,
        format_args!("{status} while every write fails"),
    );
    tally.note("it lives", service.get("/healthz").status == 200, "");
    tally.finish();
}

#[test]
fn a_store_that_was_deleted_or_emptied_does_not_start_as_a_new_one() {
    let mut tally = Tally::new();
    for (what, empty) in [("deleted", false), ("emptied", true)] {
        let service = start(folder(), &["--store", "q.db"]);
        service.ask(&text_field());
        let folder = service.stop();
        for entry in std::fs::read_dir(folder.path())
            .expect("it is ours")
            .filter_map(Result::ok)
        {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_store = name == "q.db" || name == "q.db-wal" || name == "q.db-shm";
            if is_store && empty {
                std::fs::write(entry.path(), "").expect("it can be written");
            } else if is_store {
                std::fs::remove_file(entry.path()).expect("it can be removed");
            }
        }
        let (refused, said) = is_refused(folder.path(), &["--store", "q.db"]);
        tally.note(what, refused, &said);
        tally.note(
            format_args!("{what}, and what to do"),
            said.contains("--new-store"),
            &said,
        );
    }
    tally.finish();
}

/// The output of `entreat list` for a store; `None` if it fails.
fn listed(folder: &Path) -> Option<String> {
    let mut program = Program::spawn(entreat(folder, &["list", "--store", "q.db", "--json"]));
    program.stdin = None;
    let told = program.rest();
    let ended = program.ends_within(Duration::from_secs(10));
    (ended.is_some_and(|ended| ended.code() == Some(0))).then_some(told)
}

#[test]
fn flipped_bits_are_an_error_or_change_nothing() {
    let service = start(folder(), &["--store", "q.db"]);
    for number in 0..30 {
        let form =
            json!({"id": "f", "title": format!("Question {number}"), "fields": text_field()});
        let question = service.ask_with(&form, &json!({"message": "m".repeat(200)}));
        if number % 2 == 0 {
            let answer = json!({"elicitationId": question.id, "responses": {"name": format!("answer {number}")}});
            service.call("elicitation/submit", &answer);
        }
    }
    let folder = service.stop();
    let store = folder.path().join("q.db");
    let whole = std::fs::read(&store).expect("it is there");
    let right = listed(folder.path()).expect("it is sound");
    let mut chance = fastrand::Rng::with_seed(17);
    let mut tally = Tally::new();
    for round in 0..times(10, 40) {
        let mut bytes = whole.clone();
        let places: Vec<usize> = (0..3).map(|_| chance.usize(100..bytes.len())).collect();
        for place in &places {
            bytes[*place] ^= 1 << chance.u8(0..8);
        }
        for side in ["q.db-wal", "q.db-shm"] {
            let _ = std::fs::remove_file(folder.path().join(side));
        }
        std::fs::write(&store, bytes).expect("it can be written");
        let told = listed(folder.path());
        let holds = told.as_ref().is_none_or(|told| *told == right);
        tally.note(
            format_args!("store {round}, bytes {places:?}"),
            holds,
            told.unwrap_or_default(),
        );
    }
    tally.finish();
}

#[test]
fn a_store_that_is_none_is_left_alone() {
    let mut tally = Tally::new();
    for (what, content) in [
        ("text", b"not a store".to_vec()),
        ("zeros", vec![0; 8192]),
        ("a head and nothing else", b"SQLite format 3\0".to_vec()),
        (
            "another program's",
            [b"SQLite format 3\0".to_vec(), vec![0xff; 8192]].concat(),
        ),
    ] {
        let folder = folder();
        std::fs::write(folder.path().join("q.db"), &content).expect("it can be written");
        let (refused, said) = is_refused(folder.path(), &["--store", "q.db"]);
        let kept = std::fs::read(folder.path().join("q.db")).expect("it is there");
        tally.note(what, refused && kept == content, said);
    }
    let folder = folder();
    std::fs::create_dir(folder.path().join("q.db")).expect("it can be made");
    let (refused, said) = is_refused(folder.path(), &["--store", "q.db"]);
    tally.note("a folder", refused, said);
    let (refused, said) = is_refused(folder.path(), &["--store", "/dev/null"]);
    tally.note("a device", refused, said);
    tally.finish();
}
