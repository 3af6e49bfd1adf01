//! An interactive run of the binary, line by line.

use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, Command};
use std::thread::JoinHandle;

use crate::heard::Heard;
use crate::{Run, command};

impl Heard {
    /// Waits until these words have appeared this many times.
    pub(crate) fn wait_for(&self, words: &str, times: usize) {
        let came = self.until(|all| (all.matches(words).count() >= times).then_some(()));
        assert!(came.is_some(), "no `{words}` in:\n{}", self.text());
    }
}

/// A running process; killed when dropped.
pub(crate) struct Session {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    stderr: Heard,
    listener: Option<JoinHandle<()>>,
}

impl Session {
    pub(crate) fn start(args: &[&str]) -> Self {
        Self::spawn(command(args))
    }

    pub(crate) fn spawn(mut command: Command) -> Self {
        let mut child = command.spawn().expect("the binary runs");
        let stderr = Heard::default();
        Self {
            listener: Some(stderr.listen(child.stderr.take().expect("stderr is a pipe"))),
            stdin: child.stdin.take(),
            stderr,
            child,
        }
    }

    /// Waits until stderr has these words.
    pub(crate) fn wait_for(&self, words: &str) {
        self.stderr.wait_for(words, 1);
    }

    /// The complete line of stderr that contains these words.
    pub(crate) fn line_with(&self, words: &str) -> String {
        self.stderr.line_with(words)
    }

    /// Closes stdin.
    pub(crate) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    pub(crate) fn type_line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        writeln!(stdin, "{line}").expect("the binary reads");
    }

    /// Waits for the exit, with stdin open.
    pub(crate) fn wait(mut self) -> Run {
        let mut stdout = String::new();
        if let Some(mut pipe) = self.child.stdout.take() {
            let read = pipe.read_to_string(&mut stdout);
            read.expect("stdout is text");
        }
        let status = self.child.wait().expect("the binary ends");
        let listener = self.listener.take().expect("nobody waited before");
        listener.join().expect("listening does not panic");
        Run {
            code: status.code().expect("no signal ends the binary"),
            stdout,
            stderr: self.stderr.text(),
        }
    }

    /// Kills the process.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("the binary was running");
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A failed test leaves no process behind; killing one that has exited is not an error.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
