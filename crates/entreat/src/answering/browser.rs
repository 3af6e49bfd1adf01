//! Shows a server's questions on a local page.

use std::net::Ipv4Addr;
use std::time::Duration;

use entreat_core::schema::import_as;
use entreat_core::{
    CancelReason, Catalogue, Form, Messages, Mode, Outcome, TextFormat, TimeoutBounds,
};
use entreat_engine::{Ask, Channel, Elicitation, EngineSettings};
use entreat_mcp::answer::{
    Answer, Consent, FormQuestion, Presenter, PresenterError, UrlCard, VisitReply,
};
use entreat_service::PageSettings;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::sync::OnceCell;

use super::Opener;
use super::texts::Texts;
use crate::{Entreat, EntreatError};

/// How long a question stays open. The client may set a shorter limit.
const MAX_WAIT: Duration = Duration::from_secs(24 * 3600);

/// Shows questions on local pages, opened in the browser.
pub struct BrowserPresenter {
    /// Started by the first question.
    entreat: OnceCell<Entreat>,
    messages: Messages,
    open: Opener,
    notify: Box<dyn Fn(&str) + Send + Sync>,
}

impl BrowserPresenter {
    /// Creates a presenter that serves pages on a loopback port. `open` opens them; `notify` shows
    /// their URLs and other messages to the person.
    pub fn new(open: Opener, notify: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self {
            entreat: OnceCell::new(),
            messages: Catalogue::default().messages(["en"]),
            open,
            notify: Box::new(notify),
        }
    }

    /// Sets the language of its own texts, which are English by default. Pages are in the language
    /// of the browser.
    #[must_use]
    pub fn messages(mut self, messages: Messages) -> Self {
        self.messages = messages;
        self
    }

    fn texts(&self) -> &'static Texts {
        Texts::of(&self.messages)
    }

    /// Whether it has shown a page. The last one should stay available for a moment after its
    /// question has settled: the browser still has to load the closing page.
    pub fn has_shown(&self) -> bool {
        self.entreat.initialized()
    }

    /// Shuts down the pages.
    pub async fn shutdown(self) {
        if let Some(entreat) = self.entreat.into_inner() {
            entreat.shutdown().await;
        }
    }

    async fn entreat(&self) -> Result<&Entreat, PresenterError> {
        let entreat = self.entreat.get_or_try_init(start).await;
        entreat.map_err(|error| PresenterError::new(format!("no page can be served: {error}")))
    }

    /// Asks a form on a page and waits for the outcome.
    async fn ask(
        &self,
        server: &str,
        message: &str,
        form: Form,
        draft: Map<String, Value>,
    ) -> Result<Answer, PresenterError> {
        let failed = |error: &dyn std::error::Error| PresenterError::new(error.to_string());
        let ask = Ask::form(form)
            .message(message)
            // The server's texts, which it did not write for Entreat.
            .text_format(TextFormat::Plain)
            .channel(Channel::Page);
        let entreat = self.entreat().await?;
        let asker = entreat.asker(server);
        let question = asker.ask(ask).await.map_err(|error| failed(&error))?;
        let respondent = entreat.engine().elicitation(question.id());
        // Prefills the page; without it, the person can still type.
        let _ = respondent.draft(&draft.into()).await;
        let _cancel = CancelOnDrop(Some(respondent));
        let Some(pages) = entreat.pages() else {
            return Err(PresenterError::new("there is no page"));
        };
        let link = pages.link(question.id());
        (self.notify)(&(self.texts().asks)(server, &link));
        // Without a browser, the person follows the printed link.
        let _ = (self.open)(&link);
        let settled = question.outcome().await.map_err(|error| failed(&error))?;
        Ok(match settled.outcome() {
            Some(Outcome::Completed) => match settled.result() {
                Some(Value::Object(answers)) => Answer::Accept(answers),
                _ => Answer::Accept(Map::new()),
            },
            Some(Outcome::Declined) => Answer::Decline,
            Some(Outcome::Cancelled(_) | Outcome::TimedOut) | None => Answer::Cancel,
        })
    }
}

