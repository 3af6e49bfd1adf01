//! `entreat serve`: a real process behind a real socket.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::http::{self, Answer};
use crate::session::Session;
use crate::{Run, command, finish};

const KEY: &str = "0123456789abcdef-robot";

/// A running service.
pub(crate) struct Service {
    session: Session,
    pub(crate) address: String,
}

impl Service {
    /// Starts it in a folder and waits until it is ready.
    pub(crate) fn start(folder: &Path, args: &[&str]) -> Self {
        Self::spawn(serve(folder, args))
    }

    pub(crate) fn spawn(command: Command) -> Self {
        let session = Session::spawn(command);
        let said = session.line_with("listening on http://");
        let address = said.trim_start_matches("listening on http://").to_owned();
        Self { session, address }
    }

    pub(crate) fn call(&self, method: &str, params: &Value) -> Value {
        http::call(&self.address, None, method, params).result()
    }

    fn get(&self, path: &str) -> Answer {
        http::send(&self.address, &format!("GET {path}"), None, "")
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.pid()).expect("ids are small");
        let pid = Pid::from_raw(pid).expect("ids are above 0");
        kill_process(pid, signal).expect("the service runs");
    }

    pub(crate) fn pid(&self) -> u32 {
        self.session.child.id()
    }

    /// Kills it, as a crash would.
    pub(crate) fn kill(self) {
        self.session.kill();
    }

    pub(crate) fn end(self) -> Run {
        self.signal(Signal::TERM);
        self.session.wait()
    }
}

pub(crate) fn serve(folder: &Path, args: &[&str]) -> Command {
    let mut command = command(&[&["serve", "--listen", "127.0.0.1:0"], args].concat());
    command.current_dir(folder).env("HOME", folder);
    command
}

pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("there is a place for folders")
}

pub(crate) fn form() -> Value {
    json!({"formDefinition": {"id": "who", "title": "Who?", "fields": [
        {"id": "name", "type": "text", "label": "Name", "required": true}]}})
}

#[test]
fn a_question_is_asked_awaited_and_answered_over_http() {
    let folder = folder();
    let service = Service::start(folder.path(), &["--store", "memory"]);
    let asked = service.call("elicitation/create", &form());
    let id = &asked["elicitationId"];
    let wait = http::request("elicitation/await", &json!({"elicitationId": id}));
    let waiting = http::begin(&service.address, "POST /rpc", None, &wait);

    let answer = json!({"elicitationId": id, "responses": {"name": "Ada"}});
    let done = service.call("elicitation/submit", &answer);
    assert_eq!(done, json!({"status": "completed"}));
    let settled = http::read_answer(waiting).result();
    assert_eq!(settled["result"], json!({"name": "Ada"}));

    assert_eq!(service.get("/readyz").body, "ready\n");
    let metrics = service.get("/metrics").body;
    let counted = "elicitation_completed_total{mode=\"form\",channel=\"page\",asker=\"local\"} 1";
    assert!(metrics.contains(counted), "{metrics}");
    let bucket = "elicitation_ask_to_answer_seconds_bucket{le=";
    assert!(metrics.contains(bucket), "{metrics}");

    let run = service.end();
    assert_eq!((run.code, run.stdout.as_str()), (0, ""));
    // A memory store leaves no files.
    let left = folder.path().read_dir().unwrap().count();
    assert_eq!(left, 0);
}

