//! Traces of OpenTelemetry.

use opentelemetry::Context;
use opentelemetry::propagation::{Extractor, Injector, TextMapPropagator as _};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use super::{TRACEPARENT, TRACESTATE, TraceParent};

/// Makes a span part of a trace. What is no trace is ignored.
pub(super) fn join(span: &Span, parent: &TraceParent) {
    let context = TraceContextPropagator::new().extract_with_context(&Context::new(), parent);
    // Fails if spans are only logged; then there is no trace.
    let _ = span.set_parent(context);
}

/// The span itself as the parent of others; `None` if it is part of no trace.
pub(super) fn of(span: &Span) -> Option<TraceParent> {
    let mut own = TraceParent::default();
    TraceContextPropagator::new().inject_context(&span.context(), &mut own);
    (!own.parent.is_empty()).then_some(own)
}

impl Extractor for TraceParent {
    fn get(&self, key: &str) -> Option<&str> {
        match key {
            TRACEPARENT => Some(&self.parent),
            TRACESTATE => Some(&self.state),
            _ => None,
        }
    }

    fn keys(&self) -> Vec<&str> {
        vec![TRACEPARENT, TRACESTATE]
    }
}

impl Injector for TraceParent {
    fn set(&mut self, key: &str, value: String) {
        match key {
            TRACEPARENT => self.parent = value,
            TRACESTATE => self.state = value,
            _ => {}
        }
    }
}
