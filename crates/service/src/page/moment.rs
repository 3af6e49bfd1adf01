//! Points in time as people read them.

use entreat_core::UnixTime;
use entreat_core::jiff::Timestamp;

use super::calendar::readable;
use super::texts::Texts;

/// A point in time for a `time` element. The script shows it in the browser's time zone, which the
/// service doesn't know.
pub(super) struct Moment {
    /// In RFC 3339, in UTC.
    pub(super) exact: String,
    /// As the language writes it, in UTC.
    pub(super) shown: String,
}

impl Moment {
    pub(super) fn new(at: UnixTime, texts: &Texts) -> Self {
        let seconds = i64::try_from(at.as_millis() / 1000).unwrap_or(i64::MAX);
        let exact = Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX);
        let exact = exact.to_string();
        let shown = readable(&exact, texts);
        Self {
            shown: shown.unwrap_or_else(|| exact.clone()),
            exact,
        }
    }
}
