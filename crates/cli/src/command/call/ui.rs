//! Chooses where questions are shown.

use std::io::{self, Write as _};
use std::sync::Arc;

use entreat::Messages;
use entreat::answering::{BrowserPresenter, Opener, TerminalPresenter};
use entreat::mcp::answer::Presenter;
use entreat::terminal::{Mode, Terminal};

use super::bar::Bar;
use super::scripted::ScriptedAnswers;
use super::{Args, Ui};
use crate::browser;
use crate::context::Context;
use crate::output;
use crate::terminal_style::terminal_style;

/// What shows questions.
pub(super) struct ShownBy {
    pub(super) presenter: Arc<dyn Presenter>,
    /// The pages, if it shows them.
    pub(super) pages: Option<Arc<BrowserPresenter>>,
    /// Whether it draws on the terminal.
    pub(super) draws: bool,
    /// Whether a person is there to answer.
    pub(super) is_attended: bool,
}

impl ShownBy {
    /// Answers from a file.
    pub(super) fn script(script: Arc<ScriptedAnswers>) -> Self {
        Self {
            presenter: script,
            pages: None,
            draws: false,
            is_attended: false,
        }
    }
}

/// Returns the presenter that the arguments ask for.
///
/// Without a terminal, questions are shown on a page, whose link is printed.
pub(super) fn presenter(args: &Args, messages: &Messages, context: &Context) -> ShownBy {
    let may_open = browser::may_open(context);
    if args.ui.unwrap_or_default() == Ui::Terminal {
        let style = terminal_style(context.environment(), args.plain);
        if let Ok(terminal) = Terminal::open(style) {
            let bar = Bar::default();
            let shown = TerminalPresenter::new(terminal, messages.clone(), opener(may_open))
                .on_progress(move |progress| bar.show(progress));
            return ShownBy {
                presenter: Arc::new(shown),
                pages: None,
                draws: style.mode == Mode::Full,
                is_attended: true,
            };
        }
    }
    let say = |line: &str| {
        // If stderr is closed, there is no place to report it.
        let _ = writeln!(io::stderr(), "{}", output::sanitize(line));
    };
    let pages = BrowserPresenter::new(opener(may_open), say).messages(messages.clone());
    let pages = Arc::new(pages);
    ShownBy {
        presenter: pages.clone(),
        pages: Some(pages),
        draws: false,
        is_attended: args.ui == Some(Ui::Browser),
    }
}

/// Opens URLs if there is a display.
fn opener(may_open: bool) -> Opener {
    Box::new(move |url| {
        if may_open {
            browser::open(url)
        } else {
            Err(io::ErrorKind::Unsupported.into())
        }
    })
}
