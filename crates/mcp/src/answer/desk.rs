//! Where the questions of one server come together: one at a time, and not too many.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use entreat_core::{Catalogue, Messages};
use parking_lot::Mutex;
use rmcp::ErrorData;
use tokio::sync::{MutexGuard, watch};

use super::pace::{Admitted, Pace};
use super::present::{Present, PresentError};
use crate::wire::{Action, ElicitRequest, ElicitResult, Wanted, WireError};

/// How a client answers.
#[derive(Clone, Debug)]
pub struct AnswerSettings {
    /// So many questions of one server a minute come before the person; the others are declined,
    /// and the person is told.
    pub questions_a_minute: usize,
    /// So many questions of one server wait for the person's attention; the others are declined,
    /// and the person is told.
    pub questions_waiting: usize,
    /// How long the person has for one question; no limit unless set. Past it, it is cancelled.
    pub time_limit: Option<Duration>,
    /// So often a presenter is asked for another answer when the one before does not fit.
    pub attempts: usize,
    /// So many rounds with questions one call may have, and so many times it is called anew after
    /// URLs that it wanted to be visited.
    pub rounds: usize,
    /// How long a server may let a call wait in rounds without questions.
    pub patience: Duration,
    /// The address of the server, if it has one, by which URLs of other hosts stand out.
    pub server_url: Option<String>,
    /// What the server is called if it does not say so itself.
    pub server_name: String,
    /// The language in which errors are told.
    pub messages: Messages,
}

impl Default for AnswerSettings {
    fn default() -> Self {
        Self {
            questions_a_minute: 20,
            questions_waiting: 20,
            time_limit: None,
            attempts: 3,
            rounds: 10,
            patience: Duration::from_secs(900),
            server_url: None,
            server_name: "The server".to_owned(),
            messages: Catalogue::default().messages(["en"]),
        }
    }
}

/// What became of a question at this client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The person answered, or agreed to a URL.
    Accepted,
    /// The person decided against it.
    Declined,
    /// The person decided nothing.
    Cancelled,
    /// The person took longer than the client allows.
    TimedOut,
    /// The server asked too often, and the person was not asked.
    Refused,
}

