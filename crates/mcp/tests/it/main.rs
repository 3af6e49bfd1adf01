//! What clients of every protocol version see of a server that asks.

#[cfg(target_os = "linux")]
mod costs;
mod delegation;
mod errors;
mod extension;
mod pages;
mod principals;
mod push;
mod rounds;
mod server;
mod states;
mod world;
