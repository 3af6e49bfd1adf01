//! What goes on behind each upstream: figures for monitors, states for operators, spans for traces.
//!
//! The relay tells of what happens by short calls; nothing here decides anything. Without an
//! observer and without a collector of traces, a call costs two comparisons.
//!
//! Deliberately absent: anything that a client, a server or a person wrote. Labels are names of the
//! configuration and of the protocol.

mod call;
mod question;
mod span;
mod status;
mod upstream_metrics;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use entreat_core::UnixTime;
use entreat_core::schema::Era;
use parking_lot::Mutex;

pub(crate) use self::call::CallWatch;
pub(crate) use self::question::{QuestionWatch, Way};
pub(crate) use self::span::TraceParent;
pub(crate) use self::status::SessionSummary;
pub use self::status::{LastError, ToolsStatus, UpstreamState, UpstreamStatus};
pub(crate) use self::upstream_metrics::{GaugeGuard, UpstreamMetrics};
use crate::call::Method;
use crate::client::{ClientSender, Watcher};
use crate::envelope::{Envelope, Kind};
use crate::json::RawObject;
use crate::pins::Pins;
use crate::session::Session;

/// What is known of all upstreams.
pub(crate) struct Observer(Mutex<BTreeMap<String, Arc<Observed>>>);

/// What is known of one upstream, whatever session it belongs to.
pub(crate) struct Observed {
    pub(crate) metrics: UpstreamMetrics,
    last_error: Mutex<Option<LastError>>,
    /// Whether its last connection ended by itself, or did not come to a handshake.
    is_down: AtomicBool,
    /// The version that it spoke last.
    era: Mutex<Option<Era>>,
    pins: Mutex<Option<Pins>>,
}

impl Observer {
    pub(crate) fn new() -> Self {
        upstream_metrics::describe();
        Self(Mutex::default())
    }

    /// What is known of an upstream, by the name that its configuration gives it.
    pub(crate) fn of(&self, upstream: &str) -> Arc<Observed> {
        let mut all = self.0.lock();
        if let Some(observed) = all.get(upstream) {
            return observed.clone();
        }
        let observed = Arc::new(Observed {
            metrics: UpstreamMetrics::new(upstream),
            last_error: Mutex::default(),
            is_down: AtomicBool::new(false),
            era: Mutex::default(),
            pins: Mutex::default(),
        });
        all.insert(upstream.to_owned(), observed.clone());
        observed
    }
}

impl Observed {
    /// Notes why something of the upstream failed.
    pub(crate) fn note_error(&self, at: UnixTime, message: String) {
        *self.last_error.lock() = Some(LastError { at, message });
    }

    /// Notes why there is no connection to the upstream.
    pub(crate) fn note_down(&self, at: UnixTime, message: String) {
        self.note_error(at, message);
        self.is_down.store(true, Ordering::Relaxed);
    }

    /// Notes a handshake with the upstream.
    pub(crate) fn note_up(&self) {
        self.is_down.store(false, Ordering::Relaxed);
    }

    /// Notes what a session has found out about the upstream, which outlives the session.
    pub(crate) fn note_era(&self, era: Option<Era>) {
        if era.is_some() {
            *self.era.lock() = era;
        }
    }

    /// The protocol version that it spoke last.
    pub(crate) fn version(&self) -> Option<&'static str> {
        self.era.lock().map(Era::version)
    }

    pub(crate) fn note_pins(&self, pins: Option<&Pins>) {
        if let Some(pins) = pins {
            *self.pins.lock() = Some(pins.clone());
        }
    }
}

impl Session {
    /// Notes a handshake with the upstream.
    pub(crate) fn note_up(&self) {
        if let Some(observed) = &self.observed {
            observed.note_up();
        }
    }

    /// Notes why there is no handshake with the upstream.
    pub(crate) fn note_down(&self, error: &str) {
        if let Some(observed) = &self.observed {
            let words = RawObject::parse(error).and_then(|error| error.string("message"));
            let words = words.unwrap_or_else(|| "it refuses the handshake".to_owned());
            observed.note_down(self.engine().now(), words);
        }
    }

    /// Counts a question that the client gets as it came, and answers by itself.
    pub(crate) fn note_native(&self, params: &str) {
        if let Some(observed) = &self.observed {
            let watch = QuestionWatch::new(Some(observed.clone()));
            watch.by(Way::of_native(params));
            watch.passed();
        }
    }

    /// Begins to look at a request of the client, if anybody wants to know. Returns the message as
    /// it goes on if that names the span of this gateway, and where its response goes.
    pub(crate) fn watch(
        &self,
        envelope: &Envelope<'_>,
        via: &ClientSender,
    ) -> Option<(Option<Bytes>, ClientSender)> {
        if self.observed.is_none() && !span::is_wanted() {
            return None;
        }
        let Kind::Request { method, params, .. } = &envelope.kind else {
            return None;
        };
        let method = Method::of(method);
        if method == Method::Listen {
            // It lasts as long as its session, and so would its metrics.
            return None;
        }
        let span = span::begin(method, &self.fallback_name, *params, via.trace_parent());
        // Servers may be strict about the handshake, which belongs to no call.
        let passed_on = (method != Method::Initialize)
            .then(|| span.passed_on(envelope))
            .flatten();
        let call = CallWatch::new(self.observed.clone(), self.engine().clone(), method, span);
        let via = via.clone().watched(Watcher::Call(call));
        Some((passed_on, via))
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").finish_non_exhaustive()
    }
}