/// A question that has no result.
#[derive(Debug, thiserror::Error)]
pub(super) enum DeskError {
    #[error(transparent)]
    Wire(#[from] WireError),
    #[error("this client did not declare {0}")]
    Undeclared(&'static str),
    #[error("the schema cannot be shown: {0}")]
    Schema(entreat_core::Problems),
    #[error(transparent)]
    Present(#[from] PresentError),
    #[error("what was answered does not fit the schema")]
    Unfit,
    #[error("the URL is not one that can be opened")]
    Unsafe,
}

impl From<DeskError> for ErrorData {
    fn from(error: DeskError) -> Self {
        let message = error.to_string();
        match error {
            DeskError::Wire(_)
            | DeskError::Undeclared(_)
            | DeskError::Schema(_)
            | DeskError::Unsafe => Self::invalid_params(message, None),
            DeskError::Present(_) | DeskError::Unfit => Self::internal_error(message, None),
        }
    }
}

/// One server's questions.
pub(super) struct Desk {
    pub(super) present: Arc<dyn Present>,
    pub(super) settings: AnswerSettings,
    pace: Pace,
    /// Whoever holds it has the person's attention.
    turn: tokio::sync::Mutex<()>,
    /// How many questions wait for it.
    waiting: watch::Sender<usize>,
    /// URLs that were asked for and are not known to be done, by their ids.
    pub(super) visits: Mutex<HashMap<String, watch::Sender<bool>>>,
    last: Mutex<Option<Decision>>,
    /// Counts how often the person gave up a call.
    pub(super) given_up: watch::Sender<u64>,
    /// Counts the calls that have ended.
    pub(super) calls_ended: watch::Sender<u64>,
}

impl Desk {
    pub(super) fn new(present: Arc<dyn Present>, settings: AnswerSettings) -> Self {
        Self {
            present,
            pace: Pace::new(settings.questions_a_minute),
            settings,
            turn: tokio::sync::Mutex::default(),
            waiting: watch::Sender::new(0),
            visits: Mutex::default(),
            last: Mutex::default(),
            given_up: watch::Sender::new(0),
            calls_ended: watch::Sender::new(0),
        }
    }

    /// Asks one question and makes its result. Dropped, it closes its prompt.
    pub(super) async fn answer(
        &self,
        server: &str,
        request: &ElicitRequest,
    ) -> Result<ElicitResult, DeskError> {
        let modes = self.present.modes();
        let wanted = request.wanted()?;
        match wanted {
            Wanted::Form { .. } if !modes.form => {
                return Err(DeskError::Undeclared("elicitation by forms"));
            }
            Wanted::Url { .. } if !modes.url => {
                return Err(DeskError::Undeclared("elicitation by URLs"));
            }
            Wanted::Form { .. } | Wanted::Url { .. } => {}
        }
        if !self.admits(server) {
            return Ok(self.decided(Decision::Refused));
        }
        let _turn = self.turn().await;
        let asking = async {
            match wanted {
                Wanted::Form { schema } => self.ask_form(server, request, schema).await,
                Wanted::Url { url, .. } => self.ask_url(server, request.message(), url).await,
            }
        };
        self.in_time(asking).await
    }

    /// Whether another question may come before the person, who is told if not.
    pub(super) fn admits(&self, server: &str) -> bool {
        let admitted = self.pace.admit();
        if admitted == Admitted::NoAndNew {
            let limit = self.settings.questions_a_minute;
            self.present.notice(&format!(
                "{server} asks more than {limit} questions a minute: the others are declined."
            ));
        }
        if admitted != Admitted::Yes {
            return false;
        }
        let limit = self.settings.questions_waiting;
        let is_full = *self.waiting.borrow() >= limit;
        if is_full {
            self.present.notice(&format!(
                "{limit} questions of {server} wait already: another is declined."
            ));
        }
        !is_full
    }

    async fn in_time(
        &self,
        asking: impl Future<Output = Result<ElicitResult, DeskError>>,
    ) -> Result<ElicitResult, DeskError> {
        let Some(limit) = self.settings.time_limit else {
            return asking.await;
        };
        let answered = tokio::time::timeout(limit, asking).await;
        answered.unwrap_or_else(|_| {
            self.present
                .notice("The time for this question is over: it is cancelled.");
            Ok(self.decided(Decision::TimedOut))
        })
    }

    /// Waits for the person's attention, in the order of asking.
    pub(super) async fn turn(&self) -> MutexGuard<'_, ()> {
        let _waiting = Waiting::new(&self.waiting);
        self.turn.lock().await
    }

    /// Waits for the person's attention at low priority: questions go first.
    pub(super) async fn idle_turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// Waits until a question wants the person's attention.
    pub(super) async fn wanted(&self) {
        let mut waiting = self.waiting.subscribe();
        // The sender is here, so that it cannot be gone.
        let _ = waiting.wait_for(|waiting| *waiting > 0).await;
    }

    /// Writes a decision down and makes the result that tells it.
    pub(super) fn decided(&self, decision: Decision) -> ElicitResult {
        let mut last = self.last.lock();
        // Questions that come at once end in any order, and that one was refused is to be known.
        if (*last, decision) != (Some(Decision::Refused), Decision::Accepted) {
            *last = Some(decision);
        }
        ElicitResult::of(match decision {
            Decision::Accepted => Action::Accept,
            Decision::Declined | Decision::Refused => Action::Decline,
            Decision::Cancelled | Decision::TimedOut => Action::Cancel,
        })
    }

    pub(super) fn last_decision(&self) -> Option<Decision> {
        *self.last.lock()
    }
}

/// One more waits, as long as this lives.
struct Waiting<'a>(&'a watch::Sender<usize>);

impl<'a> Waiting<'a> {
    fn new(waiting: &'a watch::Sender<usize>) -> Self {
        waiting.send_modify(|waiting| *waiting += 1);
        Self(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|waiting| *waiting -= 1);
    }
}
