//! Other people's programs against a running service, and the examples in other languages.
//!
//! A service is started for each run. Whatever its examples ask is answered here, through the
//! control API: they are written for a person on the other side.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use crate::shell::{self, cargo, say};

/// What is needed besides Rust: a program, and the Debian package that has it.
const PROGRAMS: [(&str, &str); 6] = [
    ("curl", "curl"),
    ("python3", "python3"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("chromium", "chromium"),
    ("chromedriver", "chromium-driver"),
];

/// A font for the browser, which does not come with one.
const FONT: &str = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf";
const FONT_PACKAGE: &str = "fonts-dejavu-core";

/// Where the packages of npm are listed, and the programs that use them.
const SOURCES: &str = "crates/service/tests/peers";

/// Installs what is missing of other people's programs, a browser among them; where the packages
/// of npm are then.
pub(crate) fn prepare(root: &Path) -> Result<PathBuf> {
    for (program, package) in PROGRAMS {
        if !shell::works(Command::new(program).arg("--version")) {
            install_package(program, package)?;
        }
    }
    if !Path::new(FONT).exists() {
        install_package("a font", FONT_PACKAGE)?;
    }
    install(root)
}

pub(crate) fn run(root: &Path) -> Result<()> {
    let peers = prepare(root)?;
    // As the tests build it, so that it is there already.
    let build = ["build", "--workspace", "--all-features", "--bin", "entreat"];
    shell::run(&mut cargo(root, &build))?;
    let service = Service::start(root)?;
    let url = &service.url;

    let mut shell = Command::new("sh");
    shell.arg("examples/ask.sh").current_dir(root);
    answered(&mut shell, url, r#""result":{"target":"staging"}"#)?;
    let mut python = Command::new("python3");
    python.arg("examples/ask.py").current_dir(root);
    answered(&mut python, url, "deploying to staging")?;
    // From where its packages are found.
    let mut typescript = Command::new("node");
    typescript
        .args(["--import", "tsx"])
        .arg(root.join("examples/ask.ts"))
        .current_dir(&peers);
    answered(&mut typescript, url, "deploying to staging")?;

    for script in ["client.mjs", "openrpc.mjs"] {
        shell::run(Command::new("node").args([script, url]).current_dir(&peers))?;
    }
    Ok(())
}

/// Installs a Debian package, and says what for.
fn install_package(missing: &str, package: &str) -> Result<()> {
    say(&format!("{missing} is missing; installing {package}"));
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    shell::run(&mut apt(&["update"]))?;
    let install = ["install", "--yes", "--no-install-recommends", package];
    shell::run(&mut apt(&install))
}

/// Brings the packages of npm into the build folder, and the programs that use them beside.
fn install(root: &Path) -> Result<PathBuf> {
    let peers = root.join("target/peers");
    std::fs::create_dir_all(&peers)?;
    let mut is_new = !peers.join("node_modules").is_dir();
    for name in [
        "package.json",
        "package-lock.json",
        "client.mjs",
        "openrpc.mjs",
        "htmlvalidate.mjs",
    ] {
        let wanted = std::fs::read(root.join(SOURCES).join(name))
            .with_context(|| format!("cannot read {SOURCES}/{name}"))?;
        let place = peers.join(name);
        if std::fs::read(&place).ok().as_ref() != Some(&wanted) {
            std::fs::write(&place, &wanted)?;
            is_new |= name == "package-lock.json";
        }
    }
    if is_new {
        say("installing packages of npm into target/peers");
        let arguments = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
        shell::run(Command::new("npm").args(arguments).current_dir(&peers))?;
    }
    Ok(peers)
}

/// A service that runs, on a port of its own.
struct Service {
    child: Child,
    url: String,
}

impl Service {
    fn start(root: &Path) -> Result<Self> {
        let mut child = Command::new(root.join("target/debug/entreat"))
            .args(["serve", "--listen", "127.0.0.1:0", "--store", "memory"])
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start `entreat serve`")?;
        let stderr = child.stderr.take().context("its stderr is ours")?;
        let mut lines = BufReader::new(stderr).lines();
        let url = loop {
            match lines.next() {
                Some(line) => {
                    if let Some((_, url)) = line?.split_once("listening on ") {
                        break url.trim().to_owned();
                    }
                }
                None => bail!("`entreat serve` ended before it was ready"),
            }
        };
        // Read to the end, so that it never waits for us.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(Self { child, url })
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // Whether or not that works: the run is over.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs an example, answers what it asks, and compares what it prints.
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
    let stderr = child.stderr.take().context("its stderr is ours")?;
    BufReader::new(stderr).read_line(&mut asked)?;
    let Some(id) = asked.trim().strip_prefix("asked: ") else {
        child.kill()?;
        bail!("`{line}` asked nothing: {asked}");
    };
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

/// One call of the control API.
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
