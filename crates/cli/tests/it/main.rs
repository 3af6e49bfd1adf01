//! Runs the real binary and checks its output and exit codes.

mod ask;
#[cfg(unix)]
mod attach;
#[cfg(unix)]
mod call;
#[cfg(target_os = "linux")]
mod churn;
mod completions;
mod config;
mod demo;
#[cfg(unix)]
mod doctor;
#[cfg(unix)]
mod documentation;
mod form;
#[cfg(unix)]
mod full;
#[cfg(unix)]
mod gateway;
#[cfg(unix)]
mod gateway_status;
#[path = "../support/heard.rs"]
mod heard;
mod help;
mod http;
#[cfg(unix)]
mod inline;
mod input;
mod killed;
#[cfg(unix)]
mod killed_gateway;
mod killed_pages;
mod mcp;
#[cfg(unix)]
mod operating;
#[cfg(unix)]
mod packaging;
#[cfg(unix)]
mod pages;
#[cfg(unix)]
mod read_me;
#[cfg(unix)]
mod remote;
mod rpc;
#[cfg(unix)]
mod screen;
#[cfg(unix)]
mod serve;
mod session;
mod setup;
#[cfg(unix)]
mod sign_in;
mod store;
#[cfg(unix)]
mod telemetry;
#[cfg(unix)]
mod terminal;
mod url_check;
mod wrap;
#[cfg(target_os = "linux")]
mod wrap_ends;

use std::io::Write;
use std::process::{Command, Stdio};

/// The result of a run of the binary.
#[derive(Debug)]
struct Run {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Run {
    /// The lines of stdout, each read as JSON.
    fn json_lines(&self) -> Vec<serde_json::Value> {
        self.stdout
            .lines()
            .map(|line| serde_json::from_str(line).expect("every line is JSON"))
            .collect()
    }
}

/// Runs the binary, which must refuse these arguments and say why.
#[cfg(unix)]
fn is_refused(args: &[&str], says: &str) {
    let run = entreat(args);
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (2, ""),
        "{args:?} {}",
        run.stderr
    );
    assert!(run.stderr.contains(says), "{args:?}: {}", run.stderr);
}

/// The binary, in the folder of the test forms, with an empty environment.
fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_entreat"));
    command
        .args(args)
        .env_clear()
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/forms"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn finish(mut command: Command, stdin: &[u8]) -> Run {
    let mut child = command.spawn().expect("the binary runs");
    let mut pipe = child.stdin.take().expect("stdin is a pipe");
    let stdin = stdin.to_vec();
    // A command that doesn't read stdin closes it; that is not an error.
    let writer = std::thread::spawn(move || drop(pipe.write_all(&stdin)));
    let output = child.wait_with_output().expect("the binary ends");
    writer.join().expect("writing does not panic");
    Run {
        code: output.status.code().expect("no signal ends the binary"),
        stdout: String::from_utf8(output.stdout).expect("stdout is text"),
        stderr: String::from_utf8(output.stderr).expect("stderr is text"),
    }
}

fn entreat(args: &[&str]) -> Run {
    finish(command(args), b"")
}

fn entreat_with(args: &[&str], stdin: impl AsRef<[u8]>) -> Run {
    finish(command(args), stdin.as_ref())
}
