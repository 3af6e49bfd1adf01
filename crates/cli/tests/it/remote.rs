//! `entreat list`, `status` and `cancel` against a running service.

use serde_json::{Value, json};

use crate::pages::{TLS, certificate};
use crate::serve::{Service, folder, form, serve};
use crate::session::Session;
use crate::{Run, command, finish};

const KEY: &str = "0123456789abcdef";

fn run(service: &Service, args: &[&str]) -> Run {
    let url = format!("http://{}", service.address);
    finish(command(&[args, &["--url", &url]].concat()), b"")
}

#[test]
fn what_a_service_keeps_is_listed_shown_and_cancelled() {
    let folder = folder();
    let service = Service::start(folder.path(), &["--store", "q.db"]);
    let empty = run(&service, &["list"]);
    assert_eq!((empty.code, empty.stdout.as_str()), (0, ""));
    assert_eq!(empty.stderr, "no questions\n");

    let asked = service.call("elicitation/create", &form());
    let id = asked["elicitationId"].as_str().unwrap();
    let listed = run(&service, &["list", "--status", "pending"]);
    assert_eq!(listed.code, 0, "{}", listed.stderr);
    let lines: Vec<&str> = listed.stdout.lines().collect();
    assert!(lines[0].starts_with("ID ") && lines[1].starts_with(id));
    assert!(lines[1].ends_with("Who?"), "{}", listed.stdout);

    let shown = run(&service, &["status", id]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(
        shown.stdout.contains("status    pending\n"),
        "{}",
        shown.stdout
    );

    let cancelled = run(&service, &["cancel", id, "--json"]);
    assert_eq!(cancelled.code, 0, "{}", cancelled.stderr);
    let record: Value = serde_json::from_str(&cancelled.stdout).unwrap();
    assert_eq!(record["reason"], "asker_cancelled");
    let again = run(&service, &["cancel", id]);
    let words = format!("entreat: {id} is already settled: cancelled\n");
    assert_eq!((again.code, again.stderr), (1, words));
    assert_eq!(service.end().code, 0);
}

#[test]
fn a_list_goes_on_where_the_page_before_says() {
    let folder = folder();
    let service = Service::start(folder.path(), &["--store", "memory"]);
    let ids = [0, 1, 2].map(|_| service.call("elicitation/create", &form()));
    let ids = ids.map(|asked| asked["elicitationId"].as_str().unwrap().to_owned());
    let first = run(&service, &["list", "--limit", "2"]);
    assert_eq!(first.code, 0, "{}", first.stderr);
    let more = first
        .stderr
        .trim()
        .strip_prefix("more results: use --cursor ");
    let rest = run(
        &service,
        &["list", "--limit", "2", "--cursor", more.unwrap()],
    );
    assert_eq!((rest.code, rest.stderr.as_str()), (0, ""));
    let lines: Vec<&str> = rest.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{}", rest.stdout);
    let mut oldest = ids.to_vec();
    oldest.sort();
    assert!(lines[1].starts_with(&oldest[0]));
    assert_eq!(service.end().code, 0);
}

#[test]
fn live_questions_of_both_statuses_are_listed_together_and_page_by_page() {
    let folder = folder();
    let service = Service::start(folder.path(), &["--store", "memory"]);
    let mut ids: Vec<String> = (0..4)
        .map(|_| service.call("elicitation/create", &form())["elicitationId"].take())
        .map(|id| id.as_str().unwrap().to_owned())
        .collect();
    for id in [&ids[0], &ids[2]] {
        let begun = json!({"elicitationId": id, "responses": {}, "partial": true});
        service.call("elicitation/submit", &begun);
    }
    let cancelled = run(&service, &["cancel", &ids[3]]);
    assert_eq!(cancelled.code, 0, "{}", cancelled.stderr);
    let live = |args: &[&str]| {
        let all = [&["list", "--status", "live", "--json"][..], args].concat();
        let listed = run(&service, &all);
        assert_eq!(listed.code, 0, "{}", listed.stderr);
        let page: Value = serde_json::from_str(&listed.stdout).unwrap();
        let records = page["elicitations"].as_array().unwrap().iter();
        let ids = records.map(|it| it["elicitationId"].as_str().unwrap().to_owned());
        let next = page["nextCursor"].as_str().map(str::to_owned);
        (ids.collect::<Vec<_>>(), next)
    };
    ids.truncate(3);
    ids.sort_by(|one, other| other.cmp(one));
    assert_eq!(live(&[]), (ids.clone(), None));
    let (first, next) = live(&["--limit", "2"]);
    assert_eq!(first, ids[..2]);
    let rest = live(&["--limit", "2", "--cursor", &next.unwrap()]);
    assert_eq!(rest, (ids[2..].to_vec(), None));
    assert_eq!(service.end().code, 0);
}

#[test]
fn a_result_is_shown_only_when_it_is_asked_for() {
    let folder = folder();
    let service = Service::start(folder.path(), &["--store", "memory"]);
    let asked = service.call("elicitation/create", &form());
    let id = asked["elicitationId"].as_str().unwrap();
    let answer = json!({"elicitationId": id, "responses": {"name": "Grace"}});
    service.call("elicitation/submit", &answer);
    let shown = run(&service, &["status", id]);
    assert!(!shown.stdout.contains("Grace"), "{}", shown.stdout);
    let whole = run(&service, &["status", id, "--json"]);
    assert!(whole.stdout.contains("Grace"), "{}", whole.stdout);
    let strange = "elic_01hnmq7zq8e9vv8h2m6x3c5t0d";
    let missing = run(&service, &["status", strange]);
    let words = format!("entreat: there is no question {strange}\n");
    assert_eq!((missing.code, missing.stderr), (1, words));
    assert_eq!(service.end().code, 0);
}

#[test]
fn a_key_is_sent_and_its_lack_is_told() {
    let folder = folder();
    let config = format!(
        "store = 'memory'\nlocal_without_key = false\n[[asker]]\nname = 'robot'\nkey = '{KEY}'\n"
    );
    std::fs::write(folder.path().join("entreat.toml"), config).unwrap();
    let service = Service::spawn(serve(folder.path(), &[]));
    let refused = run(&service, &["list"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (2, ""));
    assert!(
        refused.stderr.contains("ENTREAT_API_KEY"),
        "{}",
        refused.stderr
    );
    assert_eq!(run(&service, &["list", "--key", KEY]).code, 0);
    let url = format!("http://{}", service.address);
    let mut by_variable = command(&["list", "--url", &url]);
    by_variable.env("ENTREAT_API_KEY", KEY);
    assert_eq!(finish(by_variable, b"").code, 0);
    assert_eq!(service.end().code, 0);
}

#[test]
fn a_service_with_tls_is_asked_if_its_certificate_is_trusted() {
    let folder = folder();
    certificate(folder.path(), 30);
    let config = format!("{TLS}[[asker]]\nname = 'robot'\nkey = '{KEY}'\n");
    std::fs::write(folder.path().join("entreat.toml"), config).unwrap();
    let service = Session::spawn(serve(folder.path(), &[]));
    let said = service.line_with("listening on https://127.0.0.1:");
    let port = said.rsplit(':').next().unwrap();
    let url = format!("https://localhost:{port}");
    let mut list = command(&["list", "--url", &url, "--key", KEY]);
    list.env("SSL_CERT_FILE", folder.path().join("cert.pem"));
    let listed = finish(list, b"");
    assert_eq!((listed.code, &*listed.stderr), (0, "no questions\n"));
    let id = "elic_01hnmq7zq8e9vv8h2m6x3c5t0d";
    for (args, code, words) in [
        (&["status", id][..], 1, "there is no question"),
        (&["cancel", id], 1, "there is no question"),
        (&["attach", id], 1, "there is no question"),
        (&["doctor"], 0, "problems: 0"),
        // The key is not that of the person at this machine.
        (&["inbox"], 2, "for the person at the service's machine"),
    ] {
        let mut command = command(&[args, &["--url", &url, "--key", KEY]].concat());
        command.env("SSL_CERT_FILE", folder.path().join("cert.pem"));
        let run = finish(command, b"");
        assert_eq!(run.code, code, "{args:?}: {}", run.stderr);
        assert!(run.stderr.contains(words), "{args:?}: {}", run.stderr);
    }

    let refused = finish(command(&["list", "--url", &url, "--key", KEY]), b"");
    assert_eq!((refused.code, &*refused.stdout), (2, ""));
    assert!(refused.stderr.contains("certificate"), "{}", refused.stderr);
    service.kill();
}

#[test]
fn a_service_that_is_not_there_is_named() {
    let holder = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", holder.local_addr().unwrap());
    drop(holder);
    let run = finish(command(&["list", "--url", &url]), b"");
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    let words = format!("entreat: no response from the service at {url}/: ");
    assert!(run.stderr.starts_with(&words), "{}", run.stderr);
    assert!(
        run.stderr.to_lowercase().contains("connection refused"),
        "{}",
        run.stderr
    );
    for wrong in [
        &["list", "--url", "ftp://127.0.0.1"][..],
        &["list", "--url", "nowhere"],
        &["list", "--url", "http://127.0.0.1", "--store", "q.db"],
        &["list", "--key", KEY],
    ] {
        assert_eq!(crate::entreat(wrong).code, 2, "{wrong:?}");
    }
}
