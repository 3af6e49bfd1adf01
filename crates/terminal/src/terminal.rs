//! The one way to a person at a terminal, whichever way it looks.

use std::fmt;
use std::io::{self, IsTerminal as _, Write};

use tokio::sync::mpsc;

use crate::console::Talk;
use crate::full;
use crate::lines::Lines;
use crate::plain::{cards, desk};
use crate::question::{CardReply, Filled, Look, Mode, OpenedReply, TerminalQuestion, UrlCard};
use crate::safe_text::one_line;
use crate::wire::Wire;

/// The person's terminal: one per program. Decides nothing about validity.
///
/// Talks on stderr, since stdout is for data, and reads stdin. Everything here is cancel-safe:
/// dropping a future closes its prompt and gives the screen back as it was, and a line typed
/// after that belongs to the next prompt. Signals are the program's to handle, by dropping.
///
/// ```
/// use entreat_core::{Catalogue, Form};
/// use entreat_terminal::{Filled, TerminalQuestion, Terminal, Wire};
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let form = Form::from_value(&json!({"id": "f", "title": "Who are you?", "fields": [
///     {"id": "name", "type": "text", "label": "Name", "required": true},
/// ]}))?;
/// let question = TerminalQuestion::new(form, Catalogue::default().messages(["en"])).asker("door");
///
/// // A test brings the lines itself. The empty one is refused, since the name is required.
/// let (keyboard, lines) = tokio::sync::mpsc::channel(2);
/// for line in ["", "Ada"] {
///     keyboard.send(Ok(Some(line.to_owned()))).await?;
/// }
/// let mut terminal = Terminal::wired(lines, Vec::new());
/// let Filled::Answered(answers) = terminal.fill(&question, &mut Wire::none()).await? else {
///     panic!("not answered");
/// };
/// assert_eq!(answers["name"], "Ada");
/// # Ok(())
/// # }
/// ```
pub struct Terminal {
    look: Look,
    talk: Talk,
    lines: Lines,
    inputs: full::Inputs,
}

impl Terminal {
    /// Takes the terminal that the program was started in; nothing is changed before something is
    /// asked. Fails with [`io::ErrorKind::NotConnected`] when stdin or stderr is none.
    pub fn open(look: Look) -> io::Result<Self> {
        if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            return Err(io::Error::new(
                io::ErrorKind::NotConnected,
                "stdin or stderr is no terminal",
            ));
        }
        Ok(Self {
            look,
            talk: Talk::new(io::stderr(), true, look.unicode),
            lines: Lines::of_stdin(),
            inputs: full::Inputs::default(),
        })
    }

    /// Reads lines of answers from a stdin that is no terminal, and talks on stderr, plainly.
    pub fn piped(unicode: bool) -> Self {
        Self {
            look: plain(unicode),
            talk: Talk::new(io::stderr(), io::stdin().is_terminal(), unicode),
            lines: Lines::of_stdin(),
            inputs: full::Inputs::default(),
        }
    }

    /// Takes lines from a channel, for tests and other programs that stand for a person; `None`
    /// is the end of the input.
    pub fn wired(
        lines: mpsc::Receiver<io::Result<Option<String>>>,
        talk: impl Write + Send + 'static,
    ) -> Self {
        Self {
            look: plain(true),
            talk: Talk::new(talk, false, true),
            lines: Lines::brought(lines),
            inputs: full::Inputs::default(),
        }
    }

    /// Asks a form until it is answered, declined or left.
    ///
    /// Fails when the terminal does.
    pub async fn fill(
        &mut self,
        question: &TerminalQuestion,
        wire: &mut Wire,
    ) -> io::Result<Filled> {
        match self.look.mode {
            Mode::Full => full::fill(&mut self.inputs, self.look, question, wire).await,
            Mode::Plain => desk::fill(&mut self.talk, &mut self.lines, question, wire).await,
        }
    }

    /// Shows an address that a server wants to be opened, and asks whether it may be.
    ///
    /// Opens nothing. Fails when the terminal does.
    pub async fn card(&mut self, card: &UrlCard) -> io::Result<CardReply> {
        match self.look.mode {
            Mode::Full => full::card(&mut self.inputs, self.look, card).await,
            Mode::Plain => cards::card(&mut self.talk, &mut self.lines, card).await,
        }
    }

    /// Waits for the person who was sent to an address. To be dropped when it is known otherwise
    /// that everything there is done.
    pub async fn opened(&mut self, card: &UrlCard) -> io::Result<OpenedReply> {
        match self.look.mode {
            Mode::Full => full::opened(&mut self.inputs, self.look, card).await,
            Mode::Plain => cards::opened(&mut self.talk, &mut self.lines, card).await,
        }
    }

    /// Says one line in Entreat's voice between prompts.
    pub fn notice(&mut self, line: &str) -> io::Result<()> {
        self.talk.own(&one_line(line))
    }

    /// Whether there is nothing more to read.
    pub fn input_ended(&self) -> bool {
        self.lines.has_ended
    }

    /// Whether somebody is or was there: the input is a terminal, or has brought a line. Where it
    /// has ended and neither is so, nobody has decided anything.
    pub fn is_attended(&self) -> bool {
        self.talk.is_typed() || self.lines.has_read
    }
}

impl fmt::Debug for Terminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terminal")
            .field("look", &self.look)
            .finish_non_exhaustive()
    }
}

fn plain(unicode: bool) -> Look {
    Look {
        mode: Mode::Plain,
        colour: false,
        unicode,
    }
}
