//! `entreat mcp`: an agent asks its user.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::session::Session;
use crate::{Run, command, finish};

#[test]
fn an_agent_asks_on_stdio_and_stdout_holds_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let form = "{id: go, title: Go?, fields: [{id: sure, type: boolean, label: Sure}]}";
    std::fs::write(folder.path().join("go.yaml"), form).unwrap();
    let forms = folder.path().to_str().unwrap();
    let mut session = Session::spawn(command(&["mcp", "--forms", forms, "--log", "trace"]));
    let stdout = session.child.stdout.take().expect("stdout is a pipe");
    let mut lines = BufReader::new(stdout).lines();
    let mut next = || -> Value {
        let line = lines.next().expect("there is an answer").unwrap();
        serde_json::from_str(&line).expect("messages are JSON")
    };
    let request = |id: u64, method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
    };
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "agent", "version": "1"}});
    session.type_line(&request(1, "initialize", hello));
    assert_eq!(next()["result"]["serverInfo"]["name"], "entreat");
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    session.type_line(&initialized.to_string());

    session.type_line(&request(2, "prompts/list", json!({})));
    assert_eq!(next()["result"]["prompts"][0]["name"], "go");
    let call = json!({"name": "ask_user", "arguments": {"prompt": "Canary?"}});
    session.type_line(&request(3, "tools/call", call));
    let asked = next();
    assert_eq!(asked["method"], "elicitation/create");
    assert_eq!(asked["params"]["message"], "Canary?");
    let answer = json!({"action": "accept", "content": {"answer": "canary-4412"}});
    let reply = json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer});
    session.type_line(&reply.to_string());
    let answers = json!({"status": "completed", "answers": {"answer": "canary-4412"}});
    assert_eq!(next()["result"]["structuredContent"], answers);
    session.close_stdin();
    assert!(lines.next().is_none());
    let run = session.wait();
    assert_eq!(run.code, 0, "{}", run.stderr);
    // The SDK would have logged complete messages.
    assert!(!run.stderr.contains("canary-4412"), "{}", run.stderr);
}

fn mcp(folder: &Path, args: &[&str], environment: &[(&str, &Path)]) -> Command {
    let mut command = command(&[&["mcp"], args].concat());
    command.current_dir(folder);
    command.envs(environment.iter().copied());
    command
}

/// Runs the server in a folder and lists its prompts.
fn prompts(folder: &Path, args: &[&str], environment: &[(&str, &Path)]) -> (Run, Vec<String>) {
    let mut session = Session::spawn(mcp(folder, args, environment));
    let stdout = session.child.stdout.take().expect("stdout is a pipe");
    let mut lines = BufReader::new(stdout).lines();
    let mut next = || -> Value {
        let line = lines.next().expect("there is an answer");
        let line = line.expect("answers are text");
        serde_json::from_str(&line).expect("messages are JSON")
    };
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "agent", "version": "1"}});
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello});
    session.type_line(&hello.to_string());
    next();
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    session.type_line(&initialized.to_string());
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "prompts/list", "params": {}});
    session.type_line(&list.to_string());
    let listed = next()["result"]["prompts"].take();
    let names = listed.as_array().expect("it lists them").iter();
    let names = names.map(|prompt| prompt["name"].as_str().expect("a name").to_owned());
    let names = names.collect();
    session.close_stdin();
    (session.wait(), names)
}

const FORM: &str = "{id: go, title: Go?, fields: [{id: sure, type: boolean, label: Sure}]}";

/// A folder whose file names a store and a folder of forms in it.
fn configured(folder: &Path, form: &str) {
    std::fs::create_dir_all(folder.join("forms")).expect("it can be made");
    std::fs::write(folder.join("forms").join(form), FORM).expect("it can be written");
    let config = "store = 'loot.db'\nforms = 'forms'\n";
    std::fs::write(folder.join("entreat.toml"), config).expect("it can be written");
}

