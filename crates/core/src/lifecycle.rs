//! Decides what happens to one elicitation; performs nothing.
//!
//! [`Lifecycle::decide`] takes a command and the time, and returns a [`Step`] to store or a
//! [`Rejection`]. [`Lifecycle::apply`] applies the step. [`Change::effects`] lists what the
//! caller then has to perform. Keeping clocks and channels out lets a property test replay any
//! interleaving, and lets a writer that lost a race decide again.

mod state;
mod step;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use state::{CancelReason, Outcome, Presented, State, Status};
pub use step::{Change, Command, Effect, ExtensionRefusal, Rejection, Step, Verdict};

use crate::time::UnixTime;
use crate::timeout::Terms;

/// The next timer of an elicitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timer {
    /// When the timer is due.
    pub at: UnixTime,
    /// The command to run then: [`Command::Warn`] or [`Command::Expire`].
    pub command: Command,
}

/// The state machine of one elicitation.
///
/// ```
/// use entreat_core::{Command, Lifecycle, Mode, Rejection, State, TimeoutPolicy, UnixTime, Verdict};
///
/// let terms = TimeoutPolicy::default().terms(Mode::Form, Default::default())?;
/// let asked = UnixTime::from_millis(1_706_889_000_000);
/// let mut question = Lifecycle::new(asked, terms, 3);
///
/// let step = question.decide(&Command::Submit(Verdict::Valid), asked)?;
/// question.apply(&step);
/// assert_eq!(question.state(), State::Completed { at: asked });
///
/// let late = question.decide(&Command::Decline { presented: Default::default() }, asked);
/// assert!(matches!(late, Err(Rejection::Settled { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lifecycle {
    created: UnixTime,
    deadline: UnixTime,
    state: State,
    terms: Terms,
    extensions: u8,
    attempts: u8,
    attempt_limit: u8,
    warned: bool,
    presented: Presented,
}

impl Lifecycle {
    /// Creates a pending elicitation. After `attempt_limit` invalid answers it is cancelled.
    ///
    /// A limit of 0 would allow no answer at all, and counts as 1.
    pub fn new(now: UnixTime, terms: Terms, attempt_limit: u8) -> Self {
        Self {
            created: now,
            deadline: now.after(terms.initial()),
            state: State::Pending,
            terms,
            extensions: 0,
            attempts: 0,
            attempt_limit: attempt_limit.max(1),
            warned: false,
            presented: Presented::Unknown,
        }
    }

    /// Decides what a command changes at this time.
    ///
    /// A late answer is rejected with [`Rejection::Late`], before and after the timer has fired.
    /// So is every other command after the deadline of an elicitation that has not settled; the
    /// caller should then send [`Command::Expire`].
    pub fn decide(&self, command: &Command, now: UnixTime) -> Result<Step, Rejection> {
        let change = match *command {
            Command::Show => self.unless_settled(now, Change::Shown),
            Command::Open => self.open(now),
            Command::Draft => self.answer(now, Change::Drafted),
            Command::Submit(Verdict::Valid) => self.answer(now, Change::Answered),
            Command::Submit(Verdict::Invalid) => self.answer(now, self.refusal()),
            Command::Complete => self.answer(now, Change::Completed),
            Command::Decline { presented } => {
                self.unless_settled(now, Change::Declined { presented })
            }
            Command::Cancel { reason, presented } => {
                self.unless_settled(now, Change::Cancelled { reason, presented })
            }
            Command::Extend(by) => self.extend(now, by),
            Command::Warn => self.warn(now),
            Command::Expire => self.expire(now),
        }?;
        // Only these activate; see `apply`.
        let activates = matches!(change, Change::Opened | Change::Drafted | Change::Refused);
        Ok(Step {
            at: now,
            change,
            opens: activates && self.state == State::Pending,
        })
    }

    fn open(&self, now: UnixTime) -> Result<Change, Rejection> {
        match self.state {
            State::Pending => self.in_time(now, Change::Opened),
            // Opened again, by a second tab or a reload: harmless.
            State::Active { .. } => self.in_time(now, Change::Shown),
            State::Completed { .. }
            | State::Declined { .. }
            | State::Cancelled { .. }
            | State::TimedOut { .. } => Err(self.settled()),
        }
    }

    fn answer(&self, now: UnixTime, change: Change) -> Result<Change, Rejection> {
        match self.state {
            State::Pending | State::Active { .. } => self.in_time(now, change),
            // The same rejection before and after the timer fires: the answer was late.
            State::TimedOut { .. } => Err(Rejection::Late),
            State::Completed { .. } | State::Declined { .. } | State::Cancelled { .. } => {
                Err(self.settled())
            }
        }
    }

