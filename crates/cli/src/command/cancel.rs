//! `entreat cancel`: ends an elicitation without an answer.

use std::io::Write;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use entreat::{CancelReason, ElicitationId};

use crate::context::{Context, Exit};
use crate::questions::QuestionsArgs;
use crate::runtime;

/// Cancel a question that has not been answered
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The question's id, as shown by `entreat list`
    #[arg(value_name = "ID")]
    id: ElicitationId,
    /// The reason
    #[arg(
        long,
        value_name = "REASON",
        default_value = CancelReason::AskerCancelled.as_str(),
        value_parser = reasons()
    )]
    reason: CancelReason,
    /// Print the record
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    questions: QuestionsArgs,
}

const AFTER_HELP: &str = "\
Examples:
  entreat cancel elic_01hnmq7zq8e9vv8h2m6x3c5t0d
  entreat cancel elic_01hnmq7zq8e9vv8h2m6x3c5t0d --reason form_invalidated

Exit codes: 0 cancelled; 1 no such question, or it is already settled; 2 wrong usage, no store, a
store that cannot be opened, no response from the service.";

pub(crate) fn run(args: &Args, context: &mut Context, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let questions = args.questions.questions(context.environment())?;
    let id = args.id;
    let changed = runtime::block_on(questions.cancel(id, args.reason))?;
    let done = format_args!("{id} is cancelled: {}", args.reason);
    changed.report(id, done, args.json, context, out)
}

fn reasons() -> impl clap::builder::TypedValueParser<Value = CancelReason> {
    let names = CancelReason::ALL.map(CancelReason::as_str);
    PossibleValuesParser::new(names).map(|name| {
        let mut reasons = CancelReason::ALL.into_iter();
        let reason = reasons.find(|reason| reason.as_str() == name);
        // The parser lets no other name pass.
        reason.unwrap_or(CancelReason::AskerCancelled)
    })
}
