//! Where files lie: a folder for each elicitation, a name for each upload.
//!
//! Names are made of ids alone. Nothing that a person typed ever becomes a part of a path.

use std::collections::HashMap;
use std::fmt;
use std::fs::{self, DirBuilder, DirEntry, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use entreat_core::ElicitationId;
use entreat_engine::Entropy;
use parking_lot::Mutex;

use super::limits::Usage;

/// What the name of a file ends with that is not whole yet.
const PART: &str = ".part";
/// What the name of the note ends with that says that an upload goes out as a download.
const OUT: &str = ".out";

/// The name of an upload: random, and nothing else.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct UploadId([u8; 16]);

impl UploadId {
    pub(super) fn random(entropy: &dyn Entropy) -> Self {
        let mut bytes = [0; 16];
        entropy.fill(&mut bytes);
        Self(bytes)
    }

    /// Exactly what `Display` writes: one upload has one name.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 32 {
            return None;
        }
        let mut bytes = [0; 16];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(Self(bytes))
    }

    pub(super) fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for UploadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The folder of all uploads.
pub(super) struct Folder {
    path: PathBuf,
    /// Files on their way, which no sweep may take for those of an earlier run.
    parts: Parts,
}

type Parts = Arc<Mutex<Vec<PathBuf>>>;

impl Folder {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        private_folder(path)?;
        Ok(Self::at(path))
    }

    /// A folder that need not be there.
    pub(super) fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            parts: Parts::default(),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What is kept for each elicitation.
    pub(super) fn census(&self) -> io::Result<HashMap<ElicitationId, Usage>> {
        let mut census = HashMap::new();
        for id in self.elicitations()? {
            let mut kept = Usage::default();
            for upload in self.uploads(id)? {
                kept.files += 1;
                kept.bytes += fs::metadata(self.file(id, upload))?.len();
            }
            census.insert(id, kept);
        }
        Ok(census)
    }

    /// The elicitations that have a folder.
    pub(super) fn elicitations(&self) -> io::Result<Vec<ElicitationId>> {
        let id = |entry: &DirEntry| entry.file_name().to_str()?.parse().ok();
        Ok(entries(&self.path)?.iter().filter_map(id).collect())
    }

    /// The files of an elicitation that are whole.
    pub(super) fn uploads(&self, id: ElicitationId) -> io::Result<Vec<UploadId>> {
        let upload = |entry: &DirEntry| UploadId::parse(entry.file_name().to_str()?);
        let entries = entries(&self.path.join(id.to_string()))?;
        Ok(entries.iter().filter_map(upload).collect())
    }

    pub(super) fn read(&self, id: ElicitationId, upload: UploadId) -> io::Result<File> {
        File::open(self.file(id, upload))
    }

    /// Begins a file, which nobody sees before it is whole.
    pub(super) fn begin(&self, id: ElicitationId, upload: UploadId) -> io::Result<(Part, File)> {
        let whole = self.file(id, upload);
        let path = whole.with_extension(&PART[1..]);
        self.parts.lock().push(path.clone());
        let part = Part {
            parts: self.parts.clone(),
            path,
            whole,
        };
        let file = part.create().or_else(|error| match error.kind() {
            // A folder that seemed to be of no use was just removed.
            ErrorKind::NotFound => part.create(),
            _ => Err(error),
        })?;
        Ok((part, file))
    }

    /// Removes a file and the note about it; the bytes it took, if it was there.
    pub(super) fn remove(&self, id: ElicitationId, upload: UploadId) -> io::Result<Option<u64>> {
        let path = self.file(id, upload);
        let bytes = fs::metadata(&path).map(|metadata| metadata.len());
        let removed = fs::remove_file(&path);
        remove_if_there(&path.with_extension(&OUT[1..]))?;
        match removed {
            Ok(()) => Ok(Some(bytes.unwrap_or(0))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Notes whether an upload goes out as a download.
    pub(super) fn mark(&self, id: ElicitationId, upload: UploadId, is_out: bool) -> io::Result<()> {
        let note = self.file(id, upload).with_extension(&OUT[1..]);
        if !is_out {
            return remove_if_there(&note);
        }
        private_file()
            .create(true)
            .open(&note)?
            .sync_all()
            .and_then(|()| sync_parent(&note))
    }

    /// Whether an upload goes out as a download.
    pub(super) fn is_out(&self, id: ElicitationId, upload: UploadId) -> bool {
        let note = self.file(id, upload).with_extension(&OUT[1..]);
        note.try_exists().unwrap_or(false)
    }

    /// Copies a file as it is, and the note that it goes out if there is one.
    pub(super) fn copy(&self, id: ElicitationId, upload: UploadId, to: &Self) -> io::Result<()> {
        let (part, mut file) = to.begin(id, upload)?;
        io::copy(&mut self.read(id, upload)?, &mut file)?;
        file.sync_all()?;
        part.finish()?.keep();
        if self.is_out(id, upload) {
            to.mark(id, upload, true)?;
        }
        Ok(())
    }

    /// Removes what a run that ended in the middle left of an elicitation's files.
    pub(super) fn remove_leftovers(&self, id: ElicitationId) -> io::Result<()> {
        for entry in entries(&self.path.join(id.to_string()))? {
            let path = entry.path();
            let ends_with = |ending: &str| {
                path.as_os_str()
                    .as_encoded_bytes()
                    .ends_with(ending.as_bytes())
            };
            let is_left = ends_with(PART) && !self.parts.lock().contains(&path)
                || ends_with(OUT) && !path.with_extension("").try_exists()?;
            if is_left {
                remove_if_there(&path)?;
            }
        }
        Ok(())
    }

    pub(super) fn remove_if_empty(&self, id: ElicitationId) {
        // Fails if something is in it, and that is right.
        let _ = fs::remove_dir(self.path.join(id.to_string()));
    }

    fn file(&self, id: ElicitationId, upload: UploadId) -> PathBuf {
        self.path.join(id.to_string()).join(upload.to_string())
    }
}

/// A file on its way; removed when dropped, unless it became whole.
pub(super) struct Part {
    parts: Parts,
    path: PathBuf,
    whole: PathBuf,
}

impl Part {
    fn create(&self) -> io::Result<File> {
        if let Some(folder) = self.path.parent() {
            private_folder(folder)?;
        }
        private_file().create_new(true).open(&self.path)
    }

    /// The file is written and synced: from now on it is there, and stays if it is kept.
    pub(super) fn finish(self) -> io::Result<Whole> {
        fs::rename(&self.path, &self.whole)?;
        let whole = Whole {
            path: self.whole.clone(),
            is_kept: false,
        };
        sync_parent(&whole.path)?;
        Ok(whole)
    }
}

/// A file that is whole; removed when dropped, unless somebody still wants it.
pub(super) struct Whole {
    path: PathBuf,
    is_kept: bool,
}

impl Whole {
    pub(super) fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        if !self.is_kept {
            // Not there any more if the question was settled meanwhile.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // Not there any more if it became whole.
        let _ = fs::remove_file(&self.path);
        self.parts.lock().retain(|path| *path != self.path);
        if let Some(folder) = self.path.parent() {
            // Fails if something is in it, and that is right.
            let _ = fs::remove_dir(folder);
        }
    }
}

/// What is in a folder; nothing if there is no such folder.
fn entries(folder: &Path) -> io::Result<Vec<DirEntry>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.collect(),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes a folder for this user alone, if it is not there.
fn private_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// How a file is opened that this user alone may read.
fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// A file's name is kept by its folder.
fn sync_parent(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}
