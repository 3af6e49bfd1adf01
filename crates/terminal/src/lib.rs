//! Asks a person at a terminal.
//!
//! A [`Terminal`] is the single entry point: it asks a [`TerminalQuestion`], shows a [`UrlCard`],
//! and prints notices in between. It has two modes. The full mode redraws on every key: a form takes
//! the whole screen, a single question (`inline.rs`) a few lines. Both share a model that is pure
//! (`full/model.rs`), and a thin shell around it reads keys and draws. [`plain`] asks in linear
//! prompts that never redraw, for screen readers, logs and pipes.
//!
//! Deliberately absent: validation rules. [The form](struct@entreat_core::Form) decides after every
//! key or line whether an answer is valid and which question comes next. Also absent: signals,
//! deadline enforcement and the environment. To end a question, drop the future that asks it; that
//! restores the terminal.

mod channel;
mod console;
mod lines;
mod question;
mod reply;
mod terminal;

mod prose;
mod safe_text;
mod sections;
mod texts;
mod typography;

mod prompt;
mod review;

mod full;
mod inline;
pub mod plain;

pub use channel::{PromptChannel, PromptEvent, PromptHandle, PromptNotice};
pub use console::{Console, DEFAULT_WIDTH};
pub use question::{
    CardReply, FormReply, Mode, OpenedReply, TerminalQuestion, TerminalStyle, UrlCard,
};
pub use reply::Reply;
pub use terminal::Terminal;