#[test]
fn what_was_asked_is_there_after_a_restart_and_after_a_kill() {
    let folder = folder();
    let start = || {
        let mut command = serve(folder.path(), &["--store", "q.db"]);
        command.env("ENTREAT_LIMITS_REQUESTS_PER_SECOND", "none");
        Service::spawn(command)
    };
    let service = start();
    let first = service.call("elicitation/create", &form());
    // Waiting callers get the current state and don't delay the shutdown. Calls of a batch run
    // concurrently: once the deadline is extended, the wait is in progress.
    let id = json!({"elicitationId": first["elicitationId"]});
    let calls = ["elicitation/extend_timeout", "elicitation/await"];
    let batch = calls.map(|method| http::request(method, &id)).join(",");
    let waiting = http::begin(&service.address, "POST /rpc", None, &format!("[{batch}]"));
    while service.call("elicitation/status", &id)["extensions"] != 1 {}
    service.signal(Signal::TERM);
    let told = http::read_answer(waiting);
    assert_eq!(told.status, 200, "{}", told.body);
    let run = service.session.wait();
    assert_eq!(run.code, 0, "{}", run.stderr);

    let service = start();
    let second = service.call("elicitation/create", &form());
    service.kill();

    let service = start();
    for asked in [first, second] {
        let id = &asked["elicitationId"];
        let found = service.call("elicitation/status", &json!({"elicitationId": id}));
        assert_eq!(found["status"], "pending");
        let answer = json!({"elicitationId": id, "responses": {"name": "Ada"}});
        service.call("elicitation/submit", &answer);
    }
    let run = service.end();
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
fn a_restart_is_not_a_disconnect() {
    let folder = folder();
    let start = || Service::start(folder.path(), &["--store", "q.db"]);
    let service = start();
    let mut socket = http::Socket::open(&service.address);
    let asked = socket.call("elicitation/create", &form());
    let id = json!({"elicitationId": asked["result"]["elicitationId"]});
    assert_eq!(service.end().code, 0);
    drop(socket);

    let service = start();
    assert_eq!(service.call("elicitation/status", &id)["status"], "pending");
    // By contrast, a client that disconnects while the service runs cancels its questions.
    let mut socket = http::Socket::open(&service.address);
    let asked = socket.call("elicitation/create", &form());
    drop(socket);
    let id = json!({"elicitationId": asked["result"]["elicitationId"]});
    let settled = service.call("elicitation/await", &id);
    assert_eq!(settled["reason"], "client_disconnected");
    assert_eq!(service.end().code, 0);
}

#[test]
fn the_default_store_is_a_file_of_this_person() {
    let folder = folder();
    let service = Service::start(folder.path(), &[]);
    service.call("elicitation/create", &form());
    assert_eq!(service.end().code, 0);
    let store = folder.path().join(".local/share/entreat/entreat.db");
    assert!(store.is_file());
    let mut list = command(&["list"]);
    list.env("HOME", folder.path());
    let run = finish(list, b"");
    assert!(run.stdout.contains("local"), "{}{}", run.stdout, run.stderr);
}

#[test]
fn ctrl_c_ends_it_well_and_a_second_signal_at_once() {
    let folder = folder();
    let service = Service::start(folder.path(), &["--store", "memory"]);
    service.signal(Signal::INT);
    assert_eq!(service.session.wait().code, 0);

    let service = Service::start(folder.path(), &["--store", "memory"]);
    // A request whose body never ends delays the shutdown.
    let head = format!(
        "POST /rpc HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
         content-length: 9\r\nexpect: 100-continue\r\n\r\n",
        service.address
    );
    let mut slow = TcpStream::connect(&service.address).unwrap();
    slow.write_all(head.as_bytes()).unwrap();
    let mut begun = [0; 12];
    slow.read_exact(&mut begun).unwrap();
    assert_eq!(&begun, b"HTTP/1.1 100");
    service.signal(Signal::TERM);
    service.session.wait_for("shutting down");
    service.signal(Signal::TERM);
    assert_eq!(service.session.wait().code, 143);
    drop(slow);
}

#[test]
fn askers_have_keys_names_and_limits_of_their_own() {
    let folder = folder();
    let config = format!(
        "store = 'memory'\nlocal_without_key = false\n\
         [[asker]]\nname = 'robot'\nkey = '{KEY}'\nlimits.live = 1\ntimeouts.form.max = '1h'\n\
         [[asker]]\nname = 'other'\nkey_env = 'OTHER_KEY'\n\
         [[asker]]\nname = 'third'\nkey_file = 'third.key'\n"
    );
    std::fs::write(folder.path().join("entreat.toml"), config).unwrap();
    std::fs::write(folder.path().join("third.key"), "third-third-third\n").unwrap();
    let mut command = serve(folder.path(), &[]);
    command.env("OTHER_KEY", "other-other-other");
    let service = Service::spawn(command);
    let call = |key, method, params: &Value| http::call(&service.address, key, method, params);

    assert_eq!(call(None, "forms/list", &json!({})).status, 401);
    assert_eq!(call(Some("wrong"), "forms/list", &json!({})).status, 401);
    let bounds = json!({"mode": "form"});
    let robot = call(Some(KEY), "elicitation/timeout_config", &bounds).result();
    assert_eq!(robot["max_ms"], 3_600_000);
    for key in ["other-other-other", "third-third-third"] {
        let other = call(Some(key), "elicitation/timeout_config", &bounds).result();
        assert_eq!(other["max_ms"], 300_000);
    }
    let asked = call(Some(KEY), "elicitation/create", &form()).result();
    let one_too_many = call(Some(KEY), "elicitation/create", &form());
    assert!(
        one_too_many.body.contains("-32011"),
        "{}",
        one_too_many.body
    );
    // Each sees its own.
    let id = json!({"elicitationId": asked["elicitationId"]});
    let hidden = call(Some("other-other-other"), "elicitation/status", &id);
    assert!(hidden.body.contains("-32012"), "{}", hidden.body);

    let run = service.end();
    assert_eq!(run.code, 0);
    assert!(!run.stderr.contains(KEY));
}

#[test]
fn templates_come_from_a_folder() {
    let folder = folder();
    let forms = folder.path().join("forms");
    std::fs::create_dir(&forms).unwrap();
    let text = "id: go\ntitle: Go?\nfields: [{id: sure, type: boolean, label: Sure?}]\n";
    std::fs::write(forms.join("go.yaml"), text).unwrap();
    std::fs::write(forms.join("broken.yaml"), "id: [").unwrap();
    let service = Service::start(folder.path(), &["--store", "memory", "--forms", "forms"]);
    let asked = service.call("elicitation/create", &json!({"template": "go"}));
    assert_eq!(asked["formDefinition"]["title"], "Go?");
    let run = service.end();
    assert!(run.stderr.contains("broken.yaml"), "{}", run.stderr);

    let args = ["--store", "memory", "--forms", "nowhere"];
    let run = finish(serve(folder.path(), &args), b"");
    assert_eq!(run.code, 2);
    let words = "entreat: the folder of templates nowhere cannot be read";
    assert!(run.stderr.contains(words), "{}", run.stderr);
}

#[test]
fn logs_are_lines_of_json_if_wanted() {
    let folder = folder();
    let args = ["--store", "memory", "--log-format", "json", "--log", "info"];
    let service = Service::start(folder.path(), &args);
    service.call("elicitation/create", &form());
    let run = service.end();
    let lines = run.stderr.lines().filter(|line| line.starts_with('{'));
    let lines: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let created = |line: &Value| line["fields"]["message"] == "elicitation created";
    assert!(lines.iter().any(created), "{}", run.stderr);
}

#[test]
fn what_cannot_be_served_is_refused_with_what_to_do() {
    let folder = folder();
    let refused = |args: &[&str]| {
        let mut command = command(&[&["serve"], args].concat());
        command
            .current_dir(folder.path())
            .env("HOME", folder.path());
        let run = finish(command, b"");
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{args:?}");
        run.stderr
    };
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"] {
        let words = refused(&["--listen", address, "--store", "memory"]);
        assert!(words.contains("[[asker]]"), "{words}");
        assert!(words.contains("listen on 127.0.0.1"), "{words}");
    }
    let words = refused(&["--store", "postgres://user:hunter2@db/entreat"]);
    assert!(words.contains("no PostgreSQL store"), "{words}");
    assert!(!words.contains("hunter2"), "{words}");
    let words = refused(&["--listen", "example.com"]);
    assert!(words.contains("--listen") && words.contains("127.0.0.1:7171"));

    let holder = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = holder.local_addr().unwrap().to_string();
    let words = refused(&["--listen", &taken, "--store", "memory"]);
    let expected = format!("entreat: cannot listen on {taken} (from --listen): ");
    assert!(words.starts_with(&expected), "{words}");
    drop(holder);
}

