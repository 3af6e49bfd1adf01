//! Asks clients since 2026-07-28: questions are returned to the client, and their answers are found
//! by key and digest when the handler runs again in the next round.

use std::collections::BTreeMap;
use std::time::Duration;

use entreat_core::{Answers, CancelReason, Form, Mode, UnixTime};
use entreat_engine::Channel;
use entreat_wire::message::{Action, CREATE, ElicitResult};
use parking_lot::Mutex;
use serde_json::Value;

use crate::call::{AnswerPayload, AskOptions, AskOutcome, Call, Subject, with_errors};
use crate::client_content;
use crate::drive::PendingQuestion;
use crate::error::AskError;
use crate::extension::outcome_of;
use crate::journal::{Journal, JournalEntry, JournalOutcome, OpenQuestion};

/// How often the question under a key may change before the call fails.
const MAX_CHANGES: u8 = 2;

/// The results of earlier rounds.
pub(crate) struct Replay {
    state: Mutex<State>,
    /// Whether this is the first round. Its responses were not requested by us, but are accepted if
    /// they fit.
    is_first: bool,
}

struct State {
    journal: Journal,
    /// Questions of the last round that this run has not asked yet.
    previous: BTreeMap<String, OpenQuestion>,
    responses: BTreeMap<String, Value>,
}

impl Replay {
    pub(crate) fn new(journal: Option<Journal>, responses: BTreeMap<String, Value>) -> Self {
        let is_first = journal.is_none();
        let mut journal = journal.unwrap_or_default();
        let previous = std::mem::take(&mut journal.open);
        let state = Mutex::new(State {
            journal,
            previous,
            responses,
        });
        Self { state, is_first }
    }

    pub(crate) fn effect_result(&self, key: &str) -> Option<Value> {
        self.state.lock().journal.once.get(key).cloned()
    }

    pub(crate) fn store_effect(&self, key: &str, result: Value) {
        self.state
            .lock()
            .journal
            .once
            .insert(key.to_owned(), result);
    }

    /// Returns the journal for the next round, with the questions that are open now.
    pub(crate) fn journal(&self, pending: &[PendingQuestion]) -> Journal {
        let mut journal = self.state.lock().journal.clone();
        journal.round = journal.round.saturating_add(1);
        let open = pending.iter().map(|it| (it.key.clone(), it.open.clone()));
        journal.open = open.collect();
        journal
    }

    /// Returns a question of the last round that was answered but not asked again.
    pub(crate) fn unasked(&self) -> Option<String> {
        let state = self.state.lock();
        let mut keys = state.previous.keys();
        keys.find(|key| state.responses.contains_key(*key)).cloned()
    }

    /// Asks what the client answers itself: a form, a URL, or another request.
    pub(crate) async fn ask_client(
        &self,
        call: &Call,
        options: &AskOptions,
        subject: &Subject,
    ) -> Result<AskOutcome, AskError> {
        let (mut open, response) = match self.look_up(call, options, subject)? {
            Lookup::Settled(outcome) => return self.replay_outcome(call, subject, outcome).await,
            Lookup::Open(open, response) => (open, response),
        };
        // May resolve host names: must not be dropped while other questions are open.
        let busy = call.run.busy();
        let record = match subject {
            Subject::Form(form) => call.record(options, form, &mut open).await?,
            Subject::Url(_) | Subject::Other(..) => None,
        };
        let settled = record.as_ref().and_then(outcome_of);
        let outcome = settled.or_else(|| Self::overdue(call, &open));
        if let Some(outcome) = outcome {
            return self.settle(call, options, subject, &open, outcome).await;
        }
        let mut message = options.message.to_string();
        if let Some(response) = response {
            let outcome = match subject {
                Subject::Other(..) => Some(JournalOutcome::Content(response)),
                Subject::Form(_) | Subject::Url(_) => {
                    match self.evaluate(call, subject, &mut open, response).await {
                        Verdict::Settled(outcome) => Some(outcome),
                        Verdict::Answered(answers, content) => {
                            let outcome = JournalOutcome::Content(content);
                            call.settle_record(&open, &outcome).await;
                            self.record(options, &open, outcome);
                            return Ok(AskOutcome::Answered(AnswerPayload::Answers(answers)));
                        }
                        Verdict::Retry(errors) => {
                            message = with_errors(&options.message, &errors);
                            None
                        }
                        Verdict::Unreadable => None,
                    }
                }
            };
            if let Some(outcome) = outcome {
                return self.settle(call, options, subject, &open, outcome).await;
            }
        }
        let request = match subject {
            Subject::Form(form) => (
                CREATE,
                call.form_request(form, &message, record.map(|it| it.id()))
                    .into_params(),
            ),
            Subject::Url(url) => {
                let policy = entreat_core::url_guard::Policy::web();
                let judged = call.mcp().asker.engine().check_url(url, &policy).await;
                judged.map_err(AskError::UnsafeUrl)?;
                (
                    CREATE,
                    call.mcp()
                        .url_request(&message, url, &options.key)
                        .into_params(),
                )
            }
            Subject::Other(method, params) => (*method, params.clone()),
        };
        drop(busy);
        Err(call.run.suspend(&options.key, Some(request), open).await)
    }

