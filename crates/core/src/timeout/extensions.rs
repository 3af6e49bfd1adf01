//! What holds for extensions and warnings when an asker does not say.

use std::time::Duration;

use super::MAX_EXTENSIONS;
use super::bounds::MINIMUM;

/// The extensions and the warning of one mode, where the asker does not say otherwise.
///
/// ```
/// use std::time::Duration;
///
/// use entreat_core::{Extensions, Mode, TimeoutPolicy};
///
/// let mut policy = TimeoutPolicy::default();
/// // What WCAG 2.2.1 asks for.
/// policy.set_extensions(Mode::Form, Extensions::default().with_max(10)?);
/// assert_eq!(policy.extensions(Mode::Form).max(), 10);
/// assert_eq!(policy.extensions(Mode::Url).max(), 2);
/// assert!(Extensions::default().with_duration(Duration::ZERO).is_err());
/// # Ok::<(), entreat_core::BadExtensions>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extensions {
    allowed: bool,
    duration: Duration,
    max: u8,
    warn_before: Duration,
}

/// Extensions that nobody could be granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadExtensions {
    /// Too short to be of use.
    #[error("an extension takes at least {MINIMUM} ms")]
    TooShort,
    /// More than anybody is granted.
    #[error("there are at most {MAX_EXTENSIONS} extensions")]
    TooMany,
    /// A warning at the end is none.
    #[error("a warning comes more than 0 ms before the end")]
    NoWarning,
}

impl Default for Extensions {
    fn default() -> Self {
        Self {
            allowed: true,
            duration: Duration::from_secs(300),
            max: 2,
            warn_before: Duration::from_secs(60),
        }
    }
}

impl Extensions {
    /// Whether time can be extended.
    #[must_use]
    pub fn with_allowed(self, allowed: bool) -> Self {
        Self { allowed, ..self }
    }

    /// How long an extension is; never longer than the longest timeout of the mode.
    pub fn with_duration(self, duration: Duration) -> Result<Self, BadExtensions> {
        if duration < Duration::from_millis(MINIMUM.into()) {
            return Err(BadExtensions::TooShort);
        }
        Ok(Self { duration, ..self })
    }

    /// How often time can be extended.
    pub fn with_max(self, max: u8) -> Result<Self, BadExtensions> {
        if u64::from(max) > MAX_EXTENSIONS {
            return Err(BadExtensions::TooMany);
        }
        Ok(Self { max, ..self })
    }

    /// How long before the end a warning goes out.
    pub fn with_warn_before(self, warn_before: Duration) -> Result<Self, BadExtensions> {
        if warn_before.is_zero() {
            return Err(BadExtensions::NoWarning);
        }
        Ok(Self {
            warn_before,
            ..self
        })
    }

    /// Whether time can be extended.
    pub fn allowed(&self) -> bool {
        self.allowed
    }

    /// How long an extension is.
    pub fn duration(&self) -> Duration {
        self.duration
    }

    /// How often time can be extended, if it can be.
    pub fn max(&self) -> u8 {
        self.max
    }

    /// How long before the end a warning goes out.
    pub fn warn_before(&self) -> Duration {
        self.warn_before
    }
}
