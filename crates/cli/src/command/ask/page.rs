//! Asks on a page of this machine, where there is no terminal to ask at or none is wanted.

use std::time::Duration;

use anyhow::Context as _;
use entreat::{CancelReason, Channel, EngineSettings, Snapshot};

use super::Job;
use super::conversation::Ending;
use super::keeper::Keeper;
use crate::browser;
use crate::context::Context;
use crate::signals::Signals;
use crate::store::Place;

/// How long the closing page can be had.
const FAREWELL: Duration = Duration::from_secs(3);

/// Asks until the question has settled, or a signal comes. `opens` is whether a browser may be
/// opened for it.
pub(super) async fn ask(
    job: &Job<'_>,
    place: Option<&Place>,
    settings: EngineSettings,
    opens: bool,
    context: &mut Context,
) -> anyhow::Result<(Ending, Snapshot)> {
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    let keeper = Keeper::with_pages(place, settings).await?;
    let waited = wait(job, &keeper, opens, context, &mut signals).await;
    if matches!(&waited, Ok((Ending::Settled, _))) {
        // The page that says so is on its way to the browser.
        tokio::select! {
            () = tokio::time::sleep(FAREWELL) => {}
            _ = signals.next() => {}
        }
    }
    keeper.close().await;
    waited
}

async fn wait(
    job: &Job<'_>,
    keeper: &Keeper,
    opens: bool,
    context: &mut Context,
    signals: &mut Signals,
) -> anyhow::Result<(Ending, Snapshot)> {
    let Keeper::Pages(entreat, _) = keeper else {
        anyhow::bail!("there is no page to open");
    };
    let pages = entreat.pages().context("there is no page to open")?;
    let asker = keeper.engine().asker(job.asker());
    let question = asker.ask(job.ask(true)?.channel(Channel::Page)).await?;
    let link = pages.link(question.id());
    context.say(format_args!("A question waits at\n\n  {link}\n"));
    if opens && browser::may_open(context) && browser::open(&link).is_ok() {
        context.say(format_args!(
            "It should open in your browser. Ctrl-C cancels."
        ));
    } else {
        context.say(format_args!(
            "Open it in a browser on this machine. Ctrl-C cancels."
        ));
    }
    tokio::select! {
        settled = question.outcome() => Ok((Ending::Settled, settled?)),
        exit = signals.next() => {
            // It may be over already, and then its outcome is the one that counts.
            let _ = question.cancel(CancelReason::UserCancelled).await;
            Ok((Ending::Signal(exit), question.outcome().await?))
        }
    }
}
