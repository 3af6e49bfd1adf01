//! `entreat cancel`: ends an elicitation without an answer.

use std::io::Write;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use entreat::{ActError, CancelReason, ElicitationId, Outcome};
use serde_json::json;

use crate::context::{Context, Exit};
use crate::remote::{Remote, RemoteArgs, RemoteError};
use crate::store::StoreArgs;
use crate::{output, runtime};

/// Cancel an elicitation that nobody has answered
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The elicitation, as `entreat list` names it
    #[arg(value_name = "ID")]
    id: ElicitationId,
    /// Why
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
    store: StoreArgs,
    #[command(flatten)]
    remote: RemoteArgs,
}

const AFTER_HELP: &str = "\
Examples:
  entreat cancel elic_01hnmq7zq8e9vv8h2m6x3c5t0d
  entreat cancel elic_01hnmq7zq8e9vv8h2m6x3c5t0d --reason form_invalidated

Exit codes: 0 cancelled; 1 there is none of that name, or it is over already; 2 wrong usage, no
store, a store that cannot be opened, a service that does not answer.";

pub(crate) fn run(args: &Args, context: &mut Context, out: &mut dyn Write) -> anyhow::Result<Exit> {
    if let Some(service) = args.remote.service(context.environment())? {
        return run_remote(args, &service, context, out);
    }
    let place = args.store.place(context.environment())?;
    let cancelled = runtime::block_on(async {
        let opened = place.open().await?;
        let elicitation = opened.engine.elicitation(args.id);
        let cancelled = elicitation.cancel(args.reason).await;
        opened.close().await;
        Ok(cancelled)
    })?;
    let id = args.id;
    match cancelled {
        Ok(snapshot) => {
            context.say(format_args!("{id} is cancelled: {}", args.reason));
            if args.json {
                output::document(out, &snapshot)?;
            }
            Ok(Exit::Clean)
        }
        Err(ActError::NotFound) => Ok(context.has_no(id)),
        Err(ActError::Settled { outcome }) => Ok(over(id, outcome, context)),
        // Its deadline passed a moment ago.
        Err(ActError::TimedOut { .. }) => Ok(over(id, Outcome::TimedOut, context)),
        Err(error) => Err(error.into()),
    }
}

/// Cancels through a running service.
fn run_remote(
    args: &Args,
    service: &Remote,
    context: &mut Context,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let id = args.id;
    let params = json!({"elicitationId": id, "reason": args.reason});
    match runtime::block_on(service.call("elicitation/cancel", params))? {
        Ok(record) => {
            context.say(format_args!("{id} is cancelled: {}", args.reason));
            if args.json {
                output::document(out, &record)?;
            }
            Ok(Exit::Clean)
        }
        Err(RemoteError::NotFound) => Ok(context.has_no(id)),
        Err(RemoteError::Settled { state }) => {
            context.say(format_args!("entreat: {id} is over already: {state}"));
            Ok(Exit::Found)
        }
        Err(error) => Err(error.into()),
    }
}

fn over(id: ElicitationId, outcome: Outcome, context: &mut Context) -> Exit {
    let status = outcome.status().as_str();
    let why = match outcome {
        Outcome::Cancelled(reason) => format!(": {reason}"),
        Outcome::Completed | Outcome::Declined | Outcome::TimedOut => String::new(),
    };
    context.say(format_args!("entreat: {id} is over already: {status}{why}"));
    Exit::Found
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
