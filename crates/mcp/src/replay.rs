//! Asks a client since 2026-07-28: questions are left to the next round, whose answers are found
//! by key and digest when the handler runs again.

use std::collections::BTreeMap;
use std::time::Duration;

use entreat_core::{Answers, CancelReason, Form, Mode, UnixTime};
use entreat_engine::Channel;
use parking_lot::Mutex;
use serde_json::{Map, Value};

use crate::call::{Asked, Call, Ended, Given, Subject, with_errors};
use crate::drive::Waiting;
use crate::error::AskError;
use crate::extension::ending_of;
use crate::journal::{Ending, Journal, JournalEntry, Open};
use crate::wire::{Action, CREATE, ElicitResult};

/// How often a question may be another under its key before its author is told.
const CHANGES: u8 = 2;

/// What earlier rounds brought.
pub(crate) struct Replay {
    state: Mutex<State>,
    /// Whether nothing was asked before: what comes along then was not asked for by us, and is
    /// taken for an answer if it is one.
    is_first: bool,
}

struct State {
    journal: Journal,
    /// Questions of the last round that were not asked again yet.
    before: BTreeMap<String, Open>,
    responses: BTreeMap<String, Value>,
}

impl Replay {
    pub(crate) fn new(journal: Option<Journal>, responses: BTreeMap<String, Value>) -> Self {
        let is_first = journal.is_none();
        let mut journal = journal.unwrap_or_default();
        let before = std::mem::take(&mut journal.open);
        let state = Mutex::new(State {
            journal,
            before,
            responses,
        });
        Self { state, is_first }
    }

    pub(crate) fn result_of(&self, key: &str) -> Option<Value> {
        self.state.lock().journal.once.get(key).cloned()
    }

    pub(crate) fn keep_result(&self, key: &str, result: Value) {
        self.state
            .lock()
            .journal
            .once
            .insert(key.to_owned(), result);
    }

    /// What the next round has to know, with the questions that are open now.
    pub(crate) fn journal(&self, waiting: &[Waiting]) -> Journal {
        let mut journal = self.state.lock().journal.clone();
        journal.round = journal.round.saturating_add(1);
        let open = waiting.iter().map(|it| (it.key.clone(), it.open.clone()));
        journal.open = open.collect();
        journal
    }

    /// A question of the last round that came with an answer and was not asked again.
    pub(crate) fn forgotten(&self) -> Option<String> {
        let state = self.state.lock();
        let mut keys = state.before.keys();
        keys.find(|key| state.responses.contains_key(*key)).cloned()
    }

    /// Asks what the client answers itself: a form, a URL, or another request.
    pub(crate) async fn ask_client(
        &self,
        call: &Call,
        asked: &Asked,
        subject: &Subject,
    ) -> Result<Ended, AskError> {
        let (mut open, response) = match self.find(call, asked, subject)? {
            Found::Ended(ending) => return self.replayed(call, subject, ending).await,
            Found::Open(open, response) => (open, response),
        };
        // Looks up hosts, perhaps: not to be dropped half-way while other questions are open.
        let busy = call.run.busy();
        let record = match subject {
            Subject::Form(form) => call.record(asked, form, &mut open).await?,
            Subject::Url(_) | Subject::Other(..) => None,
        };
        let settled = record.as_ref().and_then(ending_of);
        let ending = settled.or_else(|| Self::overdue(call, &open));
        if let Some(ending) = ending {
            return self.end(call, asked, subject, &open, ending).await;
        }
        let mut message = asked.message.to_string();
        if let Some(response) = response {
            let ending = match subject {
                Subject::Other(..) => Some(Ending::Content(response)),
                Subject::Form(_) | Subject::Url(_) => {
                    match self.judge(call, subject, &mut open, response).await {
                        Judged::Over(ending) => Some(ending),
                        Judged::Answered(answers, content) => {
                            let ending = Ending::Content(content);
                            call.settle_record(&open, &ending).await;
                            self.keep(asked, &open, ending);
                            return Ok(Ended::Answered(Given::Answers(answers)));
                        }
                        Judged::Again(errors) => {
                            message = with_errors(&asked.message, &errors);
                            None
                        }
                        Judged::Unread => None,
                    }
                }
            };
            if let Some(ending) = ending {
                return self.end(call, asked, subject, &open, ending).await;
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
                let judged = call.mcp().asker.engine().judge_url(url, &policy).await;
                judged.map_err(AskError::UnsafeUrl)?;
                (
                    CREATE,
                    call.mcp()
                        .url_request(&message, url, &asked.key)
                        .into_params(),
                )
            }
            Subject::Other(method, params) => (*method, params.clone()),
        };
        drop(busy);
        Err(call.run.park(&asked.key, Some(request), open).await)
    }

