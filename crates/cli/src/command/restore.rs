//! `entreat restore`: makes a store of a backup, with its uploads and keys.
//!
//! Overwrites nothing, and leaves nothing behind if it fails.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use entreat::service::{Uploads, upload};
use entreat::{EmbeddedStore, Engine};

use super::backup::and_uploads;
use crate::context::{Context, Exit};
use crate::store::{StoreArgs, StoreLocation};
use crate::{keys, output, runtime};

/// Restore a store from a backup
///
/// Copies the backup to where the store was, and its uploaded files to the folder next to it.
/// Nothing is overwritten: if there is still a store, move it away first. The keys that the store
/// had must be there, or be named with --keys-from. Afterwards, `entreat serve` starts with the
/// restored store.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The backup, as `entreat backup` made it
    #[arg(value_name = "BACKUP", value_hint = clap::ValueHint::FilePath)]
    backup: PathBuf,
    /// Your copy of the key file, if the keys are lost too
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    keys_from: Option<PathBuf>,
    /// The folder for uploaded files [default: the store's name plus .uploads]
    #[arg(long, value_name = "FOLDER", value_hint = clap::ValueHint::DirPath)]
    uploads: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
}

const AFTER_HELP: &str = "\
Examples:
  entreat restore monday.db
  entreat restore monday.db --store questions.db
  entreat restore monday.db --store questions.db --keys-from safe/questions.db.keys

Exit codes: 0 restored; 2 wrong usage, no backup, a damaged one, missing or wrong keys, a store,
folder or key file that already exists.";

pub(crate) fn run(args: &Args, context: &mut Context, _: &mut dyn Write) -> anyhow::Result<Exit> {
    let location = args.store.location(context.environment())?;
    let uploads = args.uploads.clone();
    let uploads = uploads.unwrap_or_else(|| Uploads::folder_for_store(location.store()));
    let restoration = Restoration {
        backup: &args.backup,
        keys_from: args.keys_from.as_deref(),
        location: &location,
        uploads: &uploads,
    };
    restoration.refuse_to_overwrite()?;
    location.create_default_folder()?;
    let mut made = Made::default();
    let files = runtime::block_on(restoration.run(&mut made));
    if files.is_err() {
        made.remove();
    }
    context.say(format_args!(
        "restored {}{}; its keys are in {}",
        output::sanitize_path(location.store()),
        and_uploads(&uploads, files?),
        location.shown_keys()
    ));
    Ok(Exit::Success)
}

struct Restoration<'a> {
    backup: &'a Path,
    keys_from: Option<&'a Path>,
    location: &'a StoreLocation,
    uploads: &'a Path,
}

/// What was created so far.
#[derive(Default)]
struct Made {
    files: Vec<PathBuf>,
    folder: Option<PathBuf>,
}

impl Made {
    fn remove(self) {
        // Best effort: the error that led here is reported.
        for file in self.files {
            let _ = fs::remove_file(file);
        }
        if let Some(folder) = self.folder {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

impl Restoration<'_> {
    fn refuse_to_overwrite(&self) -> anyhow::Result<()> {
        let Self {
            backup,
            keys_from,
            location,
            uploads,
        } = self;
        if !backup.try_exists().unwrap_or(false) {
            bail!("there is no backup at {}", output::sanitize_path(backup));
        }
        let store = location.store();
        // An empty file is what is left of a lost store.
        if store.metadata().is_ok_and(|found| found.len() > 0) {
            bail!(
                "there is a store at {}: move it away first, or restore to another place with \
                 --store",
                output::sanitize_path(store)
            );
        }
        let is_used = fs::read_dir(uploads).map_or_else(
            |_| uploads.try_exists().unwrap_or(true),
            |mut entries| entries.next().is_some(),
        );
        if is_used {
            bail!(
                "there are uploaded files in {}: move the folder away first, or set another with \
                 --uploads",
                output::sanitize_path(uploads)
            );
        }
        match (keys_from, location.keys().try_exists().unwrap_or(true)) {
            (Some(_), true) => bail!(
                "there are keys at {}: leave out --keys-from to use them, or move them away first",
                location.shown_keys()
            ),
            (None, false) => bail!(
                "the keys of the store are not at {}: name your copy of them with --keys-from",
                location.shown_keys()
            ),
            (Some(_), false) | (None, true) => Ok(()),
        }
    }

    /// Returns the number of uploads.
    async fn run(&self, made: &mut Made) -> anyhow::Result<usize> {
        let (location, store) = (self.location, self.location.store());
        if let Some(from) = self.keys_from {
            let copy = keys::read(from)?;
            let copy = copy
                .with_context(|| format!("there are no keys at {}", output::sanitize_path(from)))?;
            keys::write(location.keys(), &copy)?;
            made.files.push(location.keys().to_owned());
        }
        let keys = keys::read(location.keys())?;
        let keys = keys.context("the keys were removed meanwhile")?;
        EmbeddedStore::restore(self.backup, store).await?;
        made.files.push(store.to_owned());
        let opened = location.open_store()?;
        let checked = Engine::check_keys(&opened, keys).await;
        opened.close().await;
        checked.map_err(|error| location.explain_start(error, false))?;
        let from = Uploads::folder_for_store(self.backup);
        // It is empty, if it exists.
        let _ = fs::remove_dir(self.uploads);
        made.folder = Some(self.uploads.to_owned());
        upload::copy(&from, self.uploads).with_context(|| {
            format!(
                "cannot copy the uploaded files to {}",
                output::sanitize_path(self.uploads)
            )
        })
    }
}
