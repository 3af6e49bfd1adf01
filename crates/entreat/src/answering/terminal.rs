//! Questions of servers, at a terminal.

use entreat_core::Messages;
use entreat_mcp::answer::{
    Answer, Consent, Followed, FormQuestion, Present, PresentError, Progress, UrlCard,
};
use entreat_terminal::{CardReply, Filled, OpenedReply, Terminal, TerminalQuestion, Wire};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::Mutex;

use super::Opener;

/// Shows how far a call is, or nothing.
type Shown = Box<dyn Fn(Option<&Progress>) + Send + Sync>;

/// Shows questions at the terminal that the program was started in.
pub struct AtTerminal {
    terminal: Mutex<Terminal>,
    messages: Messages,
    open: Opener,
    progress: Shown,
}

impl AtTerminal {
    /// Asks at a terminal, and opens addresses that the person agrees to.
    pub fn new(terminal: Terminal, messages: Messages, open: Opener) -> Self {
        Self {
            terminal: Mutex::new(terminal),
            messages,
            open,
            progress: Box::new(|_| {}),
        }
    }

    /// Has somebody show how far calls are; `None` is told before the terminal is used otherwise.
    #[must_use]
    pub fn on_progress(
        mut self,
        progress: impl Fn(Option<&Progress>) + Send + Sync + 'static,
    ) -> Self {
        self.progress = Box::new(progress);
        self
    }
}

impl std::fmt::Debug for AtTerminal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AtTerminal").finish_non_exhaustive()
    }
}

impl Present for AtTerminal {
    fn form<'a>(
        &'a self,
        question: &'a FormQuestion,
    ) -> BoxFuture<'a, Result<Answer, PresentError>> {
        let asking = async {
            (self.progress)(None);
            let mut shown = TerminalQuestion::new(question.form.clone(), self.messages.clone())
                .asker(&question.server)
                .draft(question.draft.clone())
                .errors(question.errors.clone());
            if let Some(message) = question.message_beside_title() {
                shown = shown.message(message);
            }
            for notice in &question.notices {
                shown = shown.notice(notice);
            }
            let mut terminal = self.terminal.lock().await;
            Ok(match terminal.fill(&shown, &mut Wire::none()).await? {
                Filled::Answered(answers) => Answer::Accept(answers),
                Filled::Declined => Answer::Decline,
                Filled::Cancelled => Answer::Cancel,
            })
        };
        asking.boxed()
    }

    fn consent<'a>(&'a self, card: &'a UrlCard) -> BoxFuture<'a, Result<Consent, PresentError>> {
        let asking = async {
            (self.progress)(None);
            let reply = self.terminal.lock().await.card(&drawn(card)).await?;
            Ok(match reply {
                CardReply::Open => Consent::Open,
                CardReply::Decline => Consent::Decline,
                CardReply::Cancel => Consent::Cancel,
            })
        };
        asking.boxed()
    }

    fn open<'a>(&'a self, card: &'a UrlCard) -> BoxFuture<'a, Result<(), PresentError>> {
        if (self.open)(&card.url).is_err() {
            let words = "No browser opened here: open the address by hand.";
            self.notice(words);
        }
        std::future::ready(Ok(())).boxed()
    }

    fn opened<'a>(&'a self, card: &'a UrlCard) -> BoxFuture<'a, Result<Followed, PresentError>> {
        let asking = async {
            (self.progress)(None);
            let reply = self.terminal.lock().await.opened(&drawn(card)).await?;
            Ok(match reply {
                OpenedReply::Done => Followed::Done,
                OpenedReply::Again => Followed::Again,
                OpenedReply::Cancel => Followed::Cancel,
            })
        };
        asking.boxed()
    }

    fn notice(&self, line: &str) {
        (self.progress)(None);
        // Whoever sits at a prompt is not to be disturbed; it is told beside it otherwise.
        if let Ok(mut terminal) = self.terminal.try_lock() {
            // A terminal that is gone has nobody at it.
            let _ = terminal.notice(line);
        } else {
            tracing::info!("{line}");
        }
    }

    fn progress(&self, progress: &Progress) {
        if self.terminal.try_lock().is_ok() {
            (self.progress)(Some(progress));
        }
    }
}

fn drawn(card: &UrlCard) -> entreat_terminal::UrlCard {
    entreat_terminal::UrlCard {
        asker: card.server.clone(),
        message: card.message.clone(),
        url: card.url.clone(),
        host: card.card.highlight.clone().unwrap_or_default(),
        warnings: card.warnings().map(str::to_owned).collect(),
        may_be_opened: card.may_be_opened(),
    }
}
