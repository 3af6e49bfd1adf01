//! The full mode, redrawn on every key: a form on the whole screen, a single question in place.
//!
//! [`Model`] decides what keys do and `view.rs` draws it, both without a terminal. This is the
//! shell around them: it reads keys, keeps time, reads files, and restores the screen.

mod card;
mod edit;
mod event;
mod field;
mod inputs;
mod keys;
mod list;
mod model;
mod path;
mod screen;
mod theme;
mod view;

use std::io;
use std::time::Duration;

use crossterm::event::Event as Input;
use jiff::Zoned;
use tokio::task::JoinSet;
use tokio::time::{Interval, MissedTickBehavior};

use crate::channel::{PromptChannel, PromptEvent, PromptNotice};
use crate::console::size;
use crate::inline::{self, InlineScreen};
use crate::prompt::file::fetch;
use crate::question::{
    CardReply, FormReply, OpenedReply, TerminalQuestion, TerminalStyle, Time, UrlCard,
};
use crate::texts::Texts;
use card::{CardAction, CardScreen, key_on_card, key_when_opened};
use event::{Effect, Event};
pub(crate) use field::DrawContext;
pub(crate) use inputs::Inputs;
pub(crate) use model::{FileError, Leaving, Model};
use screen::Screen;
pub(crate) use theme::{Theme, truncate};
pub(crate) use view::{Body, Frame, clock, wrapped};

/// Asks a form.
pub(crate) async fn fill(
    inputs: &mut Inputs,
    style: TerminalStyle,
    question: &TerminalQuestion,
    channel: &mut PromptChannel,
) -> io::Result<FormReply> {
    inputs.start();
    let today = Zoned::now().date();
    if inline::is_for(question) {
        let mut model = Model::inline(question, style, size(), today);
        let mut screen = InlineScreen::enter(inline::closing_line(&model, None))?;
        inputs.discard_pending();
        let introduction = inline::introduction(&model);
        if inline::is_long(introduction.len(), screen.size().1) {
            screen.print(introduction)?;
            model.mark_introduced();
        }
        let (reply, model) = converse(model, &mut screen, inputs, question, channel).await?;
        screen.close_with(inline::closing_line(&model, Some(&reply)));
        return Ok(reply);
    }
    let mut screen = Screen::enter()?;
    inputs.discard_pending();
    let model = Model::new(question, style, screen.size(), today);
    let (reply, _) = converse(model, &mut screen, inputs, question, channel).await?;
    Ok(reply)
}

/// Where frames are drawn.
pub(crate) trait Surface {
    fn draw(&mut self, frame: &Frame) -> io::Result<()>;

    /// Measures the window again.
    fn resize(&mut self) -> io::Result<(usize, usize)>;
}

/// Passes events to a model and performs its effects, until the person replies.
async fn converse(
    model: Model,
    screen: &mut impl Surface,
    inputs: &mut Inputs,
    question: &TerminalQuestion,
    channel: &mut PromptChannel,
) -> io::Result<(FormReply, Model)> {
    let mut shell = Shell {
        model,
        question,
        time: question.time,
        jobs: JoinSet::new(),
    };
    let mut seconds = tokio::time::interval(Duration::from_secs(1));
    seconds.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        screen.draw(&shell.model.view())?;
        let event = shell.next(screen, inputs, &mut seconds, channel).await?;
        let Some(event) = event else {
            return Ok((FormReply::Cancelled, shell.model));
        };
        for effect in shell.model.update(event) {
            if let Effect::Done(filled) = effect {
                return Ok((filled, shell.model));
            }
            shell.perform(effect, channel);
        }
    }
}

struct Shell<'q> {
    model: Model,
    question: &'q TerminalQuestion,
    time: Option<Time>,
    /// Files being read and paths being completed. Detached on drop.
    jobs: JoinSet<Option<Event>>,
}

