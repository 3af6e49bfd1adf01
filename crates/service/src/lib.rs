//! The control API: lets a program in any language ask a question and wait for its outcome.
//!
//! [`rpc`] implements the methods independently of any transport, from bytes to bytes. [`http`] and
//! [`stdio`] are the transports.
//!
//! Deliberately absent: rules about forms, which belong to the core, and configuration, which
//! belongs to the program.

mod askers;
mod callback;
#[doc(hidden)]
pub mod fuzzing;
mod guess_limiter;
pub mod http;
pub mod identity;
mod local;
mod memory;
mod notification_log;
pub mod page;
mod remote;
pub mod rpc;
pub mod stdio;
mod templates;
#[cfg(feature = "standalone")]
mod tls;
#[cfg(not(feature = "standalone"))]
#[path = "tls/absent.rs"]
mod tls;
mod trace;
pub mod upload;

pub use askers::Askers;
pub use callback::{CallbackError, Callbacks, InvalidSigningSecret, SigningSecret};
pub use local::Exposure;
pub use page::{Brand, Color, InvalidColor, PageSettings, Pages};
pub use remote::{RemoteError, RemotePages};
pub use templates::{FolderError, TemplateFolder};
pub use tls::Tls;
#[cfg(feature = "standalone")]
pub use tls::TlsError;
pub use upload::{UploadSettings, Uploads};
