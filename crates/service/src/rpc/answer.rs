//! From a message to its answer.
//!
//! Futures by hand, because tens of thousands of `elicitation/await` may wait at once: what a
//! waiting one needs is its id and the wait, and nothing of the message.

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
use crate::trace;

/// The answers of a batch have so many bytes in all, and each that does not fit is refused.
const MAX_BATCH_ANSWER: usize = 32 << 20;

/// Methods that only look, and may have much to show.
const READING: [&str; 5] = [
    "elicitation/status",
    "elicitation/await",
    "elicitation/question",
    "elicitation/list",
    "forms/get",
];

/// What a message came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// Whether the message was a call, or a batch; over HTTP the status is 200 then, else 400.
    pub understood: bool,
    /// The answer; `None` when there is nothing to say, as for a notification.
    pub body: Option<String>,
}

/// The answer to a message, on its way; made by [`Rpc::answer`].
#[must_use = "a call does nothing to its end unless it is awaited"]
pub struct Answering(Stage);

enum Stage {
    /// `None` once it was given out.
    Ready(Option<Answered>),
    One(Pending),
    Batch(Pin<Box<dyn Future<Output = Answered> + Send>>),
}

/// A call under way; its answer is text, and none for a notification.
struct Pending {
    /// The id as it was written.
    id: Option<Box<str>>,
    work: Work,
    /// In a box: mostly there is none, and many may wait.
    span: Option<Box<Span>>,
}

/// A call of a batch.
struct Element {
    /// It only looks, so that it can be called again.
    only_reads: bool,
    pending: Pending,
}

/// What a method has to do to its end.
pub(super) enum Work {
    /// Nothing more; `None` once it was given out.
    Done(Option<Outcome>),
    /// Wait for an elicitation, in no box of its own.
    Waiting(Wait),
    /// Wait for an elicitation, but not for ever.
    WaitingAtMost(Pin<Box<dyn Future<Output = Outcome> + Send>>),
    /// Anything else.
    Busy(Pin<Box<dyn Future<Output = Outcome> + Send>>),
}

/// The result of a method as JSON text, or why there is none.
pub(super) type Outcome = Result<String, RpcError>;

impl Rpc {
    /// Answers a message: one call, or a batch of them.
    ///
    /// The message is read before this returns, and is not needed any more while the answer is
    /// on its way. The calls of a batch run at the same time, and are answered in their order.
    /// Dropping the answer gives up what has not happened yet.
    pub fn answer(&self, session: &Session, message: &[u8]) -> Answering {
        Answering(match read(message) {
            Err(error) => Stage::Ready(Some(not_understood(None, &charged(session, error)))),
            Ok(Message::One(Err(Invalid { id, error }))) => {
                let id = id.map(serde_json::value::RawValue::get);
                Stage::Ready(Some(not_understood(id, &charged(session, error))))
            }
            Ok(Message::One(Ok(request))) => Stage::One(self.begin(session, &request)),
            Ok(Message::Batch(elements)) => {
                let begun = elements.into_iter().map(|element| match element {
                    Ok(request) => Element {
                        only_reads: READING.contains(&&*request.method),
                        pending: self.begin(session, &request),
                    },
                    Err(Invalid { id, error }) => Element {
                        only_reads: false,
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
            // Nobody would hear of the outcome.
            Work::Waiting(_) | Work::WaitingAtMost(_) if id.is_none() => {
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

/// A result as JSON text.
pub(super) fn to_text(result: &impl Serialize) -> Outcome {
    serde_json::to_string(result).map_err(|error| RpcError::internal("serialisation", &error))
}

impl Future for Work {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        match &mut *self {
            Self::Done(outcome) => match outcome.take() {
                Some(outcome) => Poll::Ready(outcome),
                // Polled again after the end: it stays pending, as a fused future would.
                None => Poll::Pending,
            },
            Self::Waiting(wait) => match std::task::ready!(Pin::new(&mut *wait).poll(context)) {
                // A wait that is over is no error: whoever waits comes back.
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
            Self::WaitingAtMost(work) | Self::Busy(work) => work.as_mut().poll(context),
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

impl Future for Answering {
    type Output = Answered;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Answered> {
        match &mut self.0 {
            Stage::Ready(answered) => match answered.take() {
                Some(answered) => Poll::Ready(answered),
                // As above.
                None => Poll::Pending,
            },
            Stage::One(pending) => Pin::new(pending).poll(context).map(understood),
            Stage::Batch(batch) => batch.as_mut().poll(context),
        }
    }
}

impl std::fmt::Debug for Answering {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match &self.0 {
            Stage::Ready(_) => "Answering(ready)",
            Stage::One(_) => "Answering(call)",
            Stage::Batch(_) => "Answering(batch)",
        })
    }
}

/// The error of a request that did not reach the engine, which has not counted it; it counts all
/// the same.
fn charged(session: &Session, error: RpcError) -> RpcError {
    let counted = session.asker().charge();
    counted.map_or_else(RpcError::from, |()| error)
}

fn understood(body: Option<String>) -> Answered {
    Answered {
        understood: true,
        body,
    }
}

fn not_understood(id: Option<&str>, error: &RpcError) -> Answered {
    Answered {
        understood: false,
        body: Some(response(id.unwrap_or("null"), &Err(error.clone()))),
    }
}

/// The answers of a batch, in its order. What was only looked at is refused when there is no more
/// room for it: an asker could have the largest of results a thousand times otherwise.
async fn batch(begun: Vec<Element>) -> Answered {
    let refusable = |element: &Element| element.pending.id.clone().filter(|_| element.only_reads);
    let refusable: Vec<_> = begun.iter().map(refusable).collect();
    let under_way = begun.into_iter().enumerate();
    let mut under_way: FuturesUnordered<_> = under_way
        .map(|(place, element)| async move { (place, element.pending.await) })
        .collect();
    let mut answers: Vec<Option<String>> = vec![None; refusable.len()];
    let mut size = 0;
    while let Some((place, mut answer)) = under_way.next().await {
        let length = answer.as_ref().map_or(0, String::len);
        match &refusable[place] {
            Some(id) if size + length > MAX_BATCH_ANSWER => {
                let error = RpcError::batch_too_large(length, MAX_BATCH_ANSWER);
                answer = Some(response(id, &Err(error)));
            }
            Some(_) | None => size += length,
        }
        answers[place] = answer;
    }
    let answers: Vec<String> = answers.into_iter().flatten().collect();
    // Nothing but notifications: an empty list would be an answer.
    let body = (!answers.is_empty()).then(|| format!("[{}]", answers.join(",")));
    understood(body)
}

fn response(id: &str, outcome: &Outcome) -> String {
    match outcome {
        Ok(result) => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#),
        Err(error) => {
            // A code, a text and JSON: nothing in it can fail to serialise.
            let error = serde_json::to_string(error).unwrap_or_default();
            format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)
        }
    }
}