    /// Asks on a page. The client shows its URL, or else the browser of this machine opens it.
    pub(crate) async fn ask_page(
        &self,
        call: &Call,
        options: &AskOptions,
        form: &Form,
        by_client: bool,
    ) -> Result<AskOutcome, AskError> {
        let subject = Subject::Form(form.clone());
        let (mut open, response) = match self.look_up(call, options, &subject)? {
            Lookup::Settled(outcome) => return self.replay_outcome(call, &subject, outcome).await,
            Lookup::Open(open, response) => (open, response),
        };
        // The engine's question must not be lost while other questions are open.
        let busy = call.run.busy();
        let mcp = call.mcp();
        let question = if let Some(id) = open.page {
            mcp.asker.elicitation(id)
        } else {
            let channel = if by_client {
                Channel::NativeUrl
            } else {
                Channel::Page
            };
            // Not bound to this call's connection: it outlives the round and ends by its deadline.
            let question = call
                .asker
                .ask(call.engine_ask(options, form, channel))
                .await?;
            open.page = Some(question.id());
            if !by_client {
                mcp.open_browser(&call.page_of(&question).await?);
                open.is_visited = true;
            }
            question
        };
        if let Some(response) = response.filter(|_| by_client) {
            let respondent = call.respondent(&question);
            match ElicitResult::from_value(response).map(|reply| reply.action()) {
                Ok(Action::Accept) => open.is_visited = true,
                // Ignore the error if it has settled meanwhile.
                Ok(Action::Decline) => drop(call.decline(&respondent, open.asked).await),
                Ok(Action::Cancel) => drop(call.cancel(&respondent, open.asked).await),
                Err(_) => {}
            }
        }
        let wait = if open.is_visited {
            mcp.settings.page_wait
        } else {
            Duration::ZERO
        };
        let snapshot = question.outcome_within(wait).await?;
        if snapshot.outcome().is_some() {
            let outcome = JournalOutcome::Page(question.id());
            self.record(options, &open, outcome);
            return AskOutcome::of(&snapshot);
        }
        let request = if open.is_visited {
            None
        } else {
            let url = call.page_of(&question).await?;
            let request = mcp.url_request(&options.message, &url, &options.key);
            Some((CREATE, request.into_params()))
        };
        drop(busy);
        Err(call.run.suspend(&options.key, request, open).await)
    }

    /// Looks up a question: its outcome, or its open state with the client's response.
    fn look_up(
        &self,
        call: &Call,
        options: &AskOptions,
        subject: &Subject,
    ) -> Result<Lookup, AskError> {
        let digest = call.digest(options, subject);
        let mut state = self.state.lock();
        let mut changes = 0;
        match state.journal.settled.get(&options.key) {
            Some(entry) if entry.question == digest => {
                return Ok(Lookup::Settled(entry.outcome.clone()));
            }
            Some(entry) => {
                changes = entry.changes + 1;
                state.journal.settled.remove(&options.key);
            }
            None => {}
        }
        let response = state.responses.remove(&options.key);
        match state.previous.remove(&options.key) {
            Some(open) if open.question == digest => return Ok(Lookup::Open(open, response)),
            Some(open) => changes = changes.max(open.changes + 1),
            None => {}
        }
        if changes > MAX_CHANGES {
            return Err(AskError::UnstableQuestion(options.key.clone()));
        }
        let mode = match subject {
            Subject::Form(_) | Subject::Other(..) => Mode::Form,
            Subject::Url(_) => Mode::Url,
        };
        let form_timeout = match subject {
            Subject::Form(form) => form.timeout(),
            Subject::Url(_) | Subject::Other(..) => entreat_core::Timeout::default(),
        };
        let mcp = call.mcp();
        let time = mcp.asker.time_for(mode, options.timeout.or(form_timeout))?;
        let now = mcp.asker.engine().now();
        let open = OpenQuestion {
            question: digest,
            asked: now,
            deadline: now.after(time),
            attempts: 0,
            changes,
            page: None,
            is_visited: false,
        };
        // Never use an answer to a different question.
        let response = response.filter(|_| self.is_first);
        Ok(Lookup::Open(open, response))
    }

