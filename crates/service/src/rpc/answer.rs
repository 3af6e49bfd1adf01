//! Turns a message into its response.
//!
//! The futures are written by hand because tens of thousands of `elicitation/await` calls may wait
//! at once: each holds only its id and the wait, and nothing of the message.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use entreat_core::closest;
use entreat_engine::{ActError, Wait};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use serde::Serialize;
use tracing::Span;

use super::error::RpcError;
use super::message::{Invalid, Message, Request, read};
use super::method::{Call, METHODS, Method, find};
use super::params::Params;
use super::{Rpc, Session};
use crate::askers::Role;
use crate::trace;

/// Maximum size of a batch response in bytes; results of reads that do not fit become errors.
const MAX_BATCH_RESPONSE: usize = 32 << 20;

/// Methods without side effects, whose results may be large.
const READ_ONLY: [&str; 5] = [
    "elicitation/status",
    "elicitation/await",
    "elicitation/question",
    "elicitation/list",
    "forms/get",
];

/// The response to a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcResponse {
    /// Whether the message was a call or a batch. Over HTTP, the status is 200 if it was and 400
    /// otherwise.
    pub is_well_formed: bool,
    /// The response body; `None` if the message consisted of notifications.
    pub body: Option<String>,
}

/// A future of the response to a message; returned by [`Rpc::answer`].
#[must_use = "futures do nothing unless awaited"]
pub struct ResponseFuture(Stage);

enum Stage {
    /// `None` after it was returned.
    Ready(Option<RpcResponse>),
    One(Pending),
    Batch(Pin<Box<dyn Future<Output = RpcResponse> + Send>>),
}

/// A call in flight. Resolves to its response, or `None` for a notification.
struct Pending {
    /// The id as raw JSON.
    id: Option<Box<str>>,
    work: Work,
    // Boxed to keep waiting calls small: usually there is none.
    span: Option<Box<Span>>,
}

/// A call of a batch.
struct Element {
    /// Has no side effects, so that its result can be dropped and the call retried.
    is_read_only: bool,
    pending: Pending,
}

/// The remaining work of a method.
pub(super) enum Work {
    /// No work; `None` after the outcome was returned.
    Done(Option<Outcome>),
    /// Waits for an elicitation, without an allocation.
    Waiting(Wait),
    /// Waits for an elicitation with a timeout.
    WaitingWithTimeout(Pin<Box<dyn Future<Output = Outcome> + Send>>),
    /// Any other work.
    Busy(Pin<Box<dyn Future<Output = Outcome> + Send>>),
}

/// The result of a method as JSON text, or its error.
pub(super) type Outcome = Result<String, RpcError>;

impl Rpc {
    /// Answers a message: one call, or a batch of them.
    ///
    /// The message is parsed before this returns; the future does not borrow it. The calls of a
    /// batch run concurrently, and their responses are in the order of the calls. Dropping the
    /// future cancels work that is not done yet.
    pub fn answer(&self, session: &Session, message: &[u8]) -> ResponseFuture {
        ResponseFuture(match read(message) {
            Err(error) => Stage::Ready(Some(malformed(None, &charged(session, error)))),
            Ok(Message::One(Err(Invalid { id, error }))) => {
                let id = id.map(serde_json::value::RawValue::get);
                Stage::Ready(Some(malformed(id, &charged(session, error))))
            }
            Ok(Message::One(Ok(request))) => Stage::One(self.begin(session, &request)),
            Ok(Message::Batch(elements)) => {
                let begun = elements.into_iter().map(|element| match element {
                    Ok(request) => Element {
                        is_read_only: READ_ONLY.contains(&&*request.method),
                        pending: self.begin(session, &request),
                    },
                    Err(Invalid { id, error }) => Element {
                        is_read_only: false,
                        pending: Pending {
                            id: Some(id.map_or("null", |id| id.get()).into()),
                            work: Work::done(Err(charged(session, error))),
                            span: None,
                        },
                    },
                });
                let begun: Vec<_> = begun.collect();
                Stage::Batch(Box::pin(batch(begun)))
            }
        })
    }

    fn begin(&self, session: &Session, request: &Request<'_>) -> Pending {
        let id = request.id.map(|id| id.get().into());
        let method = find(&request.method);
        let span = method.map_or_else(Span::none, |method| trace::call(method.name));
        let begin = || self.dispatch(session, method, request);
        let work = span.in_scope(begin);
        let work = work.unwrap_or_else(|error| Work::done(Err(charged(session, error))));
        let work = match work {
            // The outcome of a notification is not reported.
            Work::Waiting(_) | Work::WaitingWithTimeout(_) if id.is_none() => {
                Work::done(Ok(String::new()))
            }
            work => work,
        };
        let span = (!span.is_disabled()).then(|| Box::new(span));
        Pending { id, work, span }
    }

    fn dispatch(
        &self,
        session: &Session,
        method: Option<&Method>,
        request: &Request<'_>,
    ) -> Result<Work, RpcError> {
        let Some(method) = method else {
            let known: Vec<&str> = METHODS.iter().map(|method| method.name).collect();
            let suggestion = closest(&request.method, &known);
            return Err(RpcError::unknown_method(&request.method, suggestion));
        };
        if session.role() == Role::Operator && !method.for_operators {
            return Err(RpcError::not_for_operators(method.name));
        }
        let params = Params::read(request.params, method.params)?;
        (method.begin)(&Call {
            rpc: self,
            session,
            params,
        })
    }
}

