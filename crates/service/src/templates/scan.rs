//! One look at a folder of forms: what is read, what is told, what is handed over.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use entreat_core::document::{self, MAX_DOCUMENT_BYTES, Notation};
use entreat_core::{Form, ProblemCode, Problems, Validators};

use crate::rpc::Templates;

/// Files beyond that many are left out: a folder of so many is another folder than was meant.
const MAX_FILES: usize = 1000;
/// The longest name that can be asked for.
const MAX_NAME_BYTES: usize = 256;

/// So many problems of a file are written to the log; `entreat form lint` tells them all.
const TOLD: usize = 5;

type Loaded = Result<Form, Problems>;

/// A folder, and what was found at the last look, so that a file is compiled and complained
/// about once.
pub(super) struct Scan {
    folder: PathBuf,
    validators: Validators,
    known: BTreeMap<PathBuf, Known>,
    /// Names that several files claim, of which was told.
    clashes: BTreeSet<String>,
    /// Whether it was told that files are left out.
    is_overfull: bool,
}

/// How a file is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// It is read.
    Closely,
    /// It is read if its time or size differ.
    InPassing,
}

type Stamp = Option<(SystemTime, u64)>;

/// A file as it was read last.
struct Known {
    stamp: Stamp,
    digest: [u8; 32],
    loaded: Loaded,
}

impl Scan {
    pub(super) fn of(folder: PathBuf, validators: Validators) -> Self {
        Self {
            folder,
            validators,
            known: BTreeMap::new(),
            clashes: BTreeSet::new(),
            is_overfull: false,
        }
    }

    /// The same folder, as if it had never been looked at.
    pub(super) fn forgotten(&self) -> Self {
        Self::of(self.folder.clone(), self.validators.clone())
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Reads the folder and hands over what it holds. Fails if the folder cannot be listed.
    pub(super) fn look(&mut self, how: Look, templates: &Templates) -> io::Result<()> {
        let paths = self.paths()?;
        let mut known = BTreeMap::new();
        let mut names: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
        for path in paths {
            let Some(name) = path.file_stem().and_then(OsStr::to_str) else {
                continue;
            };
            names.entry(name.to_owned()).or_default().push(path.clone());
            let before = self.known.remove(&path);
            let is_new = before.is_none();
            let (now, changed) = read(&path, before, how, &self.validators);
            if changed {
                report(&path, &now.loaded, is_new);
            }
            known.insert(path, now);
        }
        for path in std::mem::replace(&mut self.known, known).keys() {
            tracing::info!(file = %path.display(), "the file of a template is gone");
        }
        self.report_clashes(&names);
        let found = names.into_iter().map(|(name, paths)| {
            let loaded = match &*paths {
                [path] => self.known[path].loaded.clone(),
                paths => Err(clash(&name, paths)),
            };
            (name, loaded)
        });
        templates.replace(found.collect::<Vec<_>>());
        Ok(())
    }

    fn report_clashes(&mut self, names: &BTreeMap<String, Vec<PathBuf>>) {
        let several = names.iter().filter(|(_, paths)| paths.len() > 1);
        let clashes = several.map(|(name, paths)| {
            if !self.clashes.contains(name) {
                let problems = clash(name, paths).to_string();
                let folder = self.folder.display();
                tracing::warn!(%folder, problems, "a template is not clear; the last good one stays");
            }
            name.clone()
        });
        self.clashes = clashes.collect();
    }

    /// The files that are forms by their names, in order.
    fn paths(&mut self) -> io::Result<Vec<PathBuf>> {
        let mut paths = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if is_form(&path) {
                paths.push(path);
            }
        }
        paths.sort_unstable();
        let is_overfull = paths.len() > MAX_FILES;
        if is_overfull && !self.is_overfull {
            let folder = self.folder.display();
            tracing::warn!(%folder, files = paths.len(), "only the first {MAX_FILES} templates are loaded");
        }
        self.is_overfull = is_overfull;
        paths.truncate(MAX_FILES);
        Ok(paths)
    }
}

/// Whether a file is one of ours: by its ending, and not hidden, as what editors leave is.
fn is_form(path: &Path) -> bool {
    let stem = path.file_stem().and_then(OsStr::to_str);
    let ending = path.extension().and_then(OsStr::to_str);
    stem.is_some_and(|stem| !stem.starts_with('.') && stem.len() <= MAX_NAME_BYTES)
        && matches!(ending, Some("json" | "yaml" | "yml" | "toml"))
        && path.is_file()
}

/// The file as it is now, and whether that is something new.
fn read(path: &Path, before: Option<Known>, how: Look, validators: &Validators) -> (Known, bool) {
    let metadata = fs::metadata(path).ok();
    let stamp: Stamp = metadata.and_then(|data| Some((data.modified().ok()?, data.len())));
    let before = match before {
        Some(before) if how == Look::InPassing && stamp.is_some() && stamp == before.stamp => {
            return (before, false);
        }
        before => before,
    };
    let (digest, loaded) = match read_bounded(path) {
        Ok(bytes) => {
            let digest = blake3::hash(&bytes).into();
            match before {
                Some(before) if before.digest == digest => {
                    return (Known { stamp, ..before }, false);
                }
                _ => (digest, load(path, &bytes, validators)),
            }
        }
        Err(error) => {
            let words = format!("The file cannot be read: {error}.");
            let problems = Problems::of_whole(ProblemCode::Syntax, words);
            if let Some(before) = before
                && before.loaded.as_ref().err() == Some(&problems)
            {
                return (before, false);
            }
            ([0; 32], Err(problems))
        }
    };
    let now = Known {
        stamp,
        digest,
        loaded,
    };
    (now, true)
}

fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One more than is allowed: the core tells what is too large.
    let most = MAX_DOCUMENT_BYTES as u64 + 1;
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn load(path: &Path, bytes: &[u8], validators: &Validators) -> Loaded {
    let Ok(text) = str::from_utf8(bytes) else {
        let words = "The file is no text in UTF-8.";
        return Err(Problems::of_whole(ProblemCode::Syntax, words));
    };
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let definition = document::read(text, Notation::of_file_name(name))?;
    Form::with_validators(&definition, validators)
}

fn clash(name: &str, paths: &[PathBuf]) -> Problems {
    let files = paths.iter().filter_map(|path| path.file_name()?.to_str());
    let files = files.collect::<Vec<_>>().join(" and ");
    let words = format!("Two files have the name `{name}`: {files}. Rename or remove one.");
    Problems::of_whole(ProblemCode::Contradiction, words)
}

fn report(path: &Path, loaded: &Loaded, is_new: bool) {
    let file = path.display();
    match loaded {
        Ok(_) if is_new => tracing::debug!(%file, "a template was loaded"),
        Ok(_) => tracing::info!(%file, "a template was loaded again"),
        Err(problems) => {
            let first = problems.iter().take(TOLD).map(ToString::to_string);
            let problems = first.collect::<Vec<_>>().join("; ");
            tracing::warn!(%file, problems, "a template is broken; the last good one stays");
        }
    }
}
