//! `entreat attach`: answers a question that a service holds, at this terminal.
//!
//! A plain client of the control API: the service validates the answers, and its errors are shown
//! here.

use std::io::IsTerminal as _;
use std::time::Duration;

use anyhow::{Context as _, bail};
use entreat::core::jiff::Zoned;
use entreat::core::{FieldError, Script, TextFormat, Validators};
use entreat::terminal::{
    FormReply, PromptChannel, PromptEvent, PromptHandle, PromptNotice, Terminal, TerminalQuestion,
};
use entreat::{ElicitationId, Form, Messages};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::context::{Context, Exit};
use crate::language::LanguageArg;
use crate::remote::{self, Remote, RemoteError};
use crate::signals::Signals;
use crate::terminal_style::terminal_style;
use crate::texts::Texts;
use crate::{output, runtime};

/// Answer a question of a running service in this terminal
///
/// Shows the question as `entreat ask` does and sends the answer to the service. Prints nothing,
/// because the answer belongs to the asker. Exits if the question is settled elsewhere.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The question's id, as shown by `entreat list`
    #[arg(value_name = "ID")]
    id: ElicitationId,
    /// The URL of the service
    #[arg(long, value_name = "URL", value_hint = clap::ValueHint::Url, default_value = remote::DEFAULT_URL)]
    url: String,
    /// The asker's key for that service. Other users of this machine can see flags; prefer
    /// `$ENTREAT_API_KEY`
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Ask line by line, without redrawing
    #[arg(long)]
    plain: bool,
    #[command(flatten)]
    language: LanguageArg,
}

const AFTER_HELP: &str = "\
Examples:
  entreat list --url http://127.0.0.1:7171
  entreat attach elic_01hnmq7zq8e9vv8h2m6x3c5t0d
  entreat attach elic_01hnmq7zq8e9vv8h2m6x3c5t0d --url http://127.0.0.1:8080 --plain

Exit codes: 0 answered, here or elsewhere; 3 declined; 4 cancelled; 5 timed out; 1 no such question;
2 wrong usage, no response from the service, a question that a terminal cannot show. A signal
leaves the question open: 130 Ctrl-C in plain mode, 143 terminated, 129 terminal closed.";

/// The timeout of one long poll for the outcome.
const POLL_TIMEOUT: Duration = Duration::from_secs(20);
/// How long before the deadline the person is warned, as a service does.
const WARN_BEFORE: Duration = Duration::from_secs(60);

pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Exit> {
    let service = Remote::at(&args.url, args.key.as_deref(), context.environment())?;
    let asked = runtime::block_on(async {
        let params = json!({"elicitationId": args.id});
        service.call("elicitation/question", params).await
    })?;
    let asked = match asked {
        Err(RemoteError::NotFound) => return Ok(context.report_missing(args.id)),
        asked => asked?,
    };
    let messages = args.language.messages(context);
    let texts = Texts::of(&messages);
    let status = remote::text(&asked, "status");
    if !matches!(&*status, "pending" | "active") {
        context.say(format_args!(
            "entreat: {}",
            (texts.already_settled)(&status)
        ));
        return Ok(exit_of(&status));
    }
    let mut question = question(&asked, messages)?;
    if let Some(home) = &context.environment().home {
        question = question.home(home);
    }
    let style = terminal_style(context.environment(), args.plain);
    let attached = AttachedQuestion {
        service: &service,
        id: args.id,
        question,
        time: time(&asked),
    };
    let ending = runtime::block_on(async {
        let mut signals = Signals::listen().context("cannot listen for signals")?;
        let mut terminal = if std::io::stdin().is_terminal() {
            Terminal::open(style).unwrap_or_else(|_| Terminal::piped(style.unicode))
        } else {
            Terminal::piped(style.unicode)
        };
        tokio::select! {
            ending = attached.run(&mut terminal) => ending,
            exit = signals.next() => Ok(Ending::Signal(exit)),
        }
    })?;
    Ok(match ending {
        Ending::Signal(exit) => {
            context.say(format_args!("entreat: {}", texts.left_open));
            exit
        }
        Ending::Here(status) => {
            let words = match &*status {
                "completed" => texts.sent,
                "declined" => texts.you_declined,
                _ => texts.you_cancelled,
            };
            context.say(format_args!("entreat: {words}"));
            exit_of(&status)
        }
        Ending::Elsewhere(status) => {
            context.say(format_args!(
                "entreat: {}",
                (texts.settled_elsewhere)(&status)
            ));
            exit_of(&status)
        }
        Ending::TooLate(status) => {
            context.say(format_args!("entreat: {}", (texts.too_late)(&status)));
            exit_of(&status)
        }
    })
}

