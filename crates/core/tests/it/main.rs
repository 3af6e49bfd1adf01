//! What `entreat-core` promises, seen from outside.

#![expect(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "helpers of tests: a panic is a failed test, and literals read better by value"
)]

mod agreement;
mod allocations;
mod answers;
mod connected;
mod definitions;
mod documentation;
mod hints;
mod hostile;
mod lifecycle;
mod schemas;
mod url_guard;
