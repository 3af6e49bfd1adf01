//! `entreat doctor`: what it finds in real files, sockets and processes.

use std::fs::{self, Permissions};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::Value;
use tempfile::TempDir;

use crate::serve::Service;
use crate::{Run, command, entreat_with, finish};

const KEY: &str = "0123456789abcdef-robot";

/// A folder with a setup.
struct Ground(TempDir);

impl Ground {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("there is a place for folders"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str, mode: u32) {
        fs::write(self.path(name), text).expect("it can be written");
        self.chmod(name, mode);
    }

    fn chmod(&self, name: &str, mode: u32) {
        let changed = fs::set_permissions(self.path(name), Permissions::from_mode(mode));
        changed.expect("it is ours");
    }

    /// Makes a store and its keys.
    fn ask(&self) {
        let store = self.path("q.db");
        let store = store.to_str().expect("test folders have plain names");
        let run = entreat_with(&["ask", "greeting.json", "--store", store], "Ada\n");
        assert_eq!(run.code, 0, "{}", run.stderr);
    }

    fn run(&self, args: &[&str], environment: &[(&str, &str)]) -> Run {
        let mut command = command(&[&["doctor"], args].concat());
        command
            .current_dir(self.0.path())
            .env("HOME", self.0.path());
        // Each test uses its own port by default.
        command.env("ENTREAT_LISTEN", "127.0.0.1:0");
        command.envs(environment.iter().copied());
        finish(command, b"")
    }

    /// Findings with `--json`, and the exit code.
    fn findings(&self, args: &[&str]) -> (i32, Findings) {
        let run = self.run(&[&["--json"], args].concat(), &[]);
        assert_eq!(run.stderr, "");
        (run.code, Findings::read(&run))
    }

    /// All files in the folder: names, contents, permissions.
    fn contents(&self) -> Vec<(PathBuf, Vec<u8>, u32)> {
        let mut contents: Vec<_> = fs::read_dir(self.0.path())
            .expect("the folder is there")
            .map(|entry| {
                let path = entry.expect("the folder is read").path();
                let mode = path.metadata().expect("it is there").permissions().mode();
                (path.clone(), fs::read(&path).unwrap_or_default(), mode)
            })
            .collect();
        contents.sort();
        contents
    }
}

struct Findings(Vec<Value>);

impl Findings {
    fn read(run: &Run) -> Self {
        let document: Value = serde_json::from_str(&run.stdout).expect("it is JSON");
        Self(document["findings"].as_array().expect("a list").clone())
    }

    /// The worst finding of a check: its level and texts.
    fn worst(&self, check: &str) -> (String, String) {
        let rank = |finding: &&Value| match finding["level"].as_str() {
            Some("ok") => 0,
            Some("warning") => 1,
            Some("problem") => 2,
            _ => panic!("no level in {finding}"),
        };
        let found = self.0.iter().filter(|finding| finding["check"] == check);
        let found = found.max_by_key(rank);
        let found = found.unwrap_or_else(|| panic!("no {check} in {:?}", self.0));
        let text = |key| found[key].as_str().unwrap_or_default();
        let words = format!("{} > {}", text("what"), text("remedy"));
        (text("level").to_owned(), words)
    }

    #[track_caller]
    fn expect(&self, check: &str, level: &str, words: &str) {
        let (found, said) = self.worst(check);
        assert_eq!(found, level, "{check}: {said}");
        assert!(said.contains(words), "{check}: {said}");
    }
}

fn shown(path: &Path) -> &str {
    path.to_str().expect("test folders have plain names")
}

#[test]
fn a_set_up_out_of_the_box_has_no_problem_and_is_left_alone() {
    let ground = Ground::new();
    let (code, findings) = ground.findings(&[]);
    assert_eq!(code, 0);
    for check in ["folder", "store", "keys"] {
        findings.expect(check, "ok", "`serve` creates it");
    }
    findings.expect("configuration", "ok", "no file");
    findings.expect("port", "ok", "any free port");
    findings.expect("askers", "ok", "without a key");
    findings.expect(
        "callbacks",
        "ok",
        "callbacks are rejected > to use callbacks",
    );
    findings.expect("accessibility", "ok", "WCAG 2.2.1");
    findings.expect("clock", "ok", "");
    assert!(ground.contents().is_empty());
}

