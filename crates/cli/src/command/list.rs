//! `entreat list`: the elicitations of a store or a service, newest first.

use std::io::Write;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use entreat::{ElicitationId, Status, StatusFilter};

use crate::context::{Context, Exit};
use crate::questions::QuestionsArgs;
use crate::runtime;

/// List the questions of a store or a running service, newest first
///
/// Doesn't show results; for those, see `entreat status`. Overdue questions are listed as timed
/// out.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Only questions with this status; `live` is pending or active
    #[arg(long, value_name = "STATUS", value_parser = statuses())]
    status: Option<StatusFilter>,
    /// The maximum number to list
    #[arg(
        long,
        value_name = "N",
        default_value_t = 50,
        value_parser = clap::value_parser!(u8).range(1..=200)
    )]
    limit: u8,
    /// Only questions older than this one: the `nextCursor` of the previous page
    #[arg(long, value_name = "ID")]
    cursor: Option<ElicitationId>,
    /// Print {"elicitations": […], "nextCursor": …} with complete records
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    questions: QuestionsArgs,
}

const AFTER_HELP: &str = "\
Examples:
  entreat list
  entreat list --status live --store questions.db
  entreat list --url http://127.0.0.1:7171
  entreat list --json | jq -r '.elicitations[].elicitationId'

Exit codes: 0 success, even if there are none; 2 wrong usage, no store, a store that cannot be
opened, no response from the service.";

pub(crate) fn run(args: &Args, context: &mut Context, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let questions = args.questions.questions(context.environment())?;
    let which = args.status.unwrap_or_default();
    let page = runtime::block_on(questions.list(which, args.limit, args.cursor))?;
    if args.json {
        page.print_json(out)?;
        return Ok(Exit::Success);
    }
    if page.print(out)? == 0 {
        context.say(format_args!("no questions"));
    }
    if let Some(next) = page.next() {
        context.say(format_args!("more results: use --cursor {next}"));
    }
    Ok(Exit::Success)
}

/// The names of states, and `live`.
fn statuses() -> impl clap::builder::TypedValueParser<Value = StatusFilter> {
    let names = Status::ALL.map(Status::as_str);
    PossibleValuesParser::new(names.into_iter().chain(["live"])).map(|name| {
        let status = Status::ALL.into_iter().find(|s| s.as_str() == name);
        status.map_or(StatusFilter::Live, StatusFilter::Only)
    })
}
