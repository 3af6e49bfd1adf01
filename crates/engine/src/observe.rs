//! Metrics and log events of the engine; the reference documentation lists their names.
//!
//! They never contain answers, and only the host of a URL. Each transition has a line.

mod counters;

use std::sync::OnceLock;
use std::time::Duration;

use entreat_core::{Outcome, TimeoutError, UnixTime};
use metrics::{
    Gauge, Histogram, counter, describe_counter, describe_gauge, describe_histogram, gauge,
    histogram,
};

use crate::record::Record;

pub(crate) use self::counters::{AskerCounters, AskerLabels};

/// The engine's metrics, except the counters of askers.
#[derive(Default)]
pub(crate) struct Observer {
    live: OnceLock<Gauge>,
    ask_to_open: OnceLock<Histogram>,
    ask_to_answer: OnceLock<Histogram>,
    requested_timeout: OnceLock<Histogram>,
    validation: OnceLock<Histogram>,
    store: [OnceLock<Histogram>; StoreCall::COUNT],
}

/// Describes the metrics to the recorder.
pub(crate) fn describe() {
    describe_counter!("elicitation_created_total", "Questions asked.");
    describe_counter!("elicitation_completed_total", "Questions answered.");
    describe_counter!("elicitation_declined_total", "Questions declined.");
    describe_counter!(
        "elicitation_timeout_total",
        "Questions not answered in time."
    );
    describe_counter!(
        "elicitation_cancelled_total",
        "Questions cancelled, by reason."
    );
    describe_counter!(
        "elicitation_abandoned_total",
        "Questions cancelled because the connection or session of their asker ended."
    );
    describe_counter!(
        "elicitation_timeout_rejected_total",
        "Requests rejected because of their timeout, by kind."
    );
    describe_counter!(
        "elicitation_callbacks_total",
        "Attempts to deliver an outcome to a callback, by result."
    );
    describe_gauge!("elicitation_live", "Open questions.");
    describe_histogram!(
        "elicitation_ask_to_open_seconds",
        "Time from asking until a person starts to answer."
    );
    describe_histogram!(
        "elicitation_ask_to_answer_seconds",
        "Time from asking until the answer."
    );
    describe_histogram!(
        "elicitation_requested_timeout_seconds",
        "Timeouts of questions."
    );
    describe_histogram!(
        "elicitation_validation_seconds",
        "Time to validate an answer."
    );
    describe_histogram!(
        "elicitation_store_seconds",
        "Time of calls to the store, by call."
    );
}

/// A kind of store call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StoreCall {
    Create,
    Load,
    Commit,
    List,
}

impl StoreCall {
    const COUNT: usize = 4;

    fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Load => "load",
            Self::Commit => "commit",
            Self::List => "list",
        }
    }
}

impl Observer {
    pub(crate) fn created(&self, record: &Record, live: usize, counters: &AskerCounters) {
        let request = &record.request;
        counters.created(request);
        let seconds = record.lifecycle.terms().initial().as_secs_f64();
        self.requested_timeout
            .get_or_init(|| histogram!("elicitation_requested_timeout_seconds"))
            .record(seconds);
        self.set_live(live);
        tracing::info!(
            elicitation.id = %record.id,
            elicitation.mode = request.mode.as_str(),
            asker = &*request.asker,
            "elicitation created"
        );
    }

    pub(crate) fn opened(&self, record: &Record, after: Duration) {
        self.ask_to_open
            .get_or_init(|| histogram!("elicitation_ask_to_open_seconds"))
            .record(after.as_secs_f64());
        tracing::info!(
            elicitation.id = %record.id,
            elicitation.mode = record.request.mode.as_str(),
            asker = &*record.request.asker,
            after_ms = millis(after),
            "elicitation opened"
        );
    }

    #[expect(clippy::unused_self, reason = "stands with the other events")]
    pub(crate) fn extended(&self, record: &Record, deadline: UnixTime) {
        tracing::info!(
            elicitation.id = %record.id,
            elicitation.mode = record.request.mode.as_str(),
            asker = &*record.request.asker,
            timeout_ms = millis(deadline.since(record.lifecycle.created())),
            "elicitation extended"
        );
    }

    pub(crate) fn settled(
        &self,
        record: &Record,
        outcome: Outcome,
        live: usize,
        counters: &AskerCounters,
    ) {
        counters.settled(&record.request, outcome);
        if outcome == Outcome::Completed {
            self.ask_to_answer
                .get_or_init(|| histogram!("elicitation_ask_to_answer_seconds"))
                .record(age(record).as_secs_f64());
        }
        self.set_live(live);
        let reason = match outcome {
            Outcome::Cancelled(reason) => Some(reason.as_str()),
            Outcome::Completed | Outcome::Declined | Outcome::TimedOut => None,
        };
        tracing::info!(
            elicitation.id = %record.id,
            elicitation.mode = record.request.mode.as_str(),
            asker = &*record.request.asker,
            outcome = outcome.status().as_str(),
            reason,
            after_ms = millis(age(record)),
            "elicitation settled"
        );
        tracing::debug!(
            elicitation.id = %record.id,
            size = result_size(record),
            "result stored"
        );
    }

    #[expect(clippy::unused_self, reason = "rare, so no handle is cached")]
    pub(crate) fn timeout_rejected(&self, error: &TimeoutError) {
        counter!("elicitation_timeout_rejected_total", "kind" => error.kind()).increment(1);
    }

    pub(crate) fn validated(&self, took: Duration) {
        self.validation
            .get_or_init(|| histogram!("elicitation_validation_seconds"))
            .record(took.as_secs_f64());
    }

    pub(crate) fn store_called(&self, call: StoreCall, took: Duration) {
        self.store[call as usize]
            .get_or_init(|| histogram!("elicitation_store_seconds", "call" => call.as_str()))
            .record(took.as_secs_f64());
    }

    pub(crate) fn set_live(&self, live: usize) {
        let gauge = self.live.get_or_init(|| gauge!("elicitation_live"));
        #[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^52")]
        gauge.set(live as f64);
    }
}

/// How long it took to settle.
fn age(record: &Record) -> Duration {
    let lifecycle = &record.lifecycle;
    let took = lifecycle
        .settled_at()
        .map(|at| at.since(lifecycle.created()));
    took.unwrap_or_default()
}

/// The size of the result in bytes; 0 if there is none.
fn result_size(record: &Record) -> usize {
    let result = || record.answer_state.as_ref()?.result.as_ref();
    result().map_or(0, |result| result.text.len())
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
