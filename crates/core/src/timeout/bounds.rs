//! The bounds of timeouts, and the terms that a requested timeout resolves to.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Extensions, MAX_EXTENSIONS, Timeout};
use crate::mode::Mode;

/// The default minimum of timeouts and extensions, in milliseconds.
pub(super) const MINIMUM: u32 = 1_000;
/// The minimum time between warning and deadline, in milliseconds, if the timeout allows it:
/// what WCAG 2.2.1 grants a person to ask for an extension.
const MIN_WARNING: u32 = 20_000;

/// The default, minimum and maximum timeout of one mode. The default is within the bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeoutBounds {
    default: u32,
    minimum: u32,
    maximum: u32,
}

/// The error for bounds that are invalid or do not contain the default.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a default timeout of {default} ms does not lie within {minimum} to {maximum} ms, \
     or these are no bounds between 1 ms and 49 days"
)]
pub struct InvalidBounds {
    default: u128,
    minimum: u128,
    maximum: u128,
}

impl TimeoutBounds {
    /// Creates bounds. Fails if the default is not within them.
    pub fn new(
        default: Duration,
        minimum: Duration,
        maximum: Duration,
    ) -> Result<Self, InvalidBounds> {
        let invalid = || InvalidBounds {
            default: default.as_millis(),
            minimum: minimum.as_millis(),
            maximum: maximum.as_millis(),
        };
        let read = |duration: Duration| u32::try_from(duration.as_millis()).map_err(|_| invalid());
        let bounds = Self {
            default: read(default)?,
            minimum: read(minimum)?,
            maximum: read(maximum)?,
        };
        let is_valid = bounds.minimum > 0
            && bounds.minimum <= bounds.default
            && bounds.default <= bounds.maximum;
        if is_valid { Ok(bounds) } else { Err(invalid()) }
    }

    const fn of_mode(mode: Mode) -> Self {
        let (default, maximum) = match mode {
            Mode::Inline => (30_000, 300_000),
            Mode::Form | Mode::Url => (300_000, 300_000),
            Mode::Terminal => (600_000, 600_000),
        };
        Self {
            default,
            minimum: MINIMUM,
            maximum,
        }
    }

    /// The default timeout, in milliseconds.
    pub fn default_ms(&self) -> u64 {
        self.default.into()
    }

    /// The minimum timeout, in milliseconds.
    pub fn min_ms(&self) -> u64 {
        self.minimum.into()
    }

    /// The maximum timeout, in milliseconds.
    pub fn max_ms(&self) -> u64 {
        self.maximum.into()
    }
}

/// The timeouts that may be requested in each mode. A setting of the host and of each asker.
///
/// ```
/// use entreat_core::{Mode, TimeoutPolicy};
/// use serde_json::json;
///
/// let policy = TimeoutPolicy::default();
/// let error = policy.read(Mode::Form, &json!(500)).unwrap_err();
/// assert_eq!(error.kind(), "timeout_too_small");
/// assert_eq!(error.to_string(), "`timeout` is 500 ms, below the minimum of 1000 ms");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeoutPolicy {
    inline: Rules,
    form: Rules,
    url: Rules,
    terminal: Rules,
}

/// The policy of one mode.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rules {
    bounds: TimeoutBounds,
    extensions: Extensions,
}

impl Rules {
    fn of_mode(mode: Mode) -> Self {
        Self {
            bounds: TimeoutBounds::of_mode(mode),
            extensions: Extensions::default(),
        }
    }
}

impl Default for TimeoutPolicy {
    fn default() -> Self {
        Self {
            inline: Rules::of_mode(Mode::Inline),
            form: Rules::of_mode(Mode::Form),
            url: Rules::of_mode(Mode::Url),
            terminal: Rules::of_mode(Mode::Terminal),
        }
    }
}

impl TimeoutPolicy {
    /// The bounds of a mode.
    pub fn bounds(&self, mode: Mode) -> &TimeoutBounds {
        &self.rules(mode).bounds
    }

    /// Sets the bounds of a mode.
    pub fn set_bounds(&mut self, mode: Mode, bounds: TimeoutBounds) {
        self.rules_mut(mode).bounds = bounds;
    }

    /// The default extensions of a mode.
    pub fn extensions(&self, mode: Mode) -> &Extensions {
        &self.rules(mode).extensions
    }

