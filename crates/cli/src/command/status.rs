//! `entreat status`: shows the status of one elicitation, without its secrets.

use std::io::Write;

use entreat::ElicitationId;

use crate::context::{Context, Exit};
use crate::questions::QuestionsArgs;
use crate::runtime;

/// Show the status of a question
///
/// Secrets are shown as `[sealed]`, even with --json. With --url, the service returns the asker's
/// secrets too, so the result is shown only with --json.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The question's id, as shown by `entreat list`
    #[arg(value_name = "ID")]
    id: ElicitationId,
    /// Print the record
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    questions: QuestionsArgs,
}

const AFTER_HELP: &str = "\
Examples:
  entreat status elic_01hnmq7zq8e9vv8h2m6x3c5t0d
  entreat status elic_01hnmq7zq8e9vv8h2m6x3c5t0d --json --store questions.db

Exit codes: 0 success; 1 no such question; 2 wrong usage, no store, a store that cannot be opened,
no response from the service.";

pub(crate) fn run(args: &Args, context: &mut Context, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let questions = args.questions.questions(context.environment())?;
    let Some(record) = runtime::block_on(questions.status(args.id))? else {
        return Ok(context.report_missing(args.id));
    };
    if args.json {
        record.print_json(out)?;
    } else {
        record.print(out)?;
    }
    Ok(Exit::Success)
}
