//! Progress and log messages of servers of 2025, for calls that come and go in rounds: what is
//! reported in between comes with the next round.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Open;
use crate::call::{Call, ProgressNote};
use crate::envelope::{self, RawId};
use crate::flow::Flow;
use crate::json::{RawObject, quoted};
use crate::memory::Reservation;
use crate::session::Session;

/// How many log messages a call keeps between its rounds, and how large each may be.
const MAX_LOGS: usize = 64;
const MAX_REPORT: usize = 16 << 10;
/// Log levels, the most verbose first.
const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// What a call that asked for log messages has reported since its last round.
pub(super) struct Reports {
    /// Its log level.
    level: usize,
    progress: Option<Report>,
    logs: Vec<Report>,
}

/// The parameters of a report, and their memory.
type Report = (String, Reservation);

impl Reports {
    /// Those of a call with a log level; one that is not known means all messages.
    pub(super) fn of(level: &str) -> Self {
        Self {
            level: level_of(level).unwrap_or_default(),
            progress: None,
            logs: Vec::new(),
        }
    }
}

impl Session {
    /// Has the server log what the most verbose of the open calls asked for, before it gets one that
    /// asked for messages.
    pub(super) async fn set_level(self: &Arc<Self>, flow: &Flow) {
        if !self.lowered.reports.lock().contains_key(&flow.handle) {
            return;
        }
        let init = self.lowered.init.get().map_or("{}", String::as_str);
        let init: Value = serde_json::from_str(init).unwrap_or_default();
        if init["capabilities"]["logging"].is_null() {
            return;
        }
        let wanted = {
            let reports = self.lowered.reports.lock();
            reports.values().map(|reports| reports.level).min()
        };
        let before = std::mem::replace(&mut *self.lowered.level.lock(), wanted);
        let name = wanted.and_then(|level| LEVELS.get(level));
        let Some(name) = name.filter(|_| before != wanted) else {
            return;
        };
        let params = json!({"level": name}).to_string();
        tokio::select! {
            biased;
            // Without it, the call runs all the same.
            _ = self.request("logging/setLevel", &params) => {}
            () = self.sleep(self.settings().discover) => {}
        }
    }

    pub(super) async fn lowered_progress(&self, params: &str) {
        let Some(report) = RawObject::parse(params) else {
            return;
        };
        let Some(handle) = report.string("progressToken") else {
            return;
        };
        let held = match self.flows.get(&handle) {
            Some(flow) => flow.held(),
            None => match self.call_of_token(&quoted(&handle)) {
                Some(call) => Some(call),
                None => return,
            },
        };
        let Some(call) = held else {
            let mut reports = self.lowered.reports.lock();
            if let Some(reports) = reports.get_mut(&handle)
                && let Some(report) = self.kept_report(params)
            {
                reports.progress = Some(report);
            }
            return;
        };
        if let Some(message) = progress_of(&call, report) {
            call.client.send(message).await;
        }
    }

    /// Delivers a log message to the call that it belongs to, if that asked for it.
    pub(super) async fn lowered_log(&self, params: &str, via: Option<&RawId>) {
        let (exact, oldest) = self.attribute_lowered(via);
        // A call that asked for none has no messages.
        let Some(Open::Flow(flow)) = exact.or(oldest) else {
            return;
        };
        let about = RawObject::parse(params).and_then(|it| level_of(&it.string("level")?));
        let held = {
            let mut reports = self.lowered.reports.lock();
            let Some(reports) = reports.get_mut(&flow.handle) else {
                return;
            };
            // The server logs for the most verbose call.
            if about.is_some_and(|level| level < reports.level) {
                return;
            }
            let held = flow.held();
            if held.is_none()
                && reports.logs.len() < MAX_LOGS
                && let Some(report) = self.kept_report(params)
            {
                reports.logs.push(report);
            }
            held
        };
        if let Some(call) = held {
            let message = envelope::notification("notifications/message", params);
            call.client.send(message).await;
        }
    }

    /// A report as it is kept until the next round, if it is short and there is memory for it.
    fn kept_report(&self, params: &str) -> Option<Report> {
        let is_short = params.len() <= MAX_REPORT;
        let reservation = is_short
            .then(|| self.memory.reserve_leaving_spare(params.len()))
            .flatten()?;
        Some((params.to_owned(), reservation))
    }

    /// Delivers what a call has reported between its rounds.
    pub(crate) fn deliver_reports(&self, flow: &Flow, call: &Call) {
        let (progress, logs) = {
            let mut reports = self.lowered.reports.lock();
            let Some(reports) = reports.get_mut(&flow.handle) else {
                return;
            };
            (reports.progress.take(), std::mem::take(&mut reports.logs))
        };
        for (log, _) in logs {
            let message = envelope::notification("notifications/message", &log);
            call.client.push(message);
        }
        let progress = progress
            .as_ref()
            .and_then(|(text, _)| RawObject::parse(text));
        if let Some(message) = progress.and_then(|report| progress_of(call, report)) {
            call.client.push(message);
        }
    }
}

/// A report of progress under the token of the round that is held, above those before it.
fn progress_of(call: &Call, mut report: RawObject<'_>) -> Option<Vec<u8>> {
    let token = call.token()?;
    match call.note_progress(report.get("progress")?.parse().ok()?) {
        ProgressNote::Pass => {}
        ProgressNote::Raise(value) => report.set("progress", value.to_string()),
        ProgressNote::Drop => return None,
    }
    report.set("progressToken", token.into_string());
    let params = report.text();
    Some(envelope::notification("notifications/progress", &params))
}

fn level_of(name: &str) -> Option<usize> {
    LEVELS.iter().position(|level| *level == name)
}
