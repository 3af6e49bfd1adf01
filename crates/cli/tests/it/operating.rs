//! What operators do: back up and restore, look after questions, read logs and metrics.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::http;
use crate::serve::{Service, folder, form, serve};
use crate::{Run, command, finish};

const ROBOT: &str = "0123456789abcdef-robot";
const OPERATOR: &str = "0123456789abcdef-operator";

fn run_in(folder: &Path, args: &[&str]) -> Run {
    let mut command = command(args);
    command.current_dir(folder).env("HOME", folder);
    finish(command, b"")
}

#[track_caller]
fn succeed(folder: &Path, args: &[&str]) -> Run {
    let run = run_in(folder, args);
    assert_eq!(run.code, 0, "{args:?}: {}", run.stderr);
    run
}

/// The message of a run that must fail with wrong usage.
#[track_caller]
fn fail(folder: &Path, args: &[&str]) -> String {
    let run = run_in(folder, args);
    assert_eq!((run.code, &*run.stdout), (2, ""), "{}", run.stderr);
    run.stderr
}

/// A service without limits, on a store in this folder.
fn busy_service(folder: &Path) -> Service {
    let mut command = serve(folder, &["--store", "q.db", "--log", "off"]);
    for limit in ["REQUESTS_PER_SECOND", "CREATIONS_PER_MINUTE"] {
        command.env(format!("ENTREAT_LIMITS_{limit}"), "none");
    }
    command.env("ENTREAT_LIMITS_LIVE", "10000");
    Service::spawn(command)
}

fn ask(service: &Service) -> String {
    let asked = service.call("elicitation/create", &form());
    let id = asked["elicitationId"].as_str();
    id.expect("it has an id").to_owned()
}

fn status(service: &Service, id: &str) -> Value {
    service.call("elicitation/status", &json!({"elicitationId": id}))["status"].take()
}

#[test]
fn a_backup_beside_a_service_that_writes_holds_all_that_was_acknowledged_before() {
    let ground = folder();
    let service = busy_service(ground.path());
    let mut asked: Vec<String> = (0..50).map(|_| ask(&service)).collect();
    let answer = json!({"elicitationId": asked[0], "responses": {"name": "Ada"}});
    service.call("elicitation/submit", &answer);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut later = 0;
            while !is_done.load(Ordering::Relaxed) {
                ask(&service);
                later += 1;
            }
            later
        });
        for name in ["one.db", "two.db", "three.db"] {
            succeed(ground.path(), &["backup", name, "--store", "q.db"]);
            asked.push(ask(&service));
        }
        is_done.store(true, Ordering::Relaxed);
        assert!(writer.join().unwrap() > 0);
    });
    // The service was not disturbed.
    asked.push(ask(&service));
    assert_eq!(service.end().code, 0);

    let elsewhere = folder();
    let path = |name: &str| ground.path().join(name).to_str().unwrap().to_owned();
    let (backup, keys) = (path("three.db"), path("q.db.keys"));
    let args = ["restore", &backup, "--store", "q.db", "--keys-from", &keys];
    let run = succeed(elsewhere.path(), &args);
    let told = "restored q.db; its keys are in q.db.keys\n";
    assert_eq!(run.stderr, told);
    let service = busy_service(elsewhere.path());
    assert_eq!(status(&service, &asked[0]), "completed");
    for id in &asked[1..52] {
        assert_eq!(status(&service, id), "pending", "{id}");
    }
    assert_eq!(service.end().code, 0);
}

#[test]
fn a_backup_of_a_store_whose_service_was_killed_is_complete() {
    let ground = folder();
    let service = busy_service(ground.path());
    let id = ask(&service);
    service.kill();
    succeed(ground.path(), &["backup", "copy.db", "--store", "q.db"]);
    fs::rename(
        ground.path().join("q.db.keys"),
        ground.path().join("r.db.keys"),
    )
    .unwrap();
    let args = ["restore", "copy.db", "--store", "r.db"];
    succeed(ground.path(), &args);
    let listed = succeed(ground.path(), &["list", "--store", "r.db"]);
    assert!(listed.stdout.contains(&id), "{}", listed.stdout);
}