    /// Asks what only a page can answer. The client shows its address, or, if it does not have to,
    /// the browser of this machine opens it.
    pub(crate) async fn ask_page(
        &self,
        call: &Call,
        asked: &Asked,
        form: &Form,
        by_client: bool,
    ) -> Result<Ended, AskError> {
        let subject = Subject::Form(form.clone());
        let (mut open, response) = match self.find(call, asked, &subject)? {
            Found::Ended(ending) => return self.replayed(call, &subject, ending).await,
            Found::Open(open, response) => (open, response),
        };
        // What was asked of the engine is not to be lost half-way.
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
            // It outlives this round; what nobody answers ends by its deadline.
            let question = call
                .asker
                .ask(call.engine_ask(asked, form, channel))
                .await?;
            open.page = Some(question.id());
            if !by_client {
                mcp.open_browser(&call.page_of(&question).await?);
                open.is_visited = true;
            }
            question
        };
        if let Some(response) = response.filter(|_| by_client) {
            let person = call.person(&question);
            match ElicitResult::from_value(response).map(|reply| reply.action()) {
                Ok(Action::Accept) => open.is_visited = true,
                // If it has settled meanwhile, that is what counts.
                Ok(Action::Decline) => drop(call.declined(&person, open.asked).await),
                Ok(Action::Cancel) => drop(call.cancelled(&person, open.asked).await),
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
            let ending = Ending::Page(question.id());
            self.keep(asked, &open, ending);
            return Ended::of(&snapshot);
        }
        let request = if open.is_visited {
            None
        } else {
            let url = call.page_of(&question).await?;
            let request = mcp.url_request(&asked.message, &url, &asked.key);
            Some((CREATE, request.into_params()))
        };
        drop(busy);
        Err(call.run.park(&asked.key, request, open).await)
    }

    /// What is known of a question: how it ended, or that it is open and what the client says.
    fn find(&self, call: &Call, asked: &Asked, subject: &Subject) -> Result<Found, AskError> {
        let digest = call.digest(asked, subject);
        let mut state = self.state.lock();
        let mut changes = 0;
        match state.journal.kept.get(&asked.key) {
            Some(kept) if kept.question == digest => {
                return Ok(Found::Ended(kept.ending.clone()));
            }
            Some(kept) => {
                changes = kept.changes + 1;
                state.journal.kept.remove(&asked.key);
            }
            None => {}
        }
        let response = state.responses.remove(&asked.key);
        match state.before.remove(&asked.key) {
            Some(open) if open.question == digest => return Ok(Found::Open(open, response)),
            Some(open) => changes = changes.max(open.changes + 1),
            None => {}
        }
        if changes > CHANGES {
            return Err(AskError::KeepsChanging(asked.key.clone()));
        }
        let mode = match subject {
            Subject::Form(_) | Subject::Other(..) => Mode::Form,
            Subject::Url(_) => Mode::Url,
        };
        let by_form = match subject {
            Subject::Form(form) => form.timeout(),
            Subject::Url(_) | Subject::Other(..) => entreat_core::Timeout::default(),
        };
        let mcp = call.mcp();
        let time = mcp.asker.time_for(mode, asked.timeout.or(by_form))?;
        let now = mcp.asker.engine().now();
        let open = Open {
            question: digest,
            asked: now,
            deadline: now.after(time),
            attempts: 0,
            changes,
            page: None,
            is_visited: false,
        };
        // An answer to another question is none.
        let response = response.filter(|_| self.is_first);
        Ok(Found::Open(open, response))
    }

