//! MCP support for Entreat; the only crate that depends on rmcp.
//!
//! [`Mcp::wrap`] wraps an rmcp server so that its handlers can [`Ask`] the person behind the
//! calling client, whatever protocol version the client speaks and whatever it can display. The
//! other half, `answer` (behind the feature of that name), is an rmcp client that shows a server's
//! questions and answers them. [`wire`] holds the JSON of elicitation.
//!
//! Deliberately absent: rules about forms (see `entreat_core`) and how pages are served (behind
//! [`Links`](entreat_engine::Links)).

mod ask;
mod ask_server;
mod error;
mod mcp;
mod wrap;

mod call;
mod client;
mod client_content;
mod drive;
mod extension;
mod parked;
mod push;
mod question_service;
mod replay;

mod call_outcome;
mod forms;
mod in_flight;
mod journal;
mod malformed;
mod used_states;

mod connection;
mod line_connection;
mod notification_limit;
mod raw;
mod sessions;
mod streamable;

pub mod workspace;

#[doc(hidden)]
pub mod fuzzing;

#[cfg(feature = "answer")]
pub mod answer;

pub use ask::{Ask, AskRequest, Outcome};
pub use ask_server::AskServer;
pub use client::Capabilities;
pub use connection::Connect;
pub use error::AskError;
pub use extension::Control;
pub use mcp::{Builder, Forms, Mcp, McpSettings};
pub use question_service::{QuestionService, ServiceAsk, ServiceFuture, ServiceQuestion};
pub use raw::{RawBody, RawLayer, RawService};
pub use streamable::HttpService;
pub use wrap::{ConnectionService, Wrapped};

/// The JSON of elicitation, for all protocol versions.
pub use entreat_wire::message as wire;
/// The head of an HTTP request, from which its principal is derived.
pub use http::request::Parts;
/// The MCP SDK, in the version that Entreat uses.
pub use rmcp;