    fn unless_settled(&self, now: UnixTime, change: Change) -> Result<Change, Rejection> {
        match self.state {
            State::Pending | State::Active { .. } => self.in_time(now, change),
            State::Completed { .. }
            | State::Declined { .. }
            | State::Cancelled { .. }
            | State::TimedOut { .. } => Err(self.settled()),
        }
    }

    fn extend(&self, now: UnixTime, by: Option<Duration>) -> Result<Change, Rejection> {
        match self.state {
            State::Pending | State::Active { .. } => {}
            State::Completed { .. }
            | State::Declined { .. }
            | State::Cancelled { .. }
            | State::TimedOut { .. } => return Err(self.settled()),
        }
        let reject = |why| Err(Rejection::Extension(why));
        let by = by.unwrap_or(self.terms.extension());
        if !self.terms.extension_allowed() {
            return reject(ExtensionRefusal::NotAllowed);
        }
        if self.extensions >= self.terms.max_extensions() {
            return reject(ExtensionRefusal::NoneLeft);
        }
        if by > self.terms.extension() {
            return reject(ExtensionRefusal::TooLong);
        }
        // From the current deadline, not from now: extending early costs no time.
        let deadline = self.deadline.after(by);
        self.in_time(now, Change::Extended { deadline })
    }

    fn warn(&self, now: UnixTime) -> Result<Change, Rejection> {
        match self.state {
            State::Pending | State::Active { .. } if self.warned || now < self.warning() => {
                Err(Rejection::NotDue)
            }
            State::Pending | State::Active { .. } => self.in_time(now, Change::Warned),
            State::Completed { .. }
            | State::Declined { .. }
            | State::Cancelled { .. }
            | State::TimedOut { .. } => Err(self.settled()),
        }
    }

    fn expire(&self, now: UnixTime) -> Result<Change, Rejection> {
        match self.state {
            State::Pending | State::Active { .. } if now < self.deadline => Err(Rejection::NotDue),
            State::Pending | State::Active { .. } => Ok(Change::TimedOut),
            State::Completed { .. }
            | State::Declined { .. }
            | State::Cancelled { .. }
            | State::TimedOut { .. } => Err(self.settled()),
        }
    }

    fn in_time(&self, now: UnixTime, change: Change) -> Result<Change, Rejection> {
        if now < self.deadline {
            Ok(change)
        } else {
            Err(Rejection::Late)
        }
    }

    fn refusal(&self) -> Change {
        if self.attempts + 1 < self.attempt_limit {
            Change::Refused
        } else {
            Change::Exhausted
        }
    }

    fn settled(&self) -> Rejection {
        match self.outcome() {
            Some(outcome) => Rejection::Settled { outcome },
            None => Rejection::NotDue,
        }
    }

    fn warning(&self) -> UnixTime {
        self.deadline.before(self.terms.warning())
    }

    /// Applies a step that [`decide`](Self::decide) returned for this exact state.
    pub fn apply(&mut self, step: &Step) {
        let at = step.at;
        match step.change {
            Change::Shown => self.presented = Presented::Yes,
            Change::Opened | Change::Drafted => self.activate(at),
            Change::Refused => {
                self.activate(at);
                self.attempts += 1;
            }
            Change::Exhausted => {
                self.activate(at);
                self.attempts += 1;
                let reason = CancelReason::MaxRetriesExceeded;
                self.state = State::Cancelled { at, reason };
            }
            Change::Answered => {
                self.presented = Presented::Yes;
                self.attempts += 1;
                self.state = State::Completed { at };
            }
            Change::Completed => self.state = State::Completed { at },
            Change::Declined { presented } => {
                self.set_presented_if_unknown(presented);
                self.state = State::Declined { at };
            }
            Change::Cancelled { reason, presented } => {
                self.set_presented_if_unknown(presented);
                self.state = State::Cancelled { at, reason };
            }
            Change::Extended { deadline } => {
                self.deadline = deadline;
                self.extensions += 1;
                // Warn again before the new deadline.
                self.warned = false;
            }
            Change::Warned => self.warned = true,
            Change::TimedOut => self.state = State::TimedOut { at },
        }
    }

    fn activate(&mut self, at: UnixTime) {
        self.presented = Presented::Yes;
        match self.state {
            State::Pending => self.state = State::Active { since: at },
            State::Active { .. }
            | State::Completed { .. }
            | State::Declined { .. }
            | State::Cancelled { .. }
            | State::TimedOut { .. } => {}
        }
    }

    /// Records what a channel reports, unless it is known already.
    fn set_presented_if_unknown(&mut self, presented: Presented) {
        if self.presented == Presented::Unknown {
            self.presented = presented;
        }
    }

