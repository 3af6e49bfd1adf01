//! `entreat backup`: copies a store to a new file.
//!
//! Copies no keys: whoever has the copy and the keys can read the secrets in it, so the two are
//! better kept apart.

use std::io::Write;
use std::path::PathBuf;

use crate::context::{Context, Exit};
use crate::store::StoreArgs;
use crate::{output, runtime};

/// Copy a store to a new file
///
/// The copy is a store itself. The keys are not in it: without them nobody can read its secrets,
/// so keep a copy of their file too, in another place.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The file to make; one that is there already is left alone
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    file: PathBuf,
    #[command(flatten)]
    store: StoreArgs,
}

const AFTER_HELP: &str = "\
Examples:
  entreat backup monday.db
  entreat backup monday.db --store questions.db
  entreat list --store monday.db --keys questions.db.keys

Exit codes: 0 copied; 2 wrong usage, no store, a store that cannot be opened, a file that exists
or cannot be written.";

pub(crate) fn run(args: &Args, context: &mut Context, _: &mut dyn Write) -> anyhow::Result<Exit> {
    let place = args.store.place(context.environment())?;
    runtime::block_on(async {
        let store = place.open_store()?;
        let copied = store.backup(&args.file).await;
        store.close().await;
        Ok(copied?)
    })?;
    let file = args.file.to_string_lossy();
    let (file, keys) = (output::plain(&file), place.shown_keys());
    context.say(format_args!("copied to {file}; its keys are in {keys}"));
    Ok(Exit::Clean)
}
