//! Stands between any MCP client and any MCP server, neither of which knows.
//!
//! Messages are relayed as they came; what the client cannot show, Entreat asks the person.
//!
//! Deliberately absent: rmcp, whose types lose parts of messages, and rules about forms (see
//! `entreat_core`).

mod approvals;
mod ask;
mod call;
mod cancellation;
mod capability;
mod client;
mod client_first;
mod downgrade;
pub mod envelope;
mod era;
mod flow;
pub mod front;
mod gateway;
mod incoming;
pub mod json;
mod legacy;
mod links;
mod log;
mod lost_answers;
mod lowered;
mod memory;
mod meta;
mod modern;
mod observe;
mod page_asker;
mod param_headers;
mod pins;
mod policy;
mod raised;
mod random;
mod recipient;
mod relayed;
mod reply;
mod rounds;
mod secrets;
mod session;
mod settings;
pub mod side;
mod subscriptions;
mod tasks;
mod trace;
mod trust;
mod union;
mod visits;

pub use approvals::{
    ApprovalAction, ApprovalRule, Glob, InvalidCondition, InvalidGlob, Validity, When,
};
pub use era::UpstreamEra;
pub use gateway::{Builder, Gateway, Upstream};
pub use observe::{LastError, ToolsStatus, UpstreamState, UpstreamStatus};
pub use pins::{PinMode, Pins, forget as forget_tools};
pub use policy::Policy;
pub use session::Person;
pub use settings::{GatewaySettings, Root};
pub use trace::Trace;
