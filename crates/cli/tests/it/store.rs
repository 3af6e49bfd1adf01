//! `entreat list`, `status`, `cancel` and `backup`, and what `ask` leaves in a store.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::session::Session;
use crate::{Run, command, entreat, entreat_with, finish};

const SECRET: &str = "hunter2hunter2";

/// A folder for one store.
struct Ground(TempDir);

impl Ground {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("there is a place for folders"))
    }

    fn path(&self, name: &str) -> String {
        let path = self.0.path().join(name);
        path.into_os_string()
            .into_string()
            .expect("test folders have plain names")
    }

    fn store(&self) -> String {
        self.path("q.db")
    }

    /// Runs a command on the store.
    fn run(&self, args: &[&str]) -> Run {
        entreat(&[args, &["--store", &self.store()]].concat())
    }

    fn ask(&self, form: &str, typed: &str) -> Run {
        entreat_with(&["ask", form, "--store", &self.store()], typed)
    }

    fn list(&self) -> Vec<Value> {
        let run = self.run(&["list", "--json"]);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""));
        let page: Value = serde_json::from_str(&run.stdout).expect("a page is JSON");
        page["elicitations"]
            .as_array()
            .expect("a page has a list")
            .clone()
    }

    fn newest(&self) -> String {
        self.list()[0]["elicitationId"]
            .as_str()
            .expect("an id is text")
            .to_owned()
    }

    /// Asks, and is killed at the first prompt.
    fn ask_and_die(&self) -> String {
        let session = Session::start(&["ask", "greeting.json", "--store", &self.store()]);
        session.wait_for("> ");
        session.kill();
        self.newest()
    }

    /// Replaces everything that differs from run to run.
    fn redact(&self, text: &str) -> String {
        let folder = self
            .0
            .path()
            .to_str()
            .expect("test folders have plain names");
        let mut redacted = String::new();
        for piece in text.replace(folder, "FOLDER").split_inclusive([' ', '\n']) {
            let word = piece.trim_end();
            let rest = &piece[word.len()..];
            let is_time = word.len() == 20 && word.starts_with("20") && word.ends_with('Z');
            let word = match word {
                _ if word.starts_with("elic_") => "elic_[26 characters           ]",
                _ if is_time => "[time              ]",
                word => word,
            };
            redacted.extend([word, rest]);
        }
        redacted
    }
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    let entries = entries.map(|entry| entry.expect("the folder can be read"));
    entries
        .map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            (
                name,
                std::fs::read(entry.path()).expect("its files can be read"),
            )
        })
        .collect()
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|part| part == text.as_bytes())
}

#[test]
fn a_secret_is_in_no_file_neither_while_it_is_asked_nor_afterwards() {
    let ground = Ground::new();
    let mut session = Session::start(&["ask", "secret.yaml", "--store", &ground.store()]);
    session.wait_for("User");
    session.type_line("ada-of-the-draft");
    session.wait_for("Token");
    session.type_line(SECRET);
    session.wait_for("Days");
    // The draft is written before the next answer is read.
    session.type_line("");
    session.wait_for("Send?");
    let sees_draft = |(_, bytes): &(String, Vec<u8>)| holds(bytes, "ada-of-the-draft");
    assert!(files(ground.0.path()).iter().any(sees_draft));
    for (name, bytes) in files(ground.0.path()) {
        assert!(!holds(&bytes, SECRET), "{name}");
    }
    session.type_line("");
    let run = session.wait();
    assert_eq!(
        (run.code, &run.json_lines()[0]["token"]),
        (0, &json!(SECRET))
    );
    assert!(!run.stderr.contains(SECRET));
    for (name, bytes) in files(ground.0.path()) {
        assert!(!holds(&bytes, SECRET), "{name}");
    }
    // Only the asker can read it.
    let id = ground.newest();
    for args in [
        &["list", "--json"][..],
        &["status", &id],
        &["status", &id, "--json"],
    ] {
        let run = ground.run(args);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(!run.stdout.contains(SECRET));
        assert_eq!(run.stdout.contains("[sealed]"), args[0] == "status");
    }
    insta::assert_snapshot!(
        "status_completed",
        ground.redact(&ground.run(&["status", &id]).stdout)
    );
}

