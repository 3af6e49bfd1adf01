//! `entreat list`: the elicitations of a store or a service, newest first.

use std::io::Write;

use anyhow::{Context as _, anyhow, bail};
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use entreat::{ElicitationId, Snapshot, Status, Which};
use serde_json::{Value, json};

use crate::context::{Context, Exit};
use crate::remote::{self, Remote, RemoteArgs};
use crate::store::StoreArgs;
use crate::{output, runtime};

/// List the elicitations of a store or of a running service, newest first
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
    #[command(flatten)]
    remote: RemoteArgs,
}

const AFTER_HELP: &str = "\
Examples:
  entreat list
  entreat list --status live --store questions.db
  entreat list --url http://127.0.0.1:7171
  entreat list --json | jq -r '.elicitations[].elicitationId'

Exit codes: 0 listed, also if there is none; 2 wrong usage, no store, a store that cannot be
opened, a service that does not answer.";

pub(crate) fn run(args: &Args, context: &mut Context, out: &mut dyn Write) -> anyhow::Result<Exit> {
    if let Some(service) = args.remote.service(context.environment())? {
        return run_remote(args, &service, context, out);
    }
    let place = args.store.place(context.environment())?;
    let which = args.status.unwrap_or_default();
    let page = runtime::block_on(async {
        let opened = place.open().await?;
        let limit = args.limit.into();
        let page = opened.engine.list(None, which, limit, args.cursor).await;
        let page = page.context("cannot list the elicitations");
        opened.close().await;
        page
    })?;
    if args.json {
        output::document(out, &page)?;
        return Ok(Exit::Clean);
    }
    let rows: Vec<_> = page.elicitations.iter().map(row).collect();
    output::table(out, ["ID", "STATUS", "ASKED", "ASKER", "QUESTION"], &rows)?;
    remark(rows.is_empty(), page.next, context);
    Ok(Exit::Clean)
}

/// Lists what a running service shows its asker.
fn run_remote(
    args: &Args,
    service: &Remote,
    context: &mut Context,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let mut params = json!({"limit": args.limit});
    match args.status {
        None | Some(Which::All) => {}
        Some(Which::Only(status)) => params["status"] = status.as_str().into(),
        Some(Which::Live) => {
            bail!("a service lists one state at a time: say pending or active instead of live")
        }
    }
    if let Some(cursor) = args.cursor {
        params["cursor"] = cursor.to_string().into();
    }
    let page = runtime::block_on(service.call("elicitation/list", params))?;
    let page = page.map_err(|error| anyhow!("cannot list the elicitations: {error}"))?;
    if args.json {
        output::document(out, &page)?;
        return Ok(Exit::Clean);
    }
    let records = page["elicitations"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let rows: Vec<_> = records.iter().map(remote_row).collect();
    output::table(out, ["ID", "STATUS", "ASKED", "MODE"], &rows)?;
    let next = page["nextCursor"].as_str().map(output::plain);
    remark(rows.is_empty(), next, context);
    Ok(Exit::Clean)
}

fn remark(is_empty: bool, next: Option<impl std::fmt::Display>, context: &mut Context) {
    if is_empty {
        context.say(format_args!("no elicitations"));
    }
    if let Some(next) = next {
        context.say(format_args!("there are more: --cursor {next}"));
    }
}

fn remote_row(record: &Value) -> [String; 4] {
    [
        remote::text(record, "elicitationId"),
        remote::text(record, "status"),
        remote::time(record, "createdAt").unwrap_or_default(),
        remote::text(record, "mode"),
    ]
}

/// The names of states, and `live`.
fn statuses() -> impl clap::builder::TypedValueParser<Value = Which> {
    let names = Status::ALL.map(Status::as_str);
    PossibleValuesParser::new(names.into_iter().chain(["live"])).map(|name| {
        let status = Status::ALL.into_iter().find(|s| s.as_str() == name);
        status.map_or(Which::Live, Which::Only)
    })
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
