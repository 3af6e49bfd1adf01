//! Asks on a local page, where there is no terminal or none is wanted.

use anyhow::Context as _;
use entreat::{CancelReason, Channel, EngineSettings, Snapshot};

use super::Job;
use super::backend::Backend;
use super::conversation::Ending;
use crate::browser;
use crate::context::Context;
use crate::signals::Signals;
use crate::store::StoreLocation;
use crate::texts::Texts;

/// Asks until the question has settled or a signal arrives. `opens` is whether to open a browser.
pub(super) async fn ask(
    job: &Job<'_>,
    location: Option<&StoreLocation>,
    settings: EngineSettings,
    opens: bool,
    context: &mut Context,
) -> anyhow::Result<(Ending, Snapshot)> {
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    let backend = Backend::with_pages(location, settings).await?;
    let waited = wait(job, &backend, opens, context, &mut signals).await;
    if matches!(&waited, Ok((Ending::Settled, _))) {
        browser::wait_for_closing_page(&mut signals).await;
    }
    backend.close().await;
    waited
}

async fn wait(
    job: &Job<'_>,
    backend: &Backend,
    opens: bool,
    context: &mut Context,
    signals: &mut Signals,
) -> anyhow::Result<(Ending, Snapshot)> {
    let Backend::Pages(entreat, _) = backend else {
        anyhow::bail!("there is no page to open");
    };
    let pages = entreat.pages().context("there is no page to open")?;
    let asker = backend.engine().asker(job.asker());
    let question = asker.ask(job.ask(true)?.channel(Channel::Page)).await?;
    let link = pages.link(question.id());
    let texts = Texts::of(&job.messages);
    context.say(format_args!("{}\n\n  {link}\n", texts.answer_at));
    if opens && browser::may_open(context) && browser::open(&link).is_ok() {
        context.say(format_args!("{}", texts.page_opens));
    } else {
        context.say(format_args!("{}", texts.open_link));
    }
    tokio::select! {
        settled = question.outcome() => Ok((Ending::Settled, settled?)),
        exit = signals.next() => {
            // If it has settled already, that outcome counts.
            let _ = question.cancel(CancelReason::UserCancelled).await;
            Ok((Ending::Signal(exit), question.outcome().await?))
        }
    }
}
