//! The two sides of a relay: how messages come and go.
//!
//! A side carries the bytes of messages. What they mean is decided above.

pub mod child;
pub mod http;
pub mod lines;
pub mod pipe;

use std::process::ExitStatus;

use bytes::Bytes;
use entreat_wire::oauth::SignInError;
use entreat_wire::values::{MAX_VALUES, ValueCounter};

use self::lines::Overlong;
use crate::envelope::{self, RawId};
use crate::memory::{Account, in_words};

/// A message from an upstream server, or the end of something that it was asked.
#[derive(Debug)]
pub enum UpstreamEvent {
    /// A message.
    Message {
        /// Its text.
        text: Bytes,
        /// The request on whose own stream it came, if it came on one: on stdio and on the general
        /// event stream of a session, nobody knows.
        via: Option<RawId>,
    },
    /// A request gets no response.
    Failed {
        /// The id of the request.
        id: RawId,
        /// Why.
        failure: Failure,
    },
    /// The session was lost and has begun anew: what the client knows of lists may be out of date.
    Renewed,
    /// The server is gone. Nothing follows.
    Closed(Closed),
}

/// How an upstream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// A child process exited, or closed its stdout; `None` if its status is unknown.
    Exited(Option<ExitStatus>),
    /// The connection was closed from this side.
    Here,
}

/// Why a request gets no response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// There was no connection, so nothing was sent.
    #[error("cannot connect to the server: {0}")]
    Connect(String),
    /// The connection broke before the response came.
    #[error("the connection to the server broke: {0}")]
    Broken(String),
    /// The response is not one.
    #[error("the server responded with {0}")]
    Unexpected(String),
    /// The server requires credentials, or rejects these.
    #[error("the server requires authentication (HTTP {status})")]
    Unauthorized {
        /// 401 or 403.
        status: u16,
    },
    /// There is no token for the server.
    #[error("{0}")]
    SignIn(SignInError),
    /// The server is busy.
    #[error("the server is busy (HTTP {status})")]
    Busy {
        /// 429, or a status of the 500s.
        status: u16,
    },
    /// There is no memory for its response, which may be long.
    #[error("there is no memory for the server's message: too much waits already")]
    NoMemory,
    /// The server's process is gone.
    #[error("the server has exited")]
    Exited,
}

impl Failure {
    /// The response is longer than this, or has too many values to be parsed.
    pub(crate) fn too_long(longest: usize) -> Self {
        Self::Unexpected(format!(
            "a message of more than {} or {MAX_VALUES} values",
            in_words(longest)
        ))
    }

    /// Whether the server may have got the request.
    pub fn may_have_run(&self) -> bool {
        match self {
            Self::Connect(_) | Self::Unauthorized { .. } | Self::SignIn(_) => false,
            Self::Broken(_)
            | Self::Unexpected(_)
            | Self::Busy { .. }
            | Self::NoMemory
            | Self::Exited => true,
        }
    }

    /// The name of the reason, in the data of an error.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Connect(_) => "upstream_unreachable",
            Self::Broken(_) => "upstream_broken",
            Self::Unexpected(_) => "upstream_unexpected",
            Self::Unauthorized { .. } => "upstream_unauthorized",
            Self::SignIn(_) => "upstream_sign_in",
            Self::Busy { .. } => "upstream_busy",
            Self::NoMemory => "no_memory",
            Self::Exited => "upstream_exited",
        }
    }
}

/// What is known of a message of a server that has too many values; `None` if it may be parsed.
///
/// Values of a byte each would take many times their size.
fn too_many_values(text: &[u8]) -> Option<Overlong> {
    let refused = ValueCounter::check(text).is_err();
    refused.then(|| Overlong::read(text, &[]))
}

/// The error for a request of a server that is longer than this, or has too many values.
fn refusal(id: &RawId, longest: usize) -> Vec<u8> {
    let longest = in_words(longest);
    let text = format!("The message exceeds {longest} or {MAX_VALUES} values");
    envelope::error(id, &format!(r#"{{"code":-32600,"message":"{text}"}}"#))
}

/// Sends messages to an upstream server. Cheap to clone.
#[derive(Clone, Debug)]
pub enum UpstreamSender {
    /// A child process.
    Child(child::ChildSender),
    /// A server over HTTP.
    Http(http::HttpSender),
    /// A server that speaks in lines on a connection, such as one in this process.
    Pipe(lines::Outbox),
}

/// Receives what an upstream server sends.
#[derive(Debug)]
pub enum UpstreamReceiver {
    /// A child process.
    Child(child::ChildReceiver),
    /// A server over HTTP.
    Http(http::HttpReceiver),
    /// A server that speaks in lines on a connection, such as one in this process.
    Pipe(pipe::PipeReceiver),
}

impl UpstreamSender {
    /// Sends a message. Waits while the server reads too slowly. What becomes of a request comes
    /// as an event, also if it could not be sent.
    pub async fn send(&self, text: Vec<u8>) {
        match self {
            Self::Child(child) => child.send(text).await,
            Self::Http(http) => http.send(text).await,
            Self::Pipe(outbox) => outbox.send(text).await,
        }
    }

    /// Whether [`send`](Self::send) would wait, because the server reads too slowly.
    pub fn is_congested(&self) -> bool {
        match self {
            Self::Child(child) => child.is_congested(),
            Self::Http(http) => http.is_congested(),
            Self::Pipe(outbox) => outbox.is_full(),
        }
    }

    /// Makes large messages that are being received count towards the memory of a principal, where
    /// several may come at once.
    pub(crate) fn count_memory(&self, account: &Account) {
        match self {
            // They receive one at a time.
            Self::Child(_) | Self::Pipe(_) => {}
            Self::Http(http) => http.count_memory(account.clone()),
        }
    }

    /// Gives up a request, whose events no longer come: over HTTP in 2026-07-28, closing its stream
    /// is how it is cancelled. Elsewhere this does nothing.
    pub fn abandon(&self, id: &RawId) {
        match self {
            Self::Child(_) | Self::Pipe(_) => {}
            Self::Http(http) => http.abandon(id),
        }
    }

    /// Ends the connection: a child's stdin is closed and it gets time to exit; an HTTP session is
    /// deleted.
    pub async fn close(&self) {
        match self {
            Self::Child(child) => child.close().await,
            Self::Http(http) => http.close().await,
            Self::Pipe(outbox) => outbox.flush_and_close().await,
        }
    }
}

impl UpstreamReceiver {
    /// Returns the next event. Cancel safe. After [`UpstreamEvent::Closed`], it never returns.
    pub async fn next(&mut self) -> UpstreamEvent {
        match self {
            Self::Child(child) => child.next().await,
            Self::Http(http) => http.next().await,
            Self::Pipe(pipe) => pipe.next().await,
        }
    }
}
