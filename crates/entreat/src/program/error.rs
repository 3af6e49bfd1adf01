//! Start-up errors.

use std::io;
use std::net::SocketAddr;

use entreat_engine::StartError;
use entreat_service::FolderError;
use entreat_service::upload::UploadError;

/// Why [`Entreat`](super::Entreat) did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EntreatError {
    /// The address is open to others, but no asker has a key: add one.
    #[error("no asker has a key, which {address} requires")]
    NoKey {
        /// The address to listen on.
        address: SocketAddr,
    },
    /// An asker has the name of the gateway's own: choose another.
    #[cfg(feature = "gateway")]
    #[error(
        "an asker is named `{}`, as the gateway's own is; choose another name",
        super::GATEWAY_ASKER
    )]
    ReservedName,
    /// The address is in use, or is not an address of this machine.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address to listen on.
        address: SocketAddr,
        /// The operating system's error.
        source: io::Error,
    },
    /// The store cannot be opened.
    #[cfg(feature = "embedded")]
    #[error("the store cannot be opened")]
    Open(#[from] entreat_stores::OpenError),
    /// The engine did not start.
    #[error("the engine cannot start")]
    Engine(#[from] StartError),
    /// The folder for uploads cannot be used.
    #[error(transparent)]
    Uploads(#[from] UploadError),
    /// The system's random source failed, without which links could be guessed.
    #[error("cannot get random bytes from the system")]
    Entropy(#[source] io::Error),
    /// The pages of another service cannot be used.
    #[cfg(feature = "remote")]
    #[error("the pages of another service cannot be used")]
    Remote(#[from] entreat_service::ClientError),
    /// The template folder cannot be read.
    #[error(transparent)]
    Templates(#[from] FolderError),
}
