//! What clients of every protocol version see of a server that asks.

mod ask_server;
#[cfg(target_os = "linux")]
mod costs;
mod delegation;
mod errors;
mod extension;
mod nodes;
mod pages;
mod principals;
mod push;
mod rounds;
mod states;
#[cfg(feature = "workspace")]
mod workspace;
mod world;
