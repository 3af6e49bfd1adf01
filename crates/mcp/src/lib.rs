//! Entreat for MCP: the only crate that names rmcp.
//!
//! [`Mcp::wrap`] takes a server of rmcp and gives one whose handlers can [`Ask`] the person
//! behind the client that called, whatever era of the protocol the client speaks and whatever it
//! can show. `answer`, with the feature of that name, is the other half: a client of rmcp that
//! shows what servers ask, and answers. [`wire`] is the JSON of elicitation as it travels.
//!
//! Deliberately absent: rules about forms, which are `entreat_core`'s, and how pages are served,
//! which is behind [`Links`](entreat_engine::Links).

mod ask;
mod error;
mod mcp;
mod server;
mod wrap;

mod call;
mod client;
mod drive;
mod extension;
mod parked;
mod push;
mod replay;

mod digest;
mod finished;
mod forms;
mod in_flight;
mod journal;
mod seal;
mod used_states;

mod connection;
mod lines;
mod raw;
mod requests;
mod sessions;
mod streamable;
mod values;
pub mod wire;

#[doc(hidden)]
pub mod fuzzing;

#[cfg(feature = "answer")]
pub mod answer;

pub use ask::{Ask, AskRequest, Outcome};
pub use client::Abilities;
pub use connection::Connect;
pub use error::AskError;
pub use extension::Control;
pub use mcp::{Builder, Forms, Mcp, McpSettings};
pub use raw::{RawBody, RawLayer, RawService};
pub use server::AskServer;
pub use streamable::HttpService;
pub use wrap::{Direct, Wrapped};

/// The head of a request over HTTP, in which its sender can be found.
pub use http::request::Parts;
/// The SDK that servers are written with, in the version that Entreat uses.
pub use rmcp;
