//! Runs a plain dialogue for an async caller, with deadlines and warnings in between.
//!
//! The dialogue blocks on its prompts, so it runs on its own thread. All of its input and output
//! passes through here, and nothing does once this is dropped.

use std::io;

use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};

use crate::channel::{PromptChannel, PromptEvent, PromptNotice};
use crate::console::{Output, PromptGuard};
use crate::lines::{Line, LineReader};
use crate::plain::Plain;
use crate::question::{FormReply, TerminalQuestion, Time};
use crate::texts::Texts;
use crate::typography::time_left;
use crate::{Console, Reply};

/// The command that asks for more time.
const EXTEND: &str = ":extend";

/// One is enough: the dialogue continues once its request was handled.
const REQUESTS: usize = 1;

/// A request of the dialogue thread.
enum Request {
    Say(String),
    Read {
        prompt: String,
        secret: bool,
        reply: oneshot::Sender<Line>,
    },
    Drafted(Value),
}

/// The dialogue's end of the session.
struct ChannelConsole {
    requests: mpsc::Sender<Request>,
    width: usize,
    can_extend: bool,
}

impl ChannelConsole {
    fn read(&self, prompt: &str, secret: bool) -> Line {
        let (reply, line) = oneshot::channel();
        let request = Request::Read {
            prompt: prompt.to_owned(),
            secret,
            reply,
        };
        // If the session is gone, the input has ended.
        let _ = self.requests.blocking_send(request);
        line.blocking_recv().unwrap_or(Ok(None))
    }
}

impl Console for ChannelConsole {
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
    output: &mut Output,
    lines: &mut LineReader,
    question: &TerminalQuestion,
    channel: &mut PromptChannel,
) -> io::Result<FormReply> {
    let (sender, mut requests) = mpsc::channel(REQUESTS);
    let console = ChannelConsole {
        requests: sender,
        width: output.width(),
        can_extend: question.time.is_some_and(|time| time.extensions_left > 0),
    };
    let question = question.clone();
    let texts = Texts::of(&question.messages);
    let mut session = Session {
        output: PromptGuard::new(output),
        channel,
        texts,
        time: question.time,
        started: false,
        reading: None,
        is_extending: false,
        notices: Vec::new(),
    };
    let dialogue = tokio::task::spawn_blocking(move || run_dialogue(console, &question));
    loop {
        let is_reading = session.reading.is_some();
        tokio::select! {
            // In this order, so that notices are handled before the line that follows them.
            biased;
            notice = session.channel.next_notice() => session.on_notice(notice)?,
            request = requests.recv(), if !is_reading => match request {
                Some(request) => session.on_request(request)?,
                None => break,
            },
            line = session.output.read(lines), if is_reading => session.on_line(line)?,
        }
    }
    let (reply, draft) = dialogue
        .await
        .map_err(|_| io::Error::other("the dialogue thread panicked"))?;
    Ok(match reply? {
        Reply::Answered => FormReply::Answered(draft),
        Reply::Declined => FormReply::Declined,
        Reply::Cancelled => FormReply::Cancelled,
    })
}

fn run_dialogue(
    mut console: ChannelConsole,
    question: &TerminalQuestion,
) -> (io::Result<Reply>, Map<String, Value>) {
    let requests = console.requests.clone();
    let keep = |draft: &Value| drop(requests.blocking_send(Request::Drafted(draft.clone())));
    let mut notices = question.notices.clone();
    let texts = Texts::of(&question.messages);
    notices.extend(question.time.map(|time| deadline_notice(time, texts)));
    let plain = Plain {
        asker: question.asker.as_deref(),
        message: question.message.as_deref(),
        text_format: question.text_format,
        script: question.script.as_ref(),
        notices: &notices,
        listener: Some(&keep),
        ..Plain::new(&question.form, &question.messages)
    };
    let mut draft = question.draft.clone();
    let reply = if question.errors.is_empty() {
        plain.fill(&mut console, &mut draft)
    } else {
        plain.correct(&mut console, &mut draft, &question.errors)
    };
    (reply, draft)
}

fn deadline_notice(time: Time, texts: &Texts) -> String {
    let left = (texts.plain.time)(&time_left(time.left(), texts));
    with_more_time(left, Some(time), texts)
}

/// Adds how to ask for more time, if that is possible.
fn with_more_time(sentence: String, time: Option<Time>, texts: &Texts) -> String {
    if time.is_some_and(|time| time.extensions_left > 0) {
        format!("{sentence} {}", texts.plain.more_time)
    } else {
        sentence
    }
}

/// The state of one dialogue, seen from the async side.
struct Session<'d> {
    output: PromptGuard<'d>,
    channel: &'d mut PromptChannel,
    texts: &'static Texts,
    time: Option<Time>,
    started: bool,
    /// The open prompt, with the channel that awaits its line.
    reading: Option<Reading>,
    /// The person asked for more time at the open prompt.
    is_extending: bool,
    /// Notices to show before the next prompt. Not at once, since output would garble what the
    /// person is typing.
    notices: Vec<String>,
}

struct Reading {
    prompt: String,
    secret: bool,
    reply: oneshot::Sender<Line>,
}

impl Session<'_> {
    fn on_notice(&mut self, notice: PromptNotice) -> io::Result<()> {
        let texts = self.texts;
        let text = match notice {
            PromptNotice::Deadline {
                at,
                extensions_left,
            } => {
                let time = self.time.insert(Time::new(at, extensions_left));
                (texts.extended)(&time_left(time.left(), texts))
            }
            PromptNotice::ExpiryWarning(left) => {
                let warning = (texts.running_out)(&time_left(left, texts));
                with_more_time(warning, self.time, texts)
            }
            PromptNotice::ExtensionRefused(why) => (texts.not_extended)(&why),
        };
        self.notices.push(text);
        if std::mem::take(&mut self.is_extending) {
            self.prompt()?;
        }
        Ok(())
    }

    fn on_request(&mut self, request: Request) -> io::Result<()> {
        match request {
            Request::Say(line) => self.output.line(&line),
            Request::Drafted(draft) => {
                self.channel.send(PromptEvent::DraftChanged(draft));
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

    /// Shows pending notices, then the prompt.
    fn prompt(&mut self) -> io::Result<()> {
        for text in std::mem::take(&mut self.notices) {
            self.output.write_own(&text)?;
        }
        match &self.reading {
            Some(reading) => self.output.prompt(&reading.prompt, reading.secret),
            None => Ok(()),
        }
    }

    fn on_line(&mut self, line: Line) -> io::Result<()> {
        if matches!(line, Ok(Some(_))) && !std::mem::replace(&mut self.started, true) {
            self.channel.send(PromptEvent::Started);
        }
        let wants_time = matches!(&line, Ok(Some(typed)) if typed.trim_end() == EXTEND);
        if wants_time && let Some(time) = self.time {
            if time.extensions_left > 0 {
                self.channel.send(PromptEvent::ExtensionRequested);
                // The prompt is shown again with the response.
                self.is_extending = true;
                return Ok(());
            }
            self.notices.push(self.texts.no_extension_left.to_owned());
            return self.prompt();
        }
        if let Some(reading) = self.reading.take() {
            // The dialogue may have ended.
            let _ = reading.reply.send(line);
        }
        Ok(())
    }
}
