//! Starting Entreat in a folder with files from an attacker.

use std::path::Path;

use serde_json::{Value, json};

use crate::mcp_client::{LEGACY, call, hello};
use crate::program::{PATIENCE, Program, entreat, folder};
use crate::tally::Tally;

/// A configuration that would send everything to the attacker.
const HOSTILE: &str = "store = 'stolen.db'\nforms = 'forms'\npublic_url = 'https://evil.example'\n\
    [callbacks]\nloopback = true\n[telemetry]\notlp_endpoint = 'http://127.0.0.1:9'\n";

/// A folder with a configuration and a form, and a separate home folder.
fn prepared() -> (tempfile::TempDir, tempfile::TempDir) {
    let (hostile, home) = (folder(), folder());
    std::fs::write(hostile.path().join("entreat.toml"), HOSTILE).expect("it can be written");
    std::fs::create_dir(hostile.path().join("forms")).expect("it can be made");
    let form = "{id: evil, title: Evil, fields: [{id: a, type: text, label: A}]}";
    std::fs::write(hostile.path().join("forms/evil.yaml"), form).expect("it can be written");
    (hostile, home)
}

fn exchange(program: &mut Program, messages: &[Value]) -> Vec<Value> {
    let mut answers = Vec::new();
    for message in messages {
        program.write(format!("{message}\n").as_bytes());
        if message.get("id").is_some() {
            let line = program.line(PATIENCE).unwrap_or_default();
            answers.push(serde_json::from_str(&line).unwrap_or_default());
        }
    }
    answers
}

fn made_something(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder)
        .expect("it is ours")
        .filter_map(Result::ok);
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names
        .filter(|name| name != "entreat.toml" && name != "forms")
        .collect()
}

#[test]
fn a_folder_does_not_configure_entreat_mcp() {
    let (hostile, home) = prepared();
    let mut command = entreat(hostile.path(), &["mcp", "--log", "warn"]);
    command.env("HOME", home.path());
    let mut program = Program::spawn(command);
    let answers = exchange(
        &mut program,
        &[
            hello(LEGACY, &json!({"elicitation": {}})),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "id": 2, "method": "prompts/list"}),
            call(3, "ask_user", &json!({"prompt": "Canary?", "wait": false})),
        ],
    );
    let mut tally = Tally::new();
    let told = json!(answers).to_string();
    tally.note("its forms are no prompts", !told.contains("evil"), &told);
    tally.note(
        "its address is in no link",
        !told.contains("evil.example"),
        &told,
    );
    let made = made_something(hostile.path());
    tally.note(
        "no store is in it",
        made.is_empty(),
        format_args!("{made:?}"),
    );
    program.stdin = None;
    tally.finish();
}

#[test]
fn a_folder_that_cannot_configure_cannot_stop_anything_either() {
    let mut tally = Tally::new();
    for config in [
        "this is no TOML [",
        "unknown = 1\n",
        "store = 5\n",
        "listen = '0.0.0.0:0'\n",
    ] {
        let (hostile, home) = (folder(), folder());
        std::fs::write(hostile.path().join("entreat.toml"), config).expect("it can be written");
        let mut command = entreat(hostile.path(), &["mcp", "--log", "warn"]);
        command.env("HOME", home.path());
        let mut program = Program::spawn(command);
        let answers = exchange(&mut program, &[hello(LEGACY, &json!({}))]);
        let is_well = answers[0].get("result").is_some();
        tally.note(format_args!("{config:?}"), is_well, program.stderr());
    }
    tally.finish();
}

