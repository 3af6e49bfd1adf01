//! MCP on the wire, without an SDK: what everything that speaks it shares.
//!
//! [`message`] is the JSON of elicitation in every protocol version. [`lines`] and, with the feature
//! of that name, `http` carry messages, [`headers`] has the HTTP headers of MCP, and [`values`]
//! bounds messages before they are parsed. [`backoff`] counts the pauses between attempts.
//! [`digest`] and [`seal`] make the states that travel through clients, and [`presenter`] is the
//! interface to whatever shows a server's questions to a person. With the feature `issuer`,
//! `issuer` checks tokens; with the feature `oauth`, `oauth` gets those that other servers want.
//!
//! Deliberately absent: rmcp, whose types lose parts of messages, and rules about forms (see
//! `entreat_core`).

pub mod message;

pub mod headers;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "issuer")]
pub mod issuer;
pub mod lines;
#[cfg(feature = "oauth")]
pub mod oauth;
pub mod values;

pub mod backoff;

pub mod digest;
pub mod seal;

pub mod presenter;

/// The maximum length of a message, in bytes.
pub const MAX_MESSAGE: usize = 64 << 20;
