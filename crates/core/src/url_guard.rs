//! Decides whether a URL may be used, and what to show a person about it.
//!
//! [`check_url`] decides whether a program may fetch, store or send to a URL: it is allowed, or
//! [`Blocked`] with a [`Reason`]. [`inspect()`] returns the [`Card`] to show before a person
//! opens a URL: [`Warning`]s, an [`Action`], and the part of the host to highlight.
//!
//! Nothing here resolves names. After a name passes, the caller resolves it, passes the
//! addresses to [`CheckedUrl::check_addresses`], and connects to exactly those addresses: a second
//! lookup could return others (DNS rebinding). The caller follows redirects too, each hop
//! through [`check_redirect`].
//!
//! Not detected: look-alikes within ASCII (`rnicrosoft`, `g00gle`). That would take a list of
//! brands, and no such list is right for everybody.
//!
//! ```
//! use entreat_core::url_guard::{Policy, check_url, inspect};
//!
//! let policy = Policy::web();
//! assert!(check_url("https://api.example.com/hook", &policy).is_ok());
//!
//! let blocked = check_url("http://0x7f.1/", &policy).unwrap_err();
//! assert_eq!(blocked.reason().code(), "loopback");
//!
//! let card = inspect("https://login.com-verify.net/", None);
//! assert_eq!(card.highlight.as_deref(), Some("com-verify.net"));
//! ```

mod policy;
mod reason;

mod check;
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

pub use address::check_address;
pub(crate) use check::passes;
pub use check::{CheckedUrl, Host, check_url};
pub use inspect::inspect;
pub use policy::Policy;
pub use reason::{Blocked, Reason};
pub use redirect::check_redirect;
pub use warning::{Action, Card, Warning};
