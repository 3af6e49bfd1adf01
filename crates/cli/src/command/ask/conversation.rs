//! Connects a terminal with the engine: the person's actions go to the engine, its errors come
//! back to the person, and whichever ends first ends the other.

use anyhow::Context as _;
use entreat::core::{Change, Presented};
use entreat::terminal::{
    FormReply, PromptChannel, PromptEvent, PromptHandle, PromptNotice, Terminal, TerminalQuestion,
};
use entreat::{
    ActError, CancelReason, Elicitation, Engine, Subscription, SubscriptionItem, UnixTime,
};
use serde_json::Value;
use tokio::time::Instant;

use crate::context::Exit;

/// A question to ask the person at a terminal.
pub(super) struct Conversation {
    pub(super) engine: Engine,
    pub(super) elicitation: Elicitation,
    pub(super) events: Subscription,
    /// What the person sees, without the draft and errors of an attempt.
    pub(super) question: TerminalQuestion,
}

/// How the dialogue ended; the question's outcome comes from the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The question has settled.
    Settled,
    /// It was cancelled because the input ended.
    InputEnded,
    /// It was cancelled by a signal, with this exit code.
    Signal(Exit),
    /// There was no input at all. The question is still open.
    NoInput,
}

impl Conversation {
    /// Asks until the question has settled or a signal arrives.
    ///
    /// If the terminal or the store fails, tries to cancel the question and returns the error.
    pub(super) async fn run(
        mut self,
        terminal: &mut Terminal,
        signal: impl Future<Output = Exit>,
    ) -> anyhow::Result<Ending> {
        // The respondent's handle: without secrets, and without the asker's limits.
        let host = self.engine.elicitation(self.elicitation.id());
        let shown = host.show().await?;
        let left = u32::from(shown.lifecycle().extensions_left());
        let at = self.instant(shown.lifecycle().deadline());
        self.question = self.question.deadline(at, left);
        let result = self.ask_until_settled(&host, terminal, signal).await;
        match result {
            Ok(ending @ Ending::Signal(_)) => {
                let cancelled = host.cancel_as(CancelReason::UserCancelled, Presented::Yes);
                unless_settled(cancelled.await)?;
                Ok(ending)
            }
            Ok(ending) => Ok(ending),
            Err(error) => {
                // No answer can come any more. The question may have settled already.
                let _ = host.cancel(CancelReason::UserCancelled).await;
                Err(error)
            }
        }
    }

    async fn ask_until_settled(
        &mut self,
        host: &Elicitation,
        terminal: &mut Terminal,
        signal: impl Future<Output = Exit>,
    ) -> anyhow::Result<Ending> {
        let (mut prompt, mut channel) = PromptChannel::pair();
        let mut settled = std::pin::pin!(host.outcome());
        let mut signal = std::pin::pin!(signal);
        let mut question = self.question.clone();
        loop {
            let filled = {
                let mut filling = std::pin::pin!(terminal.fill(&question, &mut channel));
                loop {
                    tokio::select! {
                        // In this order, so that events are handled before the fill that sent
                        // them completes.
                        biased;
                        exit = &mut signal => return Ok(Ending::Signal(exit)),
                        outcome = &mut settled => {
                            return outcome.map(|_| Ending::Settled).map_err(Into::into);
                        }
                        Some(event) = prompt.next() => self.on_prompt_event(host, event, &prompt).await,
                        Some(notification) = self.events.next() => self.on_event(&notification, &prompt),
                        filled = &mut filling => break filled,
                    }
                }
            };
            let answers = match filled.context("cannot use the terminal")? {
                FormReply::Declined => {
                    unless_settled(host.decline_as(Presented::Yes).await)?;
                    return Ok(Ending::Settled);
                }
                FormReply::Cancelled if terminal.input_ended() && !terminal.is_attended() => {
                    return Ok(Ending::NoInput);
                }
                FormReply::Cancelled => {
                    let reason = CancelReason::UserCancelled;
                    unless_settled(host.cancel_as(reason, Presented::Yes).await)?;
                    return Ok(if terminal.input_ended() {
                        Ending::InputEnded
                    } else {
                        Ending::Settled
                    });
                }
                FormReply::Answered(answers) => answers,
            };
            question = self.question.clone().draft(answers.clone());
            match host.submit(&Value::Object(answers)).await {
                Err(ActError::Invalid(refusal)) if refusal.retry_allowed => {
                    question = question.errors(refusal.errors);
                }
                Err(ActError::Invalid(_)) => return Ok(Ending::Settled),
                Err(ActError::TooLarge { size, limit }) => {
                    let words = format!(
                        "The answers have {size} bytes; the limit is {limit}. Shorten them."
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

    /// Passes an action of the person on to the engine.
    async fn on_prompt_event(
        &mut self,
        host: &Elicitation,
        event: PromptEvent,
        prompt: &PromptHandle,
    ) {
        // An error here will occur again on submission, and is reported then. Until then the
        // person can continue.
        match event {
            PromptEvent::Started => drop(host.open().await),
            PromptEvent::DraftChanged(draft) => drop(host.draft(&draft).await),
            PromptEvent::ExtensionRequested => match host.extend(None).await {
                Ok(extended) => {
                    let at = self.instant(extended.deadline);
                    let extensions_left = u32::from(extended.extensions_left);
                    self.question = self.question.clone().deadline(at, extensions_left);
                    prompt.notify(PromptNotice::Deadline {
                        at,
                        extensions_left,
                    });
                }
                Err(error) => prompt.notify(PromptNotice::ExtensionRefused(error.to_string())),
            },
        }
    }

    fn on_event(&self, notification: &SubscriptionItem, prompt: &PromptHandle) {
        if let SubscriptionItem::Event(event) = notification
            && event.id() == self.elicitation.id()
            && let Some(step) = event.step()
            && step.change == Change::Warned
        {
            let deadline = event.snapshot().lifecycle().deadline();
            prompt.notify(PromptNotice::ExpiryWarning(
                deadline.since(self.engine.now()),
            ));
        }
    }

    /// Converts a time of the engine's clock to tokio's.
    fn instant(&self, moment: UnixTime) -> Instant {
        Instant::now() + moment.since(self.engine.now())
    }
}

/// Ignores errors that mean the question has already settled: its outcome is reported instead.
fn unless_settled<T>(result: Result<T, ActError>) -> Result<(), ActError> {
    match result {
        Ok(_) | Err(ActError::Settled { .. } | ActError::TimedOut { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
