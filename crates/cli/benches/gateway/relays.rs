//! The processes of the benchmark: echo servers, Entreat, and the relays of others.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::message::Era;

/// The relays of others, where they are installed.
pub(crate) struct Rivals {
    /// A Python, and a script that serves a proxy of `FastMCP`.
    pub(crate) fastmcp: Option<(PathBuf, PathBuf)>,
    /// The program of the crate `mcp-proxy`.
    pub(crate) mcp_proxy: Option<PathBuf>,
}

impl Rivals {
    pub(crate) fn named_in(arguments: &[&str]) -> Self {
        let value = |name: &str| {
            let mut values = arguments.iter().filter_map(|it| it.strip_prefix(name));
            values.next()
        };
        let fastmcp = value("--fastmcp=").and_then(|it| it.split_once(','));
        Self {
            fastmcp: fastmcp.map(|(python, script)| (python.into(), script.into())),
            mcp_proxy: value("--mcp-proxy=").map(PathBuf::from),
        }
    }
}

/// This program in another role.
pub(crate) fn role(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(arguments);
    command
}

/// The command of an echo server over stdio, as words.
pub(crate) fn echo_words(era: Era) -> Vec<String> {
    let program = std::env::current_exe().unwrap();
    let program = program.to_str().unwrap().to_owned();
    vec![program, "--role=echo".to_owned(), era.name().to_owned()]
}

/// The least that a relay does, in front of an echo server.
pub(crate) fn pump(kind: &str) -> Command {
    let mut command = role(&["--role=pump", kind]);
    command.args(echo_words(Era::Legacy));
    command
}

/// Entreat, without what is configured on this machine.
pub(crate) fn entreat(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_entreat"));
    for name in [
        "HOME",
        "XDG_CONFIG_HOME",
        "XDG_STATE_HOME",
        "XDG_RUNTIME_DIR",
    ] {
        command.env(name, env!("CARGO_TARGET_TMPDIR"));
    }
    for name in ["DISPLAY", "WAYLAND_DISPLAY"] {
        command.env_remove(name);
    }
    command.args(arguments);
    command
}

/// `entreat wrap` in front of an echo server.
pub(crate) fn wrap(era: Era) -> Command {
    let mut command = entreat(&["wrap", "--store", "memory", "--"]);
    command.args(echo_words(era));
    command
}

/// A process with a port.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) port: u16,
    _folder: Option<TempDir>,
}

impl Server {
    /// A role of this program, which prints its port.
    pub(crate) fn role(arguments: &[&str]) -> Self {
        let mut child = role(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let output = child.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        Self {
            child,
            port: line.trim().parse().unwrap(),
            _folder: None,
        }
    }

    pub(crate) fn echo(era: Era) -> Self {
        Self::role(&["--role=web-echo", era.name()])
    }

    pub(crate) fn pump(kind: &str, echo: &Self) -> Self {
        Self::role(&["--role=web-pump", kind, &echo.port.to_string()])
    }

    /// `entreat gateway` in front of a server, with further lines of configuration.
    pub(crate) fn gateway(echo: &Self, more: &str) -> Self {
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let file = folder.path().join("entreat.toml");
        let port = echo.port;
        let config = format!(
            "listen = '127.0.0.1:0'\nstore = 'memory'\nhttp.connections_per_address = 20000\n\
             limits.requests_per_second = 'none'\n\
             [[upstream]]\nname = 'echo'\nurl = 'http://127.0.0.1:{port}/mcp'\n\
             questions_per_minute = 1000000\n{more}"
        );
        std::fs::write(&file, config).unwrap();
        let mut command = entreat(&["gateway", "--config"]);
        command
            .arg(&file)
            .stdin(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let errors = BufReader::new(child.stderr.take().unwrap());
        let mut lines = errors.lines().map_while(Result::ok);
        let port = lines.find_map(|line| {
            let url = line
                .strip_prefix("listening on http://127.0.0.1:")?
                .to_owned();
            url.strip_suffix("/mcp")?.parse().ok()
        });
        let port = port.expect("it says where it listens");
        std::thread::spawn(move || lines.for_each(drop));
        Self {
            child,
            port,
            _folder: Some(folder),
        }
    }

    /// The proxy of `FastMCP` in front of a server.
    pub(crate) fn fastmcp((python, script): &(PathBuf, PathBuf), echo: &Self) -> Self {
        let (port, upstream) = (free_port(), echo.port);
        let mut command = Command::new(python);
        command.arg(script).args(["http", &port.to_string()]);
        command.arg(format!("http://127.0.0.1:{upstream}/mcp"));
        Self::on(port, &mut command, None)
    }

    /// The program of the crate `mcp-proxy` in front of a server. Tools are called `echo/NAME` there.
    pub(crate) fn mcp_proxy(program: &Path, echo: &Self) -> Self {
        let (port, upstream) = (free_port(), echo.port);
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let file = folder.path().join("proxy.toml");
        let config = format!(
            "[proxy]\nname = 'proxy'\n[proxy.listen]\nhost = '127.0.0.1'\nport = {port}\n\
             [[backends]]\nname = 'echo'\ntransport = 'http'\n\
             url = 'http://127.0.0.1:{upstream}/mcp'\n"
        );
        std::fs::write(&file, config).unwrap();
        let mut command = Command::new(program);
        command.arg("--config").arg(&file);
        Self::on(port, &mut command, Some(folder))
    }

    /// A program that listens on a port, and does not say since when.
    fn on(port: u16, command: &mut Command, folder: Option<TempDir>) -> Self {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = command.spawn().unwrap();
        let server = Self {
            child,
            port,
            _folder: folder,
        };
        for _ in 0..600 {
            if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return server;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("it does not listen");
    }
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