#[test]
fn a_question_whose_program_was_killed_can_be_found_and_cancelled() {
    let ground = Ground::new();
    let id = ground.ask_and_die();
    assert_eq!(ground.ask("deploy.yaml", ":decline\n").code, 3);
    insta::assert_snapshot!("list", ground.redact(&ground.run(&["list"]).stdout));
    insta::assert_snapshot!(
        "status_pending",
        ground.redact(&ground.run(&["status", &id]).stdout)
    );

    let run = ground.run(&["cancel", &id, "--reason", "form_invalidated"]);
    let words = format!("{id} is cancelled: form_invalidated\n");
    assert_eq!(
        (run.code, run.stdout, run.stderr),
        (0, String::new(), words)
    );
    insta::assert_snapshot!(
        "status_cancelled",
        ground.redact(&ground.run(&["status", &id]).stdout)
    );

    let run = ground.run(&["cancel", &id]);
    let words = format!("entreat: {id} is already settled: cancelled: form_invalidated\n");
    assert_eq!(
        (run.code, run.stdout, run.stderr),
        (1, String::new(), words)
    );
}

#[test]
fn lists_are_filtered_and_paged() {
    let ground = Ground::new();
    for typed in ["Ada\n", ":decline\n", "Bo\n", ":cancel\n"] {
        ground.ask("greeting.json", typed);
    }
    let statuses: Vec<_> = ground.list().iter().map(|e| e["status"].clone()).collect();
    assert_eq!(
        json!(statuses),
        json!(["cancelled", "completed", "declined", "completed"])
    );
    assert!(ground.list().iter().all(|e| e.get("result").is_none()));

    let page = |args: &[&str]| -> Value {
        let run = ground.run(
            &[
                &["list", "--json", "--limit", "1", "--status", "completed"],
                args,
            ]
            .concat(),
        );
        serde_json::from_str(&run.stdout).expect("a page is JSON")
    };
    let first = page(&[]);
    let cursor = first["nextCursor"]
        .as_str()
        .expect("there is a second page");
    assert_eq!(first["elicitations"][0]["elicitationId"], cursor);
    let second = page(&["--cursor", cursor]);
    assert_eq!(second["elicitations"].as_array().map(Vec::len), Some(1));
    assert_eq!(second.get("nextCursor"), None);

    let run = ground.run(&["list", "--limit", "3"]);
    assert_eq!((run.code, run.stdout.lines().count()), (0, 4));
    assert!(run.stderr.starts_with("more results: use --cursor elic_"));
    let run = ground.run(&["list", "--status", "live"]);
    assert_eq!(
        (run.code, run.stdout.as_str(), run.stderr.as_str()),
        (0, "", "no questions\n")
    );
}

#[test]
fn what_ran_out_of_time_while_nobody_looked_is_shown_so() {
    let ground = Ground::new();
    let args = [
        "ask",
        "greeting.json",
        "--timeout",
        "1s",
        "--store",
        &ground.store(),
    ];
    let session = Session::start(&args);
    session.wait_for("> ");
    session.kill();
    std::thread::sleep(std::time::Duration::from_secs(1));
    let id = ground.newest();
    assert_eq!(ground.list()[0]["status"], "timeout");
    let run = ground.run(&["cancel", &id]);
    assert_eq!(
        (run.code, run.stderr),
        (1, format!("entreat: {id} is already settled: timeout\n"))
    );
}

#[test]
fn a_store_that_another_process_holds_is_named() {
    let ground = Ground::new();
    let mut session = Session::start(&["ask", "greeting.json", "--store", &ground.store()]);
    session.wait_for("> ");
    let copy = ground.path("copy.db");
    for (name, args) in [
        ("in_use", &["list"][..]),
        ("in_use_to_ask", &["ask", "greeting.json"]),
    ] {
        let run = ground.run(args);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""));
        insta::assert_snapshot!(name, ground.redact(&run.stderr));
    }
    // A backup needs no lock.
    let run = ground.run(&["backup", &copy]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    session.type_line("Ada");
    assert_eq!(session.wait().code, 0);
    assert_eq!(ground.run(&["list"]).code, 0);
}

