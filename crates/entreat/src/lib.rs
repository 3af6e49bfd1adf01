//! Ask people questions with forms and get valid answers.
//!
//! This is the one crate to add to a program. It combines the parts of Entreat and re-exports
//! them; it has no logic of its own.
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
//! # Persistence and serving
//!
//! By default, questions are in memory and for this program only. A file stores them across
//! restarts, and a listening address lets programs in any language ask: each with its own key, or
//! without one on this machine.
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
//! // Generate once, and store where only this program can read them.
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
//! # Features
//!
//! The default is what the author of an MCP server needs. Forms, their validation and the engine
//! are always there: [`struct@Form`], [`derive@Form`], [`core`], [`Engine`], [`Ask`], [`engine`].
//!
//! | feature | for | see |
//! |---|---|---|
//! | `mcp` (default) | MCP servers whose tools ask; brings `pages` | `Entreat::wrap`, `mcp` |
//! | `pages` | asking on pages, and serving the control API over HTTP | `Entreat`, `Builder`, `service` |
//! | `service` | serving programs on other machines: TLS, WebSockets, OpenTelemetry traces | `Builder::tls` |
//! | `callbacks` | posting outcomes to the programs that asked | `Builder::callbacks` |
//! | `sign-in` | people who sign in at an OpenID provider, or whom a proxy names by signed tokens | `service::identity` |
//! | `remote` | using the control API and the pages of another service | `Builder::remote_pages`, `service::ControlClient` |
//! | `gateway` | standing between any MCP client and any server | `Entreat::gateway`, `gateway` |
//! | `embedded` | storing questions across restarts | `Builder::embedded`, `stores` |
//! | `answer` | MCP clients that show what servers ask | `answering`, `mcp::answer` |
//! | `terminal` | asking the person at this terminal | `terminal` |
//! | `yaml`, `toml` | definitions of forms in YAML and TOML; JSON needs no feature | [`core::document`] |
//! | `full` | all of them | |
//!
//! Re-exported items are also available under their full path: `entreat::core::Form` is
//! [`struct@Form`].

pub use entreat_core as core;
pub use entreat_engine as engine;
#[cfg(feature = "gateway")]
pub use entreat_gateway as gateway;
#[cfg(feature = "mcp")]
pub use entreat_mcp as mcp;
#[cfg(feature = "pages")]
pub use entreat_service as service;
#[cfg(feature = "embedded")]
pub use entreat_stores as stores;
#[cfg(feature = "terminal")]
pub use entreat_terminal as terminal;

#[cfg(feature = "answer")]
pub mod answering;
#[cfg(feature = "pages")]
mod program;

#[cfg(feature = "pages")]
pub use program::{Builder, Entreat, EntreatError};
#[cfg(feature = "gateway")]
pub use program::{GATEWAY_ASKER, GatewayOptions};

// Core exports a form and a macro of this name too. This macro generates paths into this crate, so
// that a program needs no other dependency.
pub use entreat_core::__FormOfEntreat as Form;
pub use entreat_core::form::Form;

pub use entreat_core::{
    Answer, Answers, CancelReason, Catalogue, Choice, ElicitationId, FieldError, Messages, Mode,
    Outcome, Problems, Status, Timeout, TypedForm, UnixTime, Violations,
};
pub use entreat_engine::{
    ActError, Ask, AskError, Asker, AskerSettings, Channel, Connection, Elicitation, Engine,
    EngineSettings, Event, KeyRing, Limits, Snapshot, StartError, StatusFilter, Subscription,
    SubscriptionItem,
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

/// Compiles the Rust example of the README.
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
