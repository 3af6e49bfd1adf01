//! What can go wrong with a file, told apart by who can do something about it.

use std::io;
use std::path::PathBuf;

use entreat_core::Violations;
use entreat_engine::ActError;
use entreat_engine::store::BoxError;

/// Why a file that was sent cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UploadError {
    /// There is no such file of this elicitation, or the token is not its own.
    #[error("there is no such file")]
    NotThere,
    /// It is being downloaded right now, and works once.
    #[error("the file is being downloaded")]
    InUse,
    /// What is on disk is not what was written, or was written under a key that is gone.
    #[error("the file is damaged, or its key is gone")]
    Damaged,
    /// Somebody else keeps files there, and would remove ours as nobody's.
    #[error(
        "the folder of uploads {} is in use by another service: end that one, or name another \
         folder with `uploads.folder`",
        folder.display()
    )]
    FolderInUse {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder of uploads cannot be used.
    #[error("the folder of uploads {} cannot be used", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The disk is full.
    #[error("there is no room for the file")]
    Full(#[source] io::Error),
    /// The disk does not answer as it should.
    #[error("the disk does not answer")]
    Disk(#[source] io::Error),
}

impl From<io::Error> for UploadError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotThere,
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Self::Full(error),
            _ => Self::Disk(error),
        }
    }
}

/// Why a file was not taken. Nothing of it is kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReceiveError {
    /// It breaks rules of its field; the person can choose another.
    #[error("the file is not acceptable")]
    Refused(#[source] Violations),
    /// The field takes no files.
    #[error("the field takes no files")]
    NotAFile,
    /// The elicitation has settled, or there is none.
    #[error("the elicitation takes no files any more")]
    Closed,
    /// More files are kept for this elicitation than its form could use: remove some first.
    #[error("more than {limit} files for one elicitation")]
    TooMany {
        /// How many may be kept.
        limit: u64,
    },
    /// More bytes are kept for this elicitation than may be: remove a file first.
    #[error("more than {limit} bytes for one elicitation")]
    TooMuch {
        /// How many may be kept.
        limit: u64,
    },
    /// More bytes are kept for all questions of this asker than may be: wait until some are
    /// answered and fetched.
    #[error("more than {limit} bytes for all elicitations of one asker")]
    AskerFull {
        /// How many may be kept.
        limit: u64,
    },
    /// More bytes are kept in all than may be: wait until some questions are answered and their
    /// files fetched.
    #[error("more than {limit} bytes for all elicitations")]
    AllFull {
        /// How many may be kept.
        limit: u64,
    },
    /// Too many files are on their way: try again in a moment.
    #[error("too many files are being sent at once")]
    Busy,
    /// Next to nothing of it came for a while.
    #[error("the file stopped arriving")]
    Stalled,
    /// It did not arrive as a whole.
    #[error("the file did not arrive as a whole")]
    Body(#[source] BoxError),
    /// It could not be kept.
    #[error(transparent)]
    Upload(#[from] UploadError),
    /// The elicitation could not be looked at.
    #[error("the elicitation cannot be looked at")]
    Engine(#[source] ActError),
}
