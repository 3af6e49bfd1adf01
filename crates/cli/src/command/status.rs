//! `entreat status`: how one elicitation stands, its secrets sealed.

use std::io::{self, Write};

use entreat::core::Presented;
use entreat::{ActError, ElicitationId, Outcome, Snapshot};
use serde_json::{Value, json};

use crate::context::{Context, Exit};
use crate::remote::{self, Remote, RemoteArgs, RemoteError};
use crate::store::StoreArgs;
use crate::{output, runtime};

/// Show how an elicitation stands
///
/// Secrets are shown as `[sealed]`, here and with --json. A running service gives its asker the
/// secrets too: with --url the result is shown only with --json.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The elicitation, as `entreat list` names it
    #[arg(value_name = "ID")]
    id: ElicitationId,
    /// Print the record
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    remote: RemoteArgs,
}

const AFTER_HELP: &str = "\
Examples:
  entreat status elic_01hnmq7zq8e9vv8h2m6x3c5t0d
  entreat status elic_01hnmq7zq8e9vv8h2m6x3c5t0d --json --store questions.db

Exit codes: 0 shown; 1 there is none of that name; 2 wrong usage, no store, a store that cannot
be opened, a service that does not answer.";

pub(crate) fn run(args: &Args, context: &mut Context, out: &mut dyn Write) -> anyhow::Result<Exit> {
    if let Some(service) = args.remote.service(context.environment())? {
        return run_remote(args, &service, context, out);
    }
    let place = args.store.place(context.environment())?;
    let found = runtime::block_on(async {
        let opened = place.open().await?;
        let found = opened.engine.elicitation(args.id).status().await;
        opened.close().await;
        Ok(found)
    })?;
    let snapshot = match found {
        Err(ActError::NotFound) => return Ok(context.has_no(args.id)),
        found => found?,
    };
    if args.json {
        output::document(out, &snapshot)?;
    } else {
        print(&snapshot, out)?;
    }
    Ok(Exit::Clean)
}

/// Shows what a running service tells its asker.
fn run_remote(
    args: &Args,
    service: &Remote,
    context: &mut Context,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let params = json!({"elicitationId": args.id});
    let record = match runtime::block_on(service.call("elicitation/status", params))? {
        Err(RemoteError::NotFound) => return Ok(context.has_no(args.id)),
        found => found?,
    };
    if args.json {
        output::document(out, &record)?;
    } else {
        print_remote(&record, out)?;
    }
    Ok(Exit::Clean)
}

fn print_remote(record: &Value, out: &mut dyn Write) -> io::Result<()> {
    let mut line = |name: &str, value: &str| writeln!(out, "{name:<10}{value}");
    line("id", &remote::text(record, "elicitationId"))?;
    let status = remote::text(record, "status");
    match record.get("reason") {
        Some(_) => line(
            "status",
            &format!("{status}: {}", remote::text(record, "reason")),
        )?,
        None => line("status", &status)?,
    }
    line("mode", &remote::text(record, "mode"))?;
    let shown = match &record["shown"] {
        Value::Bool(true) => "yes",
        Value::Bool(false) => "no",
        _ => "unknown",
    };
    line("shown", shown)?;
    for (name, key) in [
        ("asked", "createdAt"),
        ("deadline", "timeoutAt"),
        ("settled", "settledAt"),
    ] {
        if let Some(time) = remote::time(record, key) {
            line(name, &time)?;
        }
    }
    if record.get("result").is_some() {
        line("result", "there is one: --json shows it, secrets included")?;
    }
    Ok(())
}

/// One line for each thing to know.
fn print(snapshot: &Snapshot, out: &mut dyn Write) -> io::Result<()> {
    let request = &snapshot.record().request;
    let lifecycle = snapshot.lifecycle();
    let mut line = |name: &str, value: &str| writeln!(out, "{name:<10}{value}");
    line("id", &snapshot.id().to_string())?;
    match snapshot.outcome() {
        Some(Outcome::Cancelled(reason)) => line("status", &format!("cancelled: {reason}"))?,
        _ => line("status", snapshot.status().as_str())?,
    }
    line("question", &output::subject(&request.subject))?;
    let message = request.extras.as_ref().and_then(|e| e.message.as_ref());
    if let Some(message) = message {
        line("message", &output::plain(message))?;
    }
    line("asker", &output::plain(&request.asker))?;
    line("mode", request.mode.as_str())?;
    let shown = match lifecycle.presented() {
        Presented::Yes => "yes",
        Presented::No => "no",
        Presented::Unknown => "unknown",
    };
    line("shown", shown)?;
    line("asked", &output::time(lifecycle.created()))?;
    line("deadline", &output::time(lifecycle.deadline()))?;
    if let Some(at) = lifecycle.settled_at() {
        line("settled", &output::time(at))?;
    }
    if lifecycle.attempts() > 0 {
        let attempts = format!("{} of {}", lifecycle.attempts(), lifecycle.attempt_limit());
        line("attempts", &attempts)?;
    }
    if let Some(result) = snapshot.result() {
        line("result", &output::plain(&result.to_string()))?;
    }
    if !snapshot.missing().is_empty() {
        line("missing", &output::plain(&snapshot.missing().join(", ")))?;
    }
    Ok(())
}