async fn start() -> Result<Entreat, EntreatError> {
    let mut settings = EngineSettings::default();
    if let Ok(bounds) = TimeoutBounds::new(MAX_WAIT, Duration::from_secs(1), MAX_WAIT) {
        settings.asker.timeouts.set_bounds(Mode::Form, bounds);
    }
    // The client limits how often a server may ask.
    settings.asker.limits.creations_per_minute = None;
    settings.asker.limits.requests_per_second = None;
    let pages = PageSettings {
        poll: Duration::from_secs(1),
        ..PageSettings::default()
    };
    Entreat::builder()
        .settings(settings)
        .listen((Ipv4Addr::LOCALHOST, 0))
        .pages(pages)
        .start()
        .await
}

impl std::fmt::Debug for BrowserPresenter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BrowserPresenter").finish_non_exhaustive()
    }
}

/// Cancels a question when dropped, which closes its page.
struct CancelOnDrop(Option<Elicitation>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(question) = self.0.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move {
                // Fails if it has already settled.
                let _ = question.cancel(CancelReason::AskerCancelled).await;
            });
        }
    }
}

impl Presenter for BrowserPresenter {
    fn form<'a>(
        &'a self,
        question: &'a FormQuestion,
    ) -> BoxFuture<'a, Result<Answer, PresenterError>> {
        let mut message = question
            .message_beside_title()
            .unwrap_or_default()
            .to_owned();
        for notice in &question.notices {
            message.push_str("\n(");
            message.push_str(notice);
            message.push(')');
        }
        let form = question.form.clone();
        async move {
            self.ask(&question.server, &message, form, question.draft.clone())
                .await
        }
        .boxed()
    }

    fn consent<'a>(&'a self, card: &'a UrlCard) -> BoxFuture<'a, Result<Consent, PresenterError>> {
        let texts = self.texts();
        let mut lines = vec![(texts.address)(&card.url)];
        lines.extend(card.card.highlight.as_deref().map(texts.leads_to));
        for warning in &card.card.warnings {
            lines.push((texts.careful)(&self.messages.url_warning(*warning)));
        }
        let text = lines.join("\n");
        let title = if card.may_be_opened() {
            texts.open_title
        } else {
            texts.blocked_title
        };
        let asked = async move {
            let form = own_form(title, &text, &json!({}))?;
            let answer = self.ask(&card.server, &card.message, form, Map::new());
            Ok(match answer.await? {
                Answer::Accept(_) if card.may_be_opened() => Consent::Open,
                Answer::Accept(_) | Answer::Cancel => Consent::Cancel,
                Answer::Decline => Consent::Decline,
            })
        };
        asked.boxed()
    }

    fn open<'a>(&'a self, card: &'a UrlCard) -> BoxFuture<'a, Result<(), PresenterError>> {
        if (self.open)(&card.url).is_err() {
            (self.notify)(self.texts().no_browser);
        }
        std::future::ready(Ok(())).boxed()
    }

    fn opened<'a>(
        &'a self,
        card: &'a UrlCard,
    ) -> BoxFuture<'a, Result<VisitReply, PresenterError>> {
        let asked = async move {
            let texts = self.texts();
            let choices = json!([{"const": "done", "title": texts.done},
                {"const": "again", "title": texts.again}]);
            let then = json!({"then": {"type": "string", "title": texts.what_next,
                "oneOf": choices}});
            let text = (texts.address)(&card.url);
            let form = own_form(texts.opened_title, &text, &then)?;
            let answer = self.ask(&card.server, &card.message, form, Map::new());
            Ok(match answer.await? {
                Answer::Accept(then) if then.get("then") == Some(&json!("again")) => {
                    VisitReply::Again
                }
                Answer::Accept(_) => VisitReply::Done,
                Answer::Decline | Answer::Cancel => VisitReply::Cancel,
            })
        };
        asked.boxed()
    }

    fn notice(&self, line: &str) {
        (self.notify)(line);
    }
}

/// A form with Entreat's own text, made from a schema because only those may have no fields.
fn own_form(title: &str, description: &str, properties: &Value) -> Result<Form, PresenterError> {
    let required: Vec<_> = properties
        .as_object()
        .into_iter()
        .flat_map(Map::keys)
        .collect();
    let schema = json!({"type": "object", "title": title, "description": description,
        "properties": properties, "required": required});
    let import = import_as(&schema, "address", title);
    import
        .map(|import| import.form)
        .map_err(|problems| PresenterError::new(problems.to_string()))
}
