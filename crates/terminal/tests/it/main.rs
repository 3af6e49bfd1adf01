//! What `entreat-terminal` promises, seen from outside.

#![expect(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "helpers of tests: a panic is a failed test, and literals read better by value"
)]

mod answers;
mod any_form;
mod dialogues;
mod files;
mod hostile;
mod script;
mod terminal;
