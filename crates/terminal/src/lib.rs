//! Asks a person at a terminal.
//!
//! [`plain`] asks in linear prompts that never redraw: fit for screen readers, logs and
//! pipes. It talks through a [`Console`], of which [`StdConsole`] is the one that people
//! sit at; tests bring their own.
//!
//! Deliberately absent: rules. Whether an answer is valid and which question comes next is
//! asked of [the form](struct@entreat_core::Form) after every line. Absent too: signals, time
//! limits and the environment. Whoever ends the program calls [`Restorer::restore`] first, so
//! that no terminal is left without echo.

mod console;
mod reply;

mod safe_text;
mod typography;

mod prompt;
mod review;

pub mod plain;

pub use console::{Console, DEFAULT_WIDTH, Restorer, StdConsole};
pub use reply::Reply;
