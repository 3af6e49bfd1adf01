//! The folder of uploads: a folder for each elicitation, a file for each upload.
//!
//! Names consist of ids only. User input never becomes part of a path.

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

/// Extension of a file that is not complete.
const PARTIAL: &str = ".part";
/// Extension of the marker of an upload that is delivered as a download.
const DOWNLOAD_MARKER: &str = ".out";

/// The random id of an upload.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct UploadId([u8; 16]);

impl UploadId {
    pub(super) fn random(entropy: &dyn Entropy) -> Self {
        let mut bytes = [0; 16];
        entropy.fill(&mut bytes);
        Self(bytes)
    }

    /// Parses exactly the output of `Display`, so that each upload has one name.
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
    /// Files being written, which a sweep must not remove as leftovers.
    parts: PartialFiles,
}

type PartialFiles = Arc<Mutex<Vec<PathBuf>>>;

impl Folder {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        private_folder(path)?;
        Ok(Self::at(path))
    }

    /// Does not create the folder.
    pub(super) fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            parts: PartialFiles::default(),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The stored files and bytes of each elicitation.
    pub(super) fn usage(&self) -> io::Result<HashMap<ElicitationId, Usage>> {
        let mut usage = HashMap::new();
        for id in self.elicitations()? {
            let mut kept = Usage::default();
            for upload in self.uploads(id)? {
                kept.files += 1;
                kept.bytes += fs::metadata(self.file(id, upload))?.len();
            }
            usage.insert(id, kept);
        }
        Ok(usage)
    }

    /// The elicitations that have a folder.
    pub(super) fn elicitations(&self) -> io::Result<Vec<ElicitationId>> {
        let id = |entry: &DirEntry| entry.file_name().to_str()?.parse().ok();
        Ok(entries(&self.path)?.iter().filter_map(id).collect())
    }

    /// The complete files of an elicitation.
    pub(super) fn uploads(&self, id: ElicitationId) -> io::Result<Vec<UploadId>> {
        let upload = |entry: &DirEntry| UploadId::parse(entry.file_name().to_str()?);
        let entries = entries(&self.path.join(id.to_string()))?;
        Ok(entries.iter().filter_map(upload).collect())
    }

    pub(super) fn read(&self, id: ElicitationId, upload: UploadId) -> io::Result<File> {
        File::open(self.file(id, upload))
    }

    /// Creates a partial file, which is not visible until it is complete.
    pub(super) fn begin(
        &self,
        id: ElicitationId,
        upload: UploadId,
    ) -> io::Result<(PartialFile, File)> {
        let complete = self.file(id, upload);
        let path = complete.with_extension(&PARTIAL[1..]);
        self.parts.lock().push(path.clone());
        let part = PartialFile {
            parts: self.parts.clone(),
            path,
            complete,
        };
        let file = part.create().or_else(|error| match error.kind() {
            // A sweep removed the empty folder concurrently.
            ErrorKind::NotFound => part.create(),
            _ => Err(error),
        })?;
        Ok((part, file))
    }

    /// Removes a file and its marker; returns its size on disk, or `None` if it did not exist.
    pub(super) fn remove(&self, id: ElicitationId, upload: UploadId) -> io::Result<Option<u64>> {
        let path = self.file(id, upload);
        let bytes = fs::metadata(&path).map(|metadata| metadata.len());
        let removed = fs::remove_file(&path);
        remove_if_exists(&path.with_extension(&DOWNLOAD_MARKER[1..]))?;
        match removed {
            Ok(()) => Ok(Some(bytes.unwrap_or(0))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Marks whether an upload is delivered as a download.
    pub(super) fn mark_download(
        &self,
        id: ElicitationId,
        upload: UploadId,
        is_download: bool,
    ) -> io::Result<()> {
        let marker = self.file(id, upload).with_extension(&DOWNLOAD_MARKER[1..]);
        if !is_download {
            return remove_if_exists(&marker);
        }
        private_file()
            .create(true)
            .open(&marker)?
            .sync_all()
            .and_then(|()| sync_parent(&marker))
    }

    /// Whether an upload is delivered as a download.
    pub(super) fn is_download(&self, id: ElicitationId, upload: UploadId) -> bool {
        let marker = self.file(id, upload).with_extension(&DOWNLOAD_MARKER[1..]);
        marker.try_exists().unwrap_or(false)
    }

    /// Copies a sealed file and its marker, if it has one.
    pub(super) fn copy(&self, id: ElicitationId, upload: UploadId, to: &Self) -> io::Result<()> {
        let (part, mut file) = to.begin(id, upload)?;
        io::copy(&mut self.read(id, upload)?, &mut file)?;
        file.sync_all()?;
        part.finish()?.keep();
        if self.is_download(id, upload) {
            to.mark_download(id, upload, true)?;
        }
        Ok(())
    }

    /// Removes an elicitation's partial files and stale markers of an interrupted run.
    pub(super) fn remove_leftovers(&self, id: ElicitationId) -> io::Result<()> {
        for entry in entries(&self.path.join(id.to_string()))? {
            let path = entry.path();
            let ends_with = |ending: &str| {
                path.as_os_str()
                    .as_encoded_bytes()
                    .ends_with(ending.as_bytes())
            };
            let is_leftover = ends_with(PARTIAL) && !self.parts.lock().contains(&path)
                || ends_with(DOWNLOAD_MARKER) && !path.with_extension("").try_exists()?;
            if is_leftover {
                remove_if_exists(&path)?;
            }
        }
        Ok(())
    }

    pub(super) fn remove_if_empty(&self, id: ElicitationId) {
        // Fails if it is not empty, as intended.
        let _ = fs::remove_dir(self.path.join(id.to_string()));
    }

    fn file(&self, id: ElicitationId, upload: UploadId) -> PathBuf {
        self.path.join(id.to_string()).join(upload.to_string())
    }
}

/// A file being written; removed on drop unless it was finished.
pub(super) struct PartialFile {
    parts: PartialFiles,
    path: PathBuf,
    complete: PathBuf,
}

impl PartialFile {
    fn create(&self) -> io::Result<File> {
        if let Some(folder) = self.path.parent() {
            private_folder(folder)?;
        }
        private_file().create_new(true).open(&self.path)
    }

    /// Publishes the written and synced file; it is removed on drop unless it is kept.
    pub(super) fn finish(self) -> io::Result<CompleteFile> {
        fs::rename(&self.path, &self.complete)?;
        let complete = CompleteFile {
            path: self.complete.clone(),
            is_kept: false,
        };
        sync_parent(&complete.path)?;
        Ok(complete)
    }
}

/// A complete file; removed on drop unless it is kept.
pub(super) struct CompleteFile {
    path: PathBuf,
    is_kept: bool,
}

impl CompleteFile {
    pub(super) fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for CompleteFile {
    fn drop(&mut self) {
        if !self.is_kept {
            // Already removed if the question settled meanwhile.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        // Already renamed if it was finished.
        let _ = fs::remove_file(&self.path);
        self.parts.lock().retain(|path| *path != self.path);
        if let Some(folder) = self.path.parent() {
            // Fails if it is not empty, as intended.
            let _ = fs::remove_dir(folder);
        }
    }
}

/// The entries of a folder; none if it does not exist.
fn entries(folder: &Path) -> io::Result<Vec<DirEntry>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.collect(),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn remove_if_exists(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Creates a folder with access for this user only, unless it exists.
fn private_folder(path: &Path) -> io::Result<()> {
    private_folders(true).create(path)
}

/// Options for folders with access for this user only.
pub(super) fn private_folders(is_recursive: bool) -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.recursive(is_recursive);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Options for a file with access for this user only.
fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Syncs the folder, which makes a new file name durable.
fn sync_parent(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}
