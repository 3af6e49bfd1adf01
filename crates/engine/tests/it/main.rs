//! What `entreat-engine` promises, seen from outside.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests: a panic is a failed test"
)]

mod asking;
mod callbacks;
mod clock;
mod elsewhere;
mod faults;
mod health;
mod limits;
mod memory;
mod observed;
mod people;
mod races;
mod resolver;
mod secrets;
mod time;
mod urls;
mod world;
