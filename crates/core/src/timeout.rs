//! The `timeout` of a definition.
//!
//! Reading a definition checks the shape only. The bounds are settings per mode and asker, which
//! [`TimeoutPolicy`] applies when a form is asked.

mod bounds;
mod extensions;

use serde_json::Value;

pub use bounds::{InvalidBounds, Terms, TimeoutBounds, TimeoutError, TimeoutPolicy};
pub use extensions::{Extensions, InvalidExtensions};

use crate::form::reader::Reader;
use crate::problem::ProblemCode;

/// The timeout settings of a definition, in milliseconds. Absent values take defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timeout {
    /// `initial_timeout`.
    pub initial: Option<u64>,
    /// `extension_allowed`.
    pub extension_allowed: Option<bool>,
    /// `extension_duration`.
    pub extension_duration: Option<u64>,
    /// `max_extensions`.
    pub max_extensions: Option<u64>,
    /// `warn_before`.
    pub warn_before: Option<u64>,
}

const KEYS: &[&str] = &[
    "initial_timeout",
    "extension_allowed",
    "extension_duration",
    "max_extensions",
    "warn_before",
];

/// The maximum of `max_extensions`.
const MAX_EXTENSIONS: u64 = 100;

impl Timeout {
    /// Fills in absent values from `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            initial: self.initial.or(other.initial),
            extension_allowed: self.extension_allowed.or(other.extension_allowed),
            extension_duration: self.extension_duration.or(other.extension_duration),
            max_extensions: self.max_extensions.or(other.max_extensions),
            warn_before: self.warn_before.or(other.warn_before),
        }
    }

    /// Creates a timeout with this initial duration and defaults for the rest.
    pub fn of(initial: std::time::Duration) -> Self {
        Self {
            initial: Some(crate::time::millis(initial)),
            ..Self::default()
        }
    }

    /// Reads a whole number of milliseconds, or an object.
    pub(crate) fn read<'v>(reader: &mut Reader<'v>, value: &'v Value) -> Self {
        let Some(object) = value.as_object() else {
            let initial = value.as_u64().filter(|ms| *ms > 0);
            if initial.is_none() {
                let message = "A timeout is a whole number of milliseconds above 0, or an object.";
                reader.report(ProblemCode::BadValue, message);
            }
            return Self {
                initial,
                ..Self::default()
            };
        };
        reader.check_keys(object, KEYS);
        let positive = |reader: &mut Reader<'v>, key: &'v str| {
            let ms = reader.count_at(object, key);
            if ms == Some(0) {
                let message = format!("`{key}` must be above 0 milliseconds.");
                reader.report_at(key, ProblemCode::BadValue, message);
            }
            ms
        };
        let timeout = Self {
            initial: positive(reader, "initial_timeout"),
            extension_allowed: reader.flag_at(object, "extension_allowed"),
            extension_duration: positive(reader, "extension_duration"),
            max_extensions: reader.count_at(object, "max_extensions"),
            warn_before: positive(reader, "warn_before"),
        };
        if timeout
            .max_extensions
            .is_some_and(|max| max > MAX_EXTENSIONS)
        {
            let message = format!("`max_extensions` is at most {MAX_EXTENSIONS}.");
            reader.report_at("max_extensions", ProblemCode::BadValue, message);
        }
        if let (Some(initial), Some(warn)) = (timeout.initial, timeout.warn_before)
            && warn >= initial
        {
            let message = "`warn_before` must be below `initial_timeout`.";
            reader.report_at("warn_before", ProblemCode::Contradiction, message);
        }
        timeout
    }
}
