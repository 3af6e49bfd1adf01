//! The trace that a request is part of, by its W3C Trace Context.

use axum::http::HeaderMap;
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry_http::HeaderExtractor;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

pub(crate) use opentelemetry::Context;

/// Makes a span part of the trace in the headers, if there is one.
pub(super) fn join(span: &Span, headers: &HeaderMap) {
    let head = HeaderExtractor(headers);
    let parent = TraceContextPropagator::new().extract_with_context(&Context::new(), &head);
    // Fails if spans are only logged; then there is no trace.
    let _ = span.set_parent(parent);
}

/// The context for calls made later, for example on a WebSocket. Holding the span itself would keep
/// it open.
pub(crate) fn context(span: &Span) -> Context {
    span.context()
}

/// Runs `begin` with `context` as the parent of its spans.
pub(crate) fn within<T>(context: &Context, begin: impl FnOnce() -> T) -> T {
    let _attached = context.clone().attach();
    begin()
}
