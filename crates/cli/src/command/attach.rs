//! `entreat attach`: answers a question that a service holds, at this terminal.
//!
//! A client of the control API and nothing else: what may be answered is decided by the service,
//! and told again here when it refuses.

use std::io::IsTerminal as _;
use std::time::Duration;

use anyhow::{Context as _, bail};
use entreat::core::jiff::Zoned;
use entreat::core::{FieldError, Script, Validators};
use entreat::terminal::{Desk, Filled, News, Terminal, TerminalQuestion, Wire, Word};
use entreat::{Catalogue, ElicitationId, Form, Messages};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::context::{Context, Exit};
use crate::look::look;
use crate::remote::{self, Remote, RemoteError};
use crate::signals::Signals;
use crate::{output, runtime};

/// Answer a question that a service holds, at this terminal
///
/// Shows it as `entreat ask` does and sends the answer to the service; nothing is printed, since the
/// answer belongs to whoever asked. Ends by itself when the question is settled elsewhere.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The elicitation, as `entreat list` names it
    #[arg(value_name = "ID")]
    id: ElicitationId,
    /// The service
    #[arg(long, value_name = "URL", value_hint = clap::ValueHint::Url, default_value = remote::HERE)]
    url: String,
    /// The asker's key at that service; others on this machine can see flags, so better
    /// `$ENTREAT_API_KEY`
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Ask in lines that are never redrawn
    #[arg(long)]
    plain: bool,
}

const AFTER_HELP: &str = "\
Examples:
  entreat list --url http://127.0.0.1:7171
  entreat attach elic_01hnmq7zq8e9vv8h2m6x3c5t0d
  entreat attach elic_01hnmq7zq8e9vv8h2m6x3c5t0d --url http://127.0.0.1:8080 --plain

Exit codes: 0 answered, here or elsewhere; 3 declined; 4 cancelled; 5 out of time; 1 there is none
of that name; 2 wrong usage, a service that does not answer, a question that no terminal can show.
A signal leaves the question open: 130 Ctrl-C in lines, 143 ended, 129 terminal closed.";

/// How long one wait for the outcome takes; a service may end in between.
const WAIT: Duration = Duration::from_secs(20);
/// How long before the end the person is warned, as a service does.
const WARNING: Duration = Duration::from_secs(60);

pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Exit> {
    let service = Remote::at(&args.url, args.key.as_deref(), context.environment())?;
    let asked = runtime::block_on(async {
        let params = json!({"elicitationId": args.id});
        service.call("elicitation/question", params).await
    })?;
    let asked = match asked {
        Err(RemoteError::NotFound) => return Ok(context.has_no(args.id)),
        asked => asked?,
    };
    let status = remote::text(&asked, "status");
    if !matches!(&*status, "pending" | "active") {
        context.say(format_args!(
            "entreat: the question is over already: {status}"
        ));
        return Ok(exit_of(&status));
    }
    let languages = context.languages().iter().map(String::as_str);
    let messages = Catalogue::default().messages(languages);
    let mut question = question(&asked, messages)?.today(Zoned::now().date());
    if let Some(home) = &context.environment().home {
        question = question.home(home);
    }
    let look = look(context.environment(), args.plain);
    let attached = Attached {
        service: &service,
        id: args.id,
        question,
        time: time(&asked),
    };
    let ending = runtime::block_on(async {
        let mut signals = Signals::listen().context("cannot listen for signals")?;
        let mut terminal = if std::io::stdin().is_terminal() {
            Terminal::open(look).unwrap_or_else(|_| Terminal::piped(look.unicode))
        } else {
            Terminal::piped(look.unicode)
        };
        tokio::select! {
            ending = attached.hold(&mut terminal) => ending,
            exit = signals.next() => Ok(Ending::Signal(exit)),
        }
    })?;
    Ok(match ending {
        Ending::Signal(exit) => {
            context.say(format_args!("entreat: left; the question is still open"));
            exit
        }
        Ending::Here(status) => {
            let words = match &*status {
                "completed" => "sent",
                "declined" => "declined",
                "cancelled" => "cancelled",
                _ => "time ran out, and nothing was sent",
            };
            context.say(format_args!("entreat: {words}"));
            exit_of(&status)
        }
        Ending::Elsewhere(status) => {
            let status = output::plain(&status);
            context.say(format_args!("entreat: the question was settled: {status}"));
            exit_of(&status)
        }
    })
}