#[test]
fn a_store_serves_one_process() {
    let folder = folder();
    let service = Service::start(folder.path(), &["--store", "q.db"]);
    let run = finish(serve(folder.path(), &["--store", "q.db"]), b"");
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("--store"), "{}", run.stderr);
    assert_eq!(service.end().code, 0);
}

#[test]
fn a_store_whose_file_was_removed_is_not_ready_and_acknowledges_nothing() {
    let folder = folder();
    let service = Service::start(folder.path(), &["--store", "q.db"]);
    assert_eq!(service.get("/readyz").body, "ready\n");
    let asked = service.call("elicitation/create", &form());
    let (store, moved) = (folder.path().join("q.db"), folder.path().join("moved"));
    std::fs::rename(&store, &moved).unwrap();
    let until = |status: u16| {
        // A readiness result is cached for a second.
        let looks = std::iter::repeat_with(|| {
            std::thread::sleep(Duration::from_millis(100));
            service.get("/readyz").status
        });
        assert!(
            looks.take(300).any(|found| found == status),
            "never {status}"
        );
    };
    until(503);
    let answer = json!({"elicitationId": asked["elicitationId"], "responses": {"name": "Ada"}});
    let refused = http::request("elicitation/submit", &answer);
    let refused = http::send(&service.address, "POST /rpc", None, &refused);
    assert!(refused.body.contains("\"error\""), "{}", refused.body);
    std::fs::rename(&moved, &store).unwrap();
    until(200);
    assert_eq!(
        service.call("elicitation/submit", &answer),
        json!({"status": "completed"})
    );
    assert_eq!(service.end().code, 0);
}

