//! Spans of requests and calls, and the traces that they belong to.
//!
//! A request may say which trace it is part of, as W3C Trace Context lays down. Whether spans go
//! anywhere is the program's business; unless they do, none are made.
//!
//! Deliberately absent from them: whatever an asker or a respondent wrote. A span holds names and
//! codes of this API, and ids that were made here.

use axum::http::HeaderMap;
use axum::response::Response;
use opentelemetry::Context;
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry_http::HeaderExtractor;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::{Span, field};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use crate::rpc::Code;

/// What a request asks for: its method and path, and both as one name.
pub(crate) struct Route {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) name: &'static str,
}

/// The span of a request, within the trace that its head names. What is malformed is ignored.
pub(crate) fn request(route: &Route, headers: &HeaderMap) -> Span {
    let span = tracing::debug_span!(
        "request",
        otel.name = route.name,
        otel.kind = "server",
        http.request.method = route.method,
        http.route = route.path,
        http.response.status_code = field::Empty,
    );
    if !span.is_disabled() {
        let head = HeaderExtractor(headers);
        let parent = TraceContextPropagator::new().extract_with_context(&Context::new(), &head);
        // It fails if spans are only logged; then there is no trace to be part of.
        let _ = span.set_parent(parent);
    }
    span
}

/// Notes how a request was answered.
pub(crate) fn answered(span: &Span, response: &Response) {
    span.record("http.response.status_code", response.status().as_u16());
}

/// The span of a call, within the one that is entered or [`within`].
pub(crate) fn call(method: &'static str) -> Span {
    tracing::debug_span!(
        "call",
        otel.name = method,
        otel.status_code = field::Empty,
        rpc.system = "jsonrpc",
        rpc.method = method,
        rpc.jsonrpc.error_code = field::Empty,
        elicitation.id = field::Empty,
    )
}

/// Notes that a call was refused. An answer that does not fit is no failure of the service.
pub(crate) fn refused(span: &Span, code: Code) {
    span.record("rpc.jsonrpc.error_code", code.as_i32());
    if code == Code::Internal {
        span.record("otel.status_code", "ERROR");
    }
}

/// What calls that come after a request belong to, however long after: the span itself would
/// stay open as long as somebody holds it.
pub(crate) fn context(span: &Span) -> Context {
    span.context()
}

/// Begins something as a part of what `context` is of.
pub(crate) fn within<T>(context: &Context, begin: impl FnOnce() -> T) -> T {
    let _attached = context.clone().attach();
    begin()
}
