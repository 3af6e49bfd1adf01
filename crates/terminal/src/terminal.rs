//! The entry point of the crate: one API over both terminal modes.

use std::fmt;
use std::io::{self, IsTerminal as _, Write};

use entreat_core::Messages;
use tokio::sync::mpsc;

use crate::channel::PromptChannel;
use crate::console::Output;
use crate::full;
use crate::lines::LineReader;
use crate::plain::{cards, session};
use crate::question::{
    CardReply, FormReply, Mode, OpenedReply, TerminalQuestion, TerminalStyle, UrlCard,
};
use crate::safe_text::one_line;
use crate::texts::Texts;

/// The person's terminal; create one per program.
///
/// Writes to stderr, since stdout is for data, and reads stdin. All methods are cancel-safe:
/// dropping a future closes its prompt and restores the screen, and a line typed after that goes to
/// the next prompt. The program handles signals itself, by dropping the future.
///
/// ```
/// use entreat_core::{Catalogue, Form};
/// use entreat_terminal::{FormReply, TerminalQuestion, Terminal, PromptChannel};
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let form = Form::from_value(&json!({"id": "f", "title": "Who are you?", "fields": [
///     {"id": "name", "type": "text", "label": "Name", "required": true},
/// ]}))?;
/// let question = TerminalQuestion::new(form, Catalogue::default().messages(["en"])).asker("door");
///
/// // A test supplies the lines. The empty one is rejected, since the name is required.
/// let (keyboard, lines) = tokio::sync::mpsc::channel(2);
/// for line in ["", "Ada"] {
///     keyboard.send(Ok(Some(line.to_owned()))).await?;
/// }
/// let mut terminal = Terminal::from_lines(lines, Vec::new());
/// let FormReply::Answered(answers) = terminal.fill(&question, &mut PromptChannel::disconnected()).await? else {
///     panic!("not answered");
/// };
/// assert_eq!(answers["name"], "Ada");
/// # Ok(())
/// # }
/// ```
pub struct Terminal {
    style: TerminalStyle,
    output: Output,
    lines: LineReader,
    inputs: full::Inputs,
    /// The texts around URLs; questions bring their own language.
    texts: &'static Texts,
}

impl Terminal {
    /// Uses the terminal that the program was started in. Terminal settings stay untouched until
    /// the first question.
    ///
    /// Fails with [`io::ErrorKind::NotConnected`] when stdin or stderr is not a terminal.
    pub fn open(style: TerminalStyle) -> io::Result<Self> {
        if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            return Err(io::Error::new(
                io::ErrorKind::NotConnected,
                "stdin or stderr is not a terminal",
            ));
        }
        Ok(Self {
            style,
            output: Output::new(io::stderr(), true, style.unicode),
            lines: LineReader::stdin(),
            inputs: full::Inputs::default(),
            texts: Texts::ENGLISH,
        })
    }

    /// Reads answer lines from a stdin that is not a terminal, and writes plain prompts to stderr.
    pub fn piped(unicode: bool) -> Self {
        Self {
            style: plain(unicode),
            output: Output::new(io::stderr(), io::stdin().is_terminal(), unicode),
            lines: LineReader::stdin(),
            inputs: full::Inputs::default(),
            texts: Texts::ENGLISH,
        }
    }

    /// Takes lines from a channel, for tests and programs that simulate a person; `None` is the end
    /// of the input.
    pub fn from_lines(
        lines: mpsc::Receiver<io::Result<Option<String>>>,
        output: impl Write + Send + 'static,
    ) -> Self {
        Self {
            style: plain(true),
            output: Output::new(output, false, true),
            lines: LineReader::from_channel(lines),
            inputs: full::Inputs::default(),
            texts: Texts::ENGLISH,
        }
    }

    /// Shows URLs in the language of these messages; questions bring their own.
    pub fn speak(&mut self, messages: &Messages) {
        self.texts = Texts::of(messages);
    }

    /// Asks a form until the person answers, declines or cancels.
    ///
    /// Returns the terminal's I/O errors.
    pub async fn fill(
        &mut self,
        question: &TerminalQuestion,
        channel: &mut PromptChannel,
    ) -> io::Result<FormReply> {
        match self.style.mode {
            Mode::Full => full::fill(&mut self.inputs, self.style, question, channel).await,
            Mode::Plain => {
                session::fill(&mut self.output, &mut self.lines, question, channel).await
            }
        }
    }

    /// Shows a URL that a server wants to open, and asks for consent. Opens nothing itself.
    ///
    /// Returns the terminal's I/O errors.
    pub async fn card(&mut self, card: &UrlCard) -> io::Result<CardReply> {
        match self.style.mode {
            Mode::Full => full::card(&mut self.inputs, self.style, self.texts, card).await,
            Mode::Plain => {
                cards::card(&mut self.output, &mut self.lines, &self.texts.card, card).await
            }
        }
    }

    /// Waits until the person reports back from an opened URL. Drop the future if completion
    /// becomes known another way.
    pub async fn opened(&mut self, card: &UrlCard) -> io::Result<OpenedReply> {
        match self.style.mode {
            Mode::Full => full::opened(&mut self.inputs, self.style, self.texts, card).await,
            Mode::Plain => {
                cards::opened(&mut self.output, &mut self.lines, &self.texts.card, card).await
            }
        }
    }

    /// Prints one line of Entreat's own text between prompts.
    pub fn notice(&mut self, line: &str) -> io::Result<()> {
        self.output.write_own(&one_line(line))
    }

    /// Whether the input has ended.
    pub fn input_ended(&self) -> bool {
        self.lines.has_ended
    }

    /// Whether a person is or was present: the input is a terminal, or at least one line was read.
    /// If not, a cancel at the end of the input is nobody's decision.
    pub fn is_attended(&self) -> bool {
        self.output.is_terminal() || self.lines.has_read
    }
}

impl fmt::Debug for Terminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terminal")
            .field("style", &self.style)
            .finish_non_exhaustive()
    }
}

fn plain(unicode: bool) -> TerminalStyle {
    TerminalStyle {
        mode: Mode::Plain,
        colour: false,
        unicode,
    }
}
