//! Chooses where questions are shown.

use std::io::{self, Write as _};
use std::sync::Arc;

use entreat::Catalogue;
use entreat::answering::{BrowserPresenter, Opener, TerminalPresenter};
use entreat::mcp::answer::Presenter;
use entreat::terminal::{Mode, Terminal};

use super::bar::Bar;
use super::{Args, Ui};
use crate::browser;
use crate::context::Context;
use crate::output;
use crate::terminal_style::terminal_style;

/// Returns the presenter that the arguments ask for, and whether it uses the full screen.
///
/// Without a terminal, questions are shown on a page, whose link is printed.
pub(super) fn presenter(args: &Args, context: &Context) -> (Arc<dyn Presenter>, bool) {
    let may_open = browser::may_open(context);
    if args.ui.unwrap_or_default() == Ui::Terminal {
        let style = terminal_style(context.environment(), args.plain);
        if let Ok(terminal) = Terminal::open(style) {
            let languages = context.languages().iter().map(String::as_str);
            let messages = Catalogue::default().messages(languages);
            let bar = Bar::default();
            let shown = TerminalPresenter::new(terminal, messages, opener(may_open))
                .on_progress(move |progress| bar.show(progress));
            return (Arc::new(shown), style.mode == Mode::Full);
        }
    }
    let say = |line: &str| {
        // If stderr is closed, there is no place to report it.
        let _ = writeln!(io::stderr(), "{}", output::sanitize(line));
    };
    (
        Arc::new(BrowserPresenter::new(opener(may_open), say)),
        false,
    )
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
