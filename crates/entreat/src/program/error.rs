//! Why it did not start, told apart by what can be done.

use std::io;
use std::net::SocketAddr;

use entreat_engine::StartError;
use entreat_service::FolderError;
use entreat_service::upload::UploadError;

/// Why a program's [`Entreat`](super::Entreat) did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EntreatError {
    /// Whoever can reach the address could ask, or nobody could: give an asker a key.
    #[error("there is no key for those who would ask at {address}")]
    NoKey {
        /// Where to listen.
        address: SocketAddr,
    },
    /// Nothing can listen there: another program does, or it is no address of this machine.
    #[error("cannot listen on {address}")]
    Listen {
        /// Where to listen.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The store cannot be opened.
    #[cfg(feature = "embedded")]
    #[error("the store cannot be opened")]
    Open(#[from] entreat_stores::OpenError),
    /// The engine did not start on its store.
    #[error("the engine cannot start")]
    Engine(#[from] StartError),
    /// There is no place for files that people send.
    #[error(transparent)]
    Uploads(#[from] UploadError),
    /// The system gives no randomness, without which links could be guessed.
    #[error("the system gives no randomness")]
    Entropy(#[source] io::Error),
    /// The pages of another service cannot be used.
    #[cfg(feature = "mcp")]
    #[error("the pages of another service cannot be used")]
    Remote(#[from] entreat_service::RemoteError),
    /// The folder of templates cannot be read.
    #[error(transparent)]
    Templates(#[from] FolderError),
}
