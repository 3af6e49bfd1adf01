//! What clients of every era see of a server that asks.

mod errors;
mod pages;
mod push;
mod rounds;
mod server;
mod states;
mod world;
