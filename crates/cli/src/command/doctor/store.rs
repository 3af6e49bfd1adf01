//! Checks the store: its folder, its file, its keys, and who has it open.

use std::path::Path;
use std::time::Duration;

use entreat::stores::{Checked, FileKind, OpenError};
use entreat::{EmbeddedStore, UnixTime};

use super::files::{self, Entry, Found, GROUP_AND_OTHERS, folder_of, quoted};
use super::finding::{Finding, Level};
use super::system;
use crate::keys;
use crate::store::StoreLocation;

/// Write permission on a folder allows replacing its files, unless this bit is set.
const STICKY: u32 = 0o1000;
const WRITABLE_BY_ALL: u32 = 0o002;
const OWNER: &str = "run the service as its owner, or change the owner with chown";

/// The facts about a store.
#[derive(Debug)]
pub(super) struct Facts {
    /// The default path, whose folder the service creates.
    is_default: bool,
    folder: Entry,
    /// The folder or its nearest existing ancestor.
    existing_folder: Entry,
    store: Entry,
    kind: FileKind,
    /// The database's files beside the store.
    side_files: Vec<Entry>,
    keys: Entry,
    keys_folder: Entry,
    /// Why the keys cannot be used, if they cannot.
    keys_error: Option<String>,
    pub(super) holder: Holder,
    /// When the store was last written to.
    pub(super) written: Option<UnixTime>,
    free: Option<u64>,
    file_system: system::FileSystem,
}

/// Who has the store open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    /// There is no store file.
    NoStore,
    Nobody,
    Somebody,
}

/// Inspects a store without opening it as a database.
pub(super) fn gather(location: &StoreLocation) -> Facts {
    let path = location.store();
    let store = Entry::inspect(path);
    let folder = folder_of(path);
    let existing_folder = files::nearest(folder);
    let side_files = EmbeddedStore::side_files(path).map(|path| Entry::inspect(&path));
    let written = std::iter::once(&store).chain(&side_files);
    Facts {
        is_default: location.is_default(),
        folder: Entry::inspect(folder),
        existing_folder: Entry::inspect(existing_folder),
        kind: FileKind::of(path),
        keys: Entry::inspect(location.keys()),
        keys_folder: Entry::inspect(folder_of(location.keys())),
        keys_error: keys::read(location.keys())
            .err()
            .map(|error| format!("{error:#}")),
        holder: holder(path),
        written: written.filter_map(|entry| modified(&entry.path)).max(),
        free: system::free_space(existing_folder),
        file_system: system::file_system_of(existing_folder),
        store,
        side_files: side_files.into(),
    }
}

fn modified(path: &Path) -> Option<UnixTime> {
    let modified = path.metadata().ok()?.modified().ok()?;
    let since_1970 = modified.duration_since(std::time::SystemTime::UNIX_EPOCH);
    Some(UnixTime::default().after(since_1970.ok()?))
}

fn holder(path: &Path) -> Holder {
    if EmbeddedStore::is_in_use(path) {
        Holder::Somebody
    } else {
        Holder::Nobody
    }
}

impl Facts {
    /// Whether there is a store to verify.
    pub(super) fn has_store(&self) -> bool {
        matches!(self.store.found, Found::File(_)) && self.kind == FileKind::Store
    }
}

/// How long the data may take to verify.
const CHECK_LIMIT: Duration = Duration::from_secs(10);

/// Verifies the data. A service may be running.
pub(super) async fn integrity(location: &StoreLocation) -> Finding {
    let checked = EmbeddedStore::check(location.store(), CHECK_LIMIT).await;
    integrity_of(checked, &location.restore_command())
}