    /// Sets the default extensions of a mode.
    pub fn set_extensions(&mut self, mode: Mode, extensions: Extensions) {
        self.rules_mut(mode).extensions = extensions;
    }

    fn rules(&self, mode: Mode) -> &Rules {
        match mode {
            Mode::Inline => &self.inline,
            Mode::Form => &self.form,
            Mode::Url => &self.url,
            Mode::Terminal => &self.terminal,
        }
    }

    fn rules_mut(&mut self, mode: Mode) -> &mut Rules {
        match mode {
            Mode::Inline => &mut self.inline,
            Mode::Form => &mut self.form,
            Mode::Url => &mut self.url,
            Mode::Terminal => &mut self.terminal,
        }
    }

    /// Whether the bounds of a mode are the built-in ones.
    pub fn is_default(&self, mode: Mode) -> bool {
        *self.bounds(mode) == TimeoutBounds::of_mode(mode)
    }

    /// Reads the `timeout` of a request: a whole number of milliseconds, or an object.
    ///
    /// Fails if a value is invalid or outside the bounds.
    pub fn read(&self, mode: Mode, value: &Value) -> Result<Timeout, TimeoutError> {
        let bounds = self.bounds(mode);
        let invalid = |key: &'static str, requested: Value| TimeoutError::Invalid {
            key,
            requested,
            minimum: bounds.min_ms(),
            maximum: bounds.max_ms(),
        };
        let count = |key: &'static str, value: &Value, at_least: u64| {
            let number = value.as_u64().filter(|number| *number >= at_least);
            number.ok_or_else(|| invalid(key, value.clone()))
        };
        let mut timeout = Timeout::default();
        let Some(members) = value.as_object() else {
            timeout.initial = Some(count("timeout", value, 1)?);
            self.terms(mode, timeout)?;
            return Ok(timeout);
        };
        for (key, value) in members {
            match key.as_str() {
                "initial_timeout" => timeout.initial = Some(count("initial_timeout", value, 1)?),
                "extension_duration" => {
                    timeout.extension_duration = Some(count("extension_duration", value, 1)?);
                }
                "max_extensions" => {
                    timeout.max_extensions = Some(count("max_extensions", value, 0)?);
                }
                "warn_before" => timeout.warn_before = Some(count("warn_before", value, 1)?),
                "extension_allowed" if value.is_boolean() => {
                    timeout.extension_allowed = value.as_bool();
                }
                other => {
                    let requested = Value::from(format!("{other}: {value}"));
                    return Err(invalid("timeout", requested));
                }
            }
        }
        self.terms(mode, timeout)?;
        Ok(timeout)
    }

    /// Resolves a requested timeout to terms, with defaults for absent values.
    ///
    /// Fails if a value is outside the bounds.
    pub fn terms(&self, mode: Mode, request: Timeout) -> Result<Terms, TimeoutError> {
        let Rules { bounds, extensions } = self.rules(mode);
        let initial = request.initial.unwrap_or(bounds.default_ms());
        let within =
            |key, requested, minimum, maximum| within(mode, key, requested, minimum, maximum);
        let initial = within("timeout", initial, bounds.min_ms(), bounds.max_ms())?;
        let extension = match request.extension_duration {
            Some(asked) => within(
                "extension_duration",
                asked,
                MINIMUM.into(),
                bounds.max_ms().max(MINIMUM.into()),
            )?,
            None => clamp(crate::time::millis(extensions.duration()).min(bounds.max_ms())),
        };
        let max_extensions = match request.max_extensions {
            Some(asked) => within("max_extensions", asked, 0, MAX_EXTENSIONS)?,
            None => extensions.max().into(),
        };
        let warn_before = match request.warn_before {
            Some(asked) => within(
                "warn_before",
                asked,
                1,
                u64::from(initial.saturating_sub(1)),
            )?,
            None => clamp(crate::time::millis(extensions.warn_before())),
        };
        Ok(Terms {
            initial,
            extension,
            warning: warning_lead(initial, warn_before),
            max_extensions: u8::try_from(max_extensions).unwrap_or(u8::MAX),
            extension_allowed: request.extension_allowed.unwrap_or(extensions.allowed()),
        })
    }
}