#[test]
fn more_connections_are_held_than_the_usual_limit_of_files_allows() {
    let folder = folder();
    let mut command = Command::new("sh");
    let script = r#"ulimit -S -n 64; exec "$0" serve --listen 127.0.0.1:0 --store memory"#;
    command
        .args(["-c", script, env!("CARGO_BIN_EXE_entreat")])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let service = Service::spawn(command);
    let connect = |_| TcpStream::connect(&service.address).unwrap();
    let held: Vec<_> = (0..200).map(connect).collect();
    assert_eq!(service.get("/readyz").body, "ready\n");
    drop(held);
    assert_eq!(service.end().code, 0);
}

/// Starts the service in a shell with this limit of open files.
fn with_files(folder: &Path, files: usize) -> Command {
    let mut command = Command::new("sh");
    let script =
        format!(r#"ulimit -n {files}; exec "$0" serve --listen 127.0.0.1:0 --store memory"#);
    command
        .args(["-c", &script, env!("CARGO_BIN_EXE_entreat")])
        .current_dir(folder)
        .env("HOME", folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Connects from another loopback address.
fn connect_from_elsewhere(address: &str) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime starts");
    let connected = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4()?;
        socket.bind(([127, 0, 0, 2], 0).into())?;
        let address = address.parse().expect("it is an address");
        socket.connect(address).await?.into_std()
    });
    let stream = connected.expect("the service listens");
    let blocking = stream.set_nonblocking(false);
    blocking.expect("a socket can wait");
    stream
}

#[test]
fn with_too_few_open_files_it_says_so_or_does_not_start() {
    let folder = folder();
    let run = finish(with_files(folder.path(), 200), b"");
    assert_eq!(run.code, 2, "{}", run.stderr);
    let words = "the limit is 200 open files, but the service needs 256: raise the limit";
    assert!(run.stderr.contains(words), "{}", run.stderr);

    let service = Service::spawn(with_files(folder.path(), 300));
    let connect = |_| TcpStream::connect(&service.address).unwrap();
    let held: Vec<_> = (0..300).map(connect).collect();
    // One address cannot take all connections, and files are left for other purposes.
    let mut other = connect_from_elsewhere(&service.address);
    let get = "GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    other.write_all(get.as_bytes()).unwrap();
    let mut answer = String::new();
    other.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    drop(held);
    let run = service.end();
    assert_eq!(run.code, 0);
    let words = "warning: the limit is 300 open files, so the service accepts 108 connections";
    assert!(run.stderr.contains(words), "{}", run.stderr);
}

