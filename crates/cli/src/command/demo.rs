//! `entreat demo`: a question is asked, a page opens, the answer comes back.

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

/// Ask a sample question on a page, and print the answer
///
/// Runs the whole of Entreat in memory, on a free port of this machine: nothing is kept and nobody
/// else can reach it. With --form it is your own form that is asked, and the page follows the file
/// as you change it.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Ask this form instead, again whenever the file changes: JSON, YAML or TOML
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    form: Option<Source>,
    /// Answer by itself, with the JSON in this file
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    answer: Option<Source>,
    /// Print the link and open no browser
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

The link stands on stderr, the answer on stdout as one line of JSON.

Exit codes: 0 answered; 1 not answered: declined, cancelled, out of time, not valid; 2 wrong usage,
a form or an answer that cannot be read; 130 Ctrl-C.";

const SAMPLE: &str = include_str!("demo/deploy.yaml");
/// Who asks, for the person to see.
const ASKER: &str = "Entreat demo";
/// How often the form's file is looked at.
const LOOK: Duration = Duration::from_millis(400);
/// How long a question waits whose form does not say. Its author may be at lunch.
const PATIENCE: Duration = Duration::from_secs(3600);
/// How long the closing page can be had.
const FAREWELL: Duration = Duration::from_secs(3);
const MOST_PATIENCE: Duration = Duration::from_secs(24 * 3600);

pub(crate) fn run(args: &Args, context: &mut Context, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let form = match &args.form {
        Some(source) => args.notation.load_form(source, context)?,
        None => Form::from_text(SAMPLE, Notation::Yaml).context("the sample form is broken")?,
    };
    let answer = match &args.answer {
        Some(source) => {
            let text = source.read(MAX_ANSWER_BYTES, context)?;
            let place = source.argument();
            let answer = serde_json::from_str(&text);
            Some(answer.with_context(|| format!("{place} is not JSON"))?)
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
    let bounds = TimeoutBounds::new(PATIENCE, Duration::from_secs(1), MOST_PATIENCE)?;
    settings.asker.timeouts.set_bounds(Mode::Form, bounds);
    let pages = PageSettings {
        poll: Duration::from_secs(1),
        ..PageSettings::default()
    };
    let entreat = Entreat::builder()
        .settings(settings)
        .listen((Ipv4Addr::LOCALHOST, 0))
        .pages(pages)
        .start()
        .await?;
    let answered_by_hand = answer.is_none();
    let asked = ask(args, &entreat, form, answer, context, &mut signals).await;
    let exit = match asked {
        Ok(Ended::Settled(settled)) => report(&settled, context, out),
        Ok(Ended::Refused(errors)) => {
            for error in errors {
                let (field, message) = (output::plain(&error.field), output::plain(&error.message));
                context.say(format_args!("{field}: {message}"));
            }
            context.say(format_args!("entreat: the answer is not valid"));
            Ok(Exit::Found)
        }
        Ok(Ended::Signal(exit)) => Ok(exit),
        Err(error) => Err(error),
    };
    if answered_by_hand && exit.is_ok() {
        // The page that says so is on its way to the browser.
        tokio::select! {
            () = tokio::time::sleep(FAREWELL) => {}
            _ = signals.next() => {}
        }
    }
    entreat.shutdown().await;
    exit
}

/// How a demonstration ends.
enum Ended {
    Settled(Box<Snapshot>),
    /// The answer that was given along is not valid.
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
) -> anyhow::Result<Ended> {
    let Some(pages) = entreat.pages() else {
        bail!("there is no page to open");
    };
    // Before anybody is told of the page: a change from then on is not missed.
    let mut watched = args.form.as_ref().and_then(Watched::new);
    let asker = entreat.asker(ASKER);
    let mut question = put(&asker, form).await?;
    let link = pages.link(question.id());
    context.say(format_args!("A question waits at\n\n  {link}\n"));
    if let Some(answer) = answer {
        let respondent = entreat.engine().elicitation(question.id());
        match respondent.submit(&answer).await {
            Ok(_) => {}
            Err(ActError::Invalid(refusal)) => return Ok(Ended::Refused(refusal.errors)),
            Err(error) => return Err(error.into()),
        }
    } else if !args.no_browser && browser::may_open(context) && browser::open(&link).is_ok() {
        context.say(format_args!(
            "It should open in your browser. Ctrl-C ends the demo."
        ));
    } else {
        context.say(format_args!(
            "Open it in a browser on this machine. Ctrl-C ends the demo."
        ));
    }
    loop {
        tokio::select! {
            settled = question.outcome() => {
                let settled = settled?;
                // A form that is being worked on stays on the screen.
                if settled.outcome() == Some(Outcome::TimedOut) && args.form.is_some()
                    && let Some(form) = settled.record().request.subject.form() {
                    question = succeed(pages, &asker, &question, form.clone()).await?;
                    continue;
                }
                return Ok(Ended::Settled(Box::new(settled)));
            }
            source = changed(&mut watched) => {
                match args.notation.load_form(&source, context) {
                    Ok(form) => {
                        let old = question.clone();
                        question = succeed(pages, &asker, &old, form).await?;
                        old.cancel(CancelReason::FormInvalidated).await.ok();
                        context.say(format_args!("The form has changed; the page follows."));
                    }
                    Err(broken) => context.say(format_args!("{broken}\nThe page stays as it was.")),
                }
            }
            signal = signals.next() => return Ok(Ended::Signal(signal)),
        }
    }
}

async fn put(asker: &Asker, form: Form) -> anyhow::Result<Elicitation> {
    Ok(asker.ask(Ask::form(form).channel(Channel::Page)).await?)
}

/// Asks anew; the page of the old question leads to the new one.
async fn succeed(
    pages: &Pages,
    asker: &Asker,
    old: &Elicitation,
    form: Form,
) -> anyhow::Result<Elicitation> {
    let question = put(asker, form).await?;
    pages.succeed(old.id(), question.id());
    Ok(question)
}

/// A file that is being worked on.
struct Watched {
    path: PathBuf,
    text: String,
}

impl Watched {
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

/// The file once its text is another.
async fn changed(watched: &mut Option<Watched>) -> Source {
    let Some(watched) = watched else {
        return std::future::pending().await;
    };
    loop {
        tokio::time::sleep(LOOK).await;
        // An editor may take it away for a moment.
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
        output::line(out, &settled.result())?;
        return Ok(Exit::Clean);
    }
    let why = output::why_unanswered(settled.outcome());
    context.say(format_args!("entreat: not answered: {why}"));
    Ok(Exit::Found)
}
