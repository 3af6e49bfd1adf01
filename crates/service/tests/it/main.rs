//! The control API with a simulated clock and resolver.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests: a panic is a failed test"
)]
#![expect(
    clippy::needless_pass_by_value,
    reason = "parameters are written as `json!` where they are passed"
)]

mod any_message;
mod any_wire;
mod batches;
mod board;
mod board_visitors;
mod child;
mod connections;
mod costs;
mod creating;
mod downloads;
mod errors;
mod errors_inside;
mod errors_of_time;
mod every_code;
mod forms;
mod groups;
mod http;
mod http_limits;
mod logs;
mod messages;
mod methods;
mod notifications;
mod openrpc;
mod operators;
mod pages;
mod pages_asked;
mod pages_home;
mod pages_text;
mod posted_forms;
#[cfg(feature = "callbacks")]
mod posting;
mod rates;
mod receiving;
mod respondents;
mod sessions;
#[cfg(feature = "sign-in")]
mod sign_in;
mod stdio;
mod streams;
mod tls;
mod traces;
mod uploads;
mod uploads_bounds;
mod uploads_shares;
mod uploads_together;
mod waiting;
mod web_socket;
mod wire;
mod world;