#[test]
fn a_backup_is_a_store() {
    let ground = Ground::new();
    ground.ask("secret.yaml", &format!("ada\n{SECRET}\n\n\n"));
    let copy = ground.path("copy.db");
    let run = ground.run(&["backup", &copy]);
    assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{}", run.stderr);
    assert_eq!(
        ground.redact(&run.stderr),
        "copied to FOLDER/copy.db; its keys are in FOLDER/q.db.keys\n"
    );
    let keys = ground.path("q.db.keys");
    let args = [
        "status",
        &ground.newest(),
        "--json",
        "--store",
        &copy,
        "--keys",
        &keys,
    ];
    let run = entreat(&args);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("[sealed]"));

    let run = ground.run(&["backup", &copy]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("already exists"), "{}", run.stderr);

    // Also in the user's data folder.
    let mut command = command(&["backup", "bare.db", "--store", "q.db"]);
    command.current_dir(ground.0.path());
    assert_eq!(finish(command, b"").code, 0);
}

#[test]
fn nothing_is_made_by_looking() {
    let ground = Ground::new();
    let id = "elic_01hnmq7zq8e9vv8h2m6x3c5t0d";
    let copy = ground.path("copy.db");
    for args in [
        &["list"][..],
        &["status", id],
        &["cancel", id],
        &["backup", &copy],
    ] {
        let run = ground.run(args);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""));
        assert!(
            run.stderr.starts_with("entreat: there is no store at "),
            "{}",
            run.stderr
        );
    }
    assert!(files(ground.0.path()).is_empty());
}

#[test]
fn a_store_that_is_gone_or_empty_is_not_begun_anew_without_a_word() {
    let ground = Ground::new();
    assert_eq!(ground.ask("greeting.json", "Ada\n").code, 0);
    let kept = std::fs::read(ground.store()).expect("the store is there");
    for emptied in [false, true] {
        if emptied {
            std::fs::write(ground.store(), "").expect("the folder can be written");
        } else {
            std::fs::remove_file(ground.store()).expect("the store is there");
        }
        for args in [
            &["serve", "--listen", "127.0.0.1:0"][..],
            &["rpc"],
            &["mcp"],
            &["ask", "greeting.json"],
        ] {
            let run = ground.run(args);
            assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{args:?}");
            assert!(
                run.stderr.contains("--new-store"),
                "{args:?}: {}",
                run.stderr
            );
            assert!(run.stderr.contains("is missing or empty"), "{}", run.stderr);
        }
        let found = std::fs::read(ground.store());
        assert_eq!(found.ok(), emptied.then(Vec::new), "it is left as it was");
        assert_eq!(ground.run(&["list"]).code, 2);
        let run = ground.run(&["doctor", "--listen", "127.0.0.1:0"]);
        assert!(run.stdout.contains("the store was lost"), "{}", run.stdout);
    }
    // With the flag, a missing store is created, and an existing one is unchanged.
    let run = entreat(&["rpc", "--new-store", "--store", &ground.store()]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(ground.list().is_empty());
    std::fs::write(ground.store(), kept).expect("the folder can be written");
    let run = entreat(&["rpc", "--new-store", "--store", &ground.store()]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(ground.list().len(), 1);
}

#[test]
fn whoever_died_while_a_store_was_made_is_not_locked_out() {
    // Interrupted before the tables existed, and before the keys existed.
    let ground = Ground::new();
    std::fs::write(ground.store(), "").expect("the folder can be written");
    assert_eq!(ground.ask("greeting.json", "Ada\n").code, 0);

    let ground = Ground::new();
    drop(ground.run(&["rpc"]));
    std::fs::remove_file(ground.path("q.db.keys")).expect("keys were made");
    let run = ground.ask("greeting.json", "Ada\n");
    // The store was already used with those keys, so the loss is reported.
    assert!(
        run.stderr.contains("the keys of the store"),
        "{}",
        run.stderr
    );
}

#[test]
fn what_is_not_there_is_told_from_what_is_no_name() {
    let ground = Ground::new();
    ground.ask("greeting.json", "Ada\n");
    let id = "elic_01hnmq7zq8e9vv8h2m6x3c5t0d";
    for args in [["status", id], ["cancel", id]] {
        let run = ground.run(&args);
        let words = format!("entreat: there is no question {id}\n");
        assert_eq!((run.code, run.stderr), (1, words));
    }
    for args in [
        &["status", "elic_1"][..],
        &["cancel", ""],
        &["list", "--cursor", "1"],
        &["list", "--limit", "0"],
        &["list", "--limit", "201"],
        &["list", "--status", "done"],
    ] {
        assert_eq!(ground.run(args).code, 2, "{args:?}");
    }
}

#[test]
fn wrong_missing_and_public_keys_are_told_by_their_file() {
    let ground = Ground::new();
    ground.ask("greeting.json", "Ada\n");
    let (keys, aside) = (ground.path("q.db.keys"), ground.path("aside"));
    std::fs::rename(&keys, &aside).unwrap();
    for args in [&["list"][..], &["ask", "greeting.json"]] {
        let run = ground.run(args);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""));
        insta::assert_snapshot!("keys_missing", ground.redact(&run.stderr));
    }
    // Nothing was created in their place.
    assert!(!Path::new(&keys).exists());
    assert_eq!(ground.run(&["list", "--keys", &aside]).code, 0);

    let other = Ground::new();
    other.ask("greeting.json", "Ada\n");
    std::fs::copy(other.path("q.db.keys"), &keys).unwrap();
    for args in [&["list"][..], &["ask", "greeting.json"]] {
        let run = ground.run(args);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""));
        insta::assert_snapshot!("keys_wrong", ground.redact(&run.stderr));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;

        std::fs::set_permissions(&aside, std::fs::Permissions::from_mode(0o644)).unwrap();
        let run = ground.run(&["list", "--keys", &aside]);
        assert_eq!(run.code, 2);
        assert!(run.stderr.contains("chmod 600"), "{}", run.stderr);
    }
}

