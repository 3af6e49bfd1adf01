//! The context that commands run in, and their exit codes.

use std::fmt;
use std::io::{self, Read, Write};
use std::process::ExitCode;

use entreat::ElicitationId;

use crate::environment::Environment;

/// The exit code of a command. Of two, the greater is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Everything is valid, clean or allowed.
    Success = 0,
    /// The command succeeded and has findings: an invalid answer, a problem, a blocked URL, a no.
    Findings = 1,
    /// The command failed.
    Error = 2,
    /// The person declined to answer.
    Declined = 3,
    /// The person cancelled, or the question was cancelled another way.
    Cancelled = 4,
    /// Nobody answered in time.
    TimedOut = 5,
    /// SIGHUP, as shells number signals: 128 plus the signal.
    HungUp = 129,
    /// SIGINT, from Ctrl-C.
    Interrupted = 130,
    /// SIGTERM.
    Terminated = 143,
    /// The exit code of the server that `entreat wrap` stands in front of.
    OfServer(u8) = 144,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Success => 0,
            Exit::Findings => 1,
            Exit::Error => 2,
            Exit::Declined => 3,
            Exit::Cancelled => 4,
            Exit::TimedOut => 5,
            Exit::HungUp => 129,
            Exit::Interrupted => 130,
            Exit::Terminated => 143,
            Exit::OfServer(code) => code,
        })
    }
}

/// The environment, stdin and stderr, as commands may use them.
pub(crate) struct Context {
    environment: Environment,
    stdin: Option<Box<dyn Read>>,
    stderr: Box<dyn Write>,
}

impl Context {
    pub(crate) fn new(
        environment: Environment,
        stdin: impl Read + 'static,
        stderr: impl Write + 'static,
    ) -> Self {
        Self {
            environment,
            stdin: Some(Box::new(stdin)),
            stderr: Box::new(stderr),
        }
    }

    /// Returns the environment.
    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Returns the person's preferred languages, best first.
    pub(crate) fn languages(&self) -> &[String] {
        &self.environment.languages
    }

    /// Takes standard input, which can be read once.
    pub(crate) fn stdin(&mut self) -> io::Result<Box<dyn Read>> {
        self.stdin
            .take()
            .ok_or_else(|| io::Error::other("it was already read"))
    }

    /// Writes a message to stderr.
    pub(crate) fn say(&mut self, words: fmt::Arguments<'_>) {
        // If stderr is closed, there is no place to report it.
        let _ = writeln!(self.stderr, "{words}");
    }

    /// Reports that an elicitation does not exist.
    pub(crate) fn report_missing(&mut self, id: ElicitationId) -> Exit {
        self.say(format_args!("entreat: there is no question {id}"));
        Exit::Findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_outweighs_a_finding() {
        assert_eq!(Exit::Error.max(Exit::Findings), Exit::Error);
        assert_eq!(Exit::Success.max(Exit::Findings), Exit::Findings);
    }
}