    /// What a client's answer comes to.
    async fn judge(
        &self,
        call: &Call,
        subject: &Subject,
        open: &mut Open,
        response: Value,
    ) -> Judged {
        let Ok(reply) = ElicitResult::from_value(response) else {
            return Judged::Unread;
        };
        match (reply.action(), subject) {
            (Action::Decline, _) => Judged::Over(Ending::Declined(self.shown(call, open.asked))),
            (Action::Cancel, _) => {
                let shown = self.shown(call, open.asked);
                Judged::Over(Ending::Cancelled(CancelReason::UserCancelled, shown))
            }
            (Action::Accept, Subject::Form(form)) => {
                let content = reply.content().cloned();
                let content = content.unwrap_or_else(|| Map::new().into());
                let engine = call.mcp().asker.engine();
                let checked = engine.check_answers(form, &content).await;
                match checked.map(Answers::into_owned) {
                    Ok(answers) => Judged::Answered(answers, content),
                    Err(errors) => {
                        open.attempts += 1;
                        if open.attempts < call.mcp().asker.retry_limit() {
                            return Judged::Again(errors);
                        }
                        let reason = CancelReason::MaxRetriesExceeded;
                        Judged::Over(Ending::Cancelled(reason, self.shown(call, open.asked)))
                    }
                }
            }
            (Action::Accept, _) => Judged::Over(Ending::Content(Value::Null)),
        }
    }

    /// The end of a question whose time is over.
    fn overdue(call: &Call, open: &Open) -> Option<Ending> {
        let is_over = call.mcp().asker.engine().now() >= open.deadline;
        is_over.then_some(Ending::TimedOut)
    }

    /// Whether a question that came back at once can have been on a screen; nobody knows of one
    /// that was answered before it was asked.
    fn shown(&self, call: &Call, asked: UnixTime) -> entreat_core::Presented {
        if self.is_first {
            entreat_core::Presented::Unknown
        } else {
            call.presented(asked)
        }
    }

    async fn end(
        &self,
        call: &Call,
        asked: &Asked,
        subject: &Subject,
        open: &Open,
        ending: Ending,
    ) -> Result<Ended, AskError> {
        call.settle_record(open, &ending).await;
        self.keep(asked, open, ending.clone());
        self.replayed(call, subject, ending).await
    }

    fn keep(&self, asked: &Asked, open: &Open, ending: Ending) {
        let kept = JournalEntry {
            question: open.question,
            ending,
            changes: open.changes,
        };
        let mut state = self.state.lock();
        state.journal.kept.insert(asked.key.clone(), kept);
    }

    /// An ending as the handler is told it, each time it runs.
    async fn replayed(
        &self,
        call: &Call,
        subject: &Subject,
        ending: Ending,
    ) -> Result<Ended, AskError> {
        Ok(match (ending, subject) {
            (Ending::Content(content), Subject::Form(form)) => Ended::with(form, &content)?,
            (Ending::Content(_), Subject::Url(_)) => Ended::Answered(Given::Nothing),
            (Ending::Content(content), Subject::Other(..)) => {
                Ended::Answered(Given::Other(content))
            }
            (Ending::Page(id), _) => {
                let question = call.mcp().asker.elicitation(id);
                let _busy = call.run.busy();
                Ended::of(&question.outcome_within(Duration::ZERO).await?)?
            }
            (Ending::Declined(shown), _) => Ended::Declined(shown),
            (Ending::Cancelled(reason, shown), _) => Ended::Cancelled(reason, shown),
            (Ending::TimedOut, _) => Ended::TimedOut,
        })
    }
}

enum Found {
    Ended(Ending),
    Open(Open, Option<Value>),
}

enum Judged {
    Over(Ending),
    /// Valid: the answers, and the content that they were read from.
    Answered(Answers<'static>, Value),
    /// Not valid, with room for another try.
    Again(Vec<entreat_core::FieldError>),
    /// No answer at all.
    Unread,
}