    /// The step by which somebody else brought the elicitation here, as far as its state tells;
    /// `earlier` is what was known before.
    ///
    /// Several steps count as the one that matters most to the asker. A change without a trace in
    /// the lifecycle, such as a further draft, is `None`. The time is `now` where the state has
    /// none.
    pub fn step_since(&self, earlier: Option<&Self>, now: UnixTime) -> Option<Step> {
        if earlier.is_some_and(|it| !it.is_live()) {
            return None;
        }
        let (attempts, extensions) = earlier.map_or((0, 0), |it| (it.attempts, it.extensions));
        let presented = self.presented;
        let opens = match (earlier.map(|it| it.state), self.state) {
            (Some(State::Pending) | None, State::Active { since }) => Some(since),
            _ => None,
        };
        let was_warned = earlier.is_some_and(|it| it.warned && it.extensions == self.extensions);
        let (at, change) = match self.state {
            State::Completed { at } if self.attempts > attempts => (at, Change::Answered),
            State::Completed { at } => (at, Change::Completed),
            State::Declined { at } => (at, Change::Declined { presented }),
            State::Cancelled {
                at,
                reason: CancelReason::MaxRetriesExceeded,
            } => (at, Change::Exhausted),
            State::Cancelled { at, reason } => (at, Change::Cancelled { reason, presented }),
            State::TimedOut { at } => (at, Change::TimedOut),
            State::Pending | State::Active { .. } => {
                let change = if self.warned && !was_warned {
                    Change::Warned
                } else if self.extensions > extensions {
                    let deadline = self.deadline;
                    Change::Extended { deadline }
                } else if self.attempts > attempts {
                    Change::Refused
                } else if opens.is_some() {
                    Change::Opened
                } else if earlier.is_some_and(|it| it.presented != presented) {
                    Change::Shown
                } else {
                    return None;
                };
                (opens.unwrap_or(now), change)
            }
        };
        Some(Step {
            at,
            change,
            opens: opens.is_some(),
        })
    }

    /// The current state.
    pub fn state(&self) -> State {
        self.state
    }

    /// The outcome, or `None` while the elicitation is live.
    pub fn outcome(&self) -> Option<Outcome> {
        match self.state {
            State::Pending | State::Active { .. } => None,
            State::Completed { .. } => Some(Outcome::Completed),
            State::Declined { .. } => Some(Outcome::Declined),
            State::Cancelled { reason, .. } => Some(Outcome::Cancelled(reason)),
            State::TimedOut { .. } => Some(Outcome::TimedOut),
        }
    }

    /// When the elicitation settled, or `None` while it is live.
    pub fn settled_at(&self) -> Option<UnixTime> {
        match self.state {
            State::Pending | State::Active { .. } => None,
            State::Completed { at }
            | State::Declined { at }
            | State::Cancelled { at, .. }
            | State::TimedOut { at } => Some(at),
        }
    }

    /// Whether the elicitation has not settled. Its deadline may have passed; see
    /// [`is_overdue`](Self::is_overdue).
    pub fn is_live(&self) -> bool {
        self.outcome().is_none()
    }

    /// Whether the deadline has passed but the elicitation has not settled.
    pub fn is_overdue(&self, now: UnixTime) -> bool {
        self.is_live() && now >= self.deadline
    }

    /// The next timer, or `None` once the elicitation has settled.
    pub fn timer(&self) -> Option<Timer> {
        let is_warned = self.warned;
        self.is_live().then(|| {
            if is_warned {
                Timer {
                    at: self.deadline,
                    command: Command::Expire,
                }
            } else {
                Timer {
                    at: self.warning(),
                    command: Command::Warn,
                }
            }
        })
    }

    /// When the elicitation was created.
    pub fn created(&self) -> UnixTime {
        self.created
    }

    /// The deadline for an answer.
    pub fn deadline(&self) -> UnixTime {
        self.deadline
    }

    /// The total time to answer, extensions included.
    pub fn timeout(&self) -> Duration {
        self.deadline.since(self.created)
    }

    /// The timeout terms.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// How many times the deadline was extended.
    pub fn extensions(&self) -> u8 {
        self.extensions
    }

    /// How many extensions are left.
    pub fn extensions_left(&self) -> u8 {
        self.terms.max_extensions().saturating_sub(self.extensions)
    }

    /// How many answers were submitted, valid or not.
    pub fn attempts(&self) -> u8 {
        self.attempts
    }

    /// How many answers may be submitted.
    pub fn attempt_limit(&self) -> u8 {
        self.attempt_limit
    }

    /// Whether the question was shown to a person.
    pub fn presented(&self) -> Presented {
        self.presented
    }

    /// The time left until the deadline.
    pub fn remaining(&self, now: UnixTime) -> Duration {
        self.deadline.since(now)
    }
}
