//! How long something still takes, as people say it.

use std::time::Duration;

/// A duration in the unit that people use for it.
///
/// It is rounded down, unless less than a quarter of the unit is missing: a question that was just
/// asked with a day to answer has a day left, and not 23 hours.
///
/// ```
/// use std::time::Duration;
/// use entreat_core::RoughTime;
///
/// assert_eq!(RoughTime::from(Duration::from_secs(86_399)), RoughTime::Days(1));
/// assert_eq!(RoughTime::from(Duration::from_secs(2700)), RoughTime::Minutes(45));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoughTime {
    /// One day, or from 42 hours.
    Days(u64),
    /// At least two.
    Hours(u64),
    /// From a minute to an hour and three quarters.
    Minutes(u64),
    /// At most a minute.
    Seconds(u64),
}

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

impl From<Duration> for RoughTime {
    // The script of the page rounds the same way.
    fn from(duration: Duration) -> Self {
        let seconds = u64::try_from(duration.as_millis().div_ceil(1000)).unwrap_or(u64::MAX);
        let rounded = |unit: u64| seconds.saturating_add(unit / 4) / unit;
        if seconds < MINUTE {
            return Self::Seconds(seconds);
        }
        match (rounded(DAY), rounded(HOUR)) {
            (_, 0 | 1) => Self::Minutes(rounded(MINUTE)),
            (_, 24) => Self::Days(1),
            (0 | 1, hours) => Self::Hours(hours),
            (days, _) => Self::Days(days),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_of_a_unit_may_be_missing() {
        for (seconds, expected) in [
            (0, RoughTime::Seconds(0)),
            (59, RoughTime::Seconds(59)),
            (60, RoughTime::Minutes(1)),
            (104, RoughTime::Minutes(1)),
            (105, RoughTime::Minutes(2)),
            (5 * MINUTE - 1, RoughTime::Minutes(5)),
            (HOUR, RoughTime::Minutes(60)),
            (2 * HOUR - 15 * MINUTE - 1, RoughTime::Minutes(105)),
            (2 * HOUR - 15 * MINUTE, RoughTime::Hours(2)),
            (DAY - 15 * MINUTE - 1, RoughTime::Hours(23)),
            (DAY - 15 * MINUTE, RoughTime::Days(1)),
            (DAY + 45 * MINUTE - 1, RoughTime::Days(1)),
            (DAY + HOUR, RoughTime::Hours(25)),
            (2 * DAY - 6 * HOUR, RoughTime::Days(2)),
            (30 * DAY - 1, RoughTime::Days(30)),
        ] {
            let duration = Duration::from_secs(seconds);
            assert_eq!(RoughTime::from(duration), expected, "{seconds}");
        }
        let nearly = Duration::from_millis(599_990);
        assert_eq!(RoughTime::from(nearly), RoughTime::Minutes(10));
        let most = RoughTime::from(Duration::MAX);
        assert!(matches!(most, RoughTime::Days(_)), "{most:?}");
    }
}
