//! `entreat demo`: asks a question on a page and prints the answer.

use std::io::Write;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use entreat::core::document::Notation;
use entreat::core::{FieldError, TimeoutBounds};
use entreat::service::page::{PageSettings, Pages};
use entreat::{
    ActError, Ask, Asker, CancelReason, Channel, Elicitation, EngineSettings, Entreat, Form, Mode,
    Outcome, Snapshot,
};
use serde_json::Value;

use crate::command::form::NotationArg;
use crate::context::{Context, Exit};
use crate::input::{MAX_ANSWER_BYTES, Source};
use crate::signals::Signals;
use crate::{browser, output, runtime};

/// Ask a sample question on a page and print the answer
///
/// Runs a complete Entreat in memory, on a free local port: nothing is stored, and nobody else can
/// reach it. To try your own form, use --form; the page follows the file as you edit it.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Ask this form (JSON, YAML or TOML), again whenever the file changes
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    form: Option<Source>,
    /// Answer automatically with the JSON in this file
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    answer: Option<Source>,
    /// Print the link without opening a browser
    #[arg(long)]
    no_browser: bool,
    #[command(flatten)]
    notation: NotationArg,
}

const AFTER_HELP: &str = "\
Examples:
  entreat demo
  entreat demo --form greeting.json
  entreat demo --form greeting.json --no-browser
  echo '{\"approve\": false, \"reason\": \"The tests are red.\"}' | entreat demo --answer -

The link goes to stderr, the answer to stdout as one line of JSON.

Exit codes: 0 answered; 1 not answered: declined, cancelled, timed out, invalid; 2 wrong usage, an
unreadable form or answer; 130 Ctrl-C.";

const SAMPLE: &str = include_str!("demo/deploy.yaml");
/// The asker's name on the page.
const ASKER: &str = "Entreat demo";
/// What the person does, and how long it takes.
const WHAT_NEXT: &str = "\
Answer there, which takes about a minute; the answer is printed here. To end the demo, press Ctrl-C.";
/// How often the form's file is checked for changes.
const POLL_INTERVAL: Duration = Duration::from_millis(400);
/// The timeout of a form that sets none. Long, since its author may be editing it.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(3600);
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 3600);

pub(crate) fn run(args: &Args, context: &mut Context, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let form = match &args.form {
        Some(source) => args.notation.load_form(source, context)?,
        None => Form::from_text(SAMPLE, Notation::Yaml).context("the sample form is invalid")?,
    };
    let answer = match &args.answer {
        Some(source) => {
            let text = source.read(MAX_ANSWER_BYTES, context)?;
            let name = source.argument();
            let answer = serde_json::from_str(&text);
            Some(answer.with_context(|| format!("{name} is not JSON"))?)
        }
        None => None,
    };
    runtime::block_on_all(demonstrate(args, form, answer, context, out))
}

async fn demonstrate(
    args: &Args,
    form: Form,
    answer: Option<Value>,
    context: &mut Context,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    let mut settings = EngineSettings::default();
    let bounds = TimeoutBounds::new(DEFAULT_TIMEOUT, Duration::from_secs(1), MAX_TIMEOUT)?;
    settings.asker.timeouts.set_bounds(Mode::Form, bounds);
    let pages = PageSettings {
        poll: Duration::from_secs(1),
        ..PageSettings::default()
    };
    context.say(format_args!(
        "Starting Entreat in memory, on a free port of this machine."
    ));
    let entreat = Entreat::builder()
        .settings(settings)
        .listen((Ipv4Addr::LOCALHOST, 0))
        .pages(pages)
        .start()
        .await?;
    let answered_by_hand = answer.is_none();
    let asked = ask(args, &entreat, form, answer, context, &mut signals).await;
    let exit = match asked {
        Ok(DemoEnding::Settled(settled)) => report(&settled, context, out),
        Ok(DemoEnding::Refused(errors)) => {
            for error in errors {
                let (field, message) = (
                    output::sanitize(&error.field),
                    output::sanitize(&error.message),
                );
                context.say(format_args!("{field}: {message}"));
            }
            context.say(format_args!("entreat: the answer is invalid"));
            Ok(Exit::Findings)
        }
        Ok(DemoEnding::Signal(exit)) => Ok(exit),
        Err(error) => Err(error),
    };
    if answered_by_hand && exit.is_ok() {
        browser::wait_for_closing_page(&mut signals).await;
    }
    entreat.shutdown().await;
    exit
}

