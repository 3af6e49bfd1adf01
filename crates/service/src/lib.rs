//! The control API: lets a program in any language ask a question and wait for its outcome.
//!
//! [`rpc`] implements the methods independently of any transport, from bytes to bytes. [`http`] and
//! [`stdio`] are the transports.
//!
//! The feature `callbacks` posts outcomes to askers. The feature `remote` is for programs that use
//! another service: a client of its control API, and its pages in place of own ones.
//!
//! Deliberately absent: rules about forms, which belong to the core, and configuration, which
//! belongs to the program.

mod askers;
#[cfg(feature = "callbacks")]
mod callback;
#[cfg(feature = "remote")]
mod client;
#[doc(hidden)]
pub mod fuzzing;
mod guess_limiter;
pub mod http;
pub mod identity;
mod local;
mod memory;
mod notification_log;
pub mod page;
#[cfg(feature = "remote")]
mod remote;
#[cfg(feature = "tokens")]
pub mod resource;
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

pub use askers::{Askers, Role};
#[cfg(feature = "callbacks")]
pub use callback::{CallbackError, Callbacks, InvalidSigningSecret, SigningSecret};
#[cfg(feature = "remote")]
pub use client::{CallError, ControlClient, Refusal};
#[cfg(any(feature = "callbacks", feature = "remote"))]
pub use entreat_wire::http::ClientError;
pub use local::Exposure;
pub use page::{Brand, Color, InvalidColor, PageSettings, Pages};
#[cfg(feature = "remote")]
pub use remote::RemotePages;
pub use templates::{FolderError, TemplateFolder};
pub use tls::Tls;
#[cfg(feature = "standalone")]
pub use tls::TlsError;
pub use upload::{UploadSettings, Uploads};