    /// Evaluates a client's response.
    async fn evaluate(
        &self,
        call: &Call,
        subject: &Subject,
        open: &mut OpenQuestion,
        response: Value,
    ) -> Verdict {
        let Ok(reply) = ElicitResult::from_value(response) else {
            return Verdict::Unreadable;
        };
        match (reply.action(), subject) {
            (Action::Decline, _) => {
                Verdict::Settled(JournalOutcome::Declined(self.shown(call, open.asked)))
            }
            (Action::Cancel, _) => {
                let shown = self.shown(call, open.asked);
                Verdict::Settled(JournalOutcome::Cancelled(
                    CancelReason::UserCancelled,
                    shown,
                ))
            }
            (Action::Accept, Subject::Form(form)) => {
                let content = client_content::answers_in(form, reply.content().cloned());
                let engine = call.mcp().asker.engine();
                let checked = engine.check_answers(form, &content).await;
                match checked.map(Answers::into_owned) {
                    Ok(answers) => Verdict::Answered(answers, content),
                    Err(errors) => {
                        call.note_errors(&errors);
                        open.attempts += 1;
                        if open.attempts < call.mcp().asker.retry_limit() {
                            return Verdict::Retry(errors);
                        }
                        let reason = CancelReason::MaxRetriesExceeded;
                        Verdict::Settled(JournalOutcome::Cancelled(
                            reason,
                            self.shown(call, open.asked),
                        ))
                    }
                }
            }
            (Action::Accept, _) => Verdict::Settled(JournalOutcome::Content(Value::Null)),
        }
    }

    /// Times out a question whose deadline has passed.
    fn overdue(call: &Call, open: &OpenQuestion) -> Option<JournalOutcome> {
        let is_over = call.mcp().asker.engine().now() >= open.deadline;
        is_over.then_some(JournalOutcome::TimedOut)
    }

    /// Whether the question was on screen long enough to be read; unknown in the first round, where
    /// the response arrived before the question was asked.
    fn shown(&self, call: &Call, asked: UnixTime) -> entreat_core::Presented {
        if self.is_first {
            entreat_core::Presented::Unknown
        } else {
            call.presented(asked)
        }
    }

    async fn settle(
        &self,
        call: &Call,
        options: &AskOptions,
        subject: &Subject,
        open: &OpenQuestion,
        outcome: JournalOutcome,
    ) -> Result<AskOutcome, AskError> {
        call.settle_record(open, &outcome).await;
        self.record(options, open, outcome.clone());
        self.replay_outcome(call, subject, outcome).await
    }

    fn record(&self, options: &AskOptions, open: &OpenQuestion, outcome: JournalOutcome) {
        let entry = JournalEntry {
            question: open.question,
            outcome,
            changes: open.changes,
        };
        let mut state = self.state.lock();
        state.journal.settled.insert(options.key.clone(), entry);
    }

    /// Converts a journaled outcome for the handler, on every run.
    async fn replay_outcome(
        &self,
        call: &Call,
        subject: &Subject,
        outcome: JournalOutcome,
    ) -> Result<AskOutcome, AskError> {
        Ok(match (outcome, subject) {
            (JournalOutcome::Content(content), Subject::Form(form)) => {
                AskOutcome::with(form, &content)?
            }
            (JournalOutcome::Content(_), Subject::Url(_)) => {
                AskOutcome::Answered(AnswerPayload::Empty)
            }
            (JournalOutcome::Content(content), Subject::Other(..)) => {
                AskOutcome::Answered(AnswerPayload::Other(content))
            }
            (JournalOutcome::Page(id), _) => {
                let question = call.mcp().asker.elicitation(id);
                let _busy = call.run.busy();
                call.settled(&question.outcome_within(Duration::ZERO).await?)?
            }
            (JournalOutcome::Declined(shown), _) => AskOutcome::Declined(shown),
            (JournalOutcome::Cancelled(reason, shown), _) => AskOutcome::Cancelled(reason, shown),
            (JournalOutcome::TimedOut, _) => AskOutcome::TimedOut,
        })
    }
}

enum Lookup {
    Settled(JournalOutcome),
    Open(OpenQuestion, Option<Value>),
}

enum Verdict {
    Settled(JournalOutcome),
    /// Valid: the answers, and the content they were parsed from.
    Answered(Answers<'static>, Value),
    /// Invalid, with attempts left.
    Retry(Vec<entreat_core::FieldError>),
    /// Not an elicitation result.
    Unreadable,
}
