//! Asks a person on Entreat's own pages what a client cannot show.

use std::sync::Arc;
use std::time::Duration;

use entreat_core::schema::{import_as, import_question};
use entreat_core::url_guard::{Action, Card, Warning, inspect};
use entreat_core::{CancelReason, ElicitationId, Form, Mode, Outcome, TextFormat, Timeout};
use entreat_engine::{Ask, AskError, Asker, Channel, Elicitation, Links, NoPage, Wait};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::lost_answers::{self, LostAnswers, QuestionKeys};
use crate::secrets;
use crate::session::Person;

/// Opens a page in the browser of this machine.
pub(crate) type OpenBrowser = Arc<dyn Fn(&str) + Send + Sync>;

/// How long a question behind a link stays open.
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// Where questions are asked that a client cannot show.
#[derive(Clone)]
pub(crate) struct PageAsker {
    pub(crate) asker: Asker,
    /// Whose questions these are.
    pub(crate) principal: Arc<str>,
    pub(crate) links: Option<Arc<dyn Links>>,
    pub(crate) browser: Option<OpenBrowser>,
    /// Who answers, where people have names.
    pub(crate) respondent: Option<String>,
    /// Answers that did not reach their server.
    pub(crate) lost_answers: Arc<LostAnswers>,
}

/// A question for a page.
pub(crate) struct PageQuestion {
    /// Who asks, by its own name.
    pub(crate) server: String,
    pub(crate) message: String,
    /// Whether no store may write the message down.
    pub(crate) is_confidential: bool,
    pub(crate) form: Form,
    /// Whether nobody waits for it but the person's next call.
    pub(crate) is_linked: bool,
    pub(crate) format: TextFormat,
    /// Who has to answer; `None` is whoever opens the page.
    pub(crate) respondent: Option<String>,
    /// How long it stays open; `None` is the usual time.
    pub(crate) timeout: Option<Duration>,
    /// Which question it is, if its answer is kept until a server has used it.
    pub(crate) keys: QuestionKeys,
    /// What is filled in already.
    pub(crate) filled: Map<String, Value>,
}

impl PageQuestion {
    /// A question in a server's words.
    pub(crate) fn of_server(server: String, message: String, form: Form) -> Self {
        Self {
            server,
            message,
            is_confidential: false,
            form,
            is_linked: false,
            // The server did not write for Entreat.
            format: TextFormat::Plain,
            respondent: None,
            timeout: None,
            keys: QuestionKeys::new(),
            filled: Map::new(),
        }
    }

    /// Whether the words are a server's, and not ours.
    pub(crate) fn is_of_server(&self) -> bool {
        self.format == TextFormat::Plain
    }
}

