//! Attacks on the real programs, over real sockets and pipes, by someone who has one link, one key,
//! one session, one folder or one server.
//!
//! The name of each test says what must hold. A test may try several samples, each counted by
//! [`Tally`]. Afterwards, the program must still serve others, and must not have used more time and
//! memory than the test allows.
//!
//! `cargo xtask attack` runs them all, in their long variants; see [`is_long`].

#![cfg(target_os = "linux")]

mod browser;
mod callbacks;
mod client;
mod client_http;
mod client_noise;
mod control_api;
mod control_http;
mod control_json;
mod folder;
mod gateway;
mod gateway_costs;
mod gateway_floods;
mod gateway_servers;
mod gateway_world;
#[path = "../support/heard.rs"]
mod heard;
mod mcp_client;
mod mcp_floods;
mod mcp_http;
mod mcp_principals;
mod mcp_states;
mod mcp_stdio;
mod multipart;
mod outputs;
mod pages;
mod pages_forms;
mod pages_replies;
mod pages_strings;
mod program;
mod proxy;
mod server;
mod service;
mod shares;
mod ssrf;
mod store;
mod tally;
mod uploads;
mod uploads_kept;
mod websocket;
mod wire;

/// Whether to run long attacks in full.
pub(crate) fn is_long() -> bool {
    #[expect(clippy::disallowed_methods, reason = "how a longer run is asked for")]
    let said = std::env::var("ENTREAT_ATTACK");
    said.is_ok_and(|said| said == "long")
}

/// The number of repetitions: fewer in a short run.
pub(crate) fn times(short: usize, long: usize) -> usize {
    if is_long() { long } else { short }
}
