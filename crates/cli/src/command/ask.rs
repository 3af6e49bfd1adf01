//! `entreat ask`: asks the person at this terminal and prints the answers.
//!
//! The question goes through the engine like any other: it has a deadline, a limit of attempts
//! and one outcome. The engine and the form decide what is a valid answer.

use std::io::{IsTerminal as _, Write};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use entreat::core::TimeoutBounds;
use entreat::terminal::Terminal;
use entreat::{
    Ask, CancelReason, Channel, EngineSettings, Messages, Mode, Outcome, Snapshot, Timeout,
};

use self::backend::Backend;
use self::conversation::{Conversation, Ending};
use self::print::Print;
use self::question::Question;
use self::subject::Subject;
use crate::command::form::NotationArg;
use crate::context::{Context, Exit};
use crate::input::{self, Source};
use crate::language::LanguageArg;
use crate::signals::Signals;
use crate::store::{NewStoreArgs, StoreArgs, StoreLocation};
use crate::terminal_style::terminal_style;
use crate::texts::Texts;
use crate::{duration, output, runtime};

mod backend;
mod conversation;
mod page;
mod print;
mod question;
mod subject;

/// Ask a question in this terminal and print the answers
///
/// A question takes a few lines of the terminal and prints its answer as text. A form uses the whole
/// screen and prints its answers as one line of JSON, including secrets. Both are drawn on stderr.
/// With --plain, ACCESSIBLE=1 or TERM=dumb, nothing is redrawn, for screen readers. If stdin is not a
/// terminal, its lines are the answers; if it is empty, the question waits on a local page.
#[derive(clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
#[command(after_help = AFTER_HELP)]
#[command(group = clap::ArgGroup::new("what").required(true))]
#[command(group = clap::ArgGroup::new("output"))]
pub(crate) struct Args {
    /// A question, or the file of a form: JSON, YAML or TOML
    ///
    /// Text that is no file and doesn't end in .json, .yaml, .yml or .toml is a question.
    #[arg(value_name = "QUESTION|FORM", value_hint = clap::ValueHint::FilePath, group = "what")]
    form: Option<Source>,
    /// Ask the form with this name from the folder of forms
    #[arg(long, value_name = "NAME", group = "what")]
    template: Option<String>,
    /// The folder of forms [default: `$ENTREAT_FORMS`]
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath, requires = "template")]
    forms: Option<PathBuf>,
    /// Ask this question, even if there is a file with that name
    #[arg(long, value_name = "QUESTION", group = "what")]
    prompt: Option<String>,
    /// Ask a yes/no question; the exit code is 0 for yes and 1 for no
    #[arg(long, value_name = "QUESTION", group = "what")]
    confirm: Option<String>,
    /// Let the person choose one of these, separated by commas
    #[arg(
        long = "choose",
        value_name = "CHOICES",
        value_delimiter = ',',
        conflicts_with_all = ["confirm", "template", "script", "sensitive"]
    )]
    choices: Vec<String>,
    /// Hide the answer while it is typed: it is a secret
    #[arg(long, conflicts_with_all = ["confirm", "template", "script"])]
    sensitive: bool,
    /// Run a script: a list of {"say": text} and {"ask": field} steps
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, group = "what")]
    script: Option<Source>,
    /// Prefill the answer to a question, or one to a form as ID=VALUE; repeatable. Separate list
    /// items with commas
    ///
    /// Without a default, nothing is preselected.
    #[arg(long = "default", value_name = "[ID=]VALUE", conflicts_with = "script")]
    defaults: Vec<String>,
    /// How long to wait for the answer, such as 90s or 5m; 1s to 30d [default: the form's
    /// timeout, or 10m]
    #[arg(long, value_name = "DURATION", value_parser = timeout)]
    timeout: Option<Duration>,
    /// The name of the asker, shown to the person
    #[arg(long, value_name = "NAME")]
    asker: Option<String>,
    /// Why you are asking, shown to the person
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
    /// Ask line by line, without redrawing
    #[arg(long, conflicts_with = "browser")]
    plain: bool,
    /// Ask on a page in the browser, on a port that only this machine can reach
    #[arg(long)]
    browser: bool,
    /// Fail at once if nobody can answer here, instead of waiting on a page
    #[arg(long, conflicts_with = "browser")]
    no_input: bool,
    /// Keep the question in the store, so that `entreat list` shows it; implied by --store
    ///
    /// Otherwise, nothing is written to disk.
    #[arg(long)]
    keep: bool,
    /// Print the complete record, even if there is no answer
    #[arg(long, group = "output")]
    json: bool,
    /// Print a line NAME='value' for each field, for `eval` in a shell
    ///
    /// Names are ids in upper case, with _ in place of invalid characters. A list has one item per
    /// line; fields without an answer are empty.
    #[arg(long, group = "output")]
    env: bool,
    /// Print only the answer to this field, as is
    #[arg(long, value_name = "ID", group = "output")]
    field: Option<String>,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    new_store: NewStoreArgs,
    #[command(flatten)]
    notation: NotationArg,
    #[command(flatten)]
    language: LanguageArg,
}