/// How the person's part ended.
enum Ending {
    /// By what was done here, in this state.
    Here(String),
    /// By others or by time, in this state.
    Elsewhere(String),
    Signal(Exit),
}

fn exit_of(status: &str) -> Exit {
    match status {
        "completed" => Exit::Clean,
        "declined" => Exit::Declined,
        "timeout" => Exit::TimedOut,
        _ => Exit::Cancelled,
    }
}

/// What the person sees of a question.
fn question(asked: &Value, messages: Messages) -> anyhow::Result<TerminalQuestion> {
    if let Some(url) = asked["url"].as_str() {
        bail!(
            "this question is answered on a web page, not here: {}",
            output::plain(url)
        );
    }
    let mut question = if asked["script"].is_array() {
        let script = Script::from_value(&asked["script"]);
        let script = script.context("the service's script cannot be shown here")?;
        TerminalQuestion::of_script(&script, messages)
    } else {
        TerminalQuestion::new(form(&asked["formDefinition"])?, messages)
    };
    if let Some(asker) = asked["asker"].as_str() {
        question = question.asker(asker);
    }
    if let Some(message) = asked["message"].as_str() {
        question = question.message(message);
    }
    if let Some(draft) = asked["draft"].as_object() {
        question = question.draft(draft.clone());
    }
    Ok(question)
}

/// A form whose custom validators are the service's to ask: here they let every answer pass.
fn form(definition: &Value) -> anyhow::Result<Form> {
    let mut validators = Validators::default();
    let names = definition["validation"]["custom_validators"].as_array();
    for name in names.into_iter().flatten().filter_map(Value::as_str) {
        validators.register(name, |_| Ok(()));
    }
    Form::with_validators(definition, &validators)
        .context("the service's form cannot be shown here")
}

/// When a question is over, and how often that can be put off.
fn time(asked: &Value) -> Option<(Instant, u32)> {
    let deadline = asked["timeoutAt"]
        .as_i64()
        .or_else(|| asked["newTimeoutAt"].as_i64())?;
    let now = Zoned::now().timestamp().as_millisecond();
    let left = u64::try_from(deadline.saturating_sub(now)).unwrap_or(0);
    let extensions = asked["extensionsRemaining"].as_u64().unwrap_or(0);
    let at = Instant::now() + Duration::from_millis(left);
    Some((at, u32::try_from(extensions).unwrap_or(u32::MAX)))
}

struct Attached<'a> {
    service: &'a Remote,
    id: ElicitationId,
    question: TerminalQuestion,
    time: Option<(Instant, u32)>,
}

