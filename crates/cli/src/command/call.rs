//! `entreat call`: an MCP client for people.
//!
//! Connects, calls, and answers the server's questions: in this terminal, in a browser, or from a
//! file. Contains no rules about questions or answers.

use std::ffi::OsString;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail, ensure};
use entreat::mcp::answer::{AnswerSettings, Answering, CallError, Decision};
use entreat::mcp::rmcp::model::ProtocolVersion;
use entreat::mcp::rmcp::service::ClientLifecycleMode;
use entreat_wire::oauth::TokenSource;
use serde_json::{Map, Value};

use self::arguments::Completed;
use self::scripted::ScriptedAnswers;
use self::server::{Access, ServerTarget};
use self::stderr::ServerStderr;
use self::ui::ShownBy;
use crate::context::{Context, Exit};
use crate::input::{MAX_ANSWER_BYTES, Source};
use crate::language::LanguageArg;
use crate::sign_in::{SignInArgs, SignInWay};
use crate::signals::Signals;
use crate::texts::Texts;
use crate::{browser, duration, output, runtime, sign_in};

mod arguments;
mod bar;
mod describe;
mod identity;
mod listing;
mod printed;
mod scripted;
mod server;
mod stderr;
mod ui;

pub(super) use server::{Header, header};

/// Call a tool of an MCP server and answer its questions
///
/// Prints the text of the result. The server's questions appear in this terminal or in the browser,
/// or are answered from a file. Nothing is opened or sent without consent.
#[derive(clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(
    after_help = AFTER_HELP,
    override_usage = "entreat call [OPTIONS] TOOL URL\n       \
                      entreat call [OPTIONS] TOOL -- COMMAND...\n       \
                      entreat call --describe TOOL (URL | -- COMMAND...)\n       \
                      entreat call --list (URL | -- COMMAND...)\n       \
                      entreat call --sign-out URL"
)]
pub(crate) struct Args {
    /// The tool to call, and the server's URL if it is not a command
    #[arg(value_name = "TOOL URL", num_args = 0..=2)]
    words: Vec<String>,
    /// The command that starts the server on stdio
    #[arg(last = true, value_name = "COMMAND", value_hint = clap::ValueHint::CommandWithArguments)]
    command: Vec<OsString>,
    /// The tool's arguments, as a JSON object; you are asked for required ones that are missing
    #[arg(long = "args", value_name = "JSON", default_value = "{}", value_parser = object)]
    arguments: Map<String, Value>,
    /// The protocol version to use
    #[arg(long, value_enum, default_value = "auto")]
    era: EraArg,
    /// Where to show the server's questions [default: terminal]
    #[arg(long, value_enum, conflicts_with = "answers")]
    ui: Option<Ui>,
    /// Read answers from a file: a JSON array of results, in order; `-` is stdin
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    answers: Option<Source>,
    /// Print the complete result as JSON
    #[arg(long)]
    json: bool,
    /// List the server's tools, prompts and resources, without calling any
    #[arg(long, conflicts_with_all = ["prompt", "resource", "arguments"])]
    list: bool,
    /// Describe the tool and its arguments, without calling it
    #[arg(long, conflicts_with_all = ["list", "prompt", "resource", "arguments", "answers"])]
    describe: bool,
    /// Get the prompt with that name instead of calling a tool
    #[arg(long, conflicts_with = "resource")]
    prompt: bool,
    /// Read the resource with that URI instead of calling a tool
    #[arg(long)]
    resource: bool,
    /// A header for each HTTP request, such as `Authorization: Bearer ...`. Other users of this
    /// machine can see flags
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = server::header)]
    headers: Vec<Header>,
    /// How long each question waits for an answer, such as 90s or 5m [default: no limit]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    timeout: Option<Duration>,
    /// Ask line by line, without redrawing, for screen readers and logs
    #[arg(long)]
    plain: bool,
    /// Ask nothing: don't ask for missing arguments, and fail if the server asks a question
    #[arg(long, conflicts_with_all = ["ui", "answers"])]
    no_input: bool,
    #[command(flatten)]
    language: LanguageArg,
    /// Forget the sign-in at the server with that URL, without calling it
    #[arg(long, conflicts_with_all = ["list", "describe", "prompt", "resource", "arguments"])]
    sign_out: bool,
    #[command(flatten)]
    sign_in: SignInArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum EraArg {
    /// The newest version that the server supports
    Auto,
    /// 2025-11-25 or older: the server pushes its questions
    Legacy,
    /// Questions are part of results
    #[value(name = "2026-07-28")]
    Rounds,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Ui {
    /// In this terminal
    #[default]
    Terminal,
    /// On a local page
    Browser,
}

/// How servers of the Python SDK refuse to push a question to a client of 2026-07-28.
const NO_BACK_CHANNEL: &str = "no back-channel for server-initiated requests";

const AFTER_HELP: &str = "\
Examples:
  entreat call --list http://127.0.0.1:3000/mcp
  entreat call --describe deploy http://127.0.0.1:3000/mcp
  entreat call deploy http://127.0.0.1:3000/mcp
  entreat call deploy --args '{\"version\": 7}' http://127.0.0.1:3000/mcp
  entreat call greet -- npx some-mcp-server
  entreat call greet --ui browser -- npx some-mcp-server
  entreat call greet --answers answers.json -- npx some-mcp-server

An answers file is a JSON array with one result per question, in order:
  [{\"action\": \"accept\", \"content\": {\"name\": \"Ada\"}}, {\"action\": \"decline\"}, {\"action\": \"cancel\"}]
Fields that you leave out keep their defaults; null clears a field. Answers are validated as if they
were typed. Accepting a URL gives consent, but doesn't open it.

Exit codes: 0 success; 1 the tool reported an error, or the server rejected the call; 2 wrong usage,
no connection, too few or too many answers, an invalid one, or a question with --no-input; 3 a
question was declined; 4 cancelled; 5 a question timed out; above 128: ended by a signal. If there
were several questions, the last one decides.";

pub(crate) fn run(args: &Args, context: &mut Context, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let (name, target) = args.target()?;
    if args.sign_out {
        return sign_out(args, &target, context);
    }
    let script = match &args.answers {
        Some(source) => {
            let text = source.read(MAX_ANSWER_BYTES, context)?;
            Some(
                ScriptedAnswers::parse(&text)
                    .with_context(|| format!("cannot read answers from {source}"))?,
            )
        }
        None if args.no_input => Some(ScriptedAnswers::none()),
        None => None,
    };
    runtime::block_on_all(call(args, name, &target, script, context, out))
}

impl Args {
    /// Returns the name to call and the server.
    fn target(&self) -> anyhow::Result<(&str, ServerTarget<'_>)> {
        let mut words = self.words.iter().map(String::as_str);
        let name = if self.list || self.sign_out {
            ""
        } else {
            let wanted = match (self.prompt, self.resource) {
                (true, _) => "specify the prompt",
                (_, true) => "specify the resource",
                _ => "specify the tool to call, or use --list",
            };
            words.next().ok_or_else(|| anyhow!(wanted))?
        };
        // Resources are named by URIs.
        ensure!(
            self.resource || !name.contains("://"),
            "the name comes before the URL: entreat call NAME {}; --list shows the names",
            output::sanitize(name)
        );
        let target = match (words.next(), self.command.as_slice()) {
            (Some(url), []) => ServerTarget::Url(url),
            (None, [program, arguments @ ..]) => ServerTarget::Command { program, arguments },
            (Some(_), _) => bail!(
                "specify either the server's URL or the command after --, not \
                                   both"
            ),
            (None, []) => {
                bail!("specify the server: its URL, or -- and the command that starts it")
            }
        };
        let flag = if self.list { "--list" } else { "--sign-out" };
        ensure!(words.next().is_none(), "{flag} takes no tool");
        Ok((name, target))
    }

    /// Returns what yields tokens for a server that wants one.
    fn tokens(
        &self,
        target: &ServerTarget<'_>,
        texts: &'static Texts,
        context: &Context,
    ) -> anyhow::Result<Option<Arc<dyn TokenSource>>> {
        let ServerTarget::Url(url) = target else {
            return Ok(None);
        };
        let way = if self.no_input {
            SignInWay::Never
        } else {
            let has_stdin = !matches!(self.answers, Some(Source::Stdin));
            SignInWay::Terminal { has_stdin }
        };
        self.sign_in.tokens(url, way, texts, context)
    }

    /// Returns the handshakes to try, in order.
    fn eras(&self) -> Vec<ClientLifecycleMode> {
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        match self.era {
            EraArg::Legacy => vec![ClientLifecycleMode::Initialize],
            EraArg::Rounds => vec![ClientLifecycleMode::Discover { preferred_versions }],
            // The first falls back by itself if the server says that it is older. Servers that
            // break at an unknown request get a new connection.
            EraArg::Auto => vec![
                ClientLifecycleMode::Auto {
                    preferred_versions,
                    legacy_version: Some(ProtocolVersion::V_2025_11_25),
                },
                ClientLifecycleMode::Initialize,
            ],
        }
    }
}

/// Forgets the sign-in at a server.
fn sign_out(args: &Args, target: &ServerTarget<'_>, context: &mut Context) -> anyhow::Result<Exit> {
    let ServerTarget::Url(url) = target else {
        bail!("--sign-out takes the URL of a server");
    };
    let account = args.sign_in.account(url, context.environment())?;
    let forgotten = match account {
        Some(account) => runtime::block_on_all(async { Ok(account.forget().await?) })?,
        None => false,
    };
    let name = sign_in::shown_host(url);
    if forgotten {
        context.say(format_args!("You are signed out of {name} here."));
        return Ok(Exit::Success);
    }
    context.say(format_args!("You were not signed in to {name}."));
    Ok(Exit::Findings)
}

async fn call(
    args: &Args,
    name: &str,
    target: &ServerTarget<'_>,
    script: Option<ScriptedAnswers>,
    context: &mut Context,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    let script = script.map(Arc::new);
    let messages = args.language.messages(context);
    let texts = Texts::of(&messages);
    let shown = match &script {
        Some(script) => ShownBy::script(script.clone()),
        None => ui::presenter(args, &messages, context),
    };
    let presenter = shown.presenter.clone();
    let settings = AnswerSettings {
        messages,
        time_limit: args.timeout,
        server_name: target.name(),
        server_url: target.url(),
        ..AnswerSettings::default()
    };
    let answering = Answering::with(shown.presenter, settings, identity::Entreat);
    let mut stderr = None;
    let access = Access {
        headers: &args.headers,
        tokens: args.tokens(target, texts, context)?,
    };
    let connecting = target.connect(
        answering.clone(),
        args.eras(),
        &access,
        &mut stderr,
        shown.draws,
    );
    let connected = tokio::select! {
        connected = connecting => connected,
        signal = signals.next() => {
            // It may say why nothing happens.
            print_held(stderr.as_ref());
            return Ok(signal);
        }
    };
    let running = match connected {
        Ok(running) => running,
        Err(error) => {
            print_held(stderr.as_ref());
            return Err(error);
        }
    };
    let peer = running.peer().clone();
    let work = async {
        if args.list {
            return listing::list(&peer, args.json, out)
                .await
                .map(|()| Exit::Success);
        }
        if args.describe {
            let tool = describe::tool(&peer, name, describe::MAX_TIME).await?;
            let tool = tool.with_context(|| {
                let name = output::sanitize(name);
                format!("the server has no tool {name}: see entreat call --list")
            })?;
            describe::print(&tool, args.json, out)?;
            return Ok(Exit::Success);
        }
        let mut arguments = args.arguments.clone();
        if shown.is_attended && !args.prompt && !args.resource {
            let server = answering.server(&peer);
            match arguments::complete(&peer, name, &server, &*presenter, &mut arguments).await? {
                Completed::Done => {}
                Completed::Declined => {
                    let words = (texts.not_called)(texts.you_declined);
                    context.say(format_args!("entreat: {words}"));
                    return Ok(Exit::Declined);
                }
                Completed::Cancelled => {
                    let words = (texts.not_called)(texts.you_cancelled);
                    context.say(format_args!("entreat: {words}"));
                    return Ok(Exit::Cancelled);
                }
            }
        }
        let (method, params) = args.request(name, arguments);
        let result = answering.call(&peer, method, params).await;
        let Some(script) = &script else {
            return report(args, result, answering.last_decision(), texts, context, out);
        };
        // Errors in the answers file come first: they are the cause of the rest.
        script.check_used()?;
        let exit = report(args, result, answering.last_decision(), texts, context, out)?;
        script.check_all_used()?;
        Ok(exit)
    };
    let (exit, is_interrupted) = tokio::select! {
        exit = work => (exit, false),
        signal = signals.next() => (Ok(signal), true),
    };
    // Closes the connection; a child process exits then.
    let _ = running.cancel().await;
    print_held(stderr.as_ref());
    if !is_interrupted && shown.pages.is_some_and(|pages| pages.has_shown()) {
        browser::wait_for_closing_page(&mut signals).await;
    }
    exit
}

fn print_held(stderr: Option<&ServerStderr>) {
    if let Some(stderr) = stderr {
        stderr.print_held();
    }
}

impl Args {
    fn request(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> (&'static str, Map<String, Value>) {
        let mut params = Map::new();
        if self.resource {
            params.insert("uri".into(), name.into());
            return ("resources/read", params);
        }
        params.insert("name".into(), name.into());
        params.insert("arguments".into(), arguments.into());
        if self.prompt {
            ("prompts/get", params)
        } else {
            ("tools/call", params)
        }
    }
}

/// Prints the result of the call; the exit code reflects the person's decision.
fn report(
    args: &Args,
    result: Result<Value, CallError>,
    decision: Option<Decision>,
    texts: &Texts,
    context: &mut Context,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let is_error = match result {
        Ok(result) => {
            if args.json {
                output::document(out, &result)?;
            } else {
                printed::text(out, &result)?;
            }
            result.get("isError") == Some(&Value::Bool(true))
        }
        Err(CallError::Refused(error)) => {
            if args.json {
                output::document(out, &serde_json::json!({"error": error}))?;
            }
            let (message, code) = (output::sanitize(&error.message), error.code.0);
            context.say(format_args!(
                "entreat: the server returned an error: {message} ({code})"
            ));
            if args.era != EraArg::Legacy && error.message.contains(NO_BACK_CHANNEL) {
                context.say(format_args!(
                    "entreat: this server can ask only in 2025-11-25 or older: add --era legacy"
                ));
            }
            true
        }
        Err(CallError::Declined | CallError::Abandoned) => false,
        Err(error) => return Err(error.into()),
    };
    let (exit, why) = match decision {
        Some(Decision::Declined) => (Exit::Declined, texts.declined),
        Some(Decision::Refused) => (Exit::Declined, texts.asked_too_often),
        Some(Decision::Cancelled) => (Exit::Cancelled, texts.cancelled),
        Some(Decision::TimedOut) => (Exit::TimedOut, texts.question_timed_out),
        Some(Decision::Accepted) | None if is_error => return Ok(Exit::Findings),
        Some(Decision::Accepted) | None => return Ok(Exit::Success),
    };
    context.say(format_args!("entreat: {why}"));
    Ok(exit)
}

fn object(text: &str) -> Result<Map<String, Value>, String> {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err("expected a JSON object, such as {\"name\": \"Ada\"}".to_owned()),
        Err(error) => Err(format!("not valid JSON: {error}")),
    }
}