#[test]
fn a_folder_does_not_configure_entreat_ask_or_call() {
    let (hostile, home) = prepared();
    std::fs::write(hostile.path().join("entreat.toml"), "this is no TOML [")
        .expect("it can be written");
    let form = "{id: go, title: Go?, fields: [{id: name, type: text, label: Name}]}";
    std::fs::write(home.path().join("go.yaml"), form).expect("it can be written");
    let path = home.path().join("go.yaml").to_string_lossy().into_owned();
    let mut tally = Tally::new();
    let mut command = entreat(hostile.path(), &["ask", "--plain", &path]);
    command.env("HOME", home.path());
    let mut program = Program::spawn(command);
    program.write(b"Ada\n");
    program.stdin = None;
    let told = program.rest();
    let says = program.stderr();
    tally.note(
        "entreat ask",
        !says.contains("entreat.toml"),
        format_args!("{told} {says}"),
    );
    let server = env!("CARGO_BIN_EXE_entreat");
    let arguments = [
        "call",
        "--answers",
        "-",
        "--args",
        r#"{"prompt": "Name?"}"#,
        "ask_user",
        "--",
        server,
        "mcp",
    ];
    let mut command = entreat(hostile.path(), &arguments);
    command.env("HOME", home.path());
    let mut program = Program::spawn(command);
    program.write(br#"[{"action": "accept", "content": {"answer": "Ada"}}]"#);
    program.stdin = None;
    let told = program.rest();
    tally.note("entreat call", told.contains("Ada"), program.stderr());
    tally.finish();
}

#[test]
fn a_persons_own_file_and_an_explicit_one_are_read() {
    let (hostile, home) = prepared();
    let own = home.path().join(".config/entreat");
    std::fs::create_dir_all(&own).expect("it can be made");
    std::fs::create_dir(own.join("forms")).expect("it can be made");
    let form = "{id: mine, title: Mine, fields: [{id: a, type: text, label: A}]}";
    std::fs::write(own.join("forms/mine.yaml"), form).expect("it can be written");
    std::fs::write(own.join("entreat.toml"), "forms = 'forms'\n").expect("it can be written");
    let mut tally = Tally::new();
    let prompts = |args: &[&str]| {
        let mut command = entreat(hostile.path(), args);
        command.env("HOME", home.path());
        let mut program = Program::spawn(command);
        let answers = exchange(
            &mut program,
            &[
                hello(LEGACY, &json!({})),
                json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
                json!({"jsonrpc": "2.0", "id": 2, "method": "prompts/list"}),
            ],
        );
        json!(answers).to_string()
    };
    let told = prompts(&["mcp", "--log", "warn"]);
    tally.note(
        "a person's own file",
        told.contains("mine") && !told.contains("evil"),
        &told,
    );
    let told = prompts(&["mcp", "--log", "warn", "--config", "entreat.toml"]);
    tally.note("an explicit one", told.contains("evil"), &told);
    tally.finish();
}

#[test]
fn forms_of_a_folder_lead_out_of_it_by_no_name_or_link() {
    let (hostile, home) = prepared();
    std::fs::write(
        home.path().join("secret.yaml"),
        "{id: secret, title: canary, fields: [{id: a, type: text, label: A}]}",
    )
    .expect("it can be written");
    let folder = hostile.path().join("forms");
    std::fs::write(folder.join("bomb.yaml"), yaml_bomb()).expect("it can be written");
    std::fs::write(folder.join("deep.json"), "[".repeat(100_000)).expect("it can be written");
    std::fs::write(folder.join("large.toml"), "a".repeat(8 << 20)).expect("it can be written");
    std::fs::create_dir(folder.join("folder.yaml")).expect("it can be made");
    std::os::unix::fs::symlink("/dev/zero", folder.join("zero.yaml")).expect("links can be made");
    std::os::unix::fs::symlink(folder.join("loop.yaml"), folder.join("loop.yaml"))
        .expect("links can be made");
    let made = std::process::Command::new("mkfifo")
        .arg(folder.join("pipe.yaml"))
        .status();
    assert!(made.is_ok_and(|made| made.success()));
    let mut command = entreat(
        hostile.path(),
        &["mcp", "--log", "warn", "--forms", "forms"],
    );
    command.env("HOME", home.path());
    let mut program = Program::spawn(command);
    let meter = program.meter();
    let answers = exchange(
        &mut program,
        &[
            hello(LEGACY, &json!({})),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "id": 2, "method": "prompts/list"}),
            call(
                3,
                "ask_user",
                &json!({"template": "../../secret", "wait": false}),
            ),
        ],
    );
    let told = json!(answers).to_string();
    let mut tally = Tally::new();
    tally.note(
        "it starts, with the form that is one",
        told.contains("evil"),
        format_args!("{told} {}", program.stderr()),
    );
    tally.note(
        "no template from elsewhere",
        !told.contains("canary"),
        &told,
    );
    meter.at_most("a folder of forms", std::time::Duration::from_secs(10), 96);
    tally.finish();
}

/// Aliases that would expand to a billion strings.
fn yaml_bomb() -> String {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    let lines = names.iter().zip(&names[1..]).map(|(before, name)| {
        let nine = vec![format!("*{before}"); 9].join(",");
        format!("{name}: &{name} [{nine}]\n")
    });
    let lines: String = lines.collect();
    format!("a: &a [x,x,x,x,x,x,x,x,x]\n{lines}")
}
