//! What the asker is told without asking: one notification for each outcome, and a warning
//! before time runs out.

use entreat_core::{Change, ElicitationId, Outcome, Status};
use entreat_engine::{Event, Snapshot};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::act::{ID, reasons};
use super::params::Param;
use super::shape::Shape;

/// A kind of notification: its method, what it says, and what is in it.
pub(super) struct Kind {
    pub(super) method: &'static str,
    pub(super) about: &'static str,
    pub(super) params: &'static [Param],
}

static COMPLETE: Kind = Kind {
    method: "notifications/elicitation/complete",
    about: "A question was answered.",
    params: &[
        ID,
        status(|| vec![Status::Completed.as_str()]),
        Param::optional(
            "result",
            Shape::Any,
            "The answer; secrets in it are `[sealed]`.",
        ),
    ],
};

static DECLINED: Kind = Kind {
    method: "notifications/elicitation/declined",
    about: "The respondent decided not to answer.",
    params: &[ID, status(|| vec![Status::Declined.as_str()])],
};

static CANCELLED: Kind = Kind {
    method: "notifications/elicitation/cancelled",
    about: "A question ended without a decision.",
    params: &[
        ID,
        status(|| vec![Status::Cancelled.as_str()]),
        Param::required("reason", Shape::Word(reasons), "Why."),
    ],
};

static TIMEOUT: Kind = Kind {
    method: "notifications/elicitation/timeout",
    about: "Nobody answered in time.",
    params: &[ID, status(|| vec![Status::Timeout.as_str()])],
};

static WARNING: Kind = Kind {
    method: "notifications/elicitation/timeout_warning",
    about: "Time is about to run out.",
    params: &[
        ID,
        Param::required("remainingMs", MILLIS, "How much is left, in milliseconds."),
        Param::required(
            "extensionAllowed",
            Shape::Flag,
            "Whether there can be more; false once no extension is left.",
        ),
        Param::required(
            "extensionDuration",
            MILLIS,
            "How long an extension is, in milliseconds.",
        ),
    ],
};

/// Every kind, in the order of the reference.
pub(super) static KINDS: &[&Kind] = &[&COMPLETE, &DECLINED, &CANCELLED, &TIMEOUT, &WARNING];

const MILLIS: Shape = Shape::Count {
    least: 0,
    most: u64::MAX,
};

const fn status(words: fn() -> Vec<&'static str>) -> Param {
    Param::required("status", Shape::Word(words), "How it stands.")
}

/// A notification to the asker. Secrets in it are `[sealed]`.
#[derive(Clone, Debug)]
pub struct Notification {
    method: &'static str,
    params: Map<String, Value>,
    /// The result, as it is kept: text, so that large numbers keep their digits.
    result: Option<Box<RawValue>>,
}

impl Notification {
    /// What an event means to the asker; `None` if it is not one of those that it is told.
    pub fn of(event: &Event) -> Option<Self> {
        let step = event.step()?;
        match step.change {
            Change::Shown
            | Change::Opened
            | Change::Drafted
            | Change::Refused
            | Change::Extended { .. } => None,
            Change::Warned => {
                let lifecycle = &event.record().lifecycle;
                let terms = lifecycle.terms();
                let mut told = Self::new(&WARNING, event.id());
                told.put("remainingMs", millis(lifecycle.remaining(step.at)));
                told.put("extensionAllowed", lifecycle.extensions_left() > 0);
                told.put("extensionDuration", millis(terms.extension()));
                Some(told)
            }
            Change::Exhausted
            | Change::Answered
            | Change::Completed
            | Change::Declined { .. }
            | Change::Cancelled { .. }
            | Change::TimedOut => Self::of_settled(&event.snapshot()),
        }
    }

    /// What the outcome of an elicitation is told by; `None` while it has none.
    pub fn of_settled(settled: &Snapshot) -> Option<Self> {
        let outcome = settled.outcome()?;
        let kind = match outcome {
            Outcome::Completed => &COMPLETE,
            Outcome::Declined => &DECLINED,
            Outcome::Cancelled(_) => &CANCELLED,
            Outcome::TimedOut => &TIMEOUT,
        };
        let mut told = Self::new(kind, settled.id());
        told.put("status", outcome.status().as_str());
        match outcome {
            Outcome::Cancelled(reason) => told.put("reason", reason.as_str()),
            Outcome::Completed => {
                let text = settled.result_text();
                told.result = text.and_then(|text| RawValue::from_string(text).ok());
            }
            Outcome::Declined | Outcome::TimedOut => {}
        }
        Some(told)
    }

    fn new(kind: &Kind, id: ElicitationId) -> Self {
        let mut told = Self {
            method: kind.method,
            params: Map::new(),
            result: None,
        };
        told.put("elicitationId", id.to_string());
        told
    }

    fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.params.insert(key.to_owned(), value.into());
    }

    /// Its method.
    pub fn method(&self) -> &'static str {
        self.method
    }

    /// Its parameters.
    pub fn params(&self) -> Value {
        let mut params = self.params.clone();
        if let Some(result) = &self.result {
            let result = serde_json::from_str(result.get()).unwrap_or_default();
            params.insert("result".to_owned(), result);
        }
        params.into()
    }

    /// The message as it goes over the wire.
    pub fn to_text(&self) -> String {
        let mut params = json!(self.params).to_string();
        if let Some(result) = &self.result {
            // Never empty: every notification names its elicitation.
            params.pop();
            params.push_str(r#","result":"#);
            params.push_str(result.get());
            params.push('}');
        }
        let method = self.method;
        format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)
    }
}

fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
