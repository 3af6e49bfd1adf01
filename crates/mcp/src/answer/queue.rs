//! Serializes and limits the questions of one server.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use entreat_core::{Catalogue, Messages};
use entreat_wire::message::{Action, ElicitMode, ElicitRequest, ElicitResult, WireError};
use entreat_wire::presenter::{Presenter, PresenterError};
use parking_lot::Mutex;
use rmcp::ErrorData;
use tokio::sync::{MutexGuard, watch};

use super::rate_limit::{Admission, RateLimiter};

/// Settings for answering a server's questions.
#[derive(Clone, Debug)]
pub struct AnswerSettings {
    /// The maximum number of questions per minute; more are declined, and the person is notified.
    pub questions_per_minute: usize,
    /// The maximum number of questions waiting to be shown; more are declined, and the person is
    /// notified.
    pub max_waiting: usize,
    /// How long the person has for one question before it is cancelled; no limit by default.
    pub time_limit: Option<Duration>,
    /// How often a form is shown while its answers are invalid.
    pub attempts: usize,
    /// The maximum number of rounds with questions per call, and of repeated calls after required
    /// URLs.
    pub rounds: usize,
    /// How long a call may stay in rounds without questions before it fails.
    pub stall_timeout: Duration,
    /// The server's URL, if any: URLs on other hosts get a warning.
    pub server_url: Option<String>,
    /// The server's name if it does not report one.
    pub server_name: String,
    /// The language of error messages.
    pub messages: Messages,
}

impl Default for AnswerSettings {
    fn default() -> Self {
        Self {
            questions_per_minute: 20,
            max_waiting: 20,
            time_limit: None,
            attempts: 3,
            rounds: 10,
            stall_timeout: Duration::from_secs(900),
            server_url: None,
            server_name: "The server".to_owned(),
            messages: Catalogue::default().messages(["en"]),
        }
    }
}

/// The decision on a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The person answered, or agreed to open a URL.
    Accepted,
    /// The person decided not to answer.
    Declined,
    /// The person made no decision.
    Cancelled,
    /// The person exceeded the client's time limit.
    TimedOut,
    /// The server exceeded a limit, and the person was not asked.
    Refused,
}

