//! Decides what happens to one elicitation; performs nothing.
//!
//! [`Lifecycle::decide`] takes a command and the time and answers with a [`Step`], a fact to be
//! kept, or with a [`Rejection`]. [`Lifecycle::apply`] takes the fact in. [`Change::effects`]
//! says what the caller then has to perform. Keeping clocks and channels out lets a property
//! test replay any interleaving, and lets a store that lost a race decide again.

mod state;
mod step;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use state::{CancelReason, Outcome, Presented, State, Status};
pub use step::{Change, Command, Effect, ExtensionRefusal, Rejection, Step, Verdict};

use crate::time::UnixTime;
use crate::timeout::Terms;

/// What time will do next to an elicitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alarm {
    /// When.
    pub at: UnixTime,
    /// [`Command::Warn`] or [`Command::Expire`].
    pub command: Command,
}

/// One elicitation's life so far, as far as it decides what may happen next.
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
    /// A question that is asked now, and may be answered wrongly `attempt_limit - 1` times.
    ///
    /// A limit of 0 would allow no answer at all; it counts as 1.
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

    /// What a command comes to at this time.
    ///
    /// An answer that is late is rejected as [`Rejection::Late`], before and after the timer
    /// has fired; so is everything else that comes after the deadline of an elicitation that
    /// has not settled. Whoever gets that should let [`Command::Expire`] follow.
    pub fn decide(&self, command: &Command, now: UnixTime) -> Result<Step, Rejection> {
        let change = match *command {
            Command::Show => self.show(now),
            Command::Open => self.open(now),
            Command::Draft => self.answer(now, Change::Drafted),
            Command::Submit(Verdict::Valid) => self.answer(now, Change::Answered),
            Command::Submit(Verdict::Invalid) => self.answer(now, self.refusal()),
            Command::Complete => self.answer(now, Change::Completed),
            Command::Decline { presented } => self.end(now, Change::Declined { presented }),
            Command::Cancel { reason, presented } => {
                self.end(now, Change::Cancelled { reason, presented })
            }
            Command::Extend(by) => self.extend(now, by),
            Command::Warn => self.warn(now),
            Command::Expire => self.expire(now),
        }?;
        Ok(Step { at: now, change })
    }

    fn show(&self, now: UnixTime) -> Result<Change, Rejection> {
        match self.state {
            State::Pending | State::Active { .. } => self.in_time(now, Change::Shown),
            State::Completed { .. }
            | State::Declined { .. }
            | State::Cancelled { .. }
            | State::TimedOut { .. } => Err(self.settled()),
        }
    }

    fn open(&self, now: UnixTime) -> Result<Change, Rejection> {
        match self.state {
            State::Pending => self.in_time(now, Change::Opened),
            // Opened again, by a second tab or a reload: nothing changes but nothing is wrong.
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
            // The same words before and after the timer fired: the person was too late.
            State::TimedOut { .. } => Err(Rejection::Late),
            State::Completed { .. } | State::Declined { .. } | State::Cancelled { .. } => {
                Err(self.settled())
            }
        }
    }

    fn end(&self, now: UnixTime, change: Change) -> Result<Change, Rejection> {
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
        let refuse = |why| Err(Rejection::Extension(why));
        let by = by.unwrap_or(self.terms.extension());
        if !self.terms.extension_allowed() {
            return refuse(ExtensionRefusal::NotAllowed);
        }
        if self.extensions >= self.terms.max_extensions() {
            return refuse(ExtensionRefusal::NoneLeft);
        }
        if by > self.terms.extension() {
            return refuse(ExtensionRefusal::TooLong);
        }
        // From where the deadline stands, not from now: who asks early loses nothing.
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

    /// Takes a fact in that was decided for this very state.
    pub fn apply(&mut self, step: &Step) {
        let at = step.at;
        match step.change {
            Change::Shown => self.presented = Presented::Yes,
            Change::Opened | Change::Drafted => self.begin(at),
            Change::Refused => {
                self.begin(at);
                self.attempts += 1;
            }
            Change::Exhausted => {
                self.begin(at);
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
                self.learn(presented);
                self.state = State::Declined { at };
            }
            Change::Cancelled { reason, presented } => {
                self.learn(presented);
                self.state = State::Cancelled { at, reason };
            }
            Change::Extended { deadline } => {
                self.deadline = deadline;
                self.extensions += 1;
                // A new deadline gets a warning of its own.
                self.warned = false;
            }
            Change::Warned => self.warned = true,
            Change::TimedOut => self.state = State::TimedOut { at },
        }
    }

    fn begin(&mut self, at: UnixTime) {
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

    /// What a channel believes does not undo what is known.
    fn learn(&mut self, presented: Presented) {
        if self.presented == Presented::Unknown {
            self.presented = presented;
        }
    }

    /// Where it stands.
    pub fn state(&self) -> State {
        self.state
    }

    /// How it ended; `None` while it is live.
    pub fn outcome(&self) -> Option<Outcome> {
        match self.state {
            State::Pending | State::Active { .. } => None,
            State::Completed { .. } => Some(Outcome::Completed),
            State::Declined { .. } => Some(Outcome::Declined),
            State::Cancelled { reason, .. } => Some(Outcome::Cancelled(reason)),
            State::TimedOut { .. } => Some(Outcome::TimedOut),
        }
    }

    /// When it ended; `None` while it is live.
    pub fn settled_at(&self) -> Option<UnixTime> {
        match self.state {
            State::Pending | State::Active { .. } => None,
            State::Completed { at }
            | State::Declined { at }
            | State::Cancelled { at, .. }
            | State::TimedOut { at } => Some(at),
        }
    }

    /// Whether it can still be answered, as far as is recorded; time may have passed since.
    pub fn is_live(&self) -> bool {
        self.outcome().is_none()
    }

    /// Whether its deadline has passed while nobody settled it.
    pub fn is_overdue(&self, now: UnixTime) -> bool {
        self.is_live() && now >= self.deadline
    }

    /// What time will do next; `None` once it has settled.
    pub fn alarm(&self) -> Option<Alarm> {
        let is_warned = self.warned;
        self.is_live().then(|| {
            if is_warned {
                Alarm {
                    at: self.deadline,
                    command: Command::Expire,
                }
            } else {
                Alarm {
                    at: self.warning(),
                    command: Command::Warn,
                }
            }
        })
    }

    /// When it was asked.
    pub fn created(&self) -> UnixTime {
        self.created
    }

    /// Until when it can be answered.
    pub fn deadline(&self) -> UnixTime {
        self.deadline
    }

    /// How long it can be answered in all, extensions included.
    pub fn timeout(&self) -> Duration {
        self.deadline.since(self.created)
    }

    /// Its terms.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// How often its time was extended.
    pub fn extensions(&self) -> u8 {
        self.extensions
    }

    /// How often its time can still be extended.
    pub fn extensions_left(&self) -> u8 {
        self.terms.max_extensions().saturating_sub(self.extensions)
    }

    /// How many whole answers came, right and wrong.
    pub fn attempts(&self) -> u8 {
        self.attempts
    }

    /// How many whole answers may come.
    pub fn attempt_limit(&self) -> u8 {
        self.attempt_limit
    }

    /// Whether a person was shown the question.
    pub fn presented(&self) -> Presented {
        self.presented
    }

    /// How long the person has left.
    pub fn remaining(&self, now: UnixTime) -> Duration {
        self.deadline.since(now)
    }
}