fn integrity_of(checked: Result<Checked, OpenError>, restore: &str) -> Finding {
    let check = "integrity";
    match checked {
        Ok(Checked::Intact) => Finding::ok(check, "the store's pages and rows are intact"),
        Ok(Checked::OldFormat) => Finding::ok(
            check,
            "the store's pages are intact; an older Entreat wrote it, the next start upgrades it",
        ),
        Ok(Checked::Unfinished) => Finding::note(
            check,
            format!(
                "what could be checked of the store in {} seconds is intact",
                CHECK_LIMIT.as_secs()
            ),
            "to check all of it, run `entreat backup`, which verifies the copy",
        ),
        Err(OpenError::Damaged { path, part }) => Finding::problem(
            check,
            format!("{} is damaged: {part}", path.display()),
            format!("stop the service, move the file away, and run {restore}"),
        ),
        Err(error) => Finding::problem(
            check,
            format!("the store cannot be read: {:#}", anyhow::Error::from(error)),
            "run this command as the service's user",
        ),
    }
}

pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let mut findings = vec![folder(
        facts.is_default,
        &facts.folder,
        &facts.existing_folder,
    )];
    let can_be_made = findings[0].level != Level::Problem;
    findings.push(store(
        &facts.store,
        &facts.side_files,
        facts.kind,
        can_be_made,
        matches!(facts.keys.found, Found::File(_)),
    ));
    findings.extend(lock(&facts.store, facts.holder));
    findings.push(keys(
        &facts.keys,
        &facts.keys_folder,
        &facts.store,
        facts.keys_error.as_deref(),
        // Only the folder of the default store is created.
        facts.is_default && facts.keys_folder.path == facts.folder.path,
    ));
    let existing_folder = &facts.existing_folder.path;
    findings.extend(system::file_system(existing_folder, facts.file_system));
    findings.extend(system::space(existing_folder, facts.free));
    findings
}

pub(super) fn in_memory() -> Finding {
    Finding::ok(
        "store",
        "questions are kept in memory and lost when the service stops",
    )
}

pub(super) fn no_location(error: &str) -> Finding {
    Finding::problem("store", error, "set a file with --store or ENTREAT_STORE")
}

fn folder(is_default: bool, folder: &Entry, existing_folder: &Entry) -> Finding {
    let name = folder.display_path();
    let is_accessible = |entry: &Entry| matches!(&entry.found, Found::Folder(permissions) if permissions.is_accessible);
    match &folder.found {
        Found::Missing if !is_default => Finding::problem(
            "folder",
            format!("the folder {name} does not exist"),
            format!("run `mkdir -m 700 -p {}`", quoted(&folder.path)),
        ),
        Found::Missing if !is_accessible(existing_folder) => Finding::problem(
            "folder",
            format!(
                "the folder {name} cannot be created in {}",
                existing_folder.display_path()
            ),
            "let this user write there, or set another store with --store",
        ),
        Found::Missing => Finding::ok(
            "folder",
            format!("{name} doesn't exist yet; `serve` creates it"),
        ),
        Found::Folder(permissions) if !permissions.is_accessible => Finding::problem(
            "folder",
            format!("this user cannot write to the folder {name}"),
            OWNER,
        ),
        Found::Folder(permissions)
            if permissions.mode & WRITABLE_BY_ALL != 0 && permissions.mode & STICKY == 0 =>
        {
            Finding::problem(
                "folder",
                format!("everyone can replace files in {name}"),
                format!("run `chmod o-w {}`", quoted(&folder.path)),
            )
        }
        Found::Folder(_) => Finding::ok("folder", name),
        Found::File(_) | Found::Other => Finding::problem(
            "folder",
            format!("{name} is not a folder"),
            "set another store with --store",
        ),
        Found::Inaccessible(error) => hidden("folder", &name, error),
    }
}

