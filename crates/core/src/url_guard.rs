//! Decides whether a URL may be used, and what a person should know about it.
//!
//! Two questions, two answers. [`judge()`] says whether a URL may be fetched, stored or sent
//! to: it is allowed or [`Blocked`] with a [`Reason`]. [`inspect()`] makes the [`Card`] that a
//! person sees before opening a URL: [`Warning`]s, an [`Action`], and the part of the host
//! to set off.
//!
//! Nothing here looks anything up. A name that passes has still to be resolved by the
//! caller, who hands the answer to [`Judged::addresses_pass`] and then connects to exactly
//! those addresses; a second look-up could answer differently. Redirects are followed by
//! the caller too, each hop through [`judge_redirect`].
//!
//! What this cannot see: look-alikes within ASCII (`rnicrosoft`, `g00gle`). Telling them from
//! honest names takes a list of brands, and any such list is wrong for somebody.
//!
//! ```
//! use entreat_core::url_guard::{Policy, inspect, judge};
//!
//! let policy = Policy::web();
//! assert!(judge("https://api.example.com/hook", &policy).is_ok());
//!
//! let blocked = judge("http://0x7f.1/", &policy).unwrap_err();
//! assert_eq!(blocked.reason().code(), "loopback");
//!
//! let card = inspect("https://login.com-verify.net/", None);
//! assert_eq!(card.highlight.as_deref(), Some("com-verify.net"));
//! ```

mod policy;
mod reason;

mod judge;
mod plain;
mod redirect;

mod address;
mod name;
mod port;
mod syntax;

mod warning;

mod inspect;
mod personal;
mod script;
mod secret;
mod site;

pub use address::judge_address;
pub use inspect::inspect;
pub(crate) use judge::passes;
pub use judge::{Host, Judged, judge};
pub use policy::Policy;
pub use reason::{Blocked, Reason};
pub use redirect::judge_redirect;
pub use warning::{Action, Card, Warning};
