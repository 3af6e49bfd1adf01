//! The defaults of extensions and warnings.

use std::time::Duration;

use super::MAX_EXTENSIONS;
use super::bounds::MINIMUM;

/// The default extensions and warning of one mode. Askers may request others.
///
/// ```
/// use std::time::Duration;
///
/// use entreat_core::{Extensions, Mode, TimeoutPolicy};
///
/// let mut policy = TimeoutPolicy::default();
/// // What WCAG 2.2.1 requires.
/// policy.set_extensions(Mode::Form, Extensions::default().with_max(10)?);
/// assert_eq!(policy.extensions(Mode::Form).max(), 10);
/// assert_eq!(policy.extensions(Mode::Url).max(), 2);
/// assert!(Extensions::default().with_duration(Duration::ZERO).is_err());
/// # Ok::<(), entreat_core::InvalidExtensions>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extensions {
    allowed: bool,
    duration: Duration,
    max: u8,
    warn_before: Duration,
}

/// Why extensions are invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidExtensions {
    /// The duration is below the minimum.
    #[error("an extension takes at least {MINIMUM} ms")]
    TooShort,
    /// The number is above the maximum.
    #[error("there are at most {MAX_EXTENSIONS} extensions")]
    TooMany,
    /// The warning would be sent at the deadline.
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
    /// Sets whether the deadline can be extended.
    #[must_use]
    pub fn with_allowed(self, allowed: bool) -> Self {
        Self { allowed, ..self }
    }

    /// Sets the duration of an extension, which is capped at the maximum timeout of the mode.
    pub fn with_duration(self, duration: Duration) -> Result<Self, InvalidExtensions> {
        if duration < Duration::from_millis(MINIMUM.into()) {
            return Err(InvalidExtensions::TooShort);
        }
        Ok(Self { duration, ..self })
    }

    /// Sets the maximum number of extensions.
    pub fn with_max(self, max: u8) -> Result<Self, InvalidExtensions> {
        if u64::from(max) > MAX_EXTENSIONS {
            return Err(InvalidExtensions::TooMany);
        }
        Ok(Self { max, ..self })
    }

    /// Sets the time between warning and deadline.
    pub fn with_warn_before(self, warn_before: Duration) -> Result<Self, InvalidExtensions> {
        if warn_before.is_zero() {
            return Err(InvalidExtensions::NoWarning);
        }
        Ok(Self {
            warn_before,
            ..self
        })
    }

    /// Whether the deadline can be extended.
    pub fn allowed(&self) -> bool {
        self.allowed
    }

    /// The duration of an extension.
    pub fn duration(&self) -> Duration {
        self.duration
    }

    /// The maximum number of extensions, if they are allowed.
    pub fn max(&self) -> u8 {
        self.max
    }

    /// The time between warning and deadline.
    pub fn warn_before(&self) -> Duration {
        self.warn_before
    }
}
