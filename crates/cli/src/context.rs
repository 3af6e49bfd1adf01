//! What a command is given besides its arguments, and what it gives back.

use std::fmt;
use std::io::{self, Read, Write};
use std::process::ExitCode;

use entreat::ElicitationId;

use crate::environment::Environment;

/// How a command ended. The greater of two is the one to report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// Everything is valid, clean or allowed.
    Clean = 0,
    /// The command did its work and found something: an invalid answer, a problem, a
    /// blocked URL.
    Found = 1,
    /// The command could not do its work.
    Trouble = 2,
    /// The person refused to answer.
    Declined = 3,
    /// The person left, or the question was cancelled otherwise.
    Cancelled = 4,
    /// Nobody answered in time.
    TimedOut = 5,
    /// The terminal was closed, as shells count signals: 128 and the signal's number.
    HungUp = 129,
    /// Somebody pressed Ctrl-C.
    Interrupted = 130,
    /// Somebody ended the program from outside.
    Terminated = 143,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// The world outside, as far as commands may see it.
pub(crate) struct Context {
    environment: Environment,
    stdin: Option<Box<dyn Read>>,
    talk: Box<dyn Write>,
}

impl Context {
    pub(crate) fn new(
        environment: Environment,
        stdin: impl Read + 'static,
        talk: impl Write + 'static,
    ) -> Self {
        Self {
            environment,
            stdin: Some(Box::new(stdin)),
            talk: Box::new(talk),
        }
    }

    /// What the environment says.
    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The languages that the environment asks for, best first.
    pub(crate) fn languages(&self) -> &[String] {
        &self.environment.languages
    }

    /// Takes standard input, which can be read once.
    pub(crate) fn stdin(&mut self) -> io::Result<Box<dyn Read>> {
        self.stdin
            .take()
            .ok_or_else(|| io::Error::other("it was read already"))
    }

    /// Tells the person at the terminal something that is not data.
    pub(crate) fn say(&mut self, words: fmt::Arguments<'_>) {
        // Nobody listens if this fails, so there is nobody to tell.
        let _ = writeln!(self.talk, "{words}");
    }

    /// Tells that an elicitation is not there.
    pub(crate) fn has_no(&mut self, id: ElicitationId) -> Exit {
        self.say(format_args!("entreat: there is no elicitation {id}"));
        Exit::Found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_outweighs_a_finding() {
        assert_eq!(Exit::Trouble.max(Exit::Found), Exit::Trouble);
        assert_eq!(Exit::Clean.max(Exit::Found), Exit::Found);
    }
}
