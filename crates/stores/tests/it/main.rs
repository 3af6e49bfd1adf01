//! What the stores promise, seen from outside.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests: a panic is a failed test"
)]

mod child;
mod contract;
mod crash;
mod damage;
mod engine;
mod faults;
mod forms;
mod lingering;
mod opening;
