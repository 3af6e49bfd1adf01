//! Brings a terminal and the engine together: what the person does goes to the engine, what the
//! engine refuses comes back to the person, and whichever ends first ends the other.

use anyhow::Context as _;
use entreat::core::{Change, Presented};
use entreat::terminal::{Desk, Filled, News, Terminal, TerminalQuestion, Wire, Word};
use entreat::{ActError, CancelReason, Elicitation, Engine, Heard, Subscription, UnixTime};
use serde_json::Value;
use tokio::time::Instant;

use crate::context::Exit;

/// A question that is to be put to the person at a terminal.
pub(super) struct Conversation {
    pub(super) engine: Engine,
    pub(super) asked: Elicitation,
    pub(super) events: Subscription,
    /// What the person sees, but for what changes from one attempt to the next.
    pub(super) question: TerminalQuestion,
}

/// How the person's part ended; how the question did is the engine's to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The question has settled.
    Settled,
    /// It was cancelled, because there was nothing more to read.
    InputEnded,
    /// It was cancelled, because a signal came, with this exit code.
    Signal(Exit),
    /// There was never anything to read. The question is still open.
    Nobody,
}

impl Conversation {
    /// Asks until the question has settled, or a signal comes.
    ///
    /// Fails when the terminal or the store does; the question is cancelled then, if it can be.
    pub(super) async fn hold(
        mut self,
        terminal: &mut Terminal,
        signal: impl Future<Output = Exit>,
    ) -> anyhow::Result<Ending> {
        // As one who shows it: without the secrets, and without the asker's limits.
        let host = self.engine.elicitation(self.asked.id());
        let shown = host.show().await?;
        let left = u32::from(shown.lifecycle().extensions_left());
        let at = self.instant(shown.lifecycle().deadline());
        self.question = self.question.deadline(at, left);
        let result = self.converse(&host, terminal, signal).await;
        match result {
            Ok(ending @ Ending::Signal(_)) => {
                let cancelled = host.cancel_as(CancelReason::UserCancelled, Presented::Yes);
                unless_settled(cancelled.await)?;
                Ok(ending)
            }
            Ok(ending) => Ok(ending),
            Err(error) => {
                // So that nobody waits for an answer that cannot come. It may be over already.
                let _ = host.cancel(CancelReason::UserCancelled).await;
                Err(error)
            }
        }
    }

    async fn converse(
        &mut self,
        host: &Elicitation,
        terminal: &mut Terminal,
        signal: impl Future<Output = Exit>,
    ) -> anyhow::Result<Ending> {
        let (mut desk, mut wire) = Wire::pair();
        let mut settled = std::pin::pin!(host.outcome());
        let mut signal = std::pin::pin!(signal);
        let mut question = self.question.clone();
        loop {
            let filled = {
                let mut filling = std::pin::pin!(terminal.fill(&question, &mut wire));
                loop {
                    tokio::select! {
                        // In this order, so that news is heard before the round that brought
                        // it has ended.
                        biased;
                        exit = &mut signal => return Ok(Ending::Signal(exit)),
                        outcome = &mut settled => {
                            return outcome.map(|_| Ending::Settled).map_err(Into::into);
                        }
                        Some(news) = desk.next() => self.take(host, news, &desk).await,
                        Some(heard) = self.events.next() => self.hear(&heard, &desk),
                        filled = &mut filling => break filled,
                    }
                }
            };
            let answers = match filled.context("cannot talk to the person")? {
                Filled::Declined => {
                    unless_settled(host.decline_as(Presented::Yes).await)?;
                    return Ok(Ending::Settled);
                }
                Filled::Cancelled if terminal.input_ended() && !terminal.is_attended() => {
                    return Ok(Ending::Nobody);
                }
                Filled::Cancelled => {
                    let reason = CancelReason::UserCancelled;
                    unless_settled(host.cancel_as(reason, Presented::Yes).await)?;
                    return Ok(if terminal.input_ended() {
                        Ending::InputEnded
                    } else {
                        Ending::Settled
                    });
                }
                Filled::Answered(answers) => answers,
            };
            question = self.question.clone().draft(answers.clone());
            match host.submit(&Value::Object(answers)).await {
                Err(ActError::Invalid(refusal)) if refusal.retry_allowed => {
                    question = question.errors(refusal.errors);
                }
                Err(ActError::Invalid(_)) => return Ok(Ending::Settled),
                Err(ActError::TooLarge { size, limit }) => {
                    let words = format!(
                        "The answers have {size} bytes, and {limit} are taken: shorten them."
                    );
                    question = question.notice(words);
                }
                submitted => {
                    unless_settled(submitted)?;
                    return Ok(Ending::Settled);
                }
            }
        }
    }

    /// Tells the engine what the person did.
    async fn take(&mut self, host: &Elicitation, news: News, desk: &Desk) {
        // What goes wrong here does so again when the answers are sent, and is told then. Until
        // then the person can go on.
        match news {
            News::Begun => drop(host.open().await),
            News::Drafted(draft) => drop(host.draft(&draft).await),
            News::Extend => match host.extend(None).await {
                Ok(extended) => {
                    let at = self.instant(extended.deadline);
                    let extensions_left = u32::from(extended.extensions_left);
                    self.question = self.question.clone().deadline(at, extensions_left);
                    desk.tell(Word::Deadline {
                        at,
                        extensions_left,
                    });
                }
                Err(error) => desk.tell(Word::NotExtended(error.to_string())),
            },
        }
    }

    fn hear(&self, heard: &Heard, desk: &Desk) {
        if let Heard::Event(event) = heard
            && event.id() == self.asked.id()
            && let Some(step) = event.step()
            && step.change == Change::Warned
        {
            let deadline = event.snapshot().lifecycle().deadline();
            desk.tell(Word::Warned(deadline.since(self.engine.now())));
        }
    }

    /// A moment of the engine's clock on that of the prompts.
    fn instant(&self, moment: UnixTime) -> Instant {
        Instant::now() + moment.since(self.engine.now())
    }
}

/// A question that is over already has its outcome, which is told as such.
fn unless_settled<T>(result: Result<T, ActError>) -> Result<(), ActError> {
    match result {
        Ok(_) | Err(ActError::Settled { .. } | ActError::TimedOut { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
