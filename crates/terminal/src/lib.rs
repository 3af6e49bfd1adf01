//! Asks a person at a terminal.
//!
//! A [`Terminal`] is the one way to the person: it asks a [`TerminalQuestion`], shows a [`UrlCard`], and
//! says a line in between. It has two looks. The full one redraws the screen; its model is pure
//! (`full/model.rs`), and a thin shell around it reads keys and draws. [`plain`] asks in linear
//! prompts that never redraw: fit for screen readers, logs and pipes.
//!
//! Deliberately absent: rules. Whether an answer is valid and which question comes next is
//! asked of [the form](struct@entreat_core::Form) after every key or line. Absent too: signals,
//! the ends of deadlines and the environment. Whoever ends a question drops the future that asks
//! it, and the terminal is as it was.

mod console;
mod lines;
mod question;
mod reply;
mod terminal;
mod wire;

mod safe_text;
mod typography;

mod prompt;
mod review;

mod full;
pub mod plain;

pub use console::{Console, DEFAULT_WIDTH};
pub use question::{CardReply, Filled, Look, Mode, OpenedReply, TerminalQuestion, UrlCard};
pub use reply::Reply;
pub use terminal::Terminal;
pub use wire::{Desk, News, Wire, Word};
