//! The client half: shows the person what servers ask, and answers for them.
//!
//! [`Answering`] is a handler for a client of rmcp. It declares what its [`Present`] can show,
//! and takes the questions of every era: pushed by the server in those of 2025, within the
//! results of calls since 2026-07-28, which [`Answering::call`] drives to their end.
//!
//! rmcp's own types drop parts of what servers send, or refuse it whole. The transports
//! [`Pipe`], [`child()`] and [`http()`] hand it over as it came. With others everything works, as
//! far as rmcp lets it through.
//!
//! Deliberately absent: how a question looks, which is its presenter's, and any answer that no
//! person or script gave. What cannot be shown is an error, never a decline.

mod handler;
mod present;

mod desk;
mod form;
mod pace;
mod visit;

mod rounds;

mod child;
mod http;
mod pipe;
mod raw;

pub use child::{Child, child};
pub use desk::{AnswerSettings, Decision};
pub use handler::Answering;
pub use http::{Http, HttpError, http};
pub use pipe::Pipe;
pub use present::{
    Answer, Callback, CallbackQuestion, Consent, Followed, FormQuestion, Modes, Present,
    PresentError, Progress, UrlCard, callback,
};
pub use rounds::CallError;
