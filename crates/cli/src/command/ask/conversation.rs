//! Brings prompts and the engine together: what is typed goes to the engine, what the engine
//! refuses comes back to the person, and whichever ends first ends the other.

use std::sync::Arc;

use anyhow::Context as _;
use entreat::core::{Change, Presented};
use entreat::terminal::plain::Plain;
use entreat::terminal::{Console, Reply};
use entreat::{
    ActError, CancelReason, Elicitation, Engine, FieldError, Form, Heard, Messages, Subscription,
};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::watched::{Note, Screen, Watched};
use crate::context::Exit;

/// A question that is to be put to the person at a console.
pub(super) struct Conversation {
    pub(super) engine: Engine,
    pub(super) question: Elicitation,
    pub(super) events: Subscription,
    pub(super) form: Form,
    pub(super) messages: Messages,
    pub(super) asker: Option<String>,
    pub(super) message: Option<String>,
}

/// How the person's part ended; how the question did is the engine's to say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ending {
    /// A signal ended it, with this exit code.
    pub(super) signal: Option<Exit>,
    /// There was nothing more to read.
    pub(super) input_ended: bool,
    /// The cursor stands behind a prompt.
    pub(super) within_a_line: bool,
}

/// Notes on their way. One is enough: the person types slower than the engine takes them.
const NOTES: usize = 1;

impl Conversation {
    /// Asks until the question has settled, or a signal comes.
    ///
    /// Fails when the console or the store does; the question is cancelled then, if it can be.
    pub(super) async fn hold<C: Console + Send + 'static>(
        mut self,
        console: C,
        signal: impl Future<Output = Exit>,
    ) -> anyhow::Result<Ending> {
        // As one who shows it: without the secrets, and without the asker's limits.
        let host = self.engine.elicitation(self.question.id());
        let deadline = host.show().await?.lifecycle().deadline();
        let screen = Arc::new(Screen::new(self.engine.clone(), deadline));
        let result = self.converse(&host, console, &screen, signal).await;
        let signal = match result {
            Ok(signal) => signal,
            Err(error) => {
                screen.close();
                // So that nobody waits for an answer that cannot come. It may be over already.
                let _ = host.cancel(CancelReason::UserCancelled).await;
                return Err(error);
            }
        };
        let within_a_line = screen.close();
        if signal.is_some() {
            let cancelled = host.cancel_as(CancelReason::UserCancelled, Presented::Yes);
            unless_settled(cancelled.await)?;
        }
        Ok(Ending {
            signal,
            input_ended: screen.input_ended(),
            within_a_line,
        })
    }

    async fn converse<C: Console + Send + 'static>(
        &mut self,
        host: &Elicitation,
        console: C,
        screen: &Arc<Screen>,
        signal: impl Future<Output = Exit>,
    ) -> anyhow::Result<Option<Exit>> {
        let (sender, mut notes) = mpsc::channel(NOTES);
        let mut settled = std::pin::pin!(host.outcome());
        let mut signal = std::pin::pin!(signal);
        let mut round = Round {
            console: Watched {
                console,
                screen: screen.clone(),
                notes: sender,
                begun: false,
            },
            form: self.form.clone(),
            messages: self.messages.clone(),
            asker: self.asker.clone(),
            message: self.message.clone(),
            draft: Map::new(),
            refused: None,
        };
        loop {
            let mut asking = tokio::task::spawn_blocking(move || round.ask());
            let (reply, asked) = loop {
                tokio::select! {
                    // In this order, so that notes are heard before the round that sent them
                    // has ended.
                    biased;
                    exit = &mut signal => return Ok(Some(exit)),
                    outcome = &mut settled => return outcome.map(|_| None).map_err(Into::into),
                    Some(note) = notes.recv() => take(host, note).await,
                    Some(heard) = self.events.next() => self.hear(&heard, screen),
                    asked = &mut asking => break asked.context("the prompts broke off")?,
                }
            };
            round = asked;
            match reply.context("cannot talk to the person")? {
                Reply::Declined => {
                    unless_settled(host.decline_as(Presented::Yes).await)?;
                    return Ok(None);
                }
                Reply::Cancelled => {
                    let reason = CancelReason::UserCancelled;
                    unless_settled(host.cancel_as(reason, Presented::Yes).await)?;
                    return Ok(None);
                }
                Reply::Answered => {}
            }
            let answers = Value::Object(round.draft.clone());
            round.refused = match host.submit(&answers).await {
                Err(ActError::Invalid(refusal)) if refusal.retry_allowed => {
                    Some(Refused::Errors(refusal.errors))
                }
                Err(ActError::Invalid(_)) => return Ok(None),
                Err(ActError::TooLarge { size, limit }) => Some(Refused::TooLarge { size, limit }),
                submitted => {
                    unless_settled(submitted)?;
                    return Ok(None);
                }
            };
        }
    }

    fn hear(&self, heard: &Heard, screen: &Screen) {
        if let Heard::Event(event) = heard
            && event.id() == self.question.id()
            && event
                .step()
                .is_some_and(|step| step.change == Change::Warned)
        {
            screen.warn();
        }
    }
}

/// Tells the engine what the person did.
async fn take(host: &Elicitation, note: Note) {
    // What goes wrong here does so again when the answers are sent, and is told then. Until
    // then the person can go on.
    match note {
        Note::Begun => drop(host.open().await),
        Note::Drafted(draft) => drop(host.draft(&draft).await),
    }
}

/// A question that is over already has its outcome, which is told as such.
fn unless_settled<T>(result: Result<T, ActError>) -> Result<(), ActError> {
    match result {
        Ok(_) | Err(ActError::Settled { .. } | ActError::TimedOut { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// One round of prompts, on a thread that may wait.
struct Round<C> {
    console: Watched<C>,
    form: Form,
    messages: Messages,
    asker: Option<String>,
    message: Option<String>,
    draft: Map<String, Value>,
    refused: Option<Refused>,
}

/// Why the answers of the round before were not taken.
enum Refused {
    Errors(Vec<FieldError>),
    TooLarge { size: usize, limit: usize },
}

impl<C: Console> Round<C> {
    fn ask(mut self) -> (std::io::Result<Reply>, Self) {
        let reply = self.converse();
        (reply, self)
    }

    fn converse(&mut self) -> std::io::Result<Reply> {
        let notes = self.console.notes.clone();
        let keep = |draft: &Value| drop(notes.blocking_send(Note::Drafted(draft.clone())));
        let mut plain = Plain::new(&self.form, &self.messages).after_each(&keep);
        if let Some(asker) = &self.asker {
            plain = plain.asker(asker);
        }
        if let Some(message) = &self.message {
            plain = plain.message(message);
        }
        let console = &mut self.console;
        match self.refused.take() {
            None => plain.fill(console, &mut self.draft),
            Some(Refused::Errors(errors)) => plain.correct(console, &mut self.draft, &errors),
            Some(Refused::TooLarge { size, limit }) => {
                console.say(&format!(
                    "The answers have {size} bytes, and {limit} are taken: shorten them."
                ))?;
                plain.fill(console, &mut self.draft)
            }
        }
    }
}

#[cfg(test)]
mod tests;
