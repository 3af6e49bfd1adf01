//! Counters of outcomes, by asker.
//!
//! Handles are created once per combination of labels, so that counting costs a load and an add, or
//! nothing without a recorder.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use entreat_core::{CancelReason, Mode, Outcome};
use metrics::{Counter, counter};
use parking_lot::Mutex;

use crate::record::{Channel, Request};

const MODES: usize = Mode::ALL.len();
const CHANNELS: usize = 6;
const REASONS: usize = CancelReason::ALL.len();

// Every channel has an index in the tables.
const _: () = assert!(Channel::Link as usize + 1 == CHANNELS);

/// A counter per mode and channel.
type ByChannel = [[OnceLock<Counter>; CHANNELS]; MODES];

/// The counters with one value of the label `asker`.
pub(crate) struct AskerCounters {
    asker: Arc<str>,
    created: ByChannel,
    completed: ByChannel,
    declined: ByChannel,
    timed_out: ByChannel,
    cancelled: [ByChannel; REASONS],
    abandoned: [ByChannel; REASONS],
}

impl AskerCounters {
    fn new(asker: Arc<str>) -> Arc<Self> {
        Arc::new(Self {
            asker,
            created: ByChannel::default(),
            completed: ByChannel::default(),
            declined: ByChannel::default(),
            timed_out: ByChannel::default(),
            cancelled: Default::default(),
            abandoned: Default::default(),
        })
    }

    pub(super) fn created(&self, request: &Request) {
        self.count(&self.created, request, "elicitation_created_total");
    }

    pub(super) fn settled(&self, request: &Request, outcome: Outcome) {
        match outcome {
            Outcome::Completed => {
                self.count(&self.completed, request, "elicitation_completed_total");
            }
            Outcome::Declined => self.count(&self.declined, request, "elicitation_declined_total"),
            Outcome::TimedOut => self.count(&self.timed_out, request, "elicitation_timeout_total"),
            Outcome::Cancelled(reason) => {
                let name = "elicitation_cancelled_total";
                self.count_reason(&self.cancelled, request, reason, name);
                let is_abandoned = match reason {
                    CancelReason::ClientDisconnected | CancelReason::SessionExpired => true,
                    CancelReason::UserCancelled
                    | CancelReason::FormInvalidated
                    | CancelReason::MaxRetriesExceeded
                    | CancelReason::AskerCancelled => false,
                };
                if is_abandoned {
                    let name = "elicitation_abandoned_total";
                    self.count_reason(&self.abandoned, request, reason, name);
                }
            }
        }
    }

    fn count(&self, counters: &ByChannel, request: &Request, name: &'static str) {
        let make = || {
            counter!(
                name,
                "mode" => request.mode.as_str(),
                "channel" => request.channel.as_str(),
                "asker" => self.asker.to_string(),
            )
        };
        of(counters, request).get_or_init(make).increment(1);
    }

    fn count_reason(
        &self,
        counters: &[ByChannel; REASONS],
        request: &Request,
        reason: CancelReason,
        name: &'static str,
    ) {
        let make = || {
            counter!(
                name,
                "mode" => request.mode.as_str(),
                "channel" => request.channel.as_str(),
                "reason" => reason.as_str(),
                "asker" => self.asker.to_string(),
            )
        };
        let counters = &counters[reason as usize];
        of(counters, request).get_or_init(make).increment(1);
    }
}

fn of<'c>(counters: &'c ByChannel, request: &Request) -> &'c OnceLock<Counter> {
    &counters[request.mode as usize][request.channel as usize]
}

/// The label of askers beyond the limit.
const OTHER: &str = "other";

/// Which askers have a label of their own: the first ones, up to a limit, because each label
/// multiplies the number of time series.
pub(crate) struct AskerLabels {
    limit: usize,
    known: Mutex<HashMap<Arc<str>, Arc<AskerCounters>>>,
    other: Arc<AskerCounters>,
}

impl AskerLabels {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            known: Mutex::default(),
            other: AskerCounters::new(OTHER.into()),
        }
    }

    pub(crate) fn of(&self, asker: &Arc<str>) -> Arc<AskerCounters> {
        let mut known = self.known.lock();
        if let Some(counters) = known.get(asker) {
            return counters.clone();
        }
        if known.len() >= self.limit {
            return self.other.clone();
        }
        let counters = AskerCounters::new(asker.clone());
        known.insert(asker.clone(), counters.clone());
        counters
    }
}
