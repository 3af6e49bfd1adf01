//! `entreat ask`: asks the person at this terminal and prints the answers.
//!
//! The question goes through the engine like any other: it has a deadline, a limit of attempts
//! and one outcome. What may be answered is decided there and by the form, never here.

use std::io::Write;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use entreat::terminal::{Question, Terminal};
use entreat::{
    Ask, CancelReason, Catalogue, Channel, Engine, Outcome, Settings, Snapshot, Timeout,
};

use self::conversation::{Conversation, Ending};
use crate::command::form::NotationArg;
use crate::context::{Context, Exit};
use crate::input::Source;
use crate::signals::Signals;
use crate::store::{Opened, StoreArgs};
use crate::{duration, output, runtime};

mod conversation;

/// Ask the person at this terminal a form and print the answers
///
/// Prints the answers as one line of JSON, secrets included. The questions stand on stderr, one
/// after the other, and nothing is redrawn, so that a screen reader can follow; answers are
/// lines of stdin, so that a script can give them.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The form: JSON, YAML or TOML
    #[arg(value_name = "FORM", value_hint = clap::ValueHint::FilePath)]
    form: Source,
    /// How long the person has, such as 90s or 5m; 1s to 10m [default: the form's, else 10m]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    timeout: Option<Duration>,
    /// Who asks, for the person to see
    #[arg(long, value_name = "NAME")]
    asker: Option<String>,
    /// Why it is asked, for the person to see
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
    /// Keep the question in the store, where `entreat list` finds it; --store implies it
    ///
    /// Without either, nothing is written to disk.
    #[arg(long)]
    keep: bool,
    /// Print the whole record, also when there is no answer
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    notation: NotationArg,
}

const AFTER_HELP: &str = "\
Examples:
  entreat ask greeting.json
  name=$(entreat ask greeting.json | jq -r .name)
  entreat ask deploy.yaml --asker \"Deploy robot\" --message \"Version 7 is ready\" --timeout 5m
  printf 'Ada\\n' | entreat ask greeting.json
  entreat ask deploy.yaml --store questions.db && entreat list --store questions.db

The person may type :back, :help, :decline (a decision not to answer) or :cancel at any time.
Secrets are typed unseen. A store holds them sealed, with keys in a file beside it.

Exit codes: 0 answered; 1 not answered: declined, cancelled, out of time or of attempts; 2 wrong
usage, a form that is broken or cannot be read, a store that cannot be opened; 130 Ctrl-C (143
ended, 129 terminal closed): the question is cancelled then.";

/// The asker's name in the store when none is given.
const ASKER: &str = "cli";

pub(crate) fn run(args: &Args, context: &mut Context, out: &mut dyn Write) -> anyhow::Result<Exit> {
    ensure!(
        args.form != Source::Stdin,
        "the form cannot come from stdin: the answers are read there; put it in a file"
    );
    ensure!(
        args.is_kept() || !args.store.names_keys(),
        "--keys belongs to a store: add --store PATH or --keep"
    );
    let form = args.notation.load_form(&args.form, context)?;
    let languages = context.languages().iter().map(String::as_str);
    let messages = Catalogue::default().messages(languages);
    let mut settings = Settings::default();
    settings.messages = messages.clone();
    let place = if args.is_kept() {
        Some(args.store.place(context.environment())?)
    } else {
        None
    };

    let mut ask = Ask::terminal(form.clone()).channel(Channel::Terminal);
    if let Some(message) = &args.message {
        ask = ask.message(message);
    }
    if let Some(timeout) = args.timeout {
        ask = ask.timeout(Timeout::of(timeout));
    }

    let (ending, settled) = runtime::block_on(async {
        let keeper = match &place {
            Some(place) => Keeper::Store(place.open_or_create(settings).await?),
            None => Keeper::Memory(Engine::builder().settings(settings).start().await?),
        };
        let asked = async {
            let asker = keeper
                .engine()
                .asker(args.asker.as_deref().unwrap_or(ASKER));
            let put = asker.ask(ask).await?;
            let mut question = Question::new(form, messages);
            if let Some(name) = &args.asker {
                question = question.asker(name);
            }
            if let Some(message) = &args.message {
                question = question.message(message);
            }
            let conversation = Conversation {
                engine: keeper.engine().clone(),
                events: asker.subscribe(),
                asked: put,
                question,
            };
            ask_here(conversation).await
        };
        let asked = asked.await;
        keeper.close().await;
        asked
    })?;

    if args.json {
        output::line(out, &settled)?;
    }
    report(ending, &settled, args, context, out)
}

impl Args {
    /// Whether the question goes to a store. The environment alone does not send it there: what
    /// it names may well be the store of a service, which no other process can open.
    fn is_kept(&self) -> bool {
        self.keep || self.store.is_named()
    }
}

/// Asks on this terminal, and gives it back however that ends.
async fn ask_here(conversation: Conversation) -> anyhow::Result<(Ending, Snapshot)> {
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    let question = conversation.asked.clone();
    let mut terminal = Terminal::piped(true);
    let ending = conversation.hold(&mut terminal, signals.next()).await?;
    if ending == Ending::Nobody {
        question.cancel(CancelReason::UserCancelled).await?;
    }
    // The asker's view: with the secrets that it asked for.
    let settled = question.outcome().await?;
    Ok((ending, settled))
}

fn report(
    ending: Ending,
    settled: &Snapshot,
    args: &Args,
    context: &mut Context,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let why = match settled.outcome() {
        Some(Outcome::Completed) => {
            if !args.json {
                output::line(out, &settled.result())?;
            }
            if !settled.missing().is_empty() {
                let missing = settled.missing().join(", ");
                let missing = output::plain(&missing);
                context.say(format_args!("entreat: answered without {missing}"));
            }
            return Ok(Exit::Clean);
        }
        Some(Outcome::Cancelled(CancelReason::UserCancelled))
            if matches!(ending, Ending::InputEnded | Ending::Nobody) =>
        {
            "the input ended before the answers were sent, and the question was cancelled"
        }
        outcome => output::why_unanswered(outcome),
    };
    context.say(format_args!("entreat: not answered: {why}"));
    Ok(match ending {
        Ending::Signal(exit) => exit,
        Ending::Settled | Ending::InputEnded | Ending::Nobody => Exit::Found,
    })
}

/// What keeps the question.
enum Keeper {
    Memory(Engine),
    Store(Opened),
}

impl Keeper {
    fn engine(&self) -> &Engine {
        match self {
            Self::Memory(engine) => engine,
            Self::Store(opened) => &opened.engine,
        }
    }

    async fn close(self) {
        match self {
            Self::Memory(engine) => engine.shutdown().await,
            Self::Store(opened) => opened.close().await,
        }
    }
}
