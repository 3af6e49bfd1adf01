//! Where questions are shown.

use std::io::{self, Write as _};
use std::sync::Arc;

use entreat::Catalogue;
use entreat::answering::{AtTerminal, BrowserPages, Opener};
use entreat::mcp::answer::Present;
use entreat::terminal::{Mode, Terminal};

use super::bar::Bar;
use super::{Args, Ui};
use crate::browser;
use crate::context::Context;
use crate::look::look;
use crate::output;

/// What shows questions as the arguments say, and whether it draws on the whole screen.
///
/// Without a terminal they are shown on a page, whose link is told: nobody else could see them.
pub(super) fn presenter(args: &Args, context: &Context) -> (Arc<dyn Present>, bool) {
    let may_open = browser::may_open(context);
    if args.ui.unwrap_or_default() == Ui::Terminal {
        let look = look(context.environment(), args.plain);
        if let Ok(terminal) = Terminal::open(look) {
            let languages = context.languages().iter().map(String::as_str);
            let messages = Catalogue::default().messages(languages);
            let bar = Bar::default();
            let shown = AtTerminal::new(terminal, messages, opener(may_open))
                .on_progress(move |progress| bar.show(progress));
            return (Arc::new(shown), look.mode == Mode::Full);
        }
    }
    let say = |line: &str| {
        // Nobody listens if this fails, so there is nobody to tell.
        let _ = writeln!(io::stderr(), "{}", output::plain(line));
    };
    (Arc::new(BrowserPages::new(opener(may_open), say)), false)
}

/// Opens addresses where there is a screen for it.
fn opener(may_open: bool) -> Opener {
    Box::new(move |url| {
        if may_open {
            browser::open(url)
        } else {
            Err(io::ErrorKind::Unsupported.into())
        }
    })
}
