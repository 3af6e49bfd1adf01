//! `entreat reassign`: makes a question one for somebody else.

use std::io::Write;

use clap::builder::NonEmptyStringValueParser;
use entreat::ElicitationId;

use crate::context::{Context, Exit};
use crate::questions::QuestionsArgs;
use crate::runtime;

/// Let somebody else answer a question
///
/// What was typed so far is deleted, and the person who was asked before can't open the question any
/// more.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The question's id, as shown by `entreat list`
    #[arg(value_name = "ID")]
    id: ElicitationId,
    /// Who may answer from now on: a name, issuer#subject, email:ADDRESS or group:NAME
    #[arg(long, value_name = "WHO", value_parser = NonEmptyStringValueParser::new())]
    to: String,
    /// Print the record
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    questions: QuestionsArgs,
}

const AFTER_HELP: &str = "\
Examples:
  entreat reassign elic_01hnmq7zq8e9vv8h2m6x3c5t0d --to ada
  entreat reassign elic_01hnmq7zq8e9vv8h2m6x3c5t0d --to group:night-shift

Exit codes: 0 reassigned; 1 no such question, or it is already settled; 2 wrong usage, no store, a
store that cannot be opened, no response from the service.";

pub(crate) fn run(args: &Args, context: &mut Context, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let questions = args.questions.questions(context.environment())?;
    let id = args.id;
    let changed = runtime::block_on(questions.reassign(id, &args.to))?;
    let to = crate::output::sanitize(&args.to);
    let done = format_args!("{id} is now for {to}");
    changed.report(id, done, args.json, context, out)
}
