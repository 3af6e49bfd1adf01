//! Shows a server's questions at the terminal.

use entreat_core::{Messages, TextFormat};
use entreat_mcp::answer::{
    Answer, Consent, FormQuestion, Presenter, PresenterError, Progress, UrlCard, VisitReply,
};
use entreat_terminal::{
    CardReply, FormReply, OpenedReply, PromptChannel, Terminal, TerminalQuestion,
};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::{Mutex, MutexGuard};

use super::Opener;
use super::texts::Texts;

/// Shows the progress of a call, or hides it.
type ProgressFn = Box<dyn Fn(Option<&Progress>) + Send + Sync>;

/// Shows questions at the program's terminal.
pub struct TerminalPresenter {
    terminal: Mutex<Terminal>,
    messages: Messages,
    open: Opener,
    progress: ProgressFn,
}

impl TerminalPresenter {
    /// Creates a presenter for a terminal; `open` opens URLs after consent.
    pub fn new(mut terminal: Terminal, messages: Messages, open: Opener) -> Self {
        terminal.speak(&messages);
        Self {
            terminal: Mutex::new(terminal),
            messages,
            open,
            progress: Box::new(|_| {}),
        }
    }

    /// Sets how progress is shown; called with `None` before the terminal is used otherwise.
    #[must_use]
    pub fn on_progress(
        mut self,
        progress: impl Fn(Option<&Progress>) + Send + Sync + 'static,
    ) -> Self {
        self.progress = Box::new(progress);
        self
    }

    /// Waits for the terminal, to prompt on it in place of the progress.
    async fn prompt(&self) -> MutexGuard<'_, Terminal> {
        (self.progress)(None);
        self.terminal.lock().await
    }
}

impl TerminalPresenter {
    /// The card of a URL in the person's language. The terminal itself says that an address cannot
    /// be opened.
    fn terminal_card(&self, card: &UrlCard) -> entreat_terminal::UrlCard {
        let warnings = card.card.warnings.iter();
        let warnings = warnings.map(|warning| self.messages.url_warning(*warning));
        entreat_terminal::UrlCard {
            asker: card.server.clone(),
            message: card.message.clone(),
            url: card.url.clone(),
            host: card.card.highlight.clone().unwrap_or_default(),
            warnings: warnings.collect(),
            may_be_opened: card.may_be_opened(),
        }
    }
}

impl std::fmt::Debug for TerminalPresenter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TerminalPresenter").finish_non_exhaustive()
    }
}

impl Presenter for TerminalPresenter {
    fn form<'a>(
        &'a self,
        question: &'a FormQuestion,
    ) -> BoxFuture<'a, Result<Answer, PresenterError>> {
        let asking = async {
            (self.progress)(None);
            let mut shown = TerminalQuestion::new(question.form.clone(), self.messages.clone())
                .asker(&question.server)
                // The server's texts, which it did not write for Entreat.
                .text_format(TextFormat::Plain)
                .draft(question.draft.clone())
                .errors(question.errors.clone());
            if let Some(message) = question.message_beside_title() {
                shown = shown.message(message);
            }
            for notice in &question.notices {
                shown = shown.notice(notice);
            }
            let mut terminal = self.terminal.lock().await;
            Ok(
                match terminal
                    .fill(&shown, &mut PromptChannel::disconnected())
                    .await?
                {
                    FormReply::Answered(answers) => Answer::Accept(answers),
                    FormReply::Declined => Answer::Decline,
                    FormReply::Cancelled => Answer::Cancel,
                },
            )
        };
        asking.boxed()
    }

    fn consent<'a>(&'a self, card: &'a UrlCard) -> BoxFuture<'a, Result<Consent, PresenterError>> {
        let asking = async {
            let reply = self.prompt().await.card(&self.terminal_card(card)).await?;
            Ok(match reply {
                CardReply::Open => Consent::Open,
                CardReply::Decline => Consent::Decline,
                CardReply::Cancel => Consent::Cancel,
            })
        };
        asking.boxed()
    }

    fn open<'a>(&'a self, card: &'a UrlCard) -> BoxFuture<'a, Result<(), PresenterError>> {
        if (self.open)(&card.url).is_err() {
            self.notice(Texts::of(&self.messages).no_browser);
        }
        std::future::ready(Ok(())).boxed()
    }

    fn opened<'a>(
        &'a self,
        card: &'a UrlCard,
    ) -> BoxFuture<'a, Result<VisitReply, PresenterError>> {
        let asking = async {
            let reply = self
                .prompt()
                .await
                .opened(&self.terminal_card(card))
                .await?;
            Ok(match reply {
                OpenedReply::Done => VisitReply::Done,
                OpenedReply::Again => VisitReply::Again,
                OpenedReply::Cancel => VisitReply::Cancel,
            })
        };
        asking.boxed()
    }

    fn notice(&self, line: &str) {
        (self.progress)(None);
        // Do not interrupt a prompt; log the message instead.
        if let Ok(mut terminal) = self.terminal.try_lock() {
            // Ignore the error if the terminal is closed.
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
