//! The metrics of one upstream; the reference documentation lists their names.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use metrics::{
    Counter, Gauge, Histogram, counter, describe_counter, describe_gauge, describe_histogram,
    gauge, histogram,
};

use super::Observed;
use super::call::Outcome;
use super::question::{QuestionOutcome, Way};
use crate::call::Method;

/// The metrics of one upstream. Handles are created on first use, so that counting costs a load and
/// an add.
pub(crate) struct UpstreamMetrics {
    upstream: Arc<str>,
    calls: [[OnceLock<Counter>; Outcome::COUNT]; Method::COUNT],
    questions: [[OnceLock<Counter>; QuestionOutcome::COUNT]; Way::COUNT],
    added: OnceLock<Histogram>,
    /// Requests of clients that have no response.
    pub(crate) open: OpenCount,
    /// Calls that go on while no request of the client is open.
    pub(crate) parked: OpenCount,
    /// Questions that are being asked.
    pub(crate) questions_open: OpenCount,
}

/// How many of something there are now.
pub(crate) struct OpenCount {
    name: &'static str,
    count: AtomicUsize,
    gauge: OnceLock<Gauge>,
}

/// One of what an [`OpenCount`] counts, until dropped.
pub(crate) struct GaugeGuard {
    of: Arc<Observed>,
    which: fn(&UpstreamMetrics) -> &OpenCount,
}

/// Describes the metrics to the recorder.
pub(super) fn describe() {
    describe_counter!(
        "gateway_calls_total",
        "Requests of clients, by upstream server, method and outcome."
    );
    describe_counter!(
        "gateway_questions_total",
        "Questions of upstream servers, by the way they reached a person and how they ended."
    );
    describe_counter!(
        "gateway_approvals_total",
        "Calls that a person was asked to approve, by decision."
    );
    describe_gauge!(
        "gateway_calls_open",
        "Requests of clients that have no response yet."
    );
    describe_gauge!(
        "gateway_calls_parked",
        "Calls that wait for the next request of their client."
    );
    describe_gauge!("gateway_questions_open", "Questions that are being asked.");
    describe_histogram!(
        "gateway_added_seconds",
        "Time that a call spends in the gateway, without the server and the person."
    );
}

impl UpstreamMetrics {
    pub(super) fn new(upstream: &str) -> Self {
        Self {
            upstream: upstream.into(),
            calls: Default::default(),
            questions: Default::default(),
            added: OnceLock::new(),
            open: OpenCount::new("gateway_calls_open"),
            parked: OpenCount::new("gateway_calls_parked"),
            questions_open: OpenCount::new("gateway_questions_open"),
        }
    }

    pub(super) fn called(&self, method: Method, outcome: Outcome) {
        let make = || {
            counter!(
                "gateway_calls_total",
                "upstream" => self.upstream.clone(),
                "method" => method.name_or("other"),
                "outcome" => outcome.as_str(),
            )
        };
        self.calls[method as usize][outcome as usize]
            .get_or_init(make)
            .increment(1);
    }

    pub(super) fn asked(&self, way: Way, answered: QuestionOutcome) {
        let make = || {
            counter!(
                "gateway_questions_total",
                "upstream" => self.upstream.clone(),
                "way" => way.as_str(),
                "outcome" => answered.as_str(),
            )
        };
        self.questions[way as usize][answered as usize]
            .get_or_init(make)
            .increment(1);
    }

    /// Counts a decision about a call. Rare, so no handle is kept.
    pub(crate) fn approval(&self, decision: &'static str) {
        let upstream = self.upstream.clone();
        counter!("gateway_approvals_total", "upstream" => upstream, "decision" => decision)
            .increment(1);
    }

    pub(super) fn added(&self, time: Duration) {
        self.added
            .get_or_init(
                || histogram!("gateway_added_seconds", "upstream" => self.upstream.clone()),
            )
            .record(time.as_secs_f64());
    }
}

impl OpenCount {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            count: AtomicUsize::new(0),
            gauge: OnceLock::new(),
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    fn gauge(&self, upstream: &Arc<str>) -> &Gauge {
        self.gauge
            .get_or_init(|| gauge!(self.name, "upstream" => upstream.clone()))
    }
}

impl GaugeGuard {
    pub(crate) fn new(of: Arc<Observed>, which: fn(&UpstreamMetrics) -> &OpenCount) -> Self {
        let metrics = &of.metrics;
        let level = which(metrics);
        level.count.fetch_add(1, Ordering::Relaxed);
        level.gauge(&metrics.upstream).increment(1.0);
        Self { of, which }
    }
}

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        let metrics = &self.of.metrics;
        let level = (self.which)(metrics);
        level.count.fetch_sub(1, Ordering::Relaxed);
        level.gauge(&metrics.upstream).decrement(1.0);
    }
}