#[test]
fn a_folder_that_others_wrote_configures_nothing() {
    let (home, hostile) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    configured(hostile.path(), "evil.yaml");
    let (run, names) = prompts(hostile.path(), &[], &[("HOME", home.path())]);
    assert_eq!((run.code, names.len()), (0, 0), "{}", run.stderr);
    assert!(!hostile.path().join("loot.db").exists());
    let told = "ignoring entreat.toml in this folder, because it may be untrusted";
    assert_eq!(run.stderr.matches(told).count(), 1, "{}", run.stderr);
    assert!(
        run.stderr.contains("--config entreat.toml"),
        "{}",
        run.stderr
    );

    // A flag trusts the folder explicitly.
    let by_flag = ["--config", "entreat.toml"];
    let (run, names) = prompts(hostile.path(), &by_flag, &[("HOME", home.path())]);
    assert_eq!(names, ["evil"], "{}", run.stderr);
    assert!(
        !run.stderr.contains("ignoring entreat.toml"),
        "{}",
        run.stderr
    );
    assert!(hostile.path().join("loot.db").exists());

    // Even an invalid file doesn't keep the server from starting.
    std::fs::write(hostile.path().join("entreat.toml"), "listn = 1").unwrap();
    let (run, _) = prompts(hostile.path(), &[], &[("HOME", home.path())]);
    assert_eq!(run.code, 0, "{}", run.stderr);

    // A variable applies in every folder, so it must not name a file relative to one.
    let relative = [("ENTREAT_CONFIG", Path::new("entreat.toml"))];
    let run = finish(mcp(hostile.path(), &[], &relative), b"");
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(
        run.stderr.contains("use an absolute path"),
        "{}",
        run.stderr
    );
}

#[test]
fn the_person_configures_it_in_a_file_of_their_own() {
    let (home, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let own = home.path().join(".config/entreat");
    configured(&own, "mine.yaml");
    let (run, names) = prompts(other.path(), &[], &[("HOME", home.path())]);
    assert_eq!(names, ["mine"], "{}", run.stderr);
    assert!(own.join("loot.db").exists());
    // The user's configuration folder; a relative path is ignored.
    let config = home.path().join(".config");
    for (folder, expected) in [
        (config.as_path(), &["mine"][..]),
        (Path::new(".config"), &[]),
    ] {
        let (run, names) = prompts(other.path(), &[], &[("XDG_CONFIG_HOME", folder)]);
        assert_eq!(names, expected, "{}", run.stderr);
    }
    let own_file = own.join("entreat.toml");
    let (run, names) = prompts(other.path(), &[], &[("ENTREAT_CONFIG", own_file.as_path())]);
    assert_eq!(names, ["mine"], "{}", run.stderr);
}

#[test]
fn what_holds_for_it_can_be_printed() {
    let (home, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    configured(&home.path().join(".config/entreat"), "mine.yaml");
    configured(other.path(), "evil.yaml");
    let printed = |args: &[&str]| {
        let mut command = command(&[&["config"], args].concat());
        command.current_dir(other.path()).env("HOME", home.path());
        let run = finish(command, b"");
        assert_eq!(run.code, 0, "{}", run.stderr);
        run.stdout
    };
    assert!(printed(&[]).starts_with("# configuration file: entreat.toml\n"));
    let own = home.path().join(".config/entreat/entreat.toml");
    let expected = format!("# configuration file: {}\n", own.display());
    assert!(printed(&["--for", "mcp"]).starts_with(&expected));
}

#[test]
fn asking_at_the_terminal_reads_no_file_of_the_folder() {
    let hostile = tempfile::tempdir().unwrap();
    configured(hostile.path(), "evil.yaml");
    let mut command = command(&["ask", "--prompt", "Name?", "--plain"]);
    command
        .current_dir(hostile.path())
        .env("HOME", hostile.path());
    let run = finish(command, b"Ada\n");
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (0, "Ada\n"),
        "{}",
        run.stderr
    );
    assert!(!hostile.path().join("loot.db").exists());
}
