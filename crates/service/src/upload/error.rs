//! Errors of uploads, by who can act on them.

use std::io;
use std::path::PathBuf;

use entreat_core::Violations;
use entreat_engine::ActError;
use entreat_engine::store::BoxError;

/// Why an uploaded file is not available.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UploadError {
    /// No such file of this elicitation, or the token is wrong.
    #[error("there is no such file")]
    NotFound,
    /// The file is being downloaded, which works once.
    #[error("the file is being downloaded")]
    InUse,
    /// The file on disk was altered, or its key was removed.
    #[error("the file is damaged, or its key is gone")]
    Damaged,
    /// Another process uses the folder; its sweep would remove these files.
    #[error(
        "the uploads folder {} is in use by another service: stop that service, or set another \
         folder with `uploads.folder`",
        folder.display()
    )]
    FolderInUse {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder cannot be used.
    #[error("the uploads folder {} cannot be used", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// The disk is full.
    #[error("there is not enough space for the file")]
    Full(#[source] io::Error),
    /// Another I/O error.
    #[error("the disk failed")]
    Disk(#[source] io::Error),
}

impl From<io::Error> for UploadError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound,
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Self::Full(error),
            _ => Self::Disk(error),
        }
    }
}

/// Why an upload was rejected. Nothing of it is stored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReceiveError {
    /// The file violates rules of its field; the person can choose another.
    #[error("the file is not acceptable")]
    Refused(#[source] Violations),
    /// The field is not a file field.
    #[error("the field accepts no files")]
    NotAFileField,
    /// The elicitation has settled or does not exist.
    #[error("the elicitation no longer accepts files")]
    Closed,
    /// More files than the form can use; remove some first.
    #[error("more than {limit} files for one elicitation")]
    TooManyFiles {
        /// Maximum number of files.
        limit: u64,
    },
    /// Too many bytes for this elicitation; remove a file first.
    #[error("more than {limit} bytes for one elicitation")]
    TooManyBytes {
        /// Maximum number of bytes.
        limit: u64,
    },
    /// Too many bytes for all questions of this asker; retry after some are answered and fetched.
    #[error("more than {limit} bytes for all elicitations of one asker")]
    AskerQuotaExceeded {
        /// Maximum number of bytes.
        limit: u64,
    },
    /// Too many bytes in total; retry after some questions are answered and their files fetched.
    #[error("more than {limit} bytes for all elicitations")]
    TotalQuotaExceeded {
        /// Maximum number of bytes.
        limit: u64,
    },
    /// Too many concurrent uploads; retry in a moment.
    #[error("too many files are being uploaded")]
    Busy,
    /// The upload made no progress for a while.
    #[error("the file stopped arriving")]
    Stalled,
    /// The body ended early or failed.
    #[error("the file did not arrive completely")]
    Body(#[source] BoxError),
    /// The file could not be stored.
    #[error(transparent)]
    Upload(#[from] UploadError),
    /// The elicitation could not be read.
    #[error("the elicitation cannot be read")]
    Engine(#[source] ActError),
}
