//! Types every command of README.md in a shell, in a checkout.
//!
//! Only `cargo` is another one: it runs the binary that is built already. A block that shows output
//! must print it; the commands of the others must succeed.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::documentation::{blocks, file_name};
use crate::session::Session;

const README: &str = include_str!("../../../../README.md");
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// `cargo run` runs the binary; `cargo install` checks that the package has one, and links it.
const CARGO: &str = r#"#!/bin/sh
set -eu
case "$1 $2" in
"run --release")
    shift 2
    test "$1" = --
    shift
    exec "$BINARY" "$@" ;;
"install --path")
    grep -q '^\[\[bin\]\]' "$3/Cargo.toml"
    ln -s "$BINARY" "${0%/*}/entreat" ;;
*)
    echo "cargo $*: not in this test" >&2
    exit 1 ;;
esac
"#;

/// A checkout, a home folder, and a shell.
struct Reader {
    folder: tempfile::TempDir,
}

impl Reader {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let reader = Self { folder };
        for name in ["home", "bin", "checkout"] {
            fs::create_dir(reader.path(name)).expect("a folder");
        }
        for name in ["examples", "crates"] {
            let place = reader.path("checkout").join(name);
            symlink(Path::new(ROOT).join(name), place).expect("a link");
        }
        let cargo = reader.path("bin/cargo");
        fs::write(&cargo, CARGO).expect("a file");
        fs::set_permissions(cargo, fs::Permissions::from_mode(0o755)).expect("its own file");
        reader
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn shell(&self, script: &str) -> Command {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", script])
            .env_clear()
            .env("HOME", self.path("home"))
            .env(
                "PATH",
                format!("{}:/usr/bin:/bin", self.path("bin").display()),
            )
            .env("BINARY", env!("CARGO_BIN_EXE_entreat"))
            // Tests run side by side.
            .env("ENTREAT_LISTEN", "127.0.0.1:0")
            .current_dir(self.path("checkout"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        shell
    }

    /// Runs a command to its end. Returns what a terminal would show.
    fn run(&self, command: &str, line: usize) -> String {
        let shell = self.shell(&format!("{{ {command}\n}} 2>&1")).output();
        let output = shell.expect("there is a shell");
        let text = String::from_utf8(output.stdout).expect("output is text");
        assert!(
            output.status.success(),
            "`{command}`, near line {line}: {text}"
        );
        text
    }

    /// Runs a command until it shows an address, then ends it as Ctrl-C does. Returns the line
    /// with the address, with the port that it would have by default.
    fn run_until_it_listens(&self, command: &str) -> String {
        let session = Session::spawn(self.shell(&format!("exec {command}")));
        let line = session.line_with("http://127.0.0.1:");
        let pid = i32::try_from(session.child.id()).expect("ids are small");
        let pid = Pid::from_raw(pid).expect("ids are above 0");
        kill_process(pid, Signal::INT).expect("it runs");
        let run = session.wait();
        assert!([0, 130].contains(&run.code), "`{command}`: {}", run.stderr);
        let (before, port) = line.rsplit_once(':').expect("an address has a port");
        let rest = port.trim_start_matches(|c: char| c.is_ascii_digit());
        format!("{before}:7171{rest}\n")
    }
}

#[test]
fn every_command_of_the_read_me_runs_as_written() {
    let reader = Reader::new();
    let mut ran = Vec::new();
    for (line, info, text) in blocks(README) {
        if let Some(file) = file_name(info) {
            let file = reader.path("checkout").join(file);
            fs::write(file, &text).expect("a file of the page is written");
        }
        if info != "console" {
            continue;
        }
        let commands: Vec<_> = text
            .lines()
            .filter_map(|line| line.strip_prefix("$ "))
            .collect();
        let shows_output = commands.len() < text.lines().count();
        let mut printed = String::new();
        for command in commands {
            let mut words = command.split_whitespace();
            let keeps_running = words.any(|word| ["demo", "serve"].contains(&word));
            let output = if keeps_running {
                reader.run_until_it_listens(command)
            } else {
                reader.run(command, line)
            };
            printed.extend(["$ ", command, "\n", &output]);
            ran.push(command.to_owned());
        }
        if shows_output {
            assert_eq!(printed, text, "the session at line {line}");
        }
    }
    for part in [
        "cargo run",
        "cargo install",
        "entreat setup",
        "entreat ask",
        "entreat serve",
    ] {
        assert!(
            ran.iter()
                .any(|command| command.starts_with(part) || command.contains(part))
        );
    }
    // What was typed had its effect.
    let settings = fs::read_to_string(reader.path("home/.claude.json")).expect("it was set up");
    let installed = reader.path("bin/entreat");
    assert!(settings.contains(installed.to_str().expect("a path of text")));
}
