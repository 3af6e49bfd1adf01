//! Metrics and log events of the engine; the reference documentation lists their names.
//!
//! They never contain answers, and only the host of a URL. Handles are created once per combination
//! of labels, so that counting costs a load and an add, or nothing without a recorder.

use std::sync::OnceLock;
use std::time::Duration;

use entreat_core::{CancelReason, Mode, Outcome, TimeoutError};
use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};

use crate::record::{Channel, Record};

const MODES: usize = Mode::ALL.len();
const CHANNELS: usize = 6;
const REASONS: usize = CancelReason::ALL.len();

/// A counter per mode and channel.
type ByChannel = [[OnceLock<Counter>; CHANNELS]; MODES];

/// The engine's metrics.
#[derive(Default)]
pub(crate) struct Observer {
    created: ByChannel,
    completed: ByChannel,
    declined: ByChannel,
    timed_out: ByChannel,
    cancelled: [ByChannel; REASONS],
    abandoned: [ByChannel; REASONS],
    live: OnceLock<Gauge>,
    ask_to_open: OnceLock<Histogram>,
    ask_to_answer: OnceLock<Histogram>,
    requested_timeout: OnceLock<Histogram>,
    validation: OnceLock<Histogram>,
    store: [OnceLock<Histogram>; StoreCall::COUNT],
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
    pub(crate) fn created(&self, record: &Record, live: usize) {
        let request = &record.request;
        let name = "elicitation_created_total";
        count(
            &self.created,
            record,
            || counter!(name, "mode" => request.mode.as_str(), "channel" => request.channel.as_str()),
        );
        let seconds = record.lifecycle.terms().initial().as_secs_f64();
        self.requested_timeout
            .get_or_init(|| histogram!("elicitation_requested_timeout_seconds"))
            .record(seconds);
        self.set_live(live);
        tracing::info!(
            elicitation.id = %record.id,
            elicitation.mode = request.mode.as_str(),
            "elicitation created"
        );
    }

    pub(crate) fn opened(&self, record: &Record, after: Duration) {
        self.ask_to_open
            .get_or_init(|| histogram!("elicitation_ask_to_open_seconds"))
            .record(after.as_secs_f64());
        tracing::debug!(elicitation.id = %record.id, "elicitation opened");
    }

    pub(crate) fn settled(&self, record: &Record, outcome: Outcome, live: usize) {
        let (mode, channel) = (
            record.request.mode.as_str(),
            record.request.channel.as_str(),
        );
        let count_as = |counters: &ByChannel, name: &'static str| {
            count(
                counters,
                record,
                || counter!(name, "mode" => mode, "channel" => channel),
            );
        };
        match outcome {
            Outcome::Completed => {
                count_as(&self.completed, "elicitation_completed_total");
                self.answered(record);
            }
            Outcome::Declined => count_as(&self.declined, "elicitation_declined_total"),
            Outcome::TimedOut => count_as(&self.timed_out, "elicitation_timeout_total"),
            Outcome::Cancelled(reason) => self.cancelled(record, reason),
        }
        self.set_live(live);
    }

    fn answered(&self, record: &Record) {
        let lifecycle = &record.lifecycle;
        let took = lifecycle
            .settled_at()
            .map(|at| at.since(lifecycle.created()));
        self.ask_to_answer
            .get_or_init(|| histogram!("elicitation_ask_to_answer_seconds"))
            .record(took.unwrap_or_default().as_secs_f64());
        let size = |record: &Record| {
            record
                .answer_state
                .as_ref()?
                .result
                .as_ref()
                .map(|r| r.text.len())
        };
        tracing::debug!(
            elicitation.id = %record.id,
            size = size(record).unwrap_or_default(),
            "elicitation completed"
        );
    }

    fn cancelled(&self, record: &Record, reason: CancelReason) {
        let (mode, channel) = (
            record.request.mode.as_str(),
            record.request.channel.as_str(),
        );
        let count_as = |counters: &[ByChannel; REASONS], name: &'static str| {
            count(
                &counters[reason as usize],
                record,
                || counter!(name, "mode" => mode, "channel" => channel, "reason" => reason.as_str()),
            );
        };
        count_as(&self.cancelled, "elicitation_cancelled_total");
        let is_abandoned = match reason {
            CancelReason::ClientDisconnected | CancelReason::SessionExpired => true,
            CancelReason::UserCancelled
            | CancelReason::FormInvalidated
            | CancelReason::MaxRetriesExceeded
            | CancelReason::AskerCancelled => false,
        };
        if is_abandoned {
            count_as(&self.abandoned, "elicitation_abandoned_total");
        }
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

fn count(counters: &ByChannel, record: &Record, make: impl FnOnce() -> Counter) {
    let (mode, channel) = (
        record.request.mode as usize,
        record.request.channel as usize,
    );
    counters[mode][channel].get_or_init(make).increment(1);
}

// Every channel has an index in the tables above.
const _: () = assert!(Channel::Link as usize + 1 == CHANNELS);
