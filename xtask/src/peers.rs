//! Third-party programs against a running service, and the examples in other languages.
//!
//! A service is started for each run. The examples expect a person to answer, so their questions
//! are answered here through the control API.

mod install;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use crate::running::RunningServer;
use crate::shell::{self, say};

pub(crate) use install::{Peers, debian_program, prepare};

pub(crate) fn run(root: &Path) -> Result<()> {
    let peers = prepare(root)?;
    let mut serve = Command::new(shell::build(root)?.join("entreat"));
    serve.args(["serve", "--listen", "127.0.0.1:0", "--store", "memory"]);
    let service = RunningServer::start(&mut serve)?;
    let url = &service.url;

    let mut shell = Command::new("sh");
    shell.arg("examples/ask.sh").current_dir(root);
    answered(&mut shell, url, r#""result":{"target":"staging"}"#)?;
    let mut python = Command::new("python3");
    python.arg("examples/ask.py").current_dir(root);
    answered(&mut python, url, "deploying to staging")?;
    // In the folder where its packages are found.
    let mut typescript = Command::new("node");
    typescript
        .args(["--import", "tsx"])
        .arg(root.join("examples/ask.ts"))
        .current_dir(peers.folder());
    answered(&mut typescript, url, "deploying to staging")?;

    for script in ["client.mjs", "openrpc.mjs"] {
        let mut node = Command::new("node");
        shell::run(node.args([script, url]).current_dir(peers.folder()))?;
    }
    Ok(())
}

/// Runs an example, answers its question, and checks its output.
fn answered(command: &mut Command, url: &str, expected: &str) -> Result<()> {
    let line = shell::shown(command);
    say(&format!("$ {line} {url}"));
    let mut child = command
        .arg(url)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start `{line}`"))?;
    let mut asked = String::new();
    let mut told = String::new();
    let stderr = child.stderr.take().context("its stderr is ours")?;
    let mut stderr = BufReader::new(stderr);
    stderr.read_line(&mut asked)?;
    stderr.read_line(&mut told)?;
    let Some(id) = asked.trim().strip_prefix("asked: ") else {
        child.kill()?;
        bail!("`{line}` asked nothing: {asked}");
    };
    ensure!(
        told.contains(": http://"),
        "`{line}` printed no link: {told}"
    );
    let responses = json!({"target": "staging"});
    let params = json!({"elicitationId": id, "responses": responses});
    let submitted = call(url, "elicitation/submit", &params)?;
    ensure!(submitted["result"]["status"] == "completed", "{submitted}");
    let output = child.wait_with_output()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    ensure!(
        output.status.success(),
        "`{line}` ended with {}",
        output.status
    );
    ensure!(printed.contains(expected), "`{line}` printed {printed}");
    Ok(())
}

/// Calls a method of the control API.
fn call(url: &str, method: &str, params: &Value) -> Result<Value> {
    let address = url.strip_prefix("http://").context("the URL is of HTTP")?;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let mut stream = TcpStream::connect(address)?;
    write!(
        stream,
        "POST /rpc HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let body = answer.split("\r\n\r\n").nth(1).unwrap_or_default();
    serde_json::from_str(body).with_context(|| format!("not JSON: {answer}"))
}
