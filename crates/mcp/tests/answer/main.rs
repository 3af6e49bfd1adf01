//! What a server and a user see of a client that answers.

mod costs;
mod forms;
mod person;
mod rounds;
mod server;
mod urls;
