//! Settings of pages: TLS, who may answer, files, how askers are shown.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::http::{self, Answer};
use crate::serve::Service;
use crate::session::Session;
use crate::{Run, command, finish};

fn run(folder: &Path, words: &[&str], config: &str) -> Run {
    fs::write(folder.join("entreat.toml"), config).expect("it can be written");
    let mut command = command(words);
    command.current_dir(folder).env("HOME", folder);
    command.env("ENTREAT_LISTEN", "127.0.0.1:0");
    finish(command, b"")
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("there is a place for folders")
}

/// A certificate that ends in so many days, and its key.
pub(crate) fn certificate(folder: &Path, days: u64) {
    let key = rcgen::KeyPair::generate().expect("there is randomness");
    let mut params = rcgen::CertificateParams::new(["localhost".to_owned()]).expect("a name");
    #[expect(
        clippy::disallowed_methods,
        reason = "the program looks at the real clock"
    )]
    let now = std::time::SystemTime::now();
    params.not_before = (now - std::time::Duration::from_secs(48 * 3600)).into();
    params.not_after = (now + std::time::Duration::from_secs(days * 24 * 3600)).into();
    let made = params.self_signed(&key).expect("it signs itself");
    fs::write(folder.join("cert.pem"), made.pem()).expect("it can be written");
    fs::write(folder.join("key.pem"), key.serialize_pem()).expect("it can be written");
    rights(&folder.join("key.pem"), 0o600);
}

fn rights(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
}

pub(crate) const TLS: &str = "store = 'memory'\n[tls]\ncertificate = 'cert.pem'\nkey = 'key.pem'\n";

#[test]
fn settings_that_belong_together_are_refused_alone() {
    let folder = folder();
    for (config, words) in [
        ("tls.key = 'k'", "entreat.toml:1: `tls.key` is incomplete"),
        ("tls.certificate = 'k'", "set `tls.key`"),
        ("identity.kind = 'header'", "`identity.header`"),
        (
            "[identity]\nkind = 'header'\nheader = 'x-user'",
            "`identity.proxies`",
        ),
        ("identity.header = 'x-user'", "it requires `identity.kind`"),
        ("identity.proxies = '::1'", "it requires `identity.kind`"),
        (
            "identity.kind = 'oauth'",
            "must be local, header, assertion or oidc",
        ),
        ("identity.kind = 'oidc'", "`identity.issuer`"),
        (
            "[identity]\nkind = 'oidc'\nissuer = 'https://id.example.com'",
            "`identity.client_id`",
        ),
        ("identity.kind = 'assertion'", "`identity.header`"),
        (
            "[identity]\nkind = 'assertion'\nheader = 'x-a'\nissuer = 'https://id.example.com'",
            "`identity.audience`",
        ),
        (
            "identity.issuer = 'https://id.example.com'",
            "it requires `identity.kind` = oidc or assertion",
        ),
        ("identity.issuer = 'http://id.example.com'", "https://"),
        ("identity.scopes = 'profile'", "among them openid"),
        ("identity.session = '721h'", "at most 720h"),
        ("identity.header = 'x user'", "letters, digits and hyphens"),
        ("identity.proxies = '10.0.0.0/8, nobody'", "`10.0.0.0/8`"),
        ("identity = 'header'", "`identity` is a table"),
        (
            "uploads.inline_limit = 20_000_000",
            "from 1 to 16777216 bytes",
        ),
        (
            "[[asker]]\nname = 'a'\nkey = '0123456789abcdef'\ncolor = 'red'",
            "entreat.toml:4: `color`",
        ),
        (
            "[[asker]]\nname = 'a'\nkey = '0123456789abcdef'\ndisplay_name = ''",
            "1 to 64",
        ),
    ] {
        let run = run(folder.path(), &["config"], config);
        assert_eq!(run.code, 2, "{config}");
        assert!(run.stderr.contains(words), "{config}: {}", run.stderr);
    }
}

