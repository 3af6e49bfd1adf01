//! Holds a plain dialogue for a caller that waits: lines come from a channel, deadlines and
//! warnings in between.
//!
//! The dialogue waits where it asks, so it has a thread of its own. All that it says and wants to
//! read passes through here, and nothing does once this is dropped.

use std::io;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};

use crate::console::{Held, Talk};
use crate::lines::{Line, Lines};
use crate::plain::Plain;
use crate::question::{Filled, TerminalQuestion, Time};
use crate::typography::time_left;
use crate::wire::{News, Wire, Word};
use crate::{Console, Reply};

/// The command that asks for more time.
const EXTEND: &str = ":extend";

/// Requests on their way. One is enough: the dialogue goes on when it was served.
const REQUESTS: usize = 1;

/// What a dialogue wants.
enum Request {
    Say(String),
    Read {
        prompt: String,
        secret: bool,
        reply: oneshot::Sender<Line>,
    },
    Drafted(Value),
}

/// A dialogue's end of the desk.
struct Counter {
    requests: mpsc::Sender<Request>,
    width: usize,
    can_extend: bool,
}

impl Counter {
    fn read(&self, prompt: &str, secret: bool) -> Line {
        let (reply, line) = oneshot::channel();
        let request = Request::Read {
            prompt: prompt.to_owned(),
            secret,
            reply,
        };
        // Where nobody serves any more, the input has ended.
        let _ = self.requests.blocking_send(request);
        line.blocking_recv().unwrap_or(Ok(None))
    }
}

impl Console for Counter {
    fn say(&mut self, line: &str) -> io::Result<()> {
        let said = self.requests.blocking_send(Request::Say(line.to_owned()));
        said.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn read_line(&mut self, prompt: &str) -> Line {
        self.read(prompt, false)
    }

    fn read_secret(&mut self, prompt: &str) -> Line {
        self.read(prompt, true)
    }

    fn width(&self) -> usize {
        self.width
    }

    fn can_extend(&self) -> bool {
        self.can_extend
    }
}

/// Asks a form.
pub(crate) async fn fill(
    talk: &mut Talk,
    lines: &mut Lines,
    question: &TerminalQuestion,
    wire: &mut Wire,
) -> io::Result<Filled> {
    let (sender, mut requests) = mpsc::channel(REQUESTS);
    let counter = Counter {
        requests: sender,
        width: talk.width(),
        can_extend: question.time.is_some_and(|time| time.extensions_left > 0),
    };
    let question = question.clone();
    let mut desk = Desk {
        talk: Held::new(talk),
        wire,
        time: question.time,
        begun: false,
        reading: None,
        is_extending: false,
        untold: Vec::new(),
    };
    let dialogue = tokio::task::spawn_blocking(move || converse(counter, &question));
    loop {
        let is_reading = desk.reading.is_some();
        tokio::select! {
            // In this order, so that a line finds what was said before it.
            biased;
            word = desk.wire.word() => desk.hear(word)?,
            request = requests.recv(), if !is_reading => match request {
                Some(request) => desk.serve(request)?,
                None => break,
            },
            line = desk.talk.read(lines), if is_reading => desk.take(line)?,
        }
    }
    let (reply, draft) = dialogue
        .await
        .map_err(|_| io::Error::other("the dialogue broke off"))?;
    Ok(match reply? {
        Reply::Answered => Filled::Answered(draft),
        Reply::Declined => Filled::Declined,
        Reply::Cancelled => Filled::Cancelled,
    })
}

fn converse(
    mut counter: Counter,
    question: &TerminalQuestion,
) -> (io::Result<Reply>, Map<String, Value>) {
    let requests = counter.requests.clone();
    let keep = |draft: &Value| drop(requests.blocking_send(Request::Drafted(draft.clone())));
    let mut notices = question.notices.clone();
    notices.extend(question.time.map(introduce));
    let plain = Plain {
        asker: question.asker.as_deref(),
        message: question.message.as_deref(),
        script: question.script.as_ref(),
        notices: &notices,
        listener: Some(&keep),
        ..Plain::new(&question.form, &question.messages)
    };
    let mut draft = question.draft.clone();
    let reply = if question.errors.is_empty() {
        plain.fill(&mut counter, &mut draft)
    } else {
        plain.correct(&mut counter, &mut draft, &question.errors)
    };
    (reply, draft)
}

fn introduce(time: Time) -> String {
    let left = time_left(time.left());
    if time.extensions_left > 0 {
        format!("You have {left}. {EXTEND} asks for more.")
    } else {
        format!("You have {left}.")
    }
}

/// The course of one dialogue, from outside.
struct Desk<'d> {
    talk: Held<'d>,
    wire: &'d mut Wire,
    time: Option<Time>,
    begun: bool,
    /// The prompt that is out, and who waits for its line.
    reading: Option<Reading>,
    /// More time was asked for at the prompt that is out.
    is_extending: bool,
    /// What is to be said before the next prompt. Not at once: a line in the middle of the
    /// person's would garble it.
    untold: Vec<String>,
}

struct Reading {
    prompt: String,
    secret: bool,
    reply: oneshot::Sender<Line>,
}

impl Desk<'_> {
    fn hear(&mut self, word: Word) -> io::Result<()> {
        let words = match word {
            Word::Deadline {
                at,
                extensions_left,
            } => {
                let time = Time {
                    deadline: at,
                    extensions_left,
                };
                self.time = Some(time);
                format!("You have {} now.", time_left(time.left()))
            }
            Word::Warned(left) => warning(left, self.time),
            Word::NotExtended(why) => format!("No more time: {why}."),
        };
        self.untold.push(words);
        if std::mem::take(&mut self.is_extending) {
            self.prompt()?;
        }
        Ok(())
    }

    fn serve(&mut self, request: Request) -> io::Result<()> {
        match request {
            Request::Say(line) => self.talk.line(&line),
            Request::Drafted(draft) => {
                self.wire.tell(News::Drafted(draft));
                Ok(())
            }
            Request::Read {
                prompt,
                secret,
                reply,
            } => {
                self.reading = Some(Reading {
                    prompt,
                    secret,
                    reply,
                });
                self.prompt()
            }
        }
    }

    /// Puts the prompt out, after what was not told yet.
    fn prompt(&mut self) -> io::Result<()> {
        for words in std::mem::take(&mut self.untold) {
            self.talk.own(&words)?;
        }
        match &self.reading {
            Some(reading) => self.talk.prompt(&reading.prompt, reading.secret),
            None => Ok(()),
        }
    }

    fn take(&mut self, line: Line) -> io::Result<()> {
        if matches!(line, Ok(Some(_))) && !std::mem::replace(&mut self.begun, true) {
            self.wire.tell(News::Begun);
        }
        let wants_time = matches!(&line, Ok(Some(typed)) if typed.trim_end() == EXTEND);
        if wants_time && let Some(time) = self.time {
            if time.extensions_left > 0 {
                self.wire.tell(News::Extend);
                // The prompt comes back with the answer.
                self.is_extending = true;
                return Ok(());
            }
            self.untold
                .push("There is no more time to be had.".to_owned());
            return self.prompt();
        }
        if let Some(reading) = self.reading.take() {
            // A dialogue that is gone wants no line.
            let _ = reading.reply.send(line);
        }
        Ok(())
    }
}

fn warning(left: Duration, time: Option<Time>) -> String {
    let words = format!("Time runs out: {} left.", time_left(left));
    if time.is_some_and(|time| time.extensions_left > 0) {
        words + " :extend asks for more."
    } else {
        words
    }
}
