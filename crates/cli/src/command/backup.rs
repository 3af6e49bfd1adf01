//! `entreat backup`: copies a store to a new file, and uploads to a folder beside it.
//!
//! Does not copy keys: the copy and the keys together reveal the secrets, so they should be stored
//! apart.

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
/// The service that uses the store may be running. The copy is a complete, verified store. Uploaded
/// files that have not been fetched yet are copied, still encrypted, to a folder next to it, where
/// `entreat restore` finds them. The copy doesn't include the keys: without them nobody can read
/// its secrets, so back up the key file too, in a different place.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The file to create; an existing file is not overwritten
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    file: PathBuf,
    /// The folder of uploaded files [default: the store's name plus .uploads]
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
  entreat restore monday.db --store questions.db

Exit codes: 0 copied; 2 wrong usage, no store, a store that is damaged or cannot be read, a file or
folder that already exists or cannot be written.";

pub(crate) fn run(args: &Args, context: &mut Context, _: &mut dyn Write) -> anyhow::Result<Exit> {
    let location = args.store.location(context.environment())?;
    location.require_store()?;
    let from = args
        .uploads
        .clone()
        .unwrap_or_else(|| Uploads::folder_for_store(location.store()));
    let to = Uploads::folder_for_store(&args.file);
    let files = runtime::block_on(copy(location.store(), &args.file, &from, &to))?;
    context.say(format_args!(
        "copied to {}{}; its keys are in {}",
        output::sanitize_path(&args.file),
        and_uploads(&to, files),
        location.shown_keys()
    ));
    Ok(Exit::Success)
}

/// Mentions the folder of uploads, if there are any.
pub(super) fn and_uploads(folder: &Path, files: usize) -> String {
    match files {
        0 => String::new(),
        files => format!(" and {} (files: {files})", output::sanitize_path(folder)),
    }
}

/// Copies a store and its uploads, or leaves nothing behind; returns the number of uploads.
///
/// Files after the store: those that it refers to were there before. One that is gone by now was
/// fetched, and one more belongs to a later draft and will be deleted.
async fn copy(store: &Path, file: &Path, from: &Path, to: &Path) -> anyhow::Result<usize> {
    let shown = || output::sanitize_path(to);
    if to.try_exists().unwrap_or(true) {
        bail!("{} already exists", shown());
    }
    EmbeddedStore::back_up(store, file).await?;
    let copied = upload::copy(from, to);
    if copied.is_err() {
        // A store without its uploads would look like a complete backup.
        let _ = fs::remove_dir_all(to);
        let _ = fs::remove_file(file);
    }
    copied.with_context(|| format!("cannot copy the uploaded files to {}", shown()))
}