#[test]
fn people_get_aligned_lines_and_a_count() {
    let ground = Ground::new();
    let run = ground.run(&["--store", "nowhere/q.db"], &[]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.starts_with("problems: 3, warnings: "),
        "{}",
        run.stderr
    );
    let line = "problem  folder         the folder nowhere does not exist\n";
    let remedy = "                        > run `mkdir -m 700 -p nowhere`\n";
    let told = format!("{line}{remedy}");
    assert!(run.stdout.contains(&told), "{}", run.stdout);
    assert!(ground.contents().is_empty());
}

#[test]
fn a_store_is_looked_at_and_not_touched() {
    let ground = Ground::new();
    ground.ask();
    let before = ground.contents();
    let (code, findings) = ground.findings(&["--store", "q.db"]);
    assert_eq!(code, 0, "{:?}", findings.0);
    findings.expect("store", "ok", "q.db");
    findings.expect("keys", "ok", "keep a copy");
    findings.expect("in use", "ok", "no process");
    assert_eq!(ground.contents(), before);
}

#[test]
fn files_that_others_can_read_are_problems_with_the_command_to_run() {
    let ground = Ground::new();
    ground.ask();
    ground.chmod("q.db", 0o644);
    ground.chmod("q.db.keys", 0o640);
    let (code, findings) = ground.findings(&["--store", "q.db"]);
    assert_eq!(code, 1);
    findings.expect("store", "problem", "run `chmod 600 q.db`");
    findings.expect("keys", "problem", "run `chmod 600 q.db.keys`");
    ground.chmod("q.db", 0o600);
    ground.chmod("q.db.keys", 0o600);
    assert_eq!(ground.findings(&["--store", "q.db"]).0, 0);
}

#[test]
fn lost_keys_and_files_of_others_are_problems() {
    let ground = Ground::new();
    ground.ask();
    fs::remove_file(ground.path("q.db.keys")).unwrap();
    let (code, findings) = ground.findings(&["--store", "q.db"]);
    assert_eq!(code, 1);
    findings.expect("keys", "problem", "its keys are not at q.db.keys");
    ground.write("q.db.keys", "v1 c2VjcmV0\n", 0o600);
    let (_, findings) = ground.findings(&["--store", "q.db"]);
    findings.expect("keys", "problem", "q.db.keys contains no keys");
    ground.write("poem.txt", "Shall I compare thee\n", 0o600);
    let (_, findings) = ground.findings(&["--store", "poem.txt"]);
    findings.expect("store", "problem", "poem.txt is not an Entreat store");
}

#[test]
fn a_running_service_is_fine() {
    let ground = Ground::new();
    let service = Service::start(ground.0.path(), &["--store", "q.db"]);
    let args = ["--store", "q.db", "--listen", &service.address];
    let (code, findings) = ground.findings(&args);
    assert_eq!(code, 0, "{:?}", findings.0);
    findings.expect("in use", "ok", "another process is using the store");
    findings.expect("port", "ok", "an Entreat service already listens on");
    let args = ["--store", "other.db", "--listen", &service.address];
    let (code, findings) = ground.findings(&args);
    assert_eq!(code, 0);
    findings.expect("port", "warning", "with another store");
    assert_eq!(service.end().code, 0);
}

