//! The span of a call, in the trace that its client names.
//!
//! A request names its trace in `_meta`, or in the headers of its HTTP request. The span of the
//! gateway is a child of that, and the server gets to know the span of the gateway. Unless spans are
//! exported, there are none, and what the client names passes as it came.

#[cfg_attr(not(feature = "traces"), path = "span/absent.rs")]
mod joined;

use http::HeaderMap;
use tracing::{Level, Span, field};

use super::call::Outcome;
use crate::call::Method;
use crate::client::{ClientSender, Watcher};
use crate::envelope::Envelope;
use crate::json::{RawObject, quoted};

const TRACEPARENT: &str = "traceparent";
const TRACESTATE: &str = "tracestate";

/// The trace that something is part of, as W3C Trace Context writes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TraceParent {
    pub(super) parent: String,
    pub(super) state: String,
}

/// The span of one call, until its end.
#[derive(Debug)]
pub(super) struct CallSpan(Span);

/// Whether anybody wants spans.
pub(super) fn is_wanted() -> bool {
    tracing::span_enabled!(Level::DEBUG)
}

/// Begins the span of a request.
pub(super) fn begin(
    method: Method,
    upstream: &str,
    params: Option<&str>,
    headers: Option<&TraceParent>,
) -> CallSpan {
    let name = method.name_or("request");
    let span = tracing::debug_span!(
        "relay",
        otel.name = name,
        otel.kind = "server",
        rpc.system = "jsonrpc",
        rpc.method = name,
        gateway.upstream = upstream,
        gateway.outcome = field::Empty,
    );
    if !span.is_disabled()
        && let Some(parent) = params.and_then(TraceParent::in_params).as_ref().or(headers)
    {
        joined::join(&span, parent);
    }
    CallSpan(span)
}

impl CallSpan {
    /// The message as the server gets it, which names this span; `None` if it stays.
    pub(super) fn passed_on(&self, envelope: &Envelope<'_>) -> Option<bytes::Bytes> {
        if self.0.is_disabled() {
            return None;
        }
        let own = joined::of(&self.0)?;
        let mut params = RawObject::parse(envelope.params().unwrap_or("{}"))?;
        let meta = match params.get("_meta") {
            Some(_) => params.object("_meta")?.into_owned(),
            None => RawObject::default(),
        };
        let mut meta = meta;
        meta.set(TRACEPARENT, quoted(&own.parent));
        if own.state.is_empty() {
            meta.remove(TRACESTATE);
        } else {
            meta.set(TRACESTATE, quoted(&own.state));
        }
        params.set("_meta", meta.to_string());
        Some(envelope.with_params(&params.to_string()).into())
    }

    /// Ends the span.
    pub(super) fn end(&mut self, outcome: Outcome) {
        let span = std::mem::replace(&mut self.0, Span::none());
        span.record("gateway.outcome", outcome.as_str());
    }
}

impl TraceParent {
    /// What the parameters of a request name.
    fn in_params(params: &str) -> Option<Self> {
        memchr::memmem::find(params.as_bytes(), TRACEPARENT.as_bytes())?;
        let params = RawObject::parse(params)?;
        let meta = params.object("_meta")?;
        Some(Self {
            parent: meta.string(TRACEPARENT)?,
            state: meta.string(TRACESTATE).unwrap_or_default(),
        })
    }

    /// What the headers of a request name.
    fn in_headers(headers: &HeaderMap) -> Option<Self> {
        let text = |name: &str| Some(headers.get(name)?.to_str().ok()?.to_owned());
        Some(Self {
            parent: text(TRACEPARENT)?,
            state: text(TRACESTATE).unwrap_or_default(),
        })
    }
}

impl ClientSender {
    /// Remembers the trace that an HTTP request is part of, if spans are wanted.
    pub(crate) fn within(self, headers: &HeaderMap) -> Self {
        if !is_wanted() {
            return self;
        }
        match TraceParent::in_headers(headers) {
            Some(parent) => self.watched(Watcher::Parent(parent)),
            None => self,
        }
    }
}