fn within(
    mode: Mode,
    key: &'static str,
    requested: u64,
    minimum: u64,
    maximum: u64,
) -> Result<u32, TimeoutError> {
    if requested < minimum {
        return Err(TimeoutError::TooSmall {
            mode,
            key,
            requested,
            minimum,
        });
    }
    if requested > maximum {
        return Err(TimeoutError::TooLarge {
            mode,
            key,
            requested,
            maximum,
        });
    }
    Ok(clamp(requested))
}

/// Converts to `u32`. Saturates, but values within bounds always fit.
fn clamp(millis: u64) -> u32 {
    u32::try_from(millis).unwrap_or(u32::MAX)
}

/// The time between warning and deadline (spec 3.3).
fn warning_lead(timeout: u32, warn_before: u32) -> u32 {
    let lead = if u64::from(timeout) < 2 * u64::from(warn_before) {
        timeout / 2
    } else {
        warn_before
    };
    if timeout > MIN_WARNING {
        lead.max(MIN_WARNING)
    } else {
        lead
    }
}

/// Why a requested timeout is rejected.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TimeoutError {
    /// A value is below the minimum.
    #[error("`{key}` is {requested}{u}, below the minimum of {minimum}{u}", u = unit(key))]
    TooSmall {
        /// The mode of the question.
        mode: Mode,
        /// The key of the value.
        key: &'static str,
        /// The requested value.
        requested: u64,
        /// The minimum.
        minimum: u64,
    },
    /// A value is above the maximum.
    #[error("`{key}` is {requested}{u}, above the maximum of {maximum}{u}", u = unit(key))]
    TooLarge {
        /// The mode of the question.
        mode: Mode,
        /// The key of the value.
        key: &'static str,
        /// The requested value.
        requested: u64,
        /// The maximum.
        maximum: u64,
    },
    /// A value is not a whole, positive number.
    #[error(
        "`{key}` must be a whole number, and a timeout one of {minimum} to {maximum} ms; \
         {requested} is not"
    )]
    Invalid {
        /// The key of the value.
        key: &'static str,
        /// The requested value.
        requested: Value,
        /// The minimum timeout.
        minimum: u64,
        /// The maximum timeout.
        maximum: u64,
    },
}

fn unit(key: &str) -> &'static str {
    if key == "max_extensions" { "" } else { " ms" }
}

impl TimeoutError {
    /// The bound that rejects the value and that a service can set for itself and for each asker,
    /// such as `timeouts.form.max`; `None` if it is fixed or follows from the request.
    pub fn setting(&self) -> Option<String> {
        let (mode, key, bound) = match self {
            Self::TooSmall { mode, key, .. } => (mode, *key, "min"),
            Self::TooLarge { mode, key, .. } => (mode, *key, "max"),
            Self::Invalid { .. } => return None,
        };
        let is_bounded = match key {
            "timeout" => true,
            "extension_duration" => bound == "max",
            _ => false,
        };
        is_bounded.then(|| format!("timeouts.{}.{bound}", mode.as_str()))
    }

    /// The kind of the error, as it appears on the wire and in metrics.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::TooSmall { .. } => "timeout_too_small",
            Self::TooLarge { .. } => "timeout_too_large",
            Self::Invalid { .. } => "invalid_timeout",
        }
    }
}

/// The timeout terms of one elicitation, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    pub(crate) initial: u32,
    pub(crate) extension: u32,
    /// The time between warning and deadline.
    pub(crate) warning: u32,
    pub(crate) max_extensions: u8,
    pub(crate) extension_allowed: bool,
}

impl Terms {
    /// The time to answer before any extension.
    pub fn initial(&self) -> Duration {
        Duration::from_millis(self.initial.into())
    }

    /// The maximum duration of one extension.
    pub fn extension(&self) -> Duration {
        Duration::from_millis(self.extension.into())
    }

    /// The time between warning and deadline.
    pub fn warning(&self) -> Duration {
        Duration::from_millis(self.warning.into())
    }

    /// The maximum number of extensions; 0 unless extensions are allowed.
    pub fn max_extensions(&self) -> u8 {
        if self.extension_allowed {
            self.max_extensions
        } else {
            0
        }
    }

    /// Whether the deadline can be extended.
    pub fn extension_allowed(&self) -> bool {
        self.extension_allowed
    }
}

#[cfg(test)]
mod tests;