impl Work {
    pub(super) fn done(outcome: Outcome) -> Self {
        Self::Done(Some(outcome))
    }

    pub(super) fn later(work: impl Future<Output = Outcome> + Send + 'static) -> Self {
        Self::Busy(Box::pin(work))
    }
}

/// Serializes a result to JSON text.
pub(super) fn to_text(result: &impl Serialize) -> Outcome {
    serde_json::to_string(result).map_err(|error| RpcError::internal("serialisation", &error))
}

impl Future for Work {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        match &mut *self {
            Self::Done(outcome) => match outcome.take() {
                Some(outcome) => Poll::Ready(outcome),
                // Polled after completion: stays pending, like a fused future.
                None => Poll::Pending,
            },
            Self::Waiting(wait) => match std::task::ready!(Pin::new(&mut *wait).poll(context)) {
                // On shutdown, a wait returns the current status, so that the caller can retry.
                Err(ActError::ShuttingDown) => {
                    let elicitation = wait.elicitation();
                    *self = Self::later(async move {
                        to_text(&elicitation.outcome_within(Duration::ZERO).await?)
                    });
                    self.poll(context)
                }
                Err(error) => Poll::Ready(Err(error.into())),
                Ok(settled) => Poll::Ready(to_text(&settled)),
            },
            Self::WaitingWithTimeout(work) | Self::Busy(work) => work.as_mut().poll(context),
        }
    }
}

impl Future for Pending {
    type Output = Option<String>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<String>> {
        let Self { work, span, .. } = &mut *self;
        let poll = || Pin::new(work).poll(context);
        let outcome = std::task::ready!(match span {
            Some(span) => span.in_scope(poll),
            None => poll(),
        });
        if let (Some(span), Err(error)) = (span, &outcome) {
            trace::refused(span, error.code());
        }
        Poll::Ready(self.id.as_deref().map(|id| response(id, &outcome)))
    }
}

impl Future for ResponseFuture {
    type Output = RpcResponse;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<RpcResponse> {
        match &mut self.0 {
            Stage::Ready(answered) => match answered.take() {
                Some(answered) => Poll::Ready(answered),
                // Polled after completion: stays pending, like a fused future.
                None => Poll::Pending,
            },
            Stage::One(pending) => Pin::new(pending).poll(context).map(well_formed),
            Stage::Batch(batch) => batch.as_mut().poll(context),
        }
    }
}

impl std::fmt::Debug for ResponseFuture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match &self.0 {
            Stage::Ready(_) => "ResponseFuture(ready)",
            Stage::One(_) => "ResponseFuture(call)",
            Stage::Batch(_) => "ResponseFuture(batch)",
        })
    }
}

/// Charges the asker's rate limit for a request that failed before it reached the engine.
fn charged(session: &Session, error: RpcError) -> RpcError {
    let counted = session.asker().charge();
    counted.map_or_else(RpcError::from, |()| error)
}

fn well_formed(body: Option<String>) -> RpcResponse {
    RpcResponse {
        is_well_formed: true,
        body,
    }
}

fn malformed(id: Option<&str>, error: &RpcError) -> RpcResponse {
    RpcResponse {
        is_well_formed: false,
        body: Some(response(id.unwrap_or("null"), &Err(error.clone()))),
    }
}

/// The responses of a batch, in its order. Results of reads that exceed the limit become errors:
/// otherwise an asker could request the largest result a thousand times in one batch.
async fn batch(begun: Vec<Element>) -> RpcResponse {
    let droppable = |element: &Element| element.pending.id.clone().filter(|_| element.is_read_only);
    let droppable: Vec<_> = begun.iter().map(droppable).collect();
    let in_flight = begun.into_iter().enumerate();
    let mut in_flight: FuturesUnordered<_> = in_flight
        .map(|(index, element)| async move { (index, element.pending.await) })
        .collect();
    let mut answers: Vec<Option<String>> = vec![None; droppable.len()];
    let mut size = 0;
    while let Some((index, mut answer)) = in_flight.next().await {
        let length = answer.as_ref().map_or(0, String::len);
        match &droppable[index] {
            Some(id) if size + length > MAX_BATCH_RESPONSE => {
                let error = RpcError::batch_too_large(length, MAX_BATCH_RESPONSE);
                answer = Some(response(id, &Err(error)));
            }
            Some(_) | None => size += length,
        }
        answers[index] = answer;
    }
    let answers: Vec<String> = answers.into_iter().flatten().collect();
    // Only notifications: JSON-RPC requires no response instead of an empty list.
    let body = (!answers.is_empty()).then(|| format!("[{}]", answers.join(",")));
    well_formed(body)
}

fn response(id: &str, outcome: &Outcome) -> String {
    match outcome {
        Ok(result) => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#),
        Err(error) => {
            // Contains only a number, a string and JSON, so serialization cannot fail.
            let error = serde_json::to_string(error).unwrap_or_default();
            format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)
        }
    }
}
