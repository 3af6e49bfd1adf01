//! Scans a folder of forms: reads changed files, logs problems, and updates the templates.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use entreat_core::document::{self, MAX_DOCUMENT_BYTES, Notation};
use entreat_core::{Form, ProblemCode, Problems, Validators};

use crate::rpc::Templates;

/// Further files are ignored: a folder of that many is probably not the one intended.
const MAX_FILES: usize = 1000;
/// Maximum length of a template name.
const MAX_NAME_BYTES: usize = 256;

/// How many problems of a file are logged; `entreat form lint` lists all.
const MAX_REPORTED: usize = 5;

type Loaded = Result<Form, Problems>;

/// A folder and the state of the last scan, so that each version of a file is compiled and logged
/// once.
pub(super) struct Scan {
    folder: PathBuf,
    validators: Validators,
    cache: BTreeMap<PathBuf, CachedFile>,
    /// Names claimed by several files, already logged.
    clashes: BTreeSet<String>,
    /// Whether ignored files were logged.
    has_too_many: bool,
}

type Stamp = Option<(SystemTime, u64)>;

/// A file as last read.
struct CachedFile {
    stamp: Stamp,
    /// Whether a later scan read it again under the same stamp. A write right after the first read
    /// may leave the stamp as it was: file systems round the time.
    is_rechecked: bool,
    digest: [u8; 32],
    loaded: Loaded,
}

impl Scan {
    pub(super) fn new(folder: PathBuf, validators: Validators) -> Self {
        Self {
            folder,
            validators,
            cache: BTreeMap::new(),
            clashes: BTreeSet::new(),
            has_too_many: false,
        }
    }

    /// The same folder without the state of earlier scans.
    pub(super) fn fresh(&self) -> Self {
        Self::new(self.folder.clone(), self.validators.clone())
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Scans the folder and replaces the templates. Fails if the folder cannot be listed.
    pub(super) fn run(&mut self, templates: &Templates) -> io::Result<()> {
        let paths = self.paths()?;
        let mut cache = BTreeMap::new();
        let mut names: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
        for path in paths {
            let Some(name) = path.file_stem().and_then(OsStr::to_str) else {
                continue;
            };
            names.entry(name.to_owned()).or_default().push(path.clone());
            let before = self.cache.remove(&path);
            let is_new = before.is_none();
            let (now, changed) = read(&path, before, &self.validators);
            if changed {
                report(&path, &now.loaded, is_new);
            }
            cache.insert(path, now);
        }
        for path in std::mem::replace(&mut self.cache, cache).keys() {
            tracing::info!(file = %path.display(), "the file of a template was removed");
        }
        self.report_clashes(&names);
        let found = names.into_iter().map(|(name, paths)| {
            let loaded = match &*paths {
                [path] => self.cache[path].loaded.clone(),
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
                tracing::warn!(
                    %folder,
                    problems,
                    "a template is ambiguous; the last valid version stays in use"
                );
            }
            name.clone()
        });
        self.clashes = clashes.collect();
    }

    /// The files that are forms by name, sorted.
    fn paths(&mut self) -> io::Result<Vec<PathBuf>> {
        let mut paths = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if is_form(&path) {
                paths.push(path);
            }
        }
        paths.sort_unstable();
        let has_too_many = paths.len() > MAX_FILES;
        if has_too_many && !self.has_too_many {
            let folder = self.folder.display();
            tracing::warn!(%folder, files = paths.len(), "only the first {MAX_FILES} templates are loaded");
        }
        self.has_too_many = has_too_many;
        paths.truncate(MAX_FILES);
        Ok(paths)
    }
}

/// Whether a file is a form, by its extension; hidden files, such as those of editors, are not.
fn is_form(path: &Path) -> bool {
    let stem = path.file_stem().and_then(OsStr::to_str);
    let extension = path.extension().and_then(OsStr::to_str);
    stem.is_some_and(|stem| !stem.starts_with('.') && stem.len() <= MAX_NAME_BYTES)
        && matches!(extension, Some("json" | "yaml" | "yml" | "toml"))
        && path.is_file()
}

/// The file's current state, and whether it changed.
fn read(path: &Path, before: Option<CachedFile>, validators: &Validators) -> (CachedFile, bool) {
    let metadata = fs::metadata(path).ok();
    let stamp: Stamp = metadata.and_then(|data| Some((data.modified().ok()?, data.len())));
    let is_same = |before: &CachedFile| stamp.is_some() && stamp == before.stamp;
    let is_rechecked = before.as_ref().is_some_and(is_same);
    let before = match before {
        Some(before) if is_rechecked && before.is_rechecked => return (before, false),
        before => before,
    };
    let (digest, loaded) = match read_bounded(path) {
        Ok(bytes) => {
            let digest = blake3::hash(&bytes).into();
            match before {
                Some(before) if before.digest == digest => {
                    let now = CachedFile {
                        stamp,
                        is_rechecked,
                        ..before
                    };
                    return (now, false);
                }
                _ => (digest, load(path, &bytes, validators)),
            }
        }
        Err(error) => {
            let message = format!("The file cannot be read: {error}.");
            let problems = Problems::of_document(ProblemCode::Syntax, message);
            if let Some(before) = before
                && before.loaded.as_ref().err() == Some(&problems)
            {
                return (before, false);
            }
            ([0; 32], Err(problems))
        }
    };
    let now = CachedFile {
        stamp,
        is_rechecked,
        digest,
        loaded,
    };
    (now, true)
}

fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One byte more than allowed: the core reports what is too large.
    let limit = MAX_DOCUMENT_BYTES as u64 + 1;
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn load(path: &Path, bytes: &[u8], validators: &Validators) -> Loaded {
    let Ok(text) = str::from_utf8(bytes) else {
        let message = "The file is not UTF-8 text.";
        return Err(Problems::of_document(ProblemCode::Syntax, message));
    };
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let definition = document::read(text, Notation::of_file_name(name))?;
    Form::with_validators(&definition, validators)
}

fn clash(name: &str, paths: &[PathBuf]) -> Problems {
    let files = paths.iter().filter_map(|path| path.file_name()?.to_str());
    let files = files.collect::<Vec<_>>().join(" and ");
    let message = format!("Two files have the name `{name}`: {files}. Rename or remove one.");
    Problems::of_document(ProblemCode::Contradiction, message)
}

fn report(path: &Path, loaded: &Loaded, is_new: bool) {
    let file = path.display();
    match loaded {
        Ok(_) if is_new => tracing::debug!(%file, "a template was loaded"),
        Ok(_) => tracing::info!(%file, "a template was reloaded"),
        Err(problems) => {
            let first = problems.iter().take(MAX_REPORTED).map(ToString::to_string);
            let problems = first.collect::<Vec<_>>().join("; ");
            tracing::warn!(
                %file,
                problems,
                "a template is invalid; the last valid version stays in use"
            );
        }
    }
}
