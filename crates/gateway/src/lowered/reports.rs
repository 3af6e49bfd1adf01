//! What calls report between their rounds, when no request of the client is there to take it.

use crate::call::Call;
use crate::envelope;
use crate::flow::Flow;
use crate::json::RawObject;
use crate::memory::Room;
use crate::session::Session;

/// How many log messages a call keeps between its rounds, and how large each may be.
pub(super) const MAX_LOGS: usize = 64;
const MAX_REPORT: usize = 16 << 10;

#[derive(Default)]
pub(super) struct Reports {
    pub(super) progress: Option<Report>,
    pub(super) logs: Vec<Report>,
}

/// The parameters of a report, and their memory.
type Report = (String, Room);

impl Session {
    /// A report as it is kept until the next round, if it is short and there is memory for it.
    pub(super) fn kept_report(&self, params: &str) -> Option<Report> {
        let is_short = params.len() <= MAX_REPORT;
        let room = is_short.then(|| self.memory.take(params.len())).flatten()?;
        Some((params.to_owned(), room))
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
        if let Some((progress, _)) = progress
            && let Some(token) = call.token()
            && let Some(mut report) = RawObject::parse(&progress)
        {
            report.set("progressToken", token.into_string());
            let message = envelope::notification("notifications/progress", &report.to_string());
            call.client.push(message);
        }
    }
}
