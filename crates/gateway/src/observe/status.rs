//! The state of one upstream, for operators.

use std::sync::atomic::Ordering;

use entreat_core::UnixTime;
use entreat_core::schema::Era;
use serde::Serialize;

use super::Observed;
use crate::pins::PinMode;

/// What goes on behind an upstream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UpstreamStatus {
    /// Its name in the configuration.
    pub name: String,
    /// The protocol version that it spoke last, once it has spoken.
    pub version: Option<&'static str>,
    /// Whether it runs.
    pub state: UpstreamState,
    /// When it may be started again by everybody, while it is left alone for somebody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<UnixTime>,
    /// Connections to it.
    pub sessions: usize,
    /// Processes of it that the gateway has started.
    pub children: usize,
    /// Requests of clients that have no response.
    pub calls: usize,
    /// Calls that wait for the next request of their client.
    pub parked: usize,
    /// Its questions that are being asked.
    pub questions: usize,
    /// Its last failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<LastError>,
    /// Its tools, where their definitions are watched and it has listed them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolsStatus>,
}

/// Whether an upstream runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UpstreamState {
    /// There is a connection to it.
    Running,
    /// Nobody uses it.
    Idle,
    /// The last connection failed, and there is no other.
    Down,
    /// It has failed so often for somebody that it is left alone for a while, and there is no
    /// connection to it.
    CircuitOpen,
}

impl UpstreamState {
    /// Returns the name of the state, as it is serialised.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Idle => "idle",
            Self::Down => "down",
            Self::CircuitOpen => "circuit_open",
        }
    }
}

/// A failure of an upstream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LastError {
    /// When it was.
    pub at: UnixTime,
    /// What failed, perhaps in the server's own words.
    pub message: String,
}

/// Tools whose definitions are watched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolsStatus {
    /// What happens when one changes: `warn` or `block`.
    pub pin: &'static str,
    /// How many definitions are approved.
    pub approved: usize,
    /// The tools whose definition is not the approved one.
    pub changed: Vec<String>,
}

/// What the sessions of an upstream show of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SessionSummary {
    pub(crate) sessions: usize,
    pub(crate) children: usize,
    /// The version of one that has spoken.
    pub(crate) era: Option<Era>,
    pub(crate) retry_at: Option<UnixTime>,
}

impl Observed {
    /// The state of an upstream with this name.
    pub(crate) fn status(&self, name: &str, summary: SessionSummary) -> UpstreamStatus {
        self.note_era(summary.era);
        let tools = self.pins.lock().as_ref().map(|pins| ToolsStatus {
            pin: match pins.mode() {
                PinMode::Warn => "warn",
                PinMode::Block => "block",
            },
            approved: pins.approved(name),
            changed: pins.changed(name),
        });
        UpstreamStatus {
            name: name.to_owned(),
            version: self.version(),
            state: match summary {
                SessionSummary { sessions: 1.., .. } => UpstreamState::Running,
                SessionSummary {
                    retry_at: Some(_), ..
                } => UpstreamState::CircuitOpen,
                SessionSummary { .. } if self.is_down.load(Ordering::Relaxed) => {
                    UpstreamState::Down
                }
                SessionSummary { .. } => UpstreamState::Idle,
            },
            retry_at: summary.retry_at,
            sessions: summary.sessions,
            children: summary.children,
            calls: self.metrics.open.count(),
            parked: self.metrics.parked.count(),
            questions: self.metrics.questions_open.count(),
            last_error: self.last_error.lock().clone(),
            tools,
        }
    }
}
