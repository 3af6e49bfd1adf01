//! The whole screen, redrawn at every key.
//!
//! [`Model`] decides what keys do and `view.rs` draws it, both without a terminal. This is the
//! shell around them: it reads keys, tells the time, reads files, and gives the screen back.

mod card;
mod edit;
mod event;
mod field;
mod ink;
mod inputs;
mod keys;
mod list;
mod model;
mod path;
mod screen;
mod view;

use std::io;
use std::time::Duration;

use crossterm::event::Event as Input;
use tokio::task::JoinSet;
use tokio::time::{Interval, MissedTickBehavior};

use crate::prompt::file::fetch;
use crate::question::{CardReply, Filled, Look, OpenedReply, TerminalQuestion, Time, UrlCard};
use crate::wire::{News, Wire, Word};
use card::{Card, Deed, key_on_card, key_when_opened};
use event::{Effect, Event};
pub(crate) use inputs::Inputs;
use model::Model;
use screen::Screen;

/// Asks a form.
pub(crate) async fn fill(
    inputs: &mut Inputs,
    look: Look,
    question: &TerminalQuestion,
    wire: &mut Wire,
) -> io::Result<Filled> {
    inputs.begin();
    let mut screen = Screen::enter()?;
    inputs.forget();
    let mut shell = Shell {
        model: Model::new(question, look, screen.size()),
        question,
        time: question.time,
        jobs: JoinSet::new(),
    };
    let mut seconds = tokio::time::interval(Duration::from_secs(1));
    seconds.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        screen.draw(&shell.model.view())?;
        let event = shell.next(&mut screen, inputs, &mut seconds, wire).await?;
        let Some(event) = event else {
            return Ok(Filled::Cancelled);
        };
        for effect in shell.model.update(event) {
            if let Effect::Done(filled) = effect {
                return Ok(filled);
            }
            shell.perform(effect, wire);
        }
    }
}

struct Shell<'q> {
    model: Model,
    question: &'q TerminalQuestion,
    time: Option<Time>,
    /// Files being read and paths being completed. What is dropped with this is not waited for.
    jobs: JoinSet<Option<Event>>,
}

impl Shell<'_> {
    /// What happens next; `None` when the terminal is gone.
    async fn next(
        &mut self,
        screen: &mut Screen,
        inputs: &mut Inputs,
        seconds: &mut Interval,
        wire: &mut Wire,
    ) -> io::Result<Option<Event>> {
        loop {
            tokio::select! {
                biased;
                word = wire.word() => return Ok(Some(self.hear(word))),
                Some(done) = self.jobs.join_next(), if !self.jobs.is_empty() => {
                    if let Ok(Some(event)) = done {
                        return Ok(Some(event));
                    }
                }
                input = inputs.next() => match input {
                    // A terminal that is gone is a closed window.
                    None | Some(Err(_)) => return Ok(None),
                    Some(Ok(input)) => {
                        if let Some(event) = understand(input, screen)? {
                            return Ok(Some(event));
                        }
                    }
                },
                _ = seconds.tick(), if self.time.is_some() => {
                    if let Some(time) = self.time {
                        return Ok(Some(Event::Left(time.left())));
                    }
                }
            }
        }
    }

    fn hear(&mut self, word: Word) -> Event {
        match word {
            Word::Deadline {
                at,
                extensions_left,
            } => {
                let time = Time {
                    deadline: at,
                    extensions_left,
                };
                self.time = Some(time);
                Event::Deadline(time.left(), extensions_left)
            }
            Word::Warned(left) => Event::Warned(left),
            Word::NotExtended(why) => Event::NotExtended(why),
        }
    }

    fn perform(&mut self, effect: Effect, wire: &Wire) {
        match effect {
            Effect::Begun => wire.tell(News::Begun),
            Effect::Drafted(draft) => wire.tell(News::Drafted(draft)),
            Effect::Extend => wire.tell(News::Extend),
            Effect::Complete { place, typed } => {
                let home = self.question.home.clone();
                self.jobs.spawn_blocking(move || {
                    let completion = path::complete(place, typed, home.as_deref());
                    Some(Event::Completed(completion))
                });
            }
            Effect::Fetch { place, path } => {
                let form = self.question.form.clone();
                let path = path::expand(&path, self.question.home.as_deref());
                self.jobs.spawn_blocking(move || {
                    let entreat_core::Kind::File(rules) = form.fields()[place].kind() else {
                        return None;
                    };
                    let fetched = fetch(rules, &path);
                    Some(Event::Fetched { place, fetched })
                });
            }
            Effect::Done(_) => {}
        }
    }
}

fn understand(input: Input, screen: &mut Screen) -> io::Result<Option<Event>> {
    Ok(match input {
        Input::Key(key) => keys::read(key).map(Event::Key),
        Input::Paste(text) => Some(Event::Paste(text)),
        Input::Resize(..) => {
            let (columns, rows) = screen.resize()?;
            Some(Event::Resized(columns, rows))
        }
        Input::FocusGained | Input::FocusLost | Input::Mouse(_) => None,
    })
}

/// Asks whether an address may be opened.
pub(crate) async fn card(inputs: &mut Inputs, look: Look, card: &UrlCard) -> io::Result<CardReply> {
    let read = |key| key_on_card(key, card.may_be_opened);
    let reply = show(inputs, look, card, false, read).await?;
    Ok(reply.unwrap_or(CardReply::Cancel))
}

/// Waits for a person who was sent to an address.
pub(crate) async fn opened(
    inputs: &mut Inputs,
    look: Look,
    card: &UrlCard,
) -> io::Result<OpenedReply> {
    let reply = show(inputs, look, card, true, key_when_opened).await?;
    Ok(reply.unwrap_or(OpenedReply::Cancel))
}

/// Shows a card until a key decides; `None` when the terminal is gone.
async fn show<R>(
    inputs: &mut Inputs,
    look: Look,
    card: &UrlCard,
    is_opened: bool,
    read: impl Fn(event::Key) -> Option<Deed<R>>,
) -> io::Result<Option<R>> {
    inputs.begin();
    let mut screen = Screen::enter()?;
    inputs.forget();
    let mut page = Card {
        about: card,
        look,
        size: screen.size(),
        is_opened,
        is_copied: false,
        scroll: 0,
    };
    loop {
        screen.draw(&page.view())?;
        let Some(Ok(input)) = inputs.next().await else {
            return Ok(None);
        };
        match understand(input, &mut screen)? {
            Some(Event::Resized(columns, rows)) => page.size = (columns, rows),
            Some(Event::Key(key)) => match read(key) {
                Some(Deed::Reply(reply)) => return Ok(Some(reply)),
                Some(Deed::Copy) => {
                    screen.copy(&card.url)?;
                    page.is_copied = true;
                }
                Some(Deed::Scroll(rows)) => page.scroll_by(rows),
                None => {}
            },
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
