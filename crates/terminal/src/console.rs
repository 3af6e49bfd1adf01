//! What prompts need of a terminal: to say a line, and to read one.
//!
//! Moves no cursor and knows no colours. Ends nothing either: an interrupt is the program's
//! to handle.

mod echo;
mod line;

use std::io::{self, IsTerminal as _, Write as _};

pub use echo::Restorer;

/// The width in columns where nobody knows better.
pub const DEFAULT_WIDTH: usize = 80;

/// Beyond this, lines of prose are hard to read.
const WIDEST: usize = 100;

/// Says and reads lines.
///
/// A line that cannot be read as text is an error of kind [`io::ErrorKind::InvalidData`];
/// the person is told and asked again. Any other error ends the dialogue.
pub trait Console {
    /// Says one line.
    fn say(&mut self, line: &str) -> io::Result<()>;

    /// Shows a prompt and reads one line, without its end; `None` when the input has ended.
    fn read_line(&mut self, prompt: &str) -> io::Result<Option<String>>;

    /// Does as [`read_line`](Self::read_line) does, without showing what is typed.
    fn read_secret(&mut self, prompt: &str) -> io::Result<Option<String>>;

    /// How many columns a line may take.
    fn width(&self) -> usize {
        DEFAULT_WIDTH
    }
}

/// The terminal that the program was started in: talks on stderr, since stdout is for data,
/// and reads stdin.
///
/// When stdin is a terminal, secrets are read without echo; otherwise they are lines like
/// all others. Echo comes back when the secret was read, also after a panic. A program that
/// ends by itself in the middle, on a signal or a deadline, must call
/// [`Restorer::restore`] first.
///
/// ```no_run
/// use entreat_terminal::{Console, StdConsole};
///
/// let mut console = StdConsole::new();
/// let restorer = console.restorer();
/// std::thread::spawn(move || {
///     // … wait for a signal …
///     restorer.restore();
///     std::process::exit(130);
/// });
/// let secret = console.read_secret("Pass phrase: ")?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct StdConsole {
    is_terminal: bool,
    restorer: Restorer,
}

impl StdConsole {
    /// Takes the terminal as it is; nothing is changed before a secret is asked for.
    pub fn new() -> Self {
        Self {
            is_terminal: io::stdin().is_terminal(),
            restorer: Restorer::default(),
        }
    }

    /// What another thread needs to give the terminal back.
    pub fn restorer(&self) -> Restorer {
        self.restorer.clone()
    }

    fn prompt(prompt: &str) -> io::Result<()> {
        let mut talk = io::stderr().lock();
        talk.write_all(prompt.as_bytes())?;
        talk.flush()
    }

    /// Reads a line and ends the prompt's line where the terminal has not.
    fn read(&self, echo: bool) -> io::Result<Option<String>> {
        let line = line::read(&mut io::stdin().lock());
        let is_ended = self.is_terminal && echo && !matches!(line, Ok(None));
        if !is_ended {
            Self::prompt("\n")?;
        }
        line
    }
}

impl Default for StdConsole {
    fn default() -> Self {
        Self::new()
    }
}

impl Console for StdConsole {
    fn say(&mut self, line: &str) -> io::Result<()> {
        let mut talk = io::stderr().lock();
        talk.write_all(line.as_bytes())?;
        talk.write_all(b"\n")
    }

    fn read_line(&mut self, prompt: &str) -> io::Result<Option<String>> {
        Self::prompt(prompt)?;
        self.read(true)
    }

    fn read_secret(&mut self, prompt: &str) -> io::Result<Option<String>> {
        if !self.is_terminal {
            return self.read_line(prompt);
        }
        // Before the prompt: whoever sees it may already type.
        let Some(_hidden) = self.restorer.hide()? else {
            return Ok(None);
        };
        Self::prompt(prompt)?;
        self.read(false)
    }

    fn width(&self) -> usize {
        echo::columns().map_or(DEFAULT_WIDTH, |columns| columns.min(WIDEST))
    }
}