/// Why a question reached nobody.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotAsked {
    #[error("there is no page on which a person could answer")]
    NoPages,
    #[error("the pages do not know who this client's person is")]
    Unknown,
    #[error("the page cannot be opened: {0}")]
    NoPage(#[from] NoPage),
    #[error("the question cannot be asked: {0}")]
    Refused(#[from] AskError),
    #[error("the schema cannot be shown: {0}")]
    Schema(entreat_core::Problems),
}

/// How a person decided.
#[derive(Debug)]
pub(crate) enum PageDecision {
    Answered(Map<String, Value>),
    Declined,
    Cancelled,
    TimedOut,
    /// Every attempt was invalid.
    Invalid,
    /// Nobody decided: it was withdrawn, or the program ends.
    Withdrawn,
}

impl PageAsker {
    /// Asks for one person: their questions are nobody else's.
    pub(crate) fn for_person(&self, person: &Person) -> Self {
        let is_own = *person == Person::here();
        Self {
            asker: if is_own {
                self.asker.clone()
            } else {
                self.asker.on_behalf_of(&person.principal)
            },
            principal: person.principal.as_str().into(),
            links: self.links.clone(),
            browser: self.browser.clone().filter(|_| person.is_here),
            respondent: person.respondent.clone(),
            lost_answers: self.lost_answers.clone(),
        }
    }

    /// Whether there are pages at all.
    pub(crate) fn has_pages(&self) -> bool {
        self.links.is_some()
    }

    /// Opens a page for a question. `cancelled` and `ended` fire when nobody waits for the answer any
    /// more, because of its call or of the whole session.
    pub(crate) async fn ask(
        &self,
        question: PageQuestion,
        cancelled: CancellationToken,
        ended: CancellationToken,
    ) -> Result<OpenPage, NotAsked> {
        let links = self.links.as_ref().ok_or(NotAsked::NoPages)?;
        let respondent = question.respondent.as_ref().or(self.respondent.as_ref());
        if respondent.is_none() && links.needs_respondent() {
            return Err(NotAsked::Unknown);
        }
        let channel = if question.is_linked {
            Channel::Link
        } else {
            Channel::Page
        };
        self.lost_answers.recover().await;
        let mut filled = question.filled;
        filled.retain(|name, _| question.form.field(name).is_some());
        let mut ask = Ask::form(question.form)
            .metadata(lost_answers::metadata(&question.keys))
            .text_format(question.format)
            .introduced_as(&question.server)
            .channel(channel);
        if !question.message.trim().is_empty() {
            ask = if question.is_confidential {
                ask.confidential_message(&question.message)
            } else {
                ask.message(&question.message)
            };
        }
        if let Some(respondent) = respondent {
            ask = ask.respondent(respondent);
        }
        let timeout = question.timeout.map(|time| {
            let millis = time.as_millis();
            u64::try_from(millis).unwrap_or(u64::MAX)
        });
        if let Some(timeout) = timeout.or(question.is_linked.then_some(DAY_MS)) {
            let bounds = self.asker.timeout_config(Mode::Form);
            ask = ask.timeout(Timeout {
                initial: Some(timeout.clamp(bounds.min_ms, bounds.max_ms)),
                ..Timeout::default()
            });
        }
        let elicitation = self.asker.ask(ask).await?;
        // The respondent's actions are not rate limited.
        let respondent = self.asker.engine().elicitation(elicitation.id());
        let wait = elicitation.outcome();
        let id = elicitation.id();
        self.lost_answers.note(&self.principal, &question.keys, id);
        let page = OpenPage {
            url: String::new(),
            on_page: OnPageGuard(self.lost_answers.clone(), id),
            wait: Some(wait),
            withdrawal: Withdrawal {
                question: Some(respondent.clone()),
                cancelled,
                ended,
            },
        };
        if !filled.is_empty() {
            // It is a help; without it, the question is asked all the same.
            let _ = respondent
                .edit_draft(|draft| draft.extend(filled.clone()))
                .await;
        }
        let url = links.open(respondent).await?;
        Ok(OpenPage { url, ..page })
    }

    /// Opens a URL in the browser of this machine; returns whether there is one.
    pub(crate) fn open(&self, url: &str) -> bool {
        let Some(open) = &self.browser else {
            return false;
        };
        open(url);
        true
    }
}

/// A question on a page. It is withdrawn when dropped.
pub(crate) struct OpenPage {
    pub(crate) url: String,
    wait: Option<Wait>,
    withdrawal: Withdrawal,
    on_page: OnPageGuard,
}

/// A question among those that are on a page, until dropped.
struct OnPageGuard(Arc<LostAnswers>, ElicitationId);

impl Drop for OnPageGuard {
    fn drop(&mut self) {
        self.0.closed(self.1);
    }
}

impl OpenPage {
    /// The question.
    pub(crate) fn id(&self) -> ElicitationId {
        self.on_page.1
    }

    /// Waits for the decision. Cancel safe.
    ///
    /// If nobody waits for it any more, the question is withdrawn, and what was decided before that
    /// counts: a page never says that an answer was sent which is then lost.
    pub(crate) async fn decision(&mut self) -> PageDecision {
        let Some(wait) = &mut self.wait else {
            return PageDecision::Withdrawn;
        };
        let settled = tokio::select! {
            biased;
            settled = &mut *wait => settled,
            () = self.withdrawal.cancelled.cancelled() => {
                if let Some(question) = &self.withdrawal.question {
                    // Fails if it is decided.
                    let _ = question.cancel(CancelReason::SessionExpired).await;
                }
                wait.await
            }
        };
        self.wait = None;
        self.withdrawal.question = None;
        let Ok(settled) = settled else {
            return PageDecision::Withdrawn;
        };
        match settled.outcome() {
            Some(Outcome::Completed) => match settled.result() {
                Some(Value::Object(answers)) => PageDecision::Answered(answers),
                _ => PageDecision::Answered(Map::new()),
            },
            Some(Outcome::Declined) => PageDecision::Declined,
            Some(Outcome::TimedOut) => PageDecision::TimedOut,
            Some(Outcome::Cancelled(reason)) => match reason {
                CancelReason::UserCancelled => PageDecision::Cancelled,
                CancelReason::MaxRetriesExceeded => PageDecision::Invalid,
                CancelReason::ClientDisconnected
                | CancelReason::SessionExpired
                | CancelReason::FormInvalidated
                | CancelReason::AskerCancelled => PageDecision::Withdrawn,
            },
            None => PageDecision::Withdrawn,
        }
    }

    /// Withdraws the question, unless it is decided already.
    pub(crate) async fn withdraw(mut self) -> PageDecision {
        if let Some(question) = &self.withdrawal.question {
            // Fails if it is decided.
            let _ = question.cancel(CancelReason::AskerCancelled).await;
        }
        self.decision().await
    }
}

/// Cancels a question when dropped, which closes its page.
struct Withdrawal {
    question: Option<Elicitation>,
    /// Fires when nobody waits for the answer any more.
    cancelled: CancellationToken,
    /// Fires when the session ends.
    ended: CancellationToken,
}

impl Drop for Withdrawal {
    fn drop(&mut self) {
        // What was asked in another way is withdrawn; otherwise there is nobody to answer.
        let reason = if self.cancelled.is_cancelled() || self.ended.is_cancelled() {
            CancelReason::SessionExpired
        } else {
            CancelReason::AskerCancelled
        };
        if let Some(question) = self.question.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move {
                // Fails if it is decided.
                let _ = question.cancel(reason).await;
            });
        }
    }
}

