//! `entreat list`: the elicitations of a store, newest first.

use std::fmt::Write as _;
use std::io::{self, Write};

use anyhow::Context as _;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use entreat::{ElicitationId, Snapshot, Status, Which};
use serde::Serialize;

use crate::context::{Context, Exit};
use crate::store::StoreArgs;
use crate::{output, runtime};

/// List the elicitations of a store, newest first
///
/// Results are not listed; see `entreat status`. What ran out of time while nobody looked is
/// listed as such.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Only those that stand so; `live` is pending or active
    #[arg(long, value_name = "STATUS", value_parser = statuses())]
    status: Option<Which>,
    /// At most so many
    #[arg(
        long,
        value_name = "N",
        default_value_t = 50,
        value_parser = clap::value_parser!(u8).range(1..=200)
    )]
    limit: u8,
    /// Only those older than this one: the `nextCursor` of the page before
    #[arg(long, value_name = "ID")]
    cursor: Option<ElicitationId>,
    /// Print {"elicitations": […], "nextCursor": …} with whole records
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreArgs,
}

const AFTER_HELP: &str = "\
Examples:
  entreat list
  entreat list --status live --store questions.db
  entreat list --json | jq -r '.elicitations[].elicitationId'

Exit codes: 0 listed, also if there is none; 2 wrong usage, no store, a store that cannot be
opened.";

/// What is printed with `--json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    elicitations: Vec<Snapshot>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<ElicitationId>,
}

pub(crate) fn run(args: &Args, context: &mut Context, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let place = args.store.place(context.environment())?;
    let which = args.status.unwrap_or_default();
    let page = runtime::block_on(async {
        let opened = place.open().await?;
        let page_of = |limit, before| opened.engine.list(None, which, limit, before);
        let page = async {
            let elicitations = page_of(args.limit.into(), args.cursor).await?;
            let last = elicitations.last().map(Snapshot::id);
            let is_full = elicitations.len() == usize::from(args.limit);
            let next_cursor = match last.filter(|_| is_full) {
                Some(last) if !page_of(1, Some(last)).await?.is_empty() => Some(last),
                _ => None,
            };
            Ok::<_, entreat::ActError>(Page {
                elicitations,
                next_cursor,
            })
        };
        let page = page.await.context("cannot list the elicitations");
        opened.close().await;
        page
    })?;
    if args.json {
        output::document(out, &page)?;
        return Ok(Exit::Clean);
    }
    print(&page.elicitations, out)?;
    if page.elicitations.is_empty() {
        context.say(format_args!("no elicitations"));
    }
    if let Some(next) = page.next_cursor {
        context.say(format_args!("there are more: --cursor {next}"));
    }
    Ok(Exit::Clean)
}

/// The names of states, and `live`.
fn statuses() -> impl clap::builder::TypedValueParser<Value = Which> {
    let names = Status::ALL.map(Status::as_str);
    PossibleValuesParser::new(names.into_iter().chain(["live"])).map(|name| {
        let status = Status::ALL.into_iter().find(|s| s.as_str() == name);
        status.map_or(Which::Live, Which::Only)
    })
}

/// One row each, in columns.
fn print(elicitations: &[Snapshot], out: &mut dyn Write) -> io::Result<()> {
    const HEAD: [&str; 5] = ["ID", "STATUS", "ASKED", "ASKER", "QUESTION"];
    let rows: Vec<[String; 5]> = elicitations.iter().map(row).collect();
    if rows.is_empty() {
        return Ok(());
    }
    let head = HEAD.map(str::to_owned);
    let rows = || std::iter::once(&head).chain(&rows);
    let widths: [usize; 5] = std::array::from_fn(|column| {
        let cells = rows().map(|row| row[column].chars().count());
        cells.max().unwrap_or_default()
    });
    for row in rows() {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            // Writing to a string cannot fail.
            let _ = write!(line, "{cell:width$}  ");
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

fn row(elicitation: &Snapshot) -> [String; 5] {
    let request = &elicitation.record().request;
    [
        elicitation.id().to_string(),
        elicitation.status().as_str().to_owned(),
        output::time(elicitation.lifecycle().created()),
        output::plain(&request.asker).into_owned(),
        output::subject(&request.subject),
    ]
}
