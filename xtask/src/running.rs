//! Runs a server on a free port while it is being tested.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::shell;

/// A server that is ready. Dropping it kills it.
pub(crate) struct RunningServer {
    child: Child,
    pub(crate) url: String,
}

impl RunningServer {
    /// Starts a server and waits until it prints `listening on URL` on stderr.
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let line = shell::shown(command);
        let child = command
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start `{line}`"))?;
        let mut server = Self {
            child,
            url: String::new(),
        };
        let stderr = server.child.stderr.take().context("its stderr is ours")?;
        let mut lines = BufReader::new(stderr).lines();
        let mut output = String::new();
        while server.url.is_empty() {
            let Some(next) = lines.next() else {
                bail!("`{line}` ended before it was ready:\n{output}");
            };
            let next = next?;
            if let Some(url) = address(&next) {
                url.clone_into(&mut server.url);
            }
            output.push_str(&next);
            output.push('\n');
        }
        // Drain stderr, so that the server never blocks on it.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(server)
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        // Errors do not matter: the run is over.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn address(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("listening on ")?;
    rest.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_ready_when_it_says_where_it_listens() {
        let mut command = Command::new("sh");
        let script =
            "echo loading >&2; echo 'listening on http://127.0.0.1:1/mcp now' >&2; sleep 9";
        let server = RunningServer::start(command.args(["-c", script])).unwrap();
        assert_eq!(server.url, "http://127.0.0.1:1/mcp");
    }

    #[test]
    fn a_server_that_ends_early_is_an_error_with_its_last_words() {
        let mut command = Command::new("sh");
        let started = RunningServer::start(command.args(["-c", "echo the port is taken >&2"]));
        let error = started.map(drop).unwrap_err().to_string();
        assert!(error.ends_with("ended before it was ready:\nthe port is taken\n"));
    }
}