/// How the dialogue ended.
enum Ending {
    /// Settled by the person here, in this state.
    Here(String),
    /// Settled by others or by expiry, in this state.
    Elsewhere(String),
    /// Settled by others or by expiry, in this state, before the decision of the person here
    /// arrived.
    TooLate(String),
    Signal(Exit),
}

fn exit_of(status: &str) -> Exit {
    match status {
        "completed" => Exit::Success,
        "declined" => Exit::Declined,
        "timeout" => Exit::TimedOut,
        _ => Exit::Cancelled,
    }
}

/// Creates the question for the terminal.
fn question(asked: &Value, messages: Messages) -> anyhow::Result<TerminalQuestion> {
    if let Some(url) = asked["url"].as_str() {
        bail!(
            "answer this question on its web page: {}",
            output::sanitize(url)
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
    // A service that does not say it formats all texts as Markdown.
    let format = asked["textFormat"].as_str();
    question = question.text_format(format.and_then(TextFormat::from_name).unwrap_or_default());
    if let Some(draft) = asked["draft"].as_object() {
        question = question.draft(draft.clone());
    }
    Ok(question)
}

/// Parses a form. Its custom validators run at the service; here they accept every answer.
fn form(definition: &Value) -> anyhow::Result<Form> {
    let mut validators = Validators::default();
    let names = definition["validation"]["custom_validators"].as_array();
    for name in names.into_iter().flatten().filter_map(Value::as_str) {
        validators.register(name, |_| Ok(()));
    }
    Form::with_validators(definition, &validators)
        .context("the service's form cannot be shown here")
}

/// Returns the deadline of a question and the number of extensions left.
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

struct AttachedQuestion<'a> {
    service: &'a Remote,
    id: ElicitationId,
    question: TerminalQuestion,
    time: Option<(Instant, u32)>,
}

impl AttachedQuestion<'_> {
    /// Asks until the question has settled.
    async fn run(mut self, terminal: &mut Terminal) -> anyhow::Result<Ending> {
        let (mut prompt, mut channel) = PromptChannel::pair();
        let service = self.service;
        let mut settled = std::pin::pin!(wait_until_settled(service, self.id));
        let mut question = self.question.clone();
        let mut is_warned = false;
        loop {
            question = self.timed(question);
            let filled = {
                let mut filling = std::pin::pin!(terminal.fill(&question, &mut channel));
                loop {
                    let warning = self
                        .time
                        .filter(|_| !is_warned)
                        .and_then(|(at, _)| at.checked_sub(WARN_BEFORE));
                    tokio::select! {
                        biased;
                        status = &mut settled => return Ok(Ending::Elsewhere(status?)),
                        Some(event) = prompt.next() => {
                            is_warned &= event != PromptEvent::ExtensionRequested;
                            self.on_prompt_event(event, &prompt).await;
                        }
                        () = sleep_until(warning) => {
                            is_warned = true;
                            prompt.notify(PromptNotice::ExpiryWarning(self.left()));
                        }
                        filled = &mut filling => break filled.context("cannot use the terminal")?,
                    }
                }
            };
            let (method, params) = match filled {
                FormReply::Answered(answers) => {
                    question = self.question.clone().draft(answers.clone());
                    match self.submit(answers).await? {
                        SubmitResult::Ended(ending) => return Ok(ending),
                        SubmitResult::Refused(errors) => question = question.errors(errors),
                        SubmitResult::TooLarge(words) => question = question.notice(words),
                    }
                    continue;
                }
                FormReply::Cancelled if terminal.input_ended() && !terminal.is_attended() => {
                    bail!(
                        "nobody can answer here: stdin is empty and not a terminal; the question \
                         is still open"
                    );
                }
                FormReply::Declined => ("elicitation/decline", json!({"elicitationId": self.id})),
                FormReply::Cancelled => (
                    "elicitation/cancel",
                    json!({"elicitationId": self.id, "reason": "user_cancelled"}),
                ),
            };
            return match service.call(method, params).await? {
                Ok(record) => Ok(Ending::Here(remote::text(&record, "status"))),
                Err(RemoteError::Settled { state }) => Ok(Ending::TooLate(state)),
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

    /// Passes an action of the person on to the service.
    async fn on_prompt_event(&mut self, event: PromptEvent, prompt: &PromptHandle) {
        let part =
            |part: Value| json!({"elicitationId": self.id, "responses": part, "partial": true});
        let params = match event {
            PromptEvent::Started => part(json!({})),
            PromptEvent::DraftChanged(draft) => part(draft),
            PromptEvent::ExtensionRequested => {
                let params = json!({"elicitationId": self.id});
                let extended = self
                    .service
                    .call("elicitation/extend_timeout", params)
                    .await;
                match extended {
                    Ok(Ok(extended)) => {
                        self.time = time(&extended);
                        if let Some((at, extensions_left)) = self.time {
                            prompt.notify(PromptNotice::Deadline {
                                at,
                                extensions_left,
                            });
                        }
                    }
                    Ok(Err(error)) => {
                        prompt.notify(PromptNotice::ExtensionRefused(error.to_string()));
                    }
                    Err(error) => prompt.notify(PromptNotice::ExtensionRefused(error.to_string())),
                }
                return;
            }
        };
        // An error here will occur again on submission, and is reported then.
        let _ = self.service.call("elicitation/submit", params).await;
    }

    async fn submit(&self, answers: Map<String, Value>) -> anyhow::Result<SubmitResult> {
        let params = json!({"elicitationId": self.id, "responses": answers});
        let submitted = self.service.call("elicitation/submit", params).await?;
        Ok(match submitted {
            Ok(_) => SubmitResult::Ended(Ending::Here("completed".to_owned())),
            Err(RemoteError::Settled { state }) => SubmitResult::Ended(Ending::TooLate(state)),
            Err(RemoteError::Invalid { errors, .. }) if errors.is_empty() => {
                bail!("the service rejected the answers without a reason")
            }
            Err(RemoteError::Invalid { is_last: true, .. }) => {
                SubmitResult::Ended(Ending::Here("cancelled".to_owned()))
            }
            Err(RemoteError::Invalid { errors, .. }) => {
                SubmitResult::Refused(errors.iter().filter_map(FieldError::from_json).collect())
            }
            Err(RemoteError::TooLarge { size, limit }) => SubmitResult::TooLarge(format!(
                "The answers have {size} bytes; the limit is {limit}. Shorten them."
            )),
            Err(error) => return Err(error.into()),
        })
    }
}

/// The result of submitting answers.
enum SubmitResult {
    Ended(Ending),
    Refused(Vec<FieldError>),
    TooLarge(String),
}

/// Waits until a question has settled, and returns its state.
async fn wait_until_settled(service: &Remote, id: ElicitationId) -> anyhow::Result<String> {
    loop {
        let wait = u64::try_from(POLL_TIMEOUT.as_millis()).unwrap_or(u64::MAX);
        let params = json!({"elicitationId": id, "timeout": wait});
        let record = service.call("elicitation/await", params).await??;
        let status = remote::text(&record, "status");
        if !matches!(&*status, "pending" | "active") {
            return Ok(status);
        }
    }
}

/// Sleeps until an instant; pends forever if there is none.
async fn sleep_until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