/// How a demo ends.
enum DemoEnding {
    Settled(Box<Snapshot>),
    /// The answer of `--answer` is not valid.
    Refused(Vec<FieldError>),
    Signal(Exit),
}

async fn ask(
    args: &Args,
    entreat: &Entreat,
    form: Form,
    answer: Option<Value>,
    context: &mut Context,
    signals: &mut Signals,
) -> anyhow::Result<DemoEnding> {
    let Some(pages) = entreat.pages() else {
        bail!("there is no page to open");
    };
    // Before the link is printed, so that no change after that is missed.
    let mut watched = args.form.as_ref().and_then(WatchedFile::new);
    let asker = entreat.asker(ASKER);
    let mut question = ask_form(&asker, form).await?;
    let link = pages.link(question.id());
    let what = match &args.form {
        Some(source) => format!("The form from {source}"),
        None => "A sample question".to_owned(),
    };
    context.say(format_args!(
        "{what} is asked, as an MCP server would ask it. Its page:\n\n  {link}\n"
    ));
    if let Some(answer) = answer {
        context.say(format_args!("Answering it with the JSON of --answer."));
        let respondent = entreat.engine().elicitation(question.id());
        match respondent.submit(&answer).await {
            Ok(_) => {}
            Err(ActError::Invalid(refusal)) => return Ok(DemoEnding::Refused(refusal.errors)),
            Err(error) => return Err(error.into()),
        }
    } else if !args.no_browser && browser::may_open(context) && browser::open(&link).is_ok() {
        context.say(format_args!(
            "The page should open in your browser. {WHAT_NEXT}"
        ));
    } else {
        context.say(format_args!(
            "Open the link in a browser on this machine. {WHAT_NEXT}"
        ));
    }
    loop {
        tokio::select! {
            settled = question.outcome() => {
                let settled = settled?;
                // A form that is being edited stays on the screen.
                if settled.outcome() == Some(Outcome::TimedOut) && args.form.is_some()
                    && let Some(form) = settled.record().request.subject.form() {
                    question = replace(pages, &asker, &question, form.clone()).await?;
                    continue;
                }
                return Ok(DemoEnding::Settled(Box::new(settled)));
            }
            source = changed(&mut watched) => {
                match args.notation.load_form(&source, context) {
                    Ok(form) => {
                        let old = question.clone();
                        question = replace(pages, &asker, &old, form).await?;
                        old.cancel(CancelReason::FormInvalidated).await.ok();
                        context.say(format_args!("The form has changed; the page was updated."));
                    }
                    Err(broken) => context.say(format_args!("{broken}\nThe page was not updated.")),
                }
            }
            signal = signals.next() => return Ok(DemoEnding::Signal(signal)),
        }
    }
}

async fn ask_form(asker: &Asker, form: Form) -> anyhow::Result<Elicitation> {
    Ok(asker.ask(Ask::form(form).channel(Channel::Page)).await?)
}

/// Asks again; the page of the old question redirects to the new one.
async fn replace(
    pages: &Pages,
    asker: &Asker,
    old: &Elicitation,
    form: Form,
) -> anyhow::Result<Elicitation> {
    let question = ask_form(asker, form).await?;
    pages.set_successor(old.id(), question.id());
    Ok(question)
}

/// A file watched for changes.
struct WatchedFile {
    path: PathBuf,
    text: String,
}

impl WatchedFile {
    fn new(source: &Source) -> Option<Self> {
        let Source::File(path) = source else {
            return None;
        };
        Some(Self {
            text: std::fs::read_to_string(path).ok()?,
            path: path.clone(),
        })
    }
}

/// Waits until the file's text changes.
async fn changed(watched: &mut Option<WatchedFile>) -> Source {
    let Some(watched) = watched else {
        return std::future::pending().await;
    };
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        // An editor may remove the file for a moment while saving.
        let Ok(text) = tokio::fs::read_to_string(&watched.path).await else {
            continue;
        };
        if text != watched.text {
            watched.text = text;
            return Source::File(watched.path.clone());
        }
    }
}

fn report(settled: &Snapshot, context: &mut Context, out: &mut dyn Write) -> anyhow::Result<Exit> {
    if settled.outcome() == Some(Outcome::Completed) {
        context.say(format_args!("Answered. The asker gets:"));
        output::line(out, &settled.result())?;
        return Ok(Exit::Success);
    }
    let why = output::why_unanswered(settled.outcome());
    context.say(format_args!("entreat: not answered: {why}"));
    Ok(Exit::Findings)
}
