//! One request of a client: how long the gateway itself takes for it, and how it ends.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use entreat_engine::Engine;
use memchr::memmem::find;
use parking_lot::Mutex;

use super::span::CallSpan;
use super::{GaugeGuard, Observed};
use crate::call::Method;
use crate::envelope::{Envelope, Kind};
use crate::json::RawObject;
use crate::rounds::Round;

/// How a request of a client ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// With a result.
    Result,
    /// With a tool's result that says that it failed.
    ToolError,
    /// With questions for the client, or with a state to come back with.
    InputRequired,
    /// With a link, behind which the call goes on.
    Link,
    /// With an error.
    Error,
    /// Without a response: the client cancelled it, or is gone.
    Cancelled,
}

impl Outcome {
    pub(super) const COUNT: usize = 6;

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Result => "result",
            Self::ToolError => "tool_error",
            Self::InputRequired => "input_required",
            Self::Link => "link",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
        }
    }

    /// Reads it off a response. Most responses are only searched for a few words.
    fn of(method: Method, response: &[u8]) -> Self {
        let has = |word: &str| find(response, word.as_bytes()).is_some();
        if has("\"error\"")
            && let Some(Kind::Response { error: Some(_), .. }) = kind_of(response)
        {
            return Self::Error;
        }
        let result = || match kind_of(response) {
            Some(Kind::Response {
                result: Some(result),
                ..
            }) => Some(result),
            Some(_) | None => None,
        };
        if method.may_ask() && has("input_required") && result().and_then(Round::of).is_some() {
            return Self::InputRequired;
        }
        let is_failed = |result: &str| {
            RawObject::parse(result).is_some_and(|result| result.get("isError") == Some("true"))
        };
        if method == Method::CallTool && has("\"isError\"") && result().is_some_and(is_failed) {
            return Self::ToolError;
        }
        Self::Result
    }
}

fn kind_of(message: &[u8]) -> Option<Kind<'_>> {
    Envelope::read(message).ok().map(|envelope| envelope.kind)
}

/// Looks at one request until its response.
pub(crate) struct CallWatch {
    observed: Option<Arc<Observed>>,
    engine: Engine,
    method: Method,
    state: Mutex<State>,
}

struct State {
    /// Since when the call is in the gateway; `None` while it is with the server or a person.
    since: Option<Duration>,
    added: Duration,
    span: CallSpan,
    /// Whether the response is a link.
    is_linked: bool,
    is_over: bool,
    open: Option<GaugeGuard>,
    parked: Option<GaugeGuard>,
}

impl CallWatch {
    pub(super) fn new(
        observed: Option<Arc<Observed>>,
        engine: Engine,
        method: Method,
        span: CallSpan,
    ) -> Self {
        let open = observed
            .clone()
            .map(|observed| GaugeGuard::new(observed, |metrics| &metrics.open));
        Self {
            state: Mutex::new(State {
                since: Some(engine.elapsed()),
                added: Duration::ZERO,
                span,
                is_linked: false,
                is_over: false,
                open,
                parked: None,
            }),
            observed,
            engine,
            method,
        }
    }

    /// Notes that what happens next is up to the server, or a person.
    pub(crate) fn leave(&self) {
        let now = self.engine.elapsed();
        self.state.lock().leave(now);
    }

    /// Notes that the gateway goes on.
    pub(crate) fn come_back(&self) {
        let now = self.engine.elapsed();
        self.state.lock().since.get_or_insert(now);
    }

    /// Notes that the response is a link, behind which the call goes on.
    pub(crate) fn linked(&self) {
        let mut state = self.state.lock();
        state.is_linked = true;
        if let Some(observed) = self.observed.clone() {
            // From the result of the call on: until somebody fetches it, or nobody can any more.
            drop(
                state
                    .parked
                    .replace(GaugeGuard::new(observed, |metrics| &metrics.parked)),
            );
        }
    }

    /// Notes the response.
    pub(crate) fn responded(&self, response: &[u8]) {
        let now = self.engine.elapsed();
        let mut state = self.state.lock();
        if state.is_over {
            return;
        }
        let outcome = if state.is_linked {
            Outcome::Link
        } else {
            Outcome::of(self.method, response)
        };
        state.leave(now);
        if let Some(observed) = &self.observed {
            observed.metrics.added(state.added);
        }
        self.end(&mut state, outcome);
    }

    fn end(&self, state: &mut State, outcome: Outcome) {
        state.is_over = true;
        drop(state.open.take());
        state.span.end(outcome);
        if let Some(observed) = &self.observed {
            observed.metrics.called(self.method, outcome);
        }
    }
}

impl Drop for CallWatch {
    fn drop(&mut self) {
        let mut state = self.state.lock();
        if !state.is_over {
            self.end(&mut state, Outcome::Cancelled);
        }
    }
}

impl State {
    fn leave(&mut self, now: Duration) {
        if let Some(since) = self.since.take() {
            self.added += now.saturating_sub(since);
        }
    }
}

impl fmt::Debug for CallWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallWatch")
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_is_told_by_the_response_and_not_by_words_in_it() {
        let outcome = |method, response: &str| Outcome::of(method, response.as_bytes());
        let tool = Method::CallTool;
        for (response, expected) in [
            (r#"{"id":1,"result":{"content":[]}}"#, Outcome::Result),
            (
                r#"{"id":1,"result":{"structuredContent":{"error":1,"isError":true}}}"#,
                Outcome::Result,
            ),
            (r#"{"id":1,"error":{"code":1}}"#, Outcome::Error),
            (r#"{"id":1,"result":{"isError":true}}"#, Outcome::ToolError),
            (r#"{"id":1,"result":{"isError":false}}"#, Outcome::Result),
            (
                r#"{"id":1,"result":{"resultType":"input_required","requestState":"s"}}"#,
                Outcome::InputRequired,
            ),
            (
                r#"{"id":1,"result":{"content":"input_required"}}"#,
                Outcome::Result,
            ),
        ] {
            assert_eq!(outcome(tool, response), expected, "{response}");
        }
        let listed = r#"{"id":1,"result":{"isError":true}}"#;
        assert_eq!(outcome(Method::ListTools, listed), Outcome::Result);
    }
}
