//! Log lines about what is refused: blocked URLs and exceeded limits.
//!
//! One line per asker and kind in some seconds, because whoever is refused may try again at once.

use std::sync::Arc;

use entreat_core::UnixTime;
use tracing::Level;

use crate::error::AskError;
use crate::log_throttle::LogThrottle;
use crate::resolver::UrlError;

/// Why something was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Url(UrlUse),
    Limit(&'static str),
}

/// What a blocked URL was to be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum UrlUse {
    /// A person was to open it, or the outcome was to be posted there.
    Question,
    /// It was about to receive an outcome.
    Callback,
    /// It is an answer.
    Answer,
}

/// Writes the lines.
#[derive(Default)]
pub(crate) struct Refusals(LogThrottle<(Arc<str>, Kind)>);

impl Refusals {
    /// An asker's URL was blocked.
    pub(crate) fn url(&self, asker: &Arc<str>, of: UrlUse, error: &UrlError, now: UnixTime) {
        let Some(count) = self.count(asker, Kind::Url(of), now) else {
            return;
        };
        let asker = &**asker;
        // Never the URL: it may contain a secret.
        let (host, reason) = (error.host(), error.code());
        match of {
            UrlUse::Question => tracing::warn!(asker, host, reason, count, "a URL was blocked"),
            UrlUse::Callback => tracing::warn!(asker, host, reason, count, "a callback failed"),
            UrlUse::Answer => {
                tracing::warn!(asker, host, reason, count, "a URL in an answer was blocked");
            }
        }
    }

    /// An asker exceeded the limit of this name.
    pub(crate) fn limit(&self, asker: &Arc<str>, limit: &'static str, now: UnixTime) {
        if let Some(count) = self.count(asker, Kind::Limit(limit), now) {
            let asker = &**asker;
            tracing::warn!(asker, limit, count, "a limit was reached");
        }
    }

    /// A question was not admitted.
    pub(crate) fn not_admitted(&self, asker: &Arc<str>, error: &AskError, now: UnixTime) {
        match error {
            AskError::RateLimited { .. } => self.limit(asker, "creations_per_minute", now),
            AskError::TooManyLive { .. } => self.limit(asker, "live", now),
            AskError::TooLarge { .. } => self.limit(asker, "answer_bytes", now),
            // Mistakes of one request, and failures that are logged where they occur.
            AskError::Timeout(_)
            | AskError::SizeLimit { .. }
            | AskError::UnsafeUrl(_)
            | AskError::NoCallbacks
            | AskError::Store(_) => {}
        }
    }

    fn count(&self, asker: &Arc<str>, kind: Kind, now: UnixTime) -> Option<u64> {
        if !tracing::enabled!(Level::WARN) {
            return None;
        }
        self.0.count((asker.clone(), kind), now)
    }
}
