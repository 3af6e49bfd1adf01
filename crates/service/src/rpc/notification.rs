//! What the asker is told without asking: one notification for each outcome, and a warning
//! before time runs out.

use entreat_core::{Change, ElicitationId, Outcome};
use entreat_engine::{Event, Snapshot};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

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
                let mut told = Self::new("notifications/elicitation/timeout_warning", event.id());
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
        let method = match outcome {
            Outcome::Completed => "notifications/elicitation/complete",
            Outcome::Declined => "notifications/elicitation/declined",
            Outcome::Cancelled(_) => "notifications/elicitation/cancelled",
            Outcome::TimedOut => "notifications/elicitation/timeout",
        };
        let mut told = Self::new(method, settled.id());
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

    fn new(method: &'static str, id: ElicitationId) -> Self {
        let mut told = Self {
            method,
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