#[test]
fn what_holds_for_pages_is_shown() {
    let folder = folder();
    let config = "store = 'q.db'\n[identity]\nkind = 'header'\nheader = 'X-User'\n\
                  proxies = '10.0.0.0/8, ::1'\n\
                  [[asker]]\nname = 'robot'\nkey = '0123456789abcdef'\n\
                  display_name = 'The deploy robot'\ncolor = '#0A7F5C'\n";
    let shown = run(folder.path(), &["config"], config);
    assert_eq!((shown.code, shown.stderr.as_str()), (0, ""));
    let value = |name: &str| {
        let line = shown.stdout.lines().find(|line| line.starts_with(name));
        line.expect("every setting is shown")[name.len()..]
            .trim()
            .to_owned()
    };
    let kind = value("identity.kind");
    assert!(kind.starts_with("header ") && kind.ends_with(" entreat.toml:3"));
    assert!(value("identity.proxies").starts_with("10.0.0.0/8, ::1/128 "));
    // Next to the store by default.
    assert!(value("uploads.folder").starts_with("q.db.uploads "));
    assert!(value("uploads.inline_limit").starts_with("1048576 "));
    assert!(value("display_name").starts_with("The deploy robot "));
    assert!(value("color").starts_with("#0a7f5c "));
}

#[test]
fn the_service_says_that_it_speaks_tls_and_keeps_files_beside_its_store() {
    let folder = folder();
    certificate(folder.path(), 90);
    // A service with TLS serves others, and those need a key.
    let asker = "[[asker]]\nname = 'robot'\nkey = '0123456789abcdef'\n";
    let config = format!("{TLS}\n{asker}");
    fs::write(folder.path().join("entreat.toml"), config).expect("it can be written");
    let mut serve = command(&["serve", "--listen", "127.0.0.1:0", "--store", "q.db"]);
    serve.current_dir(folder.path()).env("HOME", folder.path());
    let session = Session::spawn(serve);
    let said = session.line_with("listening on ");
    assert!(
        said.starts_with("listening on https://127.0.0.1:"),
        "{said}"
    );
    assert!(folder.path().join("q.db.uploads").is_dir());
    session.kill();
}

#[test]
fn a_certificate_that_does_not_do_is_named() {
    let folder = folder();
    certificate(folder.path(), 90);
    fs::copy(folder.path().join("key.pem"), folder.path().join("old.pem")).expect("it is there");
    certificate(folder.path(), 90);
    for (key, words) in [
        ("no.pem", "cannot read no.pem"),
        ("cert.pem", "cert.pem contains no private key"),
        (
            "old.pem",
            "the key in old.pem does not match the certificate in cert.pem",
        ),
    ] {
        let run = run(folder.path(), &["serve"], &TLS.replace("key.pem", key));
        assert_eq!(run.code, 2, "{key}");
        assert!(run.stderr.contains(words), "{key}: {}", run.stderr);
    }
}

#[test]
fn the_doctor_looks_at_certificate_key_people_and_files() {
    let level = |folder: &Path, config: &str, check: &str| {
        let run = run(folder, &["doctor", "--json"], config);
        let document: Value = serde_json::from_str(&run.stdout).expect("it is JSON");
        let findings = document["findings"].as_array().expect("a list").clone();
        let found: Vec<Value> = findings
            .into_iter()
            .filter(|f| f["check"] == check)
            .collect();
        assert_eq!(found.len(), 1, "{check}: {}", run.stdout);
        found[0]["level"].as_str().expect("a word").to_owned()
    };
    let folder = folder();
    let folder = folder.path();
    for (days, expected) in [(90, "ok"), (5, "warning"), (0, "problem")] {
        certificate(folder, days);
        assert_eq!(level(folder, TLS, "tls"), expected, "{days}");
    }
    assert_eq!(
        level(folder, &TLS.replace("cert.pem", "no.pem"), "tls"),
        "problem"
    );
    assert_eq!(level(folder, TLS, "secrets"), "ok");
    rights(&folder.join("key.pem"), 0o644);
    assert_eq!(level(folder, TLS, "secrets"), "problem");

    let proxies = |range: &str| {
        format!("[identity]\nkind = 'header'\nheader = 'x-user'\nproxies = '{range}'\n")
    };
    assert_eq!(level(folder, &proxies("10.0.0.7"), "identity"), "ok");
    assert_eq!(level(folder, &proxies("0.0.0.0/0"), "identity"), "problem");

    let files = "store = 'q.db'\nuploads.folder = 'files'\n";
    assert_eq!(level(folder, files, "uploads"), "ok");
    fs::create_dir(folder.join("files")).expect("it can be made");
    rights(&folder.join("files"), 0o755);
    assert_eq!(level(folder, files, "uploads"), "warning");
    rights(&folder.join("files"), 0o700);
    assert_eq!(level(folder, files, "uploads"), "ok");
}

