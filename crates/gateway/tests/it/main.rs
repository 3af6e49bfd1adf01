//! Tests of the gateway over real sides.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests: a panic is a failed test"
)]
#![expect(
    clippy::needless_pass_by_value,
    reason = "JSON is written where it is passed"
)]

mod any_envelope;
mod approvals;
mod bounds;
mod era;
mod front;
mod hard_cases;
mod http_server;
mod http_upstream;
mod legacy;
mod lowered;
mod message_trace;
mod modern;
mod observe;
mod raised;
#[cfg(feature = "traces")]
mod structured;
mod traces;
mod union;
mod world;
