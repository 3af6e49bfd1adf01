//! Ask people questions by forms and get valid answers.
//!
//! This is the one crate to add to a program. It joins the parts of Entreat and re-exports them;
//! it has no logic of its own.
//!
//! ```
//! use entreat::{Ask, Entreat, Form, TypedForm};
//! use serde_json::json;
//!
//! /// Who are you?
//! #[derive(Debug, PartialEq, Form)]
//! struct Person {
//!     #[form(min_length = 2)]
//!     name: String,
//!     #[form(min = 0, max = 150)]
//!     age: Option<u8>,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let entreat = Entreat::builder().start().await?;
//! let question = entreat.asker("my-program").ask(Ask::form(Person::form().clone())).await?;
//!
//! // A person answers: in a terminal, on a page, here in a test.
//! entreat.engine().elicitation(question.id()).submit(&json!({"name": "Ada", "age": 36})).await?;
//!
//! let settled = question.outcome().await?;
//! if let Some(answers) = settled.answers() {
//!     let person = Person::from_answers(answers?)?;
//!     assert_eq!(person, Person { name: "Ada".to_owned(), age: Some(36) });
//! }
//! entreat.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! # Keeping, serving
//!
//! That was in memory, for this program alone. A file keeps questions across restarts, and an
//! address lets programs of any language ask; each with a key of its own, or on this machine
//! without.
//!
//! ```
//! # #[cfg(feature = "embedded")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use entreat::engine::SystemEntropy;
//! use entreat::{AskerSettings, Entreat, KeyRing};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("questions.db");
//! # let forms = folder.path();
//! // Made once, and kept where only this program can read them.
//! let keys = KeyRing::generate(&SystemEntropy::new()?);
//! let entreat = Entreat::builder()
//!     .embedded(path, keys)
//!     .templates(forms)
//!     .listen(([127, 0, 0, 1], 0))
//!     .key("a-long-random-text", "deploy-robot", AskerSettings::default())
//!     .start()
//!     .await?;
//! println!("listening on {}", entreat.url().unwrap_or_default());
//! entreat.shutdown().await;
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "embedded"))]
//! # fn main() {}
//! ```
//!
//! # Where to read on
//!
//! | for | see |
//! |---|---|
//! | what a form can ask, and the rules of its answers | [`struct@Form`], [`derive@Form`], [`core`] |
//! | asking, waiting, limits, deadlines, secrets | [`Engine`], [`Ask`], [`engine`] |
//! | letting MCP servers ask | `Entreat::wrap`, `mcp`, with the feature `mcp` (default) |
//! | answering MCP servers | `answering`, `mcp::answer`, with the feature `answer` (default) |
//! | parts joined and served | `Entreat`, `Builder`, with the feature `service` (default) |
//! | keeping questions across restarts | `stores`, with the feature `embedded` (default) |
//! | asking the person at this terminal | `terminal`, with the feature `terminal` (default) |
//!
//! Everything in a module of its own is there under its whole name too: `entreat::core::Form`
//! is [`struct@Form`].

pub use entreat_core as core;
pub use entreat_engine as engine;
#[cfg(feature = "mcp")]
pub use entreat_mcp as mcp;
#[cfg(feature = "service")]
pub use entreat_service as service;
#[cfg(feature = "embedded")]
pub use entreat_stores as stores;
#[cfg(feature = "terminal")]
pub use entreat_terminal as terminal;

#[cfg(feature = "answer")]
pub mod answering;
#[cfg(feature = "service")]
mod program;

#[cfg(feature = "service")]
pub use program::{Builder, Entreat, EntreatError};

// The form and the macro have one name in core as well. Here the macro is the one that writes
// paths of this crate, so that a program needs no other.
pub use entreat_core::__FormOfEntreat as Form;
pub use entreat_core::form::Form;

pub use entreat_core::{
    Answer, Answers, CancelReason, Catalogue, Choice, ElicitationId, FieldError, Messages, Mode,
    Outcome, Problems, Status, Timeout, TypedForm, UnixTime, Violations,
};
pub use entreat_engine::{
    ActError, Ask, AskError, Asker, AskerSettings, Channel, Connection, Elicitation, Engine,
    EngineSettings, Event, Heard, KeyRing, Limits, Snapshot, StartError, Subscription, Which,
};
#[cfg(feature = "embedded")]
pub use entreat_stores::{EmbeddedOptions, EmbeddedStore};

/// Compiles the Rust examples of the page about asking.
#[cfg(all(doctest, feature = "embedded"))]
#[expect(
    rustdoc::invalid_codeblock_attributes,
    reason = "the words after a language are for the tests of the command line"
)]
#[doc = include_str!("../../../docs/asking.md")]
struct Asking;

/// Compiles the Rust example that a newcomer reads first.
#[cfg(all(doctest, feature = "mcp"))]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// Compiles the Rust example of the page about MCP servers.
#[cfg(all(doctest, feature = "mcp"))]
#[doc = include_str!("../../../docs/mcp.md")]
struct McpServers;

/// Compiles the Rust example of the page about MCP clients.
#[cfg(all(doctest, feature = "answer", feature = "terminal"))]
#[doc = include_str!("../../../docs/answering.md")]
struct McpClients;
