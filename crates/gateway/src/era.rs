//! Which versions an upstream is spoken to in, if not the newest that it shares with the client.

use std::collections::HashSet;

use memchr::memmem;
use parking_lot::Mutex;

use crate::json::{RawObject, quoted};
use crate::reply::{code, error_code};
use crate::session::{Pair, Session};

/// How servers of the Python SDK refuse to push a question to a client of 2026-07-28, though they
/// speak that version otherwise.
const NO_BACK_CHANNEL: &str = "no back-channel for server-initiated requests";
/// What helps the person who reads the error.
const REMEDY: &str = "This server asks as in 2025-11-25, and was spoken to in 2026-07-28. Have \
                      Entreat speak 2025-11-25 to it: `entreat wrap --era legacy`, or `era = \
                      \"legacy\"` in its [[upstream]] table";
/// The maximum number of upstreams of which is remembered that they ask as in 2025.
const MAX_LEARNED: usize = 1_000;

/// Which versions an upstream is spoken to in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UpstreamEra {
    /// That of the client, if the upstream has it.
    #[default]
    Auto,
    /// 2025-11-25 or older, whatever the client speaks.
    Legacy,
}

/// Whether a server could not ask because it was spoken to in 2026-07-28.
fn has_no_back_channel(error: &str) -> bool {
    error_code(error) == Some(i64::from(code::INVALID_REQUEST))
        && memmem::find(error.as_bytes(), NO_BACK_CHANNEL.as_bytes()).is_some()
}

/// Such an error with what helps; `is_learned` says that it helps by itself from the next call on.
fn with_remedy(error: &str, is_learned: bool) -> Option<String> {
    let mut error = RawObject::parse(error)?;
    let message = error.string("message")?;
    let then = if is_learned {
        "; from the next call on, it does so by itself"
    } else {
        ""
    };
    error.set("message", quoted(&format!("{message} {REMEDY}{then}.")));
    Some(error.to_string())
}

/// The upstreams, by name, that ask as in 2025 although they speak 2026-07-28.
#[derive(Debug, Default)]
pub(crate) struct LegacyAskers(Mutex<HashSet<String>>);

impl LegacyAskers {
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.lock().contains(name)
    }

    pub(crate) fn note(&self, name: &str) {
        let mut names = self.0.lock();
        if names.len() < MAX_LEARNED {
            names.insert(name.to_owned());
        }
    }

    /// Forgets an upstream that does not speak any version of 2025.
    pub(crate) fn forget(&self, name: &str) {
        self.0.lock().remove(name);
    }
}

impl Session {
    /// Which eras the next request of the client is for. An upstream over HTTP that could not ask in
    /// 2026-07-28 gets a handshake of 2025 for it, once no other request is open.
    pub(crate) fn pair_of_next(&self) -> Pair {
        let mut state = self.state.lock();
        if state.pair == Pair::Modern
            && self.upstream_url.is_some()
            && state.is_idle()
            && self.gateway.legacy_askers.has(&self.fallback_name)
        {
            state.pair = Pair::Undecided;
        }
        state.pair
    }

    /// Whether a new connection would be spoken to in 2025: a process takes one handshake.
    pub(crate) fn is_outdated(&self) -> bool {
        self.upstream_url.is_none()
            && self.state.lock().pair == Pair::Modern
            && self.gateway.legacy_askers.has(&self.fallback_name)
    }

    /// Says what helps against the error of a server that could not ask, and learns from it.
    pub(crate) fn with_remedy(&self, error: &str) -> Option<String> {
        let pair = self.state.lock().pair;
        if pair != Pair::Modern || !has_no_back_channel(error) {
            return None;
        }
        if self.era == UpstreamEra::Auto {
            self.gateway.legacy_askers.note(&self.fallback_name);
        }
        // The process of the only client takes no second handshake.
        let has_next = self.upstream_url.is_some() || !self.client.is_alone();
        let explained = with_remedy(error, has_next)?;
        self.warn("the server cannot ask in 2026-07-28", &explained);
        Some(explained)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_error_of_a_server_that_cannot_ask_gets_the_remedy() {
        let error = r#"{"code":-32600,"message":"Cannot send 'elicitation/create': this transport context has no back-channel for server-initiated requests.","data":1.0}"#;
        assert!(has_no_back_channel(error));
        let explained = with_remedy(error, false).unwrap();
        assert!(
            explained.contains("entreat wrap --era legacy"),
            "{explained}"
        );
        assert!(explained.ends_with(r#""data":1.0}"#), "{explained}");
        assert!(!has_no_back_channel(r#"{"code":-32600,"message":"no"}"#));
        assert!(!has_no_back_channel(&error.replace("-32600", "-32603")));
    }
}
