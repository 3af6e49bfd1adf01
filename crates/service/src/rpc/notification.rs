//! Notifications for the asker: one per outcome, and a warning before the deadline.

use entreat_core::{Change, ElicitationId, Outcome, Status};
use entreat_engine::{Event, Snapshot};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::act::{ID, reasons};
use super::params::Param;
use super::shape::Shape;

/// A kind of notification: method, summary and parameters.
pub(super) struct NotificationKind {
    pub(super) method: &'static str,
    pub(super) about: &'static str,
    pub(super) params: &'static [Param],
}

static COMPLETE: NotificationKind = NotificationKind {
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

static DECLINED: NotificationKind = NotificationKind {
    method: "notifications/elicitation/declined",
    about: "The respondent decided not to answer.",
    params: &[ID, status(|| vec![Status::Declined.as_str()])],
};

static CANCELLED: NotificationKind = NotificationKind {
    method: "notifications/elicitation/cancelled",
    about: "A question ended without a decision.",
    params: &[
        ID,
        status(|| vec![Status::Cancelled.as_str()]),
        Param::required("reason", Shape::Word(reasons), "Why."),
    ],
};

static TIMEOUT: NotificationKind = NotificationKind {
    method: "notifications/elicitation/timeout",
    about: "Nobody answered in time.",
    params: &[ID, status(|| vec![Status::Timeout.as_str()])],
};

static WARNING: NotificationKind = NotificationKind {
    method: "notifications/elicitation/timeout_warning",
    about: "The question is about to time out.",
    params: &[
        ID,
        Param::required("remainingMs", MILLIS, "The time left, in milliseconds."),
        Param::required(
            "extensionAllowed",
            Shape::Flag,
            "Whether the deadline can be extended; false if there are no extensions left.",
        ),
        Param::required(
            "extensionDuration",
            MILLIS,
            "The length of an extension, in milliseconds.",
        ),
    ],
};

/// All kinds, in the order of the reference.
pub(super) static KINDS: &[&NotificationKind] =
    &[&COMPLETE, &DECLINED, &CANCELLED, &TIMEOUT, &WARNING];

const MILLIS: Shape = Shape::Count {
    least: 0,
    most: u64::MAX,
};

const fn status(words: fn() -> Vec<&'static str>) -> Param {
    Param::required("status", Shape::Word(words), "The status.")
}

/// A notification for the asker. Sensitive answers in it are `[sealed]`.
#[derive(Clone, Debug)]
pub struct Notification {
    method: &'static str,
    params: Map<String, Value>,
    /// The result as stored: text, which preserves all digits of numbers.
    result: Option<Box<RawValue>>,
}

impl Notification {
    /// Returns the notification for an event; `None` if the event causes none.
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
                let mut notification = Self::new(&WARNING, event.id());
                notification.put("remainingMs", millis(lifecycle.remaining(step.at)));
                notification.put("extensionAllowed", lifecycle.extensions_left() > 0);
                notification.put("extensionDuration", millis(terms.extension()));
                Some(notification)
            }
            Change::Exhausted
            | Change::Answered
            | Change::Completed
            | Change::Declined { .. }
            | Change::Cancelled { .. }
            | Change::TimedOut => Self::of_settled(&event.snapshot()),
        }
    }

    /// Returns the notification of an outcome; `None` while the elicitation is live.
    pub fn of_settled(settled: &Snapshot) -> Option<Self> {
        let outcome = settled.outcome()?;
        let kind = match outcome {
            Outcome::Completed => &COMPLETE,
            Outcome::Declined => &DECLINED,
            Outcome::Cancelled(_) => &CANCELLED,
            Outcome::TimedOut => &TIMEOUT,
        };
        let mut notification = Self::new(kind, settled.id());
        notification.put("status", outcome.status().as_str());
        match outcome {
            Outcome::Cancelled(reason) => notification.put("reason", reason.as_str()),
            Outcome::Completed => {
                let text = settled.result_text();
                notification.result = text.and_then(|text| RawValue::from_string(text).ok());
            }
            Outcome::Declined | Outcome::TimedOut => {}
        }
        Some(notification)
    }

    fn new(kind: &NotificationKind, id: ElicitationId) -> Self {
        let mut notification = Self {
            method: kind.method,
            params: Map::new(),
            result: None,
        };
        notification.put("elicitationId", id.to_string());
        notification
    }

    fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.params.insert(key.to_owned(), value.into());
    }

    /// Returns the method.
    pub fn method(&self) -> &'static str {
        self.method
    }

    /// Returns the parameters.
    pub fn params(&self) -> Value {
        let mut params = self.params.clone();
        if let Some(result) = &self.result {
            let result = serde_json::from_str(result.get()).unwrap_or_default();
            params.insert("result".to_owned(), result);
        }
        params.into()
    }

    /// Returns the message as sent over the wire.
    pub fn to_text(&self) -> String {
        let mut params = json!(self.params).to_string();
        if let Some(result) = &self.result {
            // The object is never empty: every notification names its elicitation.
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