#[test]
fn a_file_that_is_no_store_is_left_alone() {
    let ground = Ground::new();
    std::fs::write(ground.store(), "dear diary, this is no database at all").unwrap();
    for args in [&["list"][..], &["ask", "greeting.json"]] {
        let run = ground.run(args);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""));
        assert!(
            run.stderr.contains("is not an Entreat store"),
            "{}",
            run.stderr
        );
    }
    let text = std::fs::read_to_string(ground.store()).unwrap();
    assert_eq!(text, "dear diary, this is no database at all");
}

#[test]
fn the_environment_names_the_store_and_its_keys() {
    let ground = Ground::new();
    ground.ask("greeting.json", "Ada\n");
    let moved = ground.path("moved");
    std::fs::rename(ground.path("q.db.keys"), &moved).unwrap();
    let mut list = command(&["list"]);
    list.env("ENTREAT_STORE", ground.store())
        .env("ENTREAT_KEYS", moved);
    let run = finish(list, b"");
    assert_eq!(
        (run.code, run.stdout.lines().count()),
        (0, 2),
        "{}",
        run.stderr
    );
}

#[test]
fn the_default_store_is_made_for_its_owner_alone_and_only_on_request() {
    let ground = Ground::new();
    let run = |args: &[&str]| {
        let mut command = command(args);
        command.env("XDG_DATA_HOME", ground.path("data"));
        finish(command, b"Ada\n")
    };
    assert_eq!(run(&["list"]).code, 2);
    assert_eq!(run(&["ask", "greeting.json"]).code, 0);
    assert!(files(ground.0.path()).is_empty());

    assert_eq!(run(&["ask", "greeting.json", "--keep"]).code, 0);
    assert_eq!(run(&["list"]).stdout.lines().count(), 2);
    #[cfg(unix)]
    for (name, expected) in [
        ("", 0o700),
        ("/entreat.db", 0o600),
        ("/entreat.db.keys", 0o600),
    ] {
        use std::os::unix::fs::PermissionsExt as _;

        let path = ground.path(&format!("data/entreat{name}"));
        let mode = std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, expected, "{name}");
    }
}
