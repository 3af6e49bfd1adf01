//! What a server sees of a client that answers, and what the person at it sees.

mod costs;
mod forms;
mod person;
mod rounds;
mod server;
mod urls;