/// A server's form as a page shows it: the form, and the message that stands above it.
pub(crate) fn form_of(message: &str, schema: &Value) -> Result<(Form, String), NotAsked> {
    let schema = secrets::masked(schema);
    let import = import_question(&schema, message).map_err(NotAsked::Schema)?;
    let mut text = if message.trim() == import.form.title() {
        String::new()
    } else {
        message.to_owned()
    };
    for notice in &import.notices {
        text.push_str("\n(");
        text.push_str(&notice.message);
        text.push(')');
    }
    Ok((import.form, text))
}

/// A form with Entreat's own text, made from a schema because only those may have no fields.
pub(crate) fn own_form(title: &str, description: &str) -> Result<Form, NotAsked> {
    let schema = json!({"type": "object", "title": title, "description": description,
        "properties": {}});
    let import = import_as(&schema, "address", title).map_err(NotAsked::Schema)?;
    Ok(import.form)
}

/// The form that asks for consent to open a URL, and whether consent may be given. Where no browser
/// can be told to open it, the person does.
pub(crate) fn consent_form(
    url: &str,
    origin: Option<&str>,
    has_browser: bool,
) -> Result<(Form, bool), NotAsked> {
    let card: Card = inspect(url, origin);
    let may_open = card.action != Action::Reject;
    let mut text = format!("Address: {url}");
    if let Some(host) = &card.highlight {
        text.push_str("\nIt leads to: ");
        text.push_str(host);
    }
    for warning in card.warnings.iter().map(Warning::message) {
        text.push_str("\nCareful: ");
        text.push_str(warning);
    }
    if may_open && !has_browser {
        text.push_str("\nIf you agree, copy it and open it yourself.");
    }
    let title = if may_open {
        "Open this address?"
    } else {
        "This address cannot be opened"
    };
    Ok((own_form(title, &text)?, may_open))
}