#[test]
fn restoring_overwrites_nothing_and_leaves_nothing_behind_if_it_fails() {
    let ground = folder();
    let service = busy_service(ground.path());
    ask(&service);
    assert_eq!(service.end().code, 0);
    let at = |name: &str| ground.path().join(name);
    succeed(ground.path(), &["backup", "copy.db", "--store", "q.db"]);
    fs::create_dir(at("copy.db.uploads")).unwrap();
    let files = || {
        let entries = fs::read_dir(ground.path()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = files();
    let restore = |args: &[&str]| {
        let words = fail(ground.path(), &[&["restore"], args].concat());
        // A lock file holds no data.
        let mut left = files();
        left.retain(|name| !name.to_string_lossy().ends_with("new.db.lock"));
        assert_eq!(left, before, "{args:?}");
        words
    };
    let store = fs::read(at("q.db")).unwrap();
    let words = restore(&["copy.db", "--store", "q.db"]);
    assert!(words.contains("there is a store at q.db"), "{words}");
    assert_eq!(fs::read(at("q.db")).unwrap(), store);

    let words = restore(&["copy.db", "--store", "new.db"]);
    assert!(words.contains("--keys-from"), "{words}");
    let keys = ["--store", "new.db", "--keys", "q.db.keys"];
    let words = restore(&[&["copy.db", "--keys-from", "q.db.keys"], &keys[..]].concat());
    assert!(words.contains("there are keys at q.db.keys"), "{words}");
    let words = restore(&[&["nowhere.db"], &keys[..]].concat());
    assert!(
        words.contains("there is no backup at nowhere.db"),
        "{words}"
    );
    let words = restore(&[&["q.db.keys"], &keys[..]].concat());
    assert!(words.contains("not an Entreat store"), "{words}");

    fs::create_dir(at("new.db.uploads")).unwrap();
    fs::write(at("new.db.uploads/file"), "theirs").unwrap();
    let words = fail(
        ground.path(),
        &[&["restore", "copy.db"], &keys[..]].concat(),
    );
    assert!(
        words.contains("uploaded files in new.db.uploads"),
        "{words}"
    );
    fs::remove_dir_all(at("new.db.uploads")).unwrap();

    // The keys of another store.
    let other = folder();
    assert_eq!(busy_service(other.path()).end().code, 0);
    let others = other.path().join("q.db.keys");
    let others = others.to_str().unwrap();
    let words = restore(&["copy.db", "--store", "new.db", "--keys-from", others]);
    assert!(words.contains("don't match"), "{words}");

    // A flipped bit in a row.
    let mut bytes = fs::read(at("copy.db")).unwrap();
    let title = bytes.windows(4).rposition(|text| text == b"Who?").unwrap();
    bytes[title] ^= 1;
    fs::write(at("copy.db"), bytes).unwrap();
    let words = restore(&[&["copy.db"], &keys[..]].concat());
    assert!(words.contains("copy.db is damaged"), "{words}");
}

#[test]
fn a_damaged_store_is_found_beside_its_service_and_says_how_to_restore_it() {
    let ground = folder();
    let store = ground.path().join("q.db");
    let integrity = || {
        let run = run_in(ground.path(), &["doctor", "--store", "q.db", "--json"]);
        let document: Value = serde_json::from_str(&run.stdout).unwrap();
        let findings = document["findings"].as_array().unwrap();
        let found = findings.iter().find(|it| it["check"] == "integrity");
        found.unwrap_or_else(|| panic!("{document}")).clone()
    };
    let service = busy_service(ground.path());
    ask(&service);
    assert_eq!(integrity()["level"], "ok", "{}", integrity());
    assert_eq!(service.end().code, 0);
    assert_eq!(integrity()["level"], "ok");

    let mut bytes = fs::read(&store).unwrap();
    let title = bytes.windows(4).rposition(|text| text == b"Who?").unwrap();
    bytes[title] ^= 1;
    fs::write(&store, &bytes).unwrap();
    let found = integrity();
    assert_eq!(found["level"], "problem", "{found}");
    let remedy = found["remedy"].as_str().unwrap();
    let command = "`entreat restore BACKUP --store q.db`";
    assert!(remedy.contains(command), "{remedy}");
    // Looking changes nothing, and neither does a failed backup.
    assert_eq!(fs::read(&store).unwrap(), bytes);
    let words = fail(ground.path(), &["backup", "copy.db", "--store", "q.db"]);
    assert!(words.contains("q.db is damaged"), "{words}");
    assert!(!ground.path().join("copy.db").exists());
    let words = fail(ground.path(), &["list", "--store", "q.db"]);
    assert!(words.contains(command), "{words}");
    let run = finish(serve(ground.path(), &["--store", "q.db"]), b"");
    assert!(run.stderr.contains(command), "{}", run.stderr);
}

#[test]
fn a_store_in_use_says_where_its_service_is() {
    let ground = folder();
    let service = busy_service(ground.path());
    let id = ask(&service);
    let url = format!("http://{}", service.address);
    for args in [&["list"][..], &["status", &id], &["cancel", &id]] {
        let words = fail(ground.path(), &[args, &["--store", "q.db"]].concat());
        let hint = format!("use --url {url} instead of --store");
        assert!(words.contains(&hint), "{words}");
        succeed(ground.path(), &[args, &["--url", &url]].concat());
    }
    let prompt = ["ask", "--prompt", "Name?", "--store", "q.db"];
    let words = fail(ground.path(), &prompt);
    assert!(words.contains(&format!("the service at {url}")), "{words}");
    assert_eq!(service.end().code, 0);
}

#[test]
fn the_link_to_the_inbox_is_printed_on_request_and_not_logged() {
    let ground = folder();
    let service = busy_service(ground.path());
    let url = format!("http://{}", service.address);
    let derived = succeed(ground.path(), &["inbox", "--store", "q.db"]).stdout;
    let told = succeed(ground.path(), &["inbox", "--url", &url]).stdout;
    assert_eq!(derived, told);
    let path = derived.trim_end().strip_prefix(&url).unwrap().to_owned();
    assert!(path.starts_with("/inbox/"), "{path}");
    let page = http::send(&service.address, &format!("GET {path}"), None, "");
    assert_eq!(page.status, 200, "{}", page.body);
    assert!(page.body.contains("<title>Inbox</title>"), "{}", page.body);
    // Without the keys there is no link.
    let words = fail(ground.path(), &["inbox", "--store", "other.db"]);
    assert!(words.contains("no service is running"), "{words}");
    let run = service.end();
    assert!(!run.stderr.contains("/inbox"), "{}", run.stderr);
    assert!(run.stderr.contains("entreat inbox --url"), "{}", run.stderr);

    // Where an asker has a key, others on this machine must not see its questions.
    let config = format!("[[asker]]\nname = 'robot'\nkey = '{ROBOT}'\n");
    fs::write(ground.path().join("entreat.toml"), config).unwrap();
    let service = busy_service(ground.path());
    let url = format!("http://{}", service.address);
    for key in [&[][..], &["--key", ROBOT]] {
        let words = fail(ground.path(), &[&["inbox", "--url", &url], key].concat());
        assert!(words.contains("as the service's user"), "{words}");
    }
    let derived = succeed(ground.path(), &["inbox", "--store", "q.db"]).stdout;
    assert!(derived.starts_with(&url), "{derived}");
    assert_eq!(service.end().code, 0);
}

#[test]
fn an_operator_looks_after_the_questions_of_all_and_reads_no_answers() {
    let ground = folder();
    let config = format!(
        "store = 'memory'\nlocal_without_key = false\n\
         [[asker]]\nname = 'robot'\nkey = '{ROBOT}'\n\
         [[asker]]\nname = 'ops'\nkey = '{OPERATOR}'\nrole = 'operator'\n"
    );
    fs::write(ground.path().join("entreat.toml"), config).unwrap();
    let service = Service::spawn(serve(ground.path(), &[]));
    let call = |key: &str, method: &str, params: &Value| {
        http::call(&service.address, Some(key), method, params)
    };
    let title = format!("Who?\u{1b}[2J{}", "?".repeat(80));
    let mut asking = form();
    asking["formDefinition"]["title"] = title.into();
    let asked = call(ROBOT, "elicitation/create", &asking).result();
    let id = asked["elicitationId"].as_str().unwrap();
    let answer = json!({"elicitationId": id, "responses": {"name": "Ada"}});
    call(ROBOT, "elicitation/submit", &answer).result();
    let open = call(ROBOT, "elicitation/create", &form()).result();
    let open = open["elicitationId"].as_str().unwrap();

    let url = format!("http://{}", service.address);
    let as_operator = |args: &[&str]| {
        let mut command = command(&[args, &["--url", &url]].concat());
        command.env("ENTREAT_API_KEY", OPERATOR);
        finish(command, b"")
    };
    let listed = as_operator(&["list"]);
    assert_eq!(listed.code, 0, "{}", listed.stderr);
    let line = listed
        .stdout
        .lines()
        .find(|line| line.contains(id))
        .unwrap();
    assert!(line.contains("robot"), "{line}");
    assert!(
        line.contains("Who?\\u{1b}[2J???") && line.ends_with('…'),
        "{line}"
    );
    let shown = as_operator(&["status", id, "--json"]);
    assert!(!shown.stdout.contains("Ada"), "{}", shown.stdout);
    assert!(
        shown.stdout.contains("\"asker\": \"robot\""),
        "{}",
        shown.stdout
    );
    assert_eq!(as_operator(&["cancel", open]).code, 0);
    assert_eq!(as_operator(&["doctor"]).code, 0);
    let refused = call(OPERATOR, "elicitation/create", &form());
    assert!(refused.body.contains("-32012"), "{}", refused.body);
    assert_eq!(service.end().code, 0);

    // Operators do not ask, so somebody else has to.
    let config = format!("[[asker]]\nname = 'ops'\nkey = '{OPERATOR}'\nrole = 'operator'\n");
    fs::write(ground.path().join("entreat.toml"), config).unwrap();
    let public = [
        "--store",
        "memory",
        "--public-url",
        "https://ask.example.com",
    ];
    let run = finish(serve(ground.path(), &public), b"");
    assert!(run.stderr.contains("nobody can ask"), "{}", run.stderr);
    let config = format!("[[asker]]\nname = 'ops'\nkey = '{OPERATOR}'\nrole = 'admin'\n");
    fs::write(ground.path().join("entreat.toml"), config).unwrap();
    let run = finish(serve(ground.path(), &[]), b"");
    assert!(run.stderr.contains("`role`"), "{}", run.stderr);
}

#[test]
fn metrics_have_help_and_a_bounded_number_of_askers() {
    let ground = folder();
    let mut config = "store = 'memory'\n[metrics]\naskers = 2\n".to_owned();
    for asker in 0..5 {
        let table = format!("[[asker]]\nname = 'robot-{asker}'\nkey = '{ROBOT}{asker}'\n");
        config.push_str(&table);
    }
    fs::write(ground.path().join("entreat.toml"), config).unwrap();
    let service = Service::spawn(serve(ground.path(), &[]));
    for asker in 0..5 {
        let key = format!("{ROBOT}{asker}");
        http::call(&service.address, Some(&key), "elicitation/create", &form()).result();
    }
    let metrics = http::send(&service.address, "GET /metrics", None, "").body;
    let created = |asker: &str| {
        let line = format!(
            "elicitation_created_total{{mode=\"form\",channel=\"page\",asker=\"{asker}\"}}"
        );
        let line = metrics.lines().find(|found| found.starts_with(&line));
        line.map(|line| line.rsplit(' ').next().unwrap().to_owned())
    };
    assert_eq!(created("robot-0").as_deref(), Some("1"), "{metrics}");
    assert_eq!(created("robot-1").as_deref(), Some("1"));
    assert_eq!(created("robot-2"), None);
    assert_eq!(created("other").as_deref(), Some("3"));
    let lines: Vec<&str> = metrics.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        if let Some(named) = line.strip_prefix("# TYPE ") {
            let name = named.split(' ').next().unwrap();
            let help = format!("# HELP {name} ");
            assert!(at > 0 && lines[at - 1].starts_with(&help), "{line}");
        }
    }
    assert_eq!(service.end().code, 0);
}
