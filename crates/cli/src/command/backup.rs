//! `entreat backup`: copies a store to a new file, and the files that people sent to a folder
//! beside it.
//!
//! Copies no keys: whoever has the copy and the keys can read the secrets in it, so the two are
//! better kept apart.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use entreat::EmbeddedStore;
use entreat::service::{Uploads, upload};

use crate::context::{Context, Exit};
use crate::store::StoreArgs;
use crate::{output, runtime};

/// Copy a store to a new file
///
/// The copy is a store itself. Files that people sent and nobody has fetched yet are copied to a
/// folder beside it, sealed as they are, where a service on the copy looks for them. The keys are
/// not in it: without them nobody can read its secrets, so keep a copy of their file too, in
/// another place.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The file to make; one that is there already is left alone
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    file: PathBuf,
    /// The folder of the files that people sent [default: the store's name and .uploads]
    #[arg(long, value_name = "FOLDER", value_hint = clap::ValueHint::DirPath)]
    uploads: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
}

const AFTER_HELP: &str = "\
Examples:
  entreat backup monday.db
  entreat backup monday.db --store questions.db
  entreat list --store monday.db --keys questions.db.keys

Exit codes: 0 copied; 2 wrong usage, no store, a store that cannot be opened, a file or folder that
exists or cannot be written.";

pub(crate) fn run(args: &Args, context: &mut Context, _: &mut dyn Write) -> anyhow::Result<Exit> {
    let place = args.store.place(context.environment())?;
    let from = args
        .uploads
        .clone()
        .unwrap_or_else(|| Uploads::folder_beside(place.store()));
    let to = Uploads::folder_beside(&args.file);
    let files = runtime::block_on(async {
        // Held until the end: what is copied belongs together.
        let store = place.open_store()?;
        let copied = copy(&store, &args.file, &from, &to).await;
        store.close().await;
        copied
    })?;
    let file = args.file.to_string_lossy();
    let (file, keys) = (output::plain(&file), place.shown_keys());
    let folder = to.to_string_lossy();
    let with = match files {
        0 => String::new(),
        files => format!(", {files} of its files to {}", output::plain(&folder)),
    };
    context.say(format_args!(
        "copied to {file}{with}; its keys are in {keys}"
    ));
    Ok(Exit::Clean)
}

/// Copies a store and its files, or leaves nothing behind; how many files there are.
async fn copy(store: &EmbeddedStore, file: &Path, from: &Path, to: &Path) -> anyhow::Result<usize> {
    let shown = || output::plain(&to.to_string_lossy()).to_string();
    if to.try_exists().unwrap_or(true) {
        bail!("{} exists already", shown());
    }
    store.backup(file).await?;
    let copied = upload::copy(from, to);
    if copied.is_err() {
        // A store whose files are missing looks like a backup, and is none.
        let _ = fs::remove_dir_all(to);
        let _ = fs::remove_file(file);
    }
    copied.with_context(|| format!("cannot copy the files of the store to {}", shown()))
}
