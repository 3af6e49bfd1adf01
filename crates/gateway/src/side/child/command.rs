//! How a server is started.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use tokio::process::{Child as Process, Command};

use super::launch;
use crate::side::lines::MAX_MESSAGE;

/// Variables that begin like this are ours: they may hold keys, and the server has no use for them.
const OURS: &str = "ENTREAT_";

/// The command that starts a server.
#[derive(Clone)]
pub struct ChildCommand {
    /// The program, which is looked up as by a shell.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Variables in addition to this process's own, of which none that begins with `ENTREAT_` is
    /// inherited.
    pub environment: Vec<(OsString, OsString)>,
    /// Its working directory, if not this process's own.
    pub directory: Option<PathBuf>,
    /// Where its stderr goes, and what it writes to stdout that is no message.
    pub stderr: Stderr,
    /// The longest message that it may send, in bytes.
    pub max_message: usize,
    /// A program that is started instead, with [`LAUNCH`](super::LAUNCH), the id of this process,
    /// `--`, the program and its arguments, and calls
    /// [`exec_bound_to_parent`](super::exec_bound_to_parent) with them: the server then gets
    /// SIGTERM when this process dies. On Linux only; elsewhere, it is ignored.
    pub launcher: Option<PathBuf>,
}

/// Takes a log line of a server.
pub type LogLine = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// Where the log lines of a server go.
#[derive(Clone, Default)]
pub enum Stderr {
    /// To this process's own stderr.
    #[default]
    Inherit,
    /// To a function, line by line. It must not block.
    Lines(LogLine),
}

impl ChildCommand {
    /// A command without arguments and options.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            directory: None,
            stderr: Stderr::Inherit,
            max_message: MAX_MESSAGE,
            launcher: None,
        }
    }

    /// Adds an argument.
    pub fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    pub(super) fn spawn(&self) -> io::Result<Process> {
        let launcher = self.launcher.as_ref().filter(|_| cfg!(target_os = "linux"));
        let mut command = match launcher {
            Some(launcher) => {
                let mut command = Command::new(launcher);
                command.arg(launch::LAUNCH);
                command.arg(std::process::id().to_string());
                command.arg("--").arg(&self.program);
                command
            }
            None => Command::new(&self.program),
        };
        command
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(match self.stderr {
                Stderr::Inherit => Stdio::inherit(),
                Stderr::Lines(_) => Stdio::piped(),
            })
            .kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        for (name, _) in std::env::vars_os() {
            if is_ours(&name) {
                command.env_remove(name);
            }
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        if launcher.is_some() {
            launch::spawn_from_lasting_thread(command)
        } else {
            command.spawn()
        }
    }
}

fn is_ours(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.get(..OURS.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(OURS.as_bytes()))
}

impl Stderr {
    /// Writes a line.
    pub(super) fn write(&self, line: &[u8]) {
        match self {
            Self::Inherit => {
                // Nowhere is left to report an error to.
                let _ = io::stderr().lock().write_all(&[line, b"\n"].concat());
            }
            Self::Lines(sink) => sink(line),
        }
    }
}

impl fmt::Debug for ChildCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without arguments and variables, which may contain secrets.
        f.debug_struct("ChildCommand")
            .field("program", &self.program)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Stderr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Inherit => "Inherit",
            Self::Lines(_) => "Lines",
        })
    }
}