#[test]
fn the_service_that_agents_ask_through_is_tried_with_its_key() {
    let ground = Ground::new();
    let asker = format!("local_without_key = false\n[[asker]]\nname = 'agent'\nkey = '{KEY}'\n");
    ground.write("serve.toml", &asker, 0o600);
    let service = Service::start(
        ground.0.path(),
        &["--store", "memory", "--config", "serve.toml"],
    );
    let url = format!("http://{}", service.address);
    let key = ground.path("agent.key");
    let key = shown(&key);
    let settings = format!("service = '{url}'\nservice_key_file = '{key}'\n");
    fs::create_dir_all(ground.path(".config/entreat")).unwrap();
    ground.write(".config/entreat/entreat.toml", &settings, 0o600);

    let (code, findings) = ground.findings(&[]);
    assert_eq!(code, 1, "{:?}", findings.0);
    findings.expect("mcp", "problem", "cannot read the key in");
    findings.expect("mcp", "problem", "> correct the setting service_key_file");

    ground.write("agent.key", "not-the-key-of-anyone", 0o600);
    let (code, findings) = ground.findings(&[]);
    assert_eq!(code, 1, "{:?}", findings.0);
    findings.expect("mcp", "problem", "the key is missing or unknown");
    findings.expect(
        "mcp",
        "problem",
        "> write the key of one of its askers into",
    );

    ground.write("agent.key", &format!("{KEY}\n"), 0o600);
    let (code, findings) = ground.findings(&[]);
    assert_eq!(code, 0, "{:?}", findings.0);
    findings.expect("mcp", "ok", &format!("{url}/ answers"));

    assert_eq!(service.end().code, 0);
    let (code, findings) = ground.findings(&[]);
    assert_eq!(code, 1, "{:?}", findings.0);
    findings.expect("mcp", "problem", "no response from the service at");

    ground.write(".config/entreat/entreat.toml", "servce = 'x'\n", 0o600);
    let (code, findings) = ground.findings(&[]);
    assert_eq!(code, 1);
    findings.expect("mcp", "problem", "did you mean `service`?");
}

#[test]
fn a_port_of_another_program_is_a_problem_whatever_it_answers() {
    let ground = Ground::new();
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = holder.local_addr().unwrap().to_string();
    // The program that listens gives another response.
    let speaker = std::thread::spawn(move || {
        let (mut stream, _) = holder.accept().unwrap();
        let _ = stream.read(&mut [0; 1024]).unwrap();
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nup";
        stream.write_all(answer).unwrap();
        holder
    });
    let (code, findings) = ground.findings(&["--listen", &address]);
    assert_eq!(code, 1);
    findings.expect("port", "problem", "another program listens on");
    drop(speaker.join().unwrap());
    let (_, findings) = ground.findings(&["--listen", "192.0.2.1:80"]);
    findings.expect("port", "problem", "does not have the address 192.0.2.1");
}

#[test]
fn a_configuration_that_does_not_hold_is_the_finding() {
    let ground = Ground::new();
    ground.write("entreat.toml", "listn = 1\n", 0o600);
    let (code, findings) = ground.findings(&[]);
    assert_eq!((code, findings.0.len()), (1, 1));
    let words = "entreat.toml:1: there is no setting `listn`; did you mean `listen`?";
    findings.expect("configuration", "problem", words);
    ground.write("entreat.toml", "", 0o644);
    let run = ground.run(&["--json"], &[("ENTREAT_LISTN", "x")]);
    let findings = Findings::read(&run);
    findings.expect("configuration", "warning", "did you mean ENTREAT_LISTEN?");
}

#[test]
fn weak_settings_are_found() {
    let ground = Ground::new();
    let secret = format!("whsec_{}", "c2VjcmV0".repeat(5) + "c2VjcmV0cw==");
    let config = format!(
        "listen = '0.0.0.0:0'\nlocal_without_key = true\nretention = '30s'\n\
         public_url = 'http://ask.example.com'\n\
         [callbacks]\nsecret = '{secret}'\nloopback = true\n\
         [[asker]]\nname = 'robot'\nkey = '{KEY}'\n\
         [[asker]]\nname = 'night'\nkey_file = 'night.key'\n"
    );
    ground.write("entreat.toml", &config, 0o640);
    ground.write("night.key", &KEY.repeat(2), 0o644);
    let args = ["--store", "memory", "--listen", "0.0.0.0:0"];
    let (code, findings) = ground.findings(&args);
    assert_eq!(code, 1);
    let words = "which contains the key of night > run `chmod o= night.key`";
    findings.expect("secrets", "problem", words);
    findings.expect(
        "askers",
        "problem",
        "`local_without_key` is true on 0.0.0.0:0",
    );
    findings.expect("public url", "warning", "is not encrypted");
    findings.expect("callbacks", "warning", "remove `callbacks.loopback`");
    findings.expect("retention", "warning", "a minute or more");
    findings.expect("store", "ok", "in memory");
    let run = ground.run(&args, &[]);
    assert!(!run.stdout.contains(KEY) && !run.stdout.contains(&secret));

    ground.chmod("night.key", 0o600);
    ground.chmod("entreat.toml", 0o644);
    let (_, findings) = ground.findings(&args);
    let words = "entreat.toml, which contains the key of robot > run `chmod o= entreat.toml`";
    findings.expect("secrets", "problem", words);
}