/// What a browser sends with every request.
const COOKIE: &str = "cookie: entreat=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\r\n";

fn browse(service: &Service, head: &str, lines: &str, body: &str) -> Answer {
    let lines = format!("{COOKIE}{lines}");
    http::read_answer(http::begin_plain(&service.address, head, &lines, body))
}

/// Uploads a file on the page of a new question; returns its download link.
fn send_file(service: &Service, content: &str) -> String {
    let form = json!({"id": "log", "title": "Log", "fields": [
        {"id": "log", "type": "file", "label": "Log"}]});
    let asked = service.call("elicitation/create", &json!({"formDefinition": form}));
    let link = asked["page"].as_str().expect("there is a page");
    let link = &link[link.find("/e/").expect("pages have a path")..];
    let page = browse(service, &format!("GET {link}"), "", "").body;
    let after = |mark: &str| {
        let from = page.find(mark).expect("it is a form") + mark.len();
        page[from..].split('"').next().unwrap_or_default()
    };
    let (here, csrf) = (after("action=\""), after("name=\"_csrf\" value=\""));
    let lines = format!(
        "x-entreat-form: {csrf}\r\nx-entreat-file: log.txt\r\ncontent-type: text/plain\r\n"
    );
    let sent = browse(service, &format!("POST {here}/files/0"), &lines, content);
    assert_eq!(sent.status, 200, "{}", sent.body);
    let lines = "content-type: application/x-www-form-urlencoded\r\n";
    let body = format!("_csrf={csrf}&_f=0&_do=send");
    let sent = browse(service, &format!("POST {here}"), lines, &body);
    assert_eq!(sent.status, 303, "{}", sent.body);
    let id = json!({"elicitationId": asked["elicitationId"]});
    let status = service.call("elicitation/status", &id);
    let location = &status["result"]["log"]["content"]["location"];
    let location = location.as_str().unwrap_or_else(|| panic!("{status}"));
    location[location.find("/files/").expect("it is a link")..].to_owned()
}

#[test]
fn a_service_on_a_backup_has_the_files_that_people_sent() {
    let folder = folder();
    let folder = folder.path();
    let config = "uploads.inline_limit = 1\n";
    fs::write(folder.join("entreat.toml"), config).expect("it can be written");
    let service = Service::start(folder, &["--store", "q.db"]);
    let file = send_file(&service, "all is well");
    assert_eq!(service.end().code, 0);

    let backup = |args: &[&str]| {
        let mut command = command(&[&["backup"], args, &["--store", "q.db"]].concat());
        command.current_dir(folder);
        finish(command, b"")
    };
    let run = backup(&["copy.db"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(
        run.stderr,
        "copied to copy.db and copy.db.uploads (files: 1); its keys are in q.db.keys\n"
    );

    let args = ["--store", "copy.db", "--keys", "q.db.keys"];
    let service = Service::start(folder, &args);
    let fetch = || browse(&service, &format!("GET {file}"), "", "");
    assert_eq!(fetch().body, "all is well");
    assert_eq!(fetch().status, 404, "it goes out once");
    service.kill();
    // The original is unchanged.
    let service = Service::start(folder, &["--store", "q.db"]);
    let fetched = browse(&service, &format!("GET {file}"), "", "");
    assert_eq!(fetched.body, "all is well");
    service.kill();
}

#[test]
fn a_backup_whose_files_cannot_be_copied_is_none() {
    let folder = folder();
    let folder = folder.path();
    let service = Service::start(folder, &["--store", "q.db"]);
    assert_eq!(service.end().code, 0);
    let backup = |args: &[&str]| {
        let mut command = command(&[&["backup", "copy.db"], args, &["--store", "q.db"]].concat());
        command.current_dir(folder);
        finish(command, b"")
    };
    // Old files would be mistaken for those of the copy.
    fs::create_dir(folder.join("copy.db.uploads")).expect("it can be made");
    let run = backup(&[]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("copy.db.uploads already exists"),
        "{}",
        run.stderr
    );
    fs::remove_dir(folder.join("copy.db.uploads")).expect("it is empty");

    // Not a folder.
    fs::write(folder.join("wrong"), "").expect("it can be written");
    let run = backup(&["--uploads", "wrong"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(
        run.stderr.contains("cannot copy the uploaded files"),
        "{}",
        run.stderr
    );
    assert!(!folder.join("copy.db").exists());

    let run = backup(&[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(!folder.join("copy.db.uploads").exists(), "there were none");
}