fn store(
    store: &Entry,
    side_files: &[Entry],
    kind: FileKind,
    can_be_made: bool,
    has_keys: bool,
) -> Finding {
    let name = store.display_path();
    let another = "set another store with --store";
    let lost = |how| {
        Finding::problem(
            "store",
            format!("{name} is {how}, but its keys exist: the store was lost"),
            "restore it with `entreat restore BACKUP`, or start with an empty one: `serve --new-store`",
        )
    };
    match &store.found {
        Found::Missing if has_keys => lost("not there"),
        Found::File(_) if kind == FileKind::Empty && has_keys => lost("empty"),
        Found::File(_) if kind == FileKind::Linked => Finding::problem(
            "store",
            format!("{name} has a second name (a hard link), but its log doesn't"),
            "remove the other name; `entreat backup` copies a store",
        ),
        Found::Missing if !can_be_made => Finding::problem(
            "store",
            format!("{name} doesn't exist and cannot be created in its folder"),
            "fix the folder first, or set another store with --store",
        ),
        Found::Missing => Finding::ok(
            "store",
            format!("{name} doesn't exist yet; `serve` creates it"),
        ),
        Found::Inaccessible(error) => hidden("store", &name, error),
        Found::Folder(_) | Found::Other => {
            Finding::problem("store", format!("{name} is not a file"), another)
        }
        Found::File(permissions) => {
            let all = std::iter::once(store).chain(side_files);
            let open: Vec<&Entry> = all.filter(|entry| entry.allows(GROUP_AND_OTHERS)).collect();
            if kind == FileKind::Foreign {
                Finding::problem("store", format!("{name} is not an Entreat store"), another)
            } else if !permissions.is_accessible {
                Finding::problem(
                    "store",
                    format!("this user cannot read and write {name}"),
                    OWNER,
                )
            } else if open.is_empty() {
                Finding::ok("store", name)
            } else {
                let names: Vec<String> = open.iter().map(|entry| quoted(&entry.path)).collect();
                Finding::problem(
                    "store",
                    format!("others can read or change {name}, which contains answers"),
                    format!("run `chmod 600 {}`", names.join(" ")),
                )
            }
        }
    }
}

fn lock(store: &Entry, holder: Holder) -> Option<Finding> {
    let is_there = matches!(store.found, Found::File(_));
    match holder {
        Holder::Somebody => Some(Finding::ok(
            "in use",
            "another process is using the store, such as a running service",
        )),
        Holder::Nobody if is_there => Some(Finding::ok("in use", "no process is using the store")),
        Holder::Nobody | Holder::NoStore => None,
    }
}

fn keys(
    keys: &Entry,
    folder: &Entry,
    store: &Entry,
    keys_error: Option<&str>,
    is_folder_made: bool,
) -> Finding {
    let name = keys.display_path();
    let elsewhere = "set the right file with --keys or ENTREAT_KEYS";
    let has_store = matches!(store.found, Found::File(_));
    match (&keys.found, &folder.found) {
        (Found::Missing, _) if has_store => Finding::problem(
            "keys",
            format!("the store exists, but its keys are not at {name}"),
            format!("restore them from your copy, or {elsewhere}"),
        ),
        (Found::Missing, Found::Missing) if is_folder_made => Finding::ok(
            "keys",
            format!("{name} doesn't exist yet; `serve` creates it"),
        ),
        (Found::Missing, Found::Folder(permissions)) if permissions.is_accessible => Finding::ok(
            "keys",
            format!("{name} doesn't exist yet; `serve` creates it"),
        ),
        (Found::Missing, _) => Finding::problem(
            "keys",
            format!("{name} cannot be created: its folder is missing or not writable"),
            elsewhere,
        ),
        (Found::File(_), _) if keys.allows(GROUP_AND_OTHERS) => Finding::problem(
            "keys",
            format!("others can read or change the keys in {name}"),
            format!("run `chmod 600 {}`", quoted(&keys.path)),
        ),
        (Found::Inaccessible(error), _) => hidden("keys", &name, error),
        (Found::File(_) | Found::Folder(_) | Found::Other, _) => match keys_error {
            Some(error) => Finding::problem("keys", error, elsewhere),
            None => Finding::note("keys", name, "keep a copy separate from the store's"),
        },
    }
}

fn hidden(check: &'static str, name: &str, error: &str) -> Finding {
    Finding::problem(
        check,
        format!("this user cannot access {name}: {error}"),
        "give this user access to the parent folders, or set another path with a flag",
    )
}

#[cfg(test)]
mod tests;
