//! The client half: shows a server's questions to a person and returns the answers.
//!
//! [`Answering`] is a handler for an rmcp client. It declares the capabilities of its
//! [`Presenter`], and answers questions of all protocol versions: requests pushed by the server
//! (2025), and questions in the results of calls (since 2026-07-28), for which
//! [`Answering::call`] drives the rounds.
//!
//! rmcp's types drop parts of some messages and reject others. The transports [`Pipe`], [`child()`]
//! and [`http()`] preserve them. Other transports work too, within the limits of rmcp's types.
//!
//! Deliberately absent: how a question looks, which is up to its presenter, and any answer not
//! given by a person or script. What cannot be shown is an error, never a decline.

mod handler;

mod form;
mod queue;
mod rate_limit;
mod visit;

mod rounds;

mod child;
mod http;
mod pipe;
mod raw;

pub use child::{Child, child};
pub use entreat_wire::http::ClientError;
pub use entreat_wire::presenter::{
    Answer, Callback, CallbackQuestion, Consent, FormQuestion, Modes, Presenter, PresenterError,
    Progress, UrlCard, VisitReply, callback,
};
pub use handler::Answering;
pub use http::{ConnectionFailure, Http, HttpError, connection_failure, http, http_with_tokens};
pub use pipe::Pipe;
pub use queue::{AnswerSettings, Decision};
pub use rounds::CallError;
