//! Scripted people, for tests of programs that ask.

use entreat_core::CancelReason;
use entreat_engine::{ActError, Elicitation, Engine, Snapshot, SubscriptionItem};
use serde_json::{Map, Value};
use tokio::task::JoinHandle;

use crate::Generator;

/// A person who answers questions by a script.
///
/// ```
/// use entreat_core::Outcome;
/// use entreat_engine::{Ask, Engine};
/// use entreat_testkit::{Respondent, samples};
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
/// # runtime.block_on(async {
/// let engine = Engine::builder().start().await?;
/// let _person = Respondent::submit_with_errors_then_correct().attend(&engine);
///
/// // The program under test asks.
/// let question = engine.asker("my-server").ask(Ask::form(samples::comprehensive())).await?;
/// let settled = question.outcome().await?;
/// assert_eq!(settled.outcome(), Some(Outcome::Completed));
/// assert_eq!(settled.lifecycle().attempts(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Respondent {
    habit: Habit,
    seed: u64,
}

#[derive(Clone, Debug)]
enum Habit {
    Submit,
    ErrThenSubmit,
    OnlyErr,
    Abandon,
    Decline,
    Cancel,
    Say(Value),
}

impl Respondent {
    fn new(habit: Habit) -> Self {
        Self { habit, seed: 1 }
    }

    /// Submits a valid answer immediately.
    pub fn immediate_valid_submit() -> Self {
        Self::new(Habit::Submit)
    }

    /// Submits an invalid answer, then a valid one.
    pub fn submit_with_errors_then_correct() -> Self {
        Self::new(Habit::ErrThenSubmit)
    }

    /// Submits invalid answers until no more are accepted.
    pub fn submit_with_errors_until_refused() -> Self {
        Self::new(Habit::OnlyErr)
    }

    /// Opens the question and never answers; advance time for it to time out.
    pub fn timeout_abandonment() -> Self {
        Self::new(Habit::Abandon)
    }

    /// Declines.
    pub fn decline() -> Self {
        Self::new(Habit::Decline)
    }

    /// Cancels.
    pub fn cancel() -> Self {
        Self::new(Habit::Cancel)
    }

    /// Submits this answer.
    pub fn submit(answers: Value) -> Self {
        Self::new(Habit::Say(answers))
    }

    /// Sets the seed of generated answers.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Answers one question and returns its state. If the last attempt is rejected, returns the
    /// cancelled elicitation instead of an error.
    pub async fn answer(&self, question: &Elicitation) -> Result<Snapshot, ActError> {
        match &self.habit {
            Habit::Submit => self.give_valid(question).await,
            Habit::ErrThenSubmit => {
                self.give_invalid(question).await?;
                self.give_valid(question).await
            }
            Habit::OnlyErr => loop {
                let standing = self.give_invalid(question).await?;
                if standing.outcome().is_some() {
                    return Ok(standing);
                }
            },
            Habit::Abandon => {
                question.open().await?;
                question.status().await
            }
            Habit::Decline => question.decline().await,
            Habit::Cancel => question.cancel(CancelReason::UserCancelled).await,
            Habit::Say(answers) => question.submit(answers).await,
        }
    }

    /// Answers every new question until the result is dropped.
    pub fn attend(self, engine: &Engine) -> Attendance {
        let mut heard = engine.subscribe();
        let engine = engine.clone();
        let task = tokio::spawn(async move {
            while let Some(heard) = heard.next().await {
                if let SubscriptionItem::Event(event) = heard
                    && event.step().is_none()
                {
                    // The question may have settled meanwhile.
                    let _ = self.answer(&engine.elicitation(event.id())).await;
                }
            }
        });
        Attendance(task)
    }

    async fn give_valid(&self, question: &Elicitation) -> Result<Snapshot, ActError> {
        let standing = question.status().await?;
        let answers = match standing.record().request.subject.form() {
            Some(form) => Generator::new(form, self.seed).valid(),
            None => return question.complete(&Value::Object(Map::new())).await,
        };
        question.submit(&answers.unwrap_or_default()).await
    }

    async fn give_invalid(&self, question: &Elicitation) -> Result<Snapshot, ActError> {
        let standing = question.status().await?;
        let form = standing.record().request.subject.form();
        let breaking = form.and_then(|form| {
            let mut generator = Generator::new(form, self.seed);
            let rule = generator.breakable().into_iter().next()?;
            generator.breaking(&*rule)
        });
        // A null is invalid for every form.
        match question.submit(&breaking.unwrap_or_default()).await {
            Err(ActError::Invalid(_)) => question.status().await,
            other => other,
        }
    }
}

/// A respondent at work; dropping it stops the respondent.
#[derive(Debug)]
pub struct Attendance(JoinHandle<()>);

impl Drop for Attendance {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use entreat_core::{Outcome, Status, UnixTime};
    use entreat_engine::Ask;

    use super::*;
    use crate::{VirtualClock, samples};

    #[tokio::test]
    async fn each_habit_ends_as_its_name_says() {
        let clock = VirtualClock::new(UnixTime::from_millis(1_000_000));
        let engine = Engine::builder()
            .clock(clock.clone())
            .start()
            .await
            .unwrap();
        let exhausted = Outcome::Cancelled(CancelReason::MaxRetriesExceeded);
        let left = Outcome::Cancelled(CancelReason::UserCancelled);
        for (person, outcome, attempts) in [
            (Respondent::immediate_valid_submit(), Outcome::Completed, 1),
            (
                Respondent::submit_with_errors_then_correct(),
                Outcome::Completed,
                2,
            ),
            (Respondent::submit_with_errors_until_refused(), exhausted, 3),
            (Respondent::decline(), Outcome::Declined, 0),
            (Respondent::cancel(), left, 0),
        ] {
            let ask = Ask::form(samples::comprehensive());
            let question = engine.asker("test").ask(ask).await.unwrap();
            let host = engine.elicitation(question.id());
            let standing = person.answer(&host).await.unwrap();
            assert_eq!(standing.outcome(), Some(outcome), "{person:?}");
            assert_eq!(standing.lifecycle().attempts(), attempts, "{person:?}");
        }
        let ask = Ask::form(samples::minimal());
        let question = engine.asker("test").ask(ask).await.unwrap();
        let person = Respondent::timeout_abandonment();
        let standing = person
            .answer(&engine.elicitation(question.id()))
            .await
            .unwrap();
        assert_eq!(standing.status(), Status::Active);
        clock.advance(Duration::from_secs(300));
        assert_eq!(question.status().await.unwrap().status(), Status::Timeout);
    }
}