impl Shell<'_> {
    /// Waits for the next event; `None` when the terminal is closed.
    async fn next(
        &mut self,
        screen: &mut impl Surface,
        inputs: &mut Inputs,
        seconds: &mut Interval,
        channel: &mut PromptChannel,
    ) -> io::Result<Option<Event>> {
        loop {
            tokio::select! {
                biased;
                notice = channel.next_notice() => return Ok(Some(self.on_notice(notice))),
                Some(done) = self.jobs.join_next(), if !self.jobs.is_empty() => {
                    if let Ok(Some(event)) = done {
                        return Ok(Some(event));
                    }
                }
                input = inputs.next() => match input {
                    // The window was closed.
                    None | Some(Err(_)) => return Ok(None),
                    Some(Ok(input)) => {
                        if let Some(event) = to_event(input, screen)? {
                            return Ok(Some(event));
                        }
                    }
                },
                _ = seconds.tick(), if self.time.is_some() => {
                    if let Some(time) = self.time {
                        return Ok(Some(Event::TimeLeft(time.left())));
                    }
                }
            }
        }
    }

    fn on_notice(&mut self, notice: PromptNotice) -> Event {
        match notice {
            PromptNotice::Deadline {
                at,
                extensions_left,
            } => {
                let time = self.time.insert(Time::new(at, extensions_left));
                Event::Deadline(time.left(), extensions_left)
            }
            PromptNotice::ExpiryWarning(left) => Event::ExpiryWarning(left),
            PromptNotice::ExtensionRefused(why) => Event::ExtensionRefused(why),
        }
    }

    fn perform(&mut self, effect: Effect, channel: &PromptChannel) {
        match effect {
            Effect::Started => channel.send(PromptEvent::Started),
            Effect::DraftChanged(draft) => channel.send(PromptEvent::DraftChanged(draft)),
            Effect::RequestExtension => channel.send(PromptEvent::ExtensionRequested),
            Effect::Complete { index, typed } => {
                let home = self.question.home.clone();
                self.jobs.spawn_blocking(move || {
                    let completion = path::complete(index, typed, home.as_deref());
                    Some(Event::Completed(completion))
                });
            }
            Effect::Fetch { index, path } => {
                let form = self.question.form.clone();
                let texts = &Texts::of(&self.question.messages).refusals;
                let path = path::expand(&path, self.question.home.as_deref());
                self.jobs.spawn_blocking(move || {
                    let entreat_core::Kind::File(rules) = form.fields()[index].kind() else {
                        return None;
                    };
                    let fetched = fetch(rules, &path, texts);
                    Some(Event::Fetched { index, fetched })
                });
            }
            Effect::Done(_) => {}
        }
    }
}

fn to_event(input: Input, screen: &mut impl Surface) -> io::Result<Option<Event>> {
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

/// Asks whether a URL may be opened.
pub(crate) async fn card(
    inputs: &mut Inputs,
    style: TerminalStyle,
    texts: &'static Texts,
    card: &UrlCard,
) -> io::Result<CardReply> {
    let read = |key| key_on_card(key, card.may_be_opened);
    let page = CardScreen::new(card, style, texts, false);
    let reply = show(inputs, page, read).await?;
    Ok(reply.unwrap_or(CardReply::Cancel))
}

/// Waits until the person reports back from an opened URL.
pub(crate) async fn opened(
    inputs: &mut Inputs,
    style: TerminalStyle,
    texts: &'static Texts,
    card: &UrlCard,
) -> io::Result<OpenedReply> {
    let page = CardScreen::new(card, style, texts, true);
    let reply = show(inputs, page, key_when_opened).await?;
    Ok(reply.unwrap_or(OpenedReply::Cancel))
}

/// Shows a card until a key decides; `None` when the terminal is closed.
async fn show<R>(
    inputs: &mut Inputs,
    mut page: CardScreen<'_>,
    read: impl Fn(event::Key) -> Option<CardAction<R>>,
) -> io::Result<Option<R>> {
    inputs.start();
    let mut screen = Screen::enter()?;
    inputs.discard_pending();
    page.size = screen.size();
    loop {
        screen.draw(&page.view())?;
        let Some(Ok(input)) = inputs.next().await else {
            return Ok(None);
        };
        match to_event(input, &mut screen)? {
            Some(Event::Resized(columns, rows)) => page.size = (columns, rows),
            Some(Event::Key(key)) => match read(key) {
                Some(CardAction::Reply(reply)) => return Ok(Some(reply)),
                Some(CardAction::Copy) => {
                    screen.copy(&page.card.url)?;
                    page.is_copied = true;
                }
                Some(CardAction::Scroll(rows)) => page.scroll_by(rows),
                None => {}
            },
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