#[test]
fn behind_a_proxy_that_says_nothing_everybody_needs_a_key() {
    let folder = folder();
    let public = [
        "--store",
        "memory",
        "--public-url",
        "https://ask.example.com",
    ];
    let run = finish(serve(folder.path(), &public), b"");
    assert_eq!(run.code, 2, "{}", run.stderr);
    let words = "nobody can ask: `public_url` names another machine, and no asker has a key";
    assert!(run.stderr.contains(words), "{}", run.stderr);

    let robot = format!("[[asker]]\nname = 'robot'\nkey = '{KEY}'\n");
    let file = folder.path().join("entreat.toml");
    std::fs::write(&file, &robot).unwrap();
    let service = Service::start(folder.path(), &public);
    let call = |key| http::call(&service.address, key, "forms/list", &json!({})).status;
    assert_eq!((call(None), call(Some(KEY))), (401, 200));
    let asked = http::call(&service.address, Some(KEY), "elicitation/create", &form()).result();
    assert!(asked["page"].is_null(), "{asked}");
    let run = service.end();
    assert!(
        run.stderr.contains("nobody can open a page"),
        "{}",
        run.stderr
    );
    assert!(!run.stderr.contains("inbox"), "{}", run.stderr);

    std::fs::write(&file, format!("local_without_key = true\n{robot}")).unwrap();
    let service = Service::start(folder.path(), &public);
    let call = |key| http::call(&service.address, key, "forms/list", &json!({})).status;
    assert_eq!((call(None), call(Some(KEY))), (200, 200));
    let run = service.end();
    let words = "`local_without_key` is true although `public_url` names another machine";
    assert!(run.stderr.contains(words), "{}", run.stderr);
}

#[test]
fn extensions_are_those_of_the_mode_and_of_the_asker() {
    let folder = folder();
    let config = format!(
        "[timeouts.form]\nmax_extensions = 10\nextension_duration = '2m'\n\
         [timeouts.inline]\nextension_allowed = false\n\
         [[asker]]\nname = 'robot'\nkey = '{KEY}'\ntimeouts.form.max_extensions = 1\n"
    );
    std::fs::write(folder.path().join("entreat.toml"), config).unwrap();
    let service = Service::start(folder.path(), &["--store", "memory"]);
    let remaining = |key: Option<&str>, params: &Value| {
        let call = |method: &str, params: &Value| {
            http::call(&service.address, key, method, params).result()
        };
        let asked = call("elicitation/create", params);
        let id = json!({"elicitationId": asked["elicitationId"]});
        let record = call("elicitation/status", &id);
        record["extensionsRemaining"].as_u64().unwrap()
    };
    assert_eq!(remaining(None, &form()), 10);
    assert_eq!(remaining(Some(KEY), &form()), 1);
    assert_eq!(remaining(None, &json!({"prompt": "Name?"})), 0);
    assert_eq!(remaining(None, &json!({"url": "https://example.com/"})), 2);

    let asked = service.call("elicitation/create", &form());
    let id = json!({"elicitationId": asked["elicitationId"]});
    let extended = service.call("elicitation/extend_timeout", &id);
    let added = extended["newTimeoutAt"].as_u64().unwrap() - asked["timeoutAt"].as_u64().unwrap();
    assert_eq!(added, 120_000);
    assert_eq!(service.end().code, 0);
}

#[test]
fn what_the_server_allows_is_a_setting() {
    let folder = folder();
    let mut command = serve(folder.path(), &["--store", "memory"]);
    command.env("ENTREAT_HTTP_BODY_LIMIT", "200");
    let service = Service::spawn(command);
    let ask = |words: &str| {
        let params = json!({"prompt": words});
        http::call(&service.address, None, "elicitation/create", &params).status
    };
    assert_eq!(ask("Name?"), 200);
    assert_eq!(ask(&"Name?".repeat(50)), 413);
    assert_eq!(service.end().code, 0);
}