#[test]
fn an_address_for_everybody_needs_a_key_and_a_public_url() {
    let ground = Ground::new();
    let (code, findings) = ground.findings(&["--listen", "0.0.0.0:0", "--store", "memory"]);
    assert_eq!(code, 1);
    findings.expect("askers", "problem", "add an [[asker]]");
    findings.expect("public url", "warning", "`public_url` is not set");
}

#[test]
fn every_form_that_does_not_load_is_named() {
    let ground = Ground::new();
    let forms = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/forms");
    let folder = ground.path("forms");
    fs::create_dir(&folder).unwrap();
    for name in ["greeting.json", "broken.json", "deploy.toml", "deploy.yaml"] {
        fs::copy(format!("{forms}/{name}"), folder.join(name)).unwrap();
    }
    let (code, findings) = ground.findings(&["--forms", shown(&folder)]);
    assert_eq!(code, 1);
    let broken: Vec<&str> = (findings.0.iter())
        .filter(|finding| finding["check"] == "forms" && finding["level"] == "problem")
        .map(|finding| finding["what"].as_str().unwrap())
        .collect();
    assert_eq!(broken.len(), 2, "{broken:?}");
    assert!(
        broken[0].starts_with("the form broken is invalid: "),
        "{broken:?}"
    );
    // Two files have this name.
    assert!(
        broken[1].starts_with("the form deploy is invalid: "),
        "{broken:?}"
    );
    let (code, findings) = ground.findings(&["--forms", "nowhere"]);
    assert_eq!(code, 1);
    findings.expect("forms", "problem", "nowhere cannot be read");
}

#[test]
fn a_clock_behind_the_store_is_warned_of() {
    let ground = Ground::new();
    ground.ask();
    let file = fs::File::options().append(true).open(ground.path("q.db"));
    let later = ground.path("q.db").metadata().unwrap().modified().unwrap();
    let later: SystemTime = later + Duration::from_secs(3600);
    file.unwrap().set_modified(later).unwrap();
    let (code, findings) = ground.findings(&["--store", "q.db"]);
    assert_eq!(code, 0);
    findings.expect("clock", "warning", "the store was last written at");
}

#[test]
fn few_open_files_are_warned_of() {
    let ground = Ground::new();
    let script = r#"ulimit -n 1000; exec "$0" doctor --json --store memory --listen 127.0.0.1:0"#;
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", script, env!("CARGO_BIN_EXE_entreat")])
        .env_clear()
        .current_dir(ground.0.path())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let run = finish(command, b"");
    assert_eq!(run.code, 0);
    let findings = Findings::read(&run);
    findings.expect("open files", "warning", "the limit is 1000 open files");
}

#[test]
fn wrong_usage_is_neither_a_finding_nor_a_success() {
    let run = Ground::new().run(&["--stoer", "q.db"], &[]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
}

#[test]
fn servers_that_cannot_be_started_and_rules_for_no_server_are_found() {
    let ground = Ground::new();
    ground.write("tool.sh", "#!/bin/sh\n", 0o644);
    let config = "[[upstream]]\nname = 'shell'\ncommand = ['sh', '-c', 'true']\n\n\
                  [[upstream]]\nname = 'gone'\ncommand = ['no-such-command-anywhere']\n\n\
                  [[upstream]]\nname = 'script'\ncommand = ['./tool.sh']\nfolder = '.'\n\n\
                  [[rule]]\naction = 'deny'\nserver = 'sh*'\n\n\
                  [[rule]]\naction = 'ask'\nserver = 'shel'\n";
    ground.write("entreat.toml", config, 0o600);
    let run = ground.run(&[], &[("PATH", "/usr/bin:/bin")]);
    assert_eq!(run.code, 1);
    for expected in [
        "gone: cannot start `no-such-command-anywhere`: there is no such command",
        "script: cannot start `./tool.sh`: the file is not executable",
        "`server = \"shel\"` matches no name of an [[upstream]]",
    ] {
        assert!(run.stdout.contains(expected), "{expected}\n{}", run.stdout);
    }
    assert!(!run.stdout.contains("sh*"), "{}", run.stdout);
}
