//! Forms, validation, schemas, the lifecycle of elicitations and the URL guard: the pure core of
//! Entreat, without clocks, files or sockets.
//!
//! A [`struct@Form`] is an ordered list of fields with rules. It is loaded from a definition
//! (JSON, YAML, TOML, or a struct with [`derive@Form`]) and exists only if the definition is
//! valid; otherwise loading returns every [`Problem`]. It checks answers, as parsed JSON or as
//! text, and returns typed [`Answers`] or every [`Violation`]. It can be exported as a JSON
//! Schema and imported from one ([`schema`]). The [`url_guard`] decides which URLs are safe.
//!
//! ```
//! use entreat_core::{Catalogue, Form, document::Notation};
//! use serde_json::json;
//!
//! let form = Form::from_text(
//!     "
//!     id: deploy
//!     title: Deploy
//!     fields:
//!       - {id: target, type: select, label: Target, required: true, options: [staging, production]}
//!       - id: reason
//!         type: text
//!         label: Reason
//!         required: true
//!         rendering:
//!           conditionalDisplay: {operator: equals, field: target, value: production}
//!     ",
//!     Notation::Yaml,
//! )?;
//! assert!(form.check(&json!({"target": "staging"})).is_ok());
//!
//! let violations = form.check(&json!({"target": "production"})).unwrap_err();
//! let english = Catalogue::default().messages(["en"]);
//! assert_eq!(violations.errors(&english)[0].message, "Reason is required");
//! # Ok::<(), entreat_core::Problems>(())
//! ```
//!
//! Deliberately absent: `async`, clocks, randomness, files, sockets. The caller provides those.

pub mod form;
mod id;
mod lifecycle;
mod mode;
mod problem;
mod rough_time;
mod safe_text;
mod suggestion;
mod time;
mod timeout;
mod validator;
mod vocabulary;

mod condition;
mod format;
mod number;
pub mod pattern;

mod calendar;
mod calendar_names;
mod upload;

mod answer;
mod check;
mod message;
mod parse;
mod violation;

mod cache;
pub mod document;
pub mod markdown;
pub mod schema;
mod script;
mod typed;
pub mod url_guard;

pub use answer::{Answer, Answers, AnswersView, Moment, SEALED};
pub use cache::{FormCache, FormKey};
pub use calendar_names::CalendarNames;
pub use check::{CheckError, CheckSettings, Progress, Unknown};
pub use condition::{Comparison, Condition, Test};
pub use entreat_derive::Form;
pub use form::{Field, Form, Kind};
pub use format::Format;
pub use id::{ElicitationId, InvalidElicitationId};
pub use lifecycle::{
    CancelReason, Change, Command, Effect, ExtensionRefusal, Lifecycle, Outcome, Presented,
    Rejection, State, Status, Step, Timer, Verdict,
};
pub use markdown::TextFormat;
pub use message::{Catalogue, CatalogueError, Messages, readable_size};
pub use mode::{Mode, UnknownMode};
pub use number::Number;
pub use problem::{Problem, ProblemCode, Problems};
pub use rough_time::RoughTime;
pub use safe_text::is_unsafe_to_display;
pub use script::{Script, ScriptStep};
pub use suggestion::closest;
pub use time::UnixTime;
pub use timeout::{
    Extensions, InvalidBounds, InvalidExtensions, Terms, Timeout, TimeoutBounds, TimeoutError,
    TimeoutPolicy,
};
pub use typed::{Choice, FieldDraft, FieldType, FormMismatch, ListItem, TypedForm};
pub use upload::{Base64, Content, FileInfo, Reference, ReferenceKind, Upload};
pub use validator::{ValidatorError, Validators};
pub use violation::{
    Constraint, Expected, FieldError, PathStep, VALIDATION_FAILED, Violation, Violations,
};

#[doc(hidden)]
pub use entreat_derive::FormOfEntreat as __FormOfEntreat;
#[doc(hidden)]
pub use typed::private as __private;

/// The crates whose date and URL types appear in typed forms, in the versions that Entreat uses.
pub use {jiff, url};

/// Compiles the Rust examples of the form reference.
#[cfg(doctest)]
#[expect(
    rustdoc::invalid_codeblock_attributes,
    reason = "the words after a language are for tests/it/documentation.rs"
)]
#[doc = include_str!("../../../docs/forms.md")]
struct FormReference;