impl Attached<'_> {
    /// Asks until the question has settled.
    async fn hold(mut self, terminal: &mut Terminal) -> anyhow::Result<Ending> {
        let (mut desk, mut wire) = Wire::pair();
        let service = self.service;
        let mut settled = std::pin::pin!(settled(service, self.id));
        let mut question = self.question.clone();
        let mut is_warned = false;
        loop {
            question = self.timed(question);
            let filled = {
                let mut filling = std::pin::pin!(terminal.fill(&question, &mut wire));
                loop {
                    let warning = self
                        .time
                        .filter(|_| !is_warned)
                        .and_then(|(at, _)| at.checked_sub(WARNING));
                    tokio::select! {
                        biased;
                        status = &mut settled => return Ok(Ending::Elsewhere(status?)),
                        Some(news) = desk.next() => {
                            is_warned &= news != News::Extend;
                            self.take(news, &desk).await;
                        }
                        () = at(warning) => {
                            is_warned = true;
                            desk.tell(Word::Warned(self.left()));
                        }
                        filled = &mut filling => break filled.context("cannot talk to the person")?,
                    }
                }
            };
            let (method, params) = match filled {
                Filled::Answered(answers) => {
                    question = self.question.clone().draft(answers.clone());
                    match self.submit(answers).await? {
                        Submitted::Settled(status) => return Ok(Ending::Here(status)),
                        Submitted::Refused(errors) => question = question.errors(errors),
                        Submitted::TooLarge(words) => question = question.notice(words),
                    }
                    continue;
                }
                Filled::Cancelled if terminal.input_ended() && !terminal.is_attended() => {
                    bail!(
                        "nobody can answer here: stdin is empty, and no terminal; the question is \
                         still open"
                    );
                }
                Filled::Declined => ("elicitation/decline", json!({"elicitationId": self.id})),
                Filled::Cancelled => (
                    "elicitation/cancel",
                    json!({"elicitationId": self.id, "reason": "user_cancelled"}),
                ),
            };
            return match service.call(method, params).await? {
                Ok(record) => Ok(Ending::Here(remote::text(&record, "status"))),
                Err(RemoteError::Settled { state }) => Ok(Ending::Elsewhere(state)),
                Err(error) => Err(error.into()),
            };
        }
    }

    fn timed(&self, question: TerminalQuestion) -> TerminalQuestion {
        match self.time {
            Some((at, extensions_left)) => question.deadline(at, extensions_left),
            None => question,
        }
    }

    fn left(&self) -> Duration {
        let now = Instant::now();
        self.time
            .map_or(Duration::ZERO, |(at, _)| at.saturating_duration_since(now))
    }

    /// Tells the service what the person did.
    async fn take(&mut self, news: News, desk: &Desk) {
        let part =
            |part: Value| json!({"elicitationId": self.id, "responses": part, "partial": true});
        let params = match news {
            News::Begun => part(json!({})),
            News::Drafted(draft) => part(draft),
            News::Extend => {
                let params = json!({"elicitationId": self.id});
                let extended = self
                    .service
                    .call("elicitation/extend_timeout", params)
                    .await;
                match extended {
                    Ok(Ok(extended)) => {
                        self.time = time(&extended);
                        if let Some((at, extensions_left)) = self.time {
                            desk.tell(Word::Deadline {
                                at,
                                extensions_left,
                            });
                        }
                    }
                    Ok(Err(error)) => desk.tell(Word::NotExtended(error.to_string())),
                    Err(error) => desk.tell(Word::NotExtended(error.to_string())),
                }
                return;
            }
        };
        // What goes wrong here does so again when the answers are sent, and is told then.
        let _ = self.service.call("elicitation/submit", params).await;
    }

    async fn submit(&self, answers: Map<String, Value>) -> anyhow::Result<Submitted> {
        let params = json!({"elicitationId": self.id, "responses": answers});
        let submitted = self.service.call("elicitation/submit", params).await?;
        Ok(match submitted {
            Ok(_) => Submitted::Settled("completed".to_owned()),
            Err(RemoteError::Settled { state }) => Submitted::Settled(state),
            Err(RemoteError::Invalid { errors, .. }) if errors.is_empty() => {
                bail!("the service refuses the answers, and does not say why")
            }
            Err(RemoteError::Invalid { is_last: true, .. }) => {
                Submitted::Settled("cancelled".to_owned())
            }
            Err(RemoteError::Invalid { errors, .. }) => {
                Submitted::Refused(errors.iter().filter_map(FieldError::from_json).collect())
            }
            Err(RemoteError::TooLarge { size, limit }) => Submitted::TooLarge(format!(
                "The answers have {size} bytes, and {limit} are taken: shorten them."
            )),
            Err(error) => return Err(error.into()),
        })
    }
}

/// What came of sending answers.
enum Submitted {
    Settled(String),
    Refused(Vec<FieldError>),
    TooLarge(String),
}

/// The state of a question once it has settled.
async fn settled(service: &Remote, id: ElicitationId) -> anyhow::Result<String> {
    loop {
        let wait = u64::try_from(WAIT.as_millis()).unwrap_or(u64::MAX);
        let params = json!({"elicitationId": id, "timeout": wait});
        let record = service.call("elicitation/await", params).await??;
        let status = remote::text(&record, "status");
        if !matches!(&*status, "pending" | "active") {
            return Ok(status);
        }
    }
}

/// Waits for a moment, for ever if there is none.
async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
