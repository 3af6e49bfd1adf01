//! The control API: how a program in any language asks, waits and gets the answer.
//!
//! [`rpc`] holds the methods, free of transports: bytes come in, bytes go out. What carries them
//! stands beside it.
//!
//! Deliberately absent: rules about forms, which are the core's, and configuration, which is the
//! program's.

mod askers;
mod callback;
#[doc(hidden)]
pub mod fuzzing;
mod guesses;
pub mod http;
pub mod identity;
mod local;
mod memory;
pub mod page;
mod remote;
pub mod rpc;
pub mod stdio;
mod templates;
mod tls;
mod told;
mod trace;
pub mod upload;

pub use askers::Askers;
pub use callback::{CallbackError, Callbacks, NoSecret, SigningSecret};
pub use local::Reach;
pub use page::{Brand, Color, NoColor, PageSettings, Pages};
pub use remote::{RemoteError, RemotePages};
pub use templates::{FolderError, TemplateFolder};
pub use tls::{Tls, TlsError};
pub use upload::{UploadSettings, Uploads};