const AFTER_HELP: &str = "\
Examples:
  name=$(entreat ask \"Your name?\") || exit
  if entreat ask --confirm \"Deploy now?\"; then ./deploy; fi
  region=$(entreat ask --choose eu,us,asia \"Which region?\" --default eu)
  entreat ask greeting.json
  name=$(entreat ask greeting.json --field name) || exit
  eval \"$(entreat ask deploy.yaml --env)\" && echo \"$TARGET\"
  token=$(entreat ask --sensitive \"Token?\")
  entreat ask deploy.yaml --asker \"Deploy robot\" --message \"Version 7 is ready\" --timeout 5m
  entreat ask deploy.yaml --default target=staging --browser
  printf 'Ada\\n' | entreat ask greeting.json
  entreat ask deploy.yaml --store questions.db && entreat list --store questions.db

Keys, also shown on the screen: Enter answers a question; in a form, Tab, Shift-Tab and Enter move
and Ctrl-R opens a review before sending. Ctrl-X declines (a decision not to answer), Esc or Ctrl-C
cancels, Ctrl-T asks for more time. In plain mode, type :back, :help, :decline, :cancel or :extend.
Secrets are hidden while typed; a store encrypts them, with keys in a file next to it.

Set NO_COLOR to turn off colours. If the locale is not UTF-8, only ASCII is used.

Exit codes: 0 answered; 1 answered no, with --confirm; 3 declined; 4 cancelled, also with Ctrl-C
where keys are read one by one, by end of input, or after too many attempts; 5 timed out; 2 wrong
usage, an invalid or unreadable form, a store that cannot be opened, nobody to answer with
--no-input. A signal cancels the question: 130 Ctrl-C in plain mode or on a page, 143 terminated,
129 terminal closed.";

/// The default asker name.
const ASKER: &str = "cli";

/// How long a person may take. A person who sits at a terminal is there already; a script may wait
/// for one who is not.
const DEFAULT_WAIT: Duration = Duration::from_secs(10 * 60);
const MIN_WAIT: Duration = Duration::from_secs(1);
const MAX_WAIT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

fn timeout(text: &str) -> Result<Duration, String> {
    let timeout = duration::parse(text)?;
    if (MIN_WAIT..=MAX_WAIT).contains(&timeout) {
        Ok(timeout)
    } else {
        Err("a person has 1s to 30d to answer".to_owned())
    }
}

pub(crate) fn run(args: &Args, context: &mut Context, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let is_stdin = |source: &Option<Source>| *source == Some(Source::Stdin);
    ensure!(
        !is_stdin(&args.form) && !is_stdin(&args.script),
        "the form cannot come from stdin, because the answers are read from there; put it in a \
         file"
    );
    ensure!(
        args.is_kept() || !args.store.names_keys(),
        "--keys needs a store: add --store PATH or --keep"
    );
    let subject = Subject::read(args, context)?;
    let print = match &args.field {
        Some(id) => Print::field(subject.form(), id)?,
        None if args.env => Print::variables(subject.form())?,
        None if matches!(subject, Subject::Question(_)) && subject.form().is_some() => {
            Print::Answer
        }
        None => Print::Result,
    };
    let messages = args.language.messages(context);
    let mut settings = EngineSettings {
        messages: messages.clone(),
        ..EngineSettings::default()
    };
    for mode in [Mode::Inline, Mode::Form, Mode::Terminal] {
        let bounds = TimeoutBounds::new(DEFAULT_WAIT, MIN_WAIT, MAX_WAIT)?;
        settings.asker.timeouts.set_bounds(mode, bounds);
    }
    let location = if args.is_kept() {
        let location = args.store.location(context.environment())?;
        Some(args.new_store.allow(location))
    } else {
        None
    };
    let job = Job {
        args,
        subject,
        messages,
    };
    let location = location.as_ref();
    let (ending, settled) = if args.browser {
        runtime::block_on_all(page::ask(&job, location, settings, true, context))?
    } else {
        let result = if input::stdin_is_empty() {
            None
        } else {
            let asked = ask_here(&job, location, settings.clone(), context);
            Some(runtime::block_on(asked)?).filter(|(ending, _)| *ending != Ending::NoInput)
        };
        if let Some(result) = result {
            result
        } else {
            ensure!(
                !args.no_input,
                "nobody can answer here: stdin is empty and not a terminal"
            );
            context.say(format_args!(
                "entreat: nobody can answer here: stdin is empty and not a terminal"
            ));
            runtime::block_on_all(page::ask(&job, location, settings, false, context))?
        }
    };
    if args.json {
        output::line(out, &settled)?;
    }
    report(ending, &settled, &job, &print, context, out)
}

impl Args {
    /// Whether the question goes to a store. The environment alone is not enough: it may name the
    /// store of a running service, which no other process can open.
    fn is_kept(&self) -> bool {
        self.keep || self.store.is_named()
    }
}

/// A question to ask, at the terminal or on a page.
struct Job<'a> {
    args: &'a Args,
    subject: Subject,
    messages: Messages,
}

impl Job<'_> {
    fn asker(&self) -> &str {
        self.args.asker.as_deref().unwrap_or(ASKER)
    }

    fn ask(&self, on_page: bool) -> anyhow::Result<Ask> {
        let mut ask = self.subject.ask(on_page)?;
        if let Some(message) = &self.args.message {
            ask = ask.message(message);
        }
        if let Some(timeout) = self.args.timeout {
            ask = ask.timeout(Timeout::of(timeout));
        }
        Ok(ask)
    }
}

/// Asks at this terminal, and restores it in any case.
async fn ask_here(
    job: &Job<'_>,
    location: Option<&StoreLocation>,
    settings: EngineSettings,
    context: &Context,
) -> anyhow::Result<(Ending, Snapshot)> {
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    let backend = Backend::open(location, settings).await?;
    let result = ask_person(job, &backend, context, &mut signals).await;
    backend.close().await;
    result
}

async fn ask_person(
    job: &Job<'_>,
    backend: &Backend,
    context: &Context,
    signals: &mut Signals,
) -> anyhow::Result<(Ending, Snapshot)> {
    let style = terminal_style(context.environment(), job.args.plain);
    let asker = backend.engine().asker(job.asker());
    let elicitation = asker
        .ask(job.ask(false)?.channel(Channel::Terminal))
        .await?;
    let form = elicitation
        .status()
        .await?
        .record()
        .request
        .subject
        .form()
        .cloned();
    let form = form.context("there is no form to show")?;
    let mut question = job.subject.question(form, job.messages.clone());
    if let Some(name) = &job.args.asker {
        question = question.asker(name);
    }
    if let Some(message) = &job.args.message {
        question = question.message(message);
    }
    if let Some(home) = &context.environment().home {
        question = question.home(home);
    }
    let conversation = Conversation {
        engine: backend.engine().clone(),
        events: asker.subscribe(),
        elicitation: elicitation.clone(),
        question,
    };
    let mut terminal = if std::io::stdin().is_terminal() {
        Terminal::open(style).unwrap_or_else(|_| Terminal::piped(style.unicode))
    } else {
        Terminal::piped(style.unicode)
    };
    let ending = conversation.run(&mut terminal, signals.next()).await?;
    if ending == Ending::NoInput {
        // It is asked again on a page.
        elicitation.cancel(CancelReason::AskerCancelled).await?;
    }
    // The asker's view, which includes secrets.
    Ok((ending, elicitation.outcome().await?))
}

fn report(
    ending: Ending,
    settled: &Snapshot,
    job: &Job<'_>,
    print: &Print,
    context: &mut Context,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let texts = Texts::of(&job.messages);
    let (why, exit) = match settled.outcome() {
        Some(Outcome::Completed) => {
            if !job.args.json {
                print.print(&settled.result().unwrap_or_default(), out)?;
            }
            if let Subject::Question(Question::Confirmation(_)) = &job.subject
                && settled.result().unwrap_or_default()[question::ANSWER] == false
            {
                // So that `if entreat ask --confirm ...` does what it says.
                return Ok(Exit::Findings);
            }
            if !settled.missing().is_empty() {
                let missing = settled.missing().join(", ");
                let missing = output::sanitize(&missing);
                let without = texts.answered_without;
                context.say(format_args!("entreat: {without} {missing}"));
            }
            return Ok(Exit::Success);
        }
        Some(Outcome::Cancelled(CancelReason::UserCancelled)) if ending == Ending::InputEnded => {
            (texts.input_ended, Exit::Cancelled)
        }
        outcome => (texts.why_unanswered(outcome), unanswered(outcome)),
    };
    context.say(format_args!("entreat: {}: {why}", texts.not_answered));
    Ok(match ending {
        Ending::Signal(signal) => signal,
        Ending::Settled | Ending::InputEnded | Ending::NoInput => exit,
    })
}

/// Returns the exit code of an outcome.
pub(super) fn unanswered(outcome: Option<Outcome>) -> Exit {
    match outcome {
        Some(Outcome::Completed) => Exit::Success,
        Some(Outcome::Declined) => Exit::Declined,
        Some(Outcome::TimedOut) => Exit::TimedOut,
        Some(Outcome::Cancelled(_)) | None => Exit::Cancelled,
    }
}