/// Why a question has no result.
#[derive(Debug, thiserror::Error)]
pub(super) enum QuestionError {
    #[error(transparent)]
    Wire(#[from] WireError),
    #[error("this client did not declare {0}")]
    Undeclared(&'static str),
    #[error("the schema cannot be shown: {0}")]
    Schema(entreat_core::Problems),
    #[error(transparent)]
    Presenter(#[from] PresenterError),
    #[error("the answer does not match the schema")]
    InvalidAnswer,
    #[error("the URL cannot be opened safely")]
    Unsafe,
}

impl From<QuestionError> for ErrorData {
    fn from(error: QuestionError) -> Self {
        let message = error.to_string();
        match error {
            QuestionError::Wire(_)
            | QuestionError::Undeclared(_)
            | QuestionError::Schema(_)
            | QuestionError::Unsafe => Self::invalid_params(message, None),
            QuestionError::Presenter(_) | QuestionError::InvalidAnswer => {
                Self::internal_error(message, None)
            }
        }
    }
}

/// The questions of one server.
pub(super) struct QuestionQueue {
    pub(super) presenter: Arc<dyn Presenter>,
    pub(super) settings: AnswerSettings,
    rate_limit: RateLimiter,
    /// Held while a question is shown.
    turn: tokio::sync::Mutex<()>,
    /// The number of questions waiting to be shown.
    waiting: watch::Sender<usize>,
    /// URLs whose completion has not been reported, by elicitation id.
    pub(super) visits: Mutex<HashMap<String, watch::Sender<bool>>>,
    last: Mutex<Option<Decision>>,
    /// Counts calls abandoned by the person.
    pub(super) abandoned: watch::Sender<u64>,
    /// Counts calls that have ended.
    pub(super) calls_ended: watch::Sender<u64>,
}

impl QuestionQueue {
    pub(super) fn new(presenter: Arc<dyn Presenter>, settings: AnswerSettings) -> Self {
        Self {
            presenter,
            rate_limit: RateLimiter::new(settings.questions_per_minute),
            settings,
            turn: tokio::sync::Mutex::default(),
            waiting: watch::Sender::new(0),
            visits: Mutex::default(),
            last: Mutex::default(),
            abandoned: watch::Sender::new(0),
            calls_ended: watch::Sender::new(0),
        }
    }

    /// Asks one question and returns its result. Dropping the future closes the prompt.
    pub(super) async fn answer(
        &self,
        server: &str,
        request: &ElicitRequest,
    ) -> Result<ElicitResult, QuestionError> {
        let modes = self.presenter.modes();
        let mode = request.mode()?;
        match mode {
            ElicitMode::Form { .. } if !modes.form => {
                return Err(QuestionError::Undeclared("elicitation by forms"));
            }
            ElicitMode::Url { .. } if !modes.url => {
                return Err(QuestionError::Undeclared("elicitation by URLs"));
            }
            ElicitMode::Form { .. } | ElicitMode::Url { .. } => {}
        }
        if !self.admits(server) {
            return Ok(self.record_decision(Decision::Refused));
        }
        let _turn = self.turn().await;
        let asking = async {
            match mode {
                ElicitMode::Form { schema } => self.ask_form(server, request, schema).await,
                ElicitMode::Url { url, .. } => self.ask_url(server, request.message(), url).await,
            }
        };
        self.with_time_limit(asking).await
    }

    /// Whether the limits admit another question; if not, the person is notified.
    pub(super) fn admits(&self, server: &str) -> bool {
        let admission = self.rate_limit.admit();
        if admission == Admission::RejectedFirst {
            let limit = self.settings.questions_per_minute;
            self.presenter.notice(&format!(
                "{server} asked more than {limit} questions a minute; further ones are declined."
            ));
        }
        if admission != Admission::Allowed {
            return false;
        }
        let limit = self.settings.max_waiting;
        let is_full = *self.waiting.borrow() >= limit;
        if is_full {
            self.presenter.notice(&format!(
                "{limit} questions of {server} are already waiting; another one was declined."
            ));
        }
        !is_full
    }

    async fn with_time_limit(
        &self,
        asking: impl Future<Output = Result<ElicitResult, QuestionError>>,
    ) -> Result<ElicitResult, QuestionError> {
        let Some(limit) = self.settings.time_limit else {
            return asking.await;
        };
        let answered = tokio::time::timeout(limit, asking).await;
        answered.unwrap_or_else(|_| {
            self.presenter
                .notice("This question has timed out and was cancelled.");
            Ok(self.record_decision(Decision::TimedOut))
        })
    }

    /// Waits until a question can be shown, in the order of arrival.
    pub(super) async fn turn(&self) -> MutexGuard<'_, ()> {
        let _waiting = WaitingGuard::new(&self.waiting);
        self.turn.lock().await
    }

    /// Waits at low priority: questions go first.
    pub(super) async fn idle_turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// Waits until a question is waiting to be shown.
    pub(super) async fn question_waiting(&self) {
        let mut waiting = self.waiting.subscribe();
        // Cannot fail: `self` holds the sender.
        let _ = waiting.wait_for(|waiting| *waiting > 0).await;
    }

    /// Records a decision and returns its result.
    pub(super) fn record_decision(&self, decision: Decision) -> ElicitResult {
        let mut last = self.last.lock();
        // Concurrent questions end in any order; an acceptance must not hide a refusal.
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

/// Counts one more waiting question until dropped.
struct WaitingGuard<'a>(&'a watch::Sender<usize>);

impl<'a> WaitingGuard<'a> {
    fn new(waiting: &'a watch::Sender<usize>) -> Self {
        waiting.send_modify(|waiting| *waiting += 1);
        Self(waiting)
    }
}

impl Drop for WaitingGuard<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|waiting| *waiting -= 1);
    }
}
