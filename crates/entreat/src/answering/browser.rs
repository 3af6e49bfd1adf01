//! Questions of servers, on a page of this machine.

use std::net::Ipv4Addr;
use std::time::Duration;

use entreat_core::schema::import_as;
use entreat_core::{CancelReason, Form, Mode, Outcome, TimeoutBounds};
use entreat_engine::{Ask, Channel, Elicitation, EngineSettings};
use entreat_mcp::answer::{
    Answer, Consent, Followed, FormQuestion, Present, PresentError, UrlCard,
};
use entreat_service::PageSettings;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::sync::OnceCell;

use super::Opener;
use crate::{Entreat, EntreatError};

/// A question waits so long. Whoever asks may set a shorter time.
const PATIENCE: Duration = Duration::from_secs(24 * 3600);

/// Shows questions on pages of this machine, which open in the browser.
pub struct BrowserPages {
    /// Nothing is served before something is asked.
    entreat: OnceCell<Entreat>,
    open: Opener,
    say: Box<dyn Fn(&str) + Send + Sync>,
}

impl BrowserPages {
    /// Serves pages on a port of loopback. `open` opens them; `say` tells the person where they
    /// are, and whatever else they should know.
    pub fn new(open: Opener, say: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self {
            entreat: OnceCell::new(),
            open,
            say: Box::new(say),
        }
    }

    /// Ends the pages.
    pub async fn shutdown(self) {
        if let Some(entreat) = self.entreat.into_inner() {
            entreat.shutdown().await;
        }
    }

    async fn entreat(&self) -> Result<&Entreat, PresentError> {
        let entreat = self.entreat.get_or_try_init(start).await;
        entreat.map_err(|error| PresentError::new(format!("no page can be served: {error}")))
    }

    /// Puts a form on a page and waits until it is over.
    async fn ask(
        &self,
        server: &str,
        message: &str,
        form: Form,
        draft: Map<String, Value>,
    ) -> Result<Answer, PresentError> {
        let failed = |error: &dyn std::error::Error| PresentError::new(error.to_string());
        let ask = Ask::form(form).message(message).channel(Channel::Page);
        let entreat = self.entreat().await?;
        let asker = entreat.asker(server);
        let question = asker.ask(ask).await.map_err(|error| failed(&error))?;
        let respondent = entreat.engine().elicitation(question.id());
        // The page begins with what is known; that it cannot does not keep anybody from typing.
        let _ = respondent.draft(&draft.into()).await;
        let _withdrawn = Withdrawn(Some(respondent));
        let Some(pages) = entreat.pages() else {
            return Err(PresentError::new("there is no page"));
        };
        let link = pages.link(question.id());
        (self.say)(&format!("{server} asks: {link}"));
        // Whoever has no browser here has the link.
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
    if let Ok(bounds) = TimeoutBounds::new(PATIENCE, Duration::from_secs(1), PATIENCE) {
        settings.asker.timeouts.set_bounds(Mode::Form, bounds);
    }
    // How often a server may ask is the client's to say.
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

impl std::fmt::Debug for BrowserPages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BrowserPages").finish_non_exhaustive()
    }
}

/// A question whose page closes when nobody waits for it any more.
struct Withdrawn(Option<Elicitation>);

impl Drop for Withdrawn {
    fn drop(&mut self) {
        if let Some(question) = self.0.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move {
                // It is over already, if it was answered.
                let _ = question.cancel(CancelReason::AskerCancelled).await;
            });
        }
    }
}

impl Present for BrowserPages {
    fn form<'a>(
        &'a self,
        question: &'a FormQuestion,
    ) -> BoxFuture<'a, Result<Answer, PresentError>> {
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

    fn consent<'a>(&'a self, card: &'a UrlCard) -> BoxFuture<'a, Result<Consent, PresentError>> {
        let mut text = format!("Address: {}", card.url);
        if let Some(host) = &card.card.highlight {
            text.push_str("\nIt leads to: ");
            text.push_str(host);
        }
        for warning in card.warnings() {
            text.push_str("\nCareful: ");
            text.push_str(warning);
        }
        let title = if card.may_be_opened() {
            "Open this address?"
        } else {
            "This address cannot be opened"
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

    fn open<'a>(&'a self, card: &'a UrlCard) -> BoxFuture<'a, Result<(), PresentError>> {
        if (self.open)(&card.url).is_err() {
            (self.say)("No browser opened here: open the address by hand.");
        }
        std::future::ready(Ok(())).boxed()
    }

    fn opened<'a>(&'a self, card: &'a UrlCard) -> BoxFuture<'a, Result<Followed, PresentError>> {
        let asked = async move {
            let choices = json!([{"const": "done", "title": "I am done there"},
                {"const": "again", "title": "Open it again"}]);
            let then = json!({"then": {"type": "string", "title": "What next?",
                "oneOf": choices}});
            let text = format!("Address: {}", card.url);
            let form = own_form("The address was opened", &text, &then)?;
            let answer = self.ask(&card.server, &card.message, form, Map::new());
            Ok(match answer.await? {
                Answer::Accept(then) if then.get("then") == Some(&json!("again")) => {
                    Followed::Again
                }
                Answer::Accept(_) => Followed::Done,
                Answer::Decline | Answer::Cancel => Followed::Cancel,
            })
        };
        asked.boxed()
    }

    fn notice(&self, line: &str) {
        (self.say)(line);
    }
}

/// A form in Entreat's own words. From a schema, since only those may be without fields.
fn own_form(title: &str, description: &str, properties: &Value) -> Result<Form, PresentError> {
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
        .map_err(|problems| PresentError::new(problems.to_string()))
}
