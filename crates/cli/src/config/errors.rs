//! Collects all errors of a configuration.

use std::fmt;

use super::origin::Origin;
use crate::output;

/// The errors of a configuration, in file order.
#[derive(Debug, Default)]
pub(crate) struct ConfigErrors(Vec<ConfigError>);

/// One error.
#[derive(Debug)]
struct ConfigError {
    origin: Origin,
    /// The setting; empty if it is not about one.
    name: String,
    message: String,
}

impl ConfigErrors {
    /// Reports a setting with an invalid value, and what would be valid.
    pub(super) fn reject(&mut self, origin: &Origin, name: &str, refused: &str) {
        let message = format!("`{name}` is invalid: {refused}");
        self.push(origin, name, &message);
    }

    /// Reports any other error at a place.
    pub(super) fn report(&mut self, origin: &Origin, message: impl fmt::Display) {
        self.push(origin, "", message);
    }

    /// Reports an error whose message names its place.
    pub(super) fn report_error(&mut self, error: &anyhow::Error) {
        self.0.push(ConfigError {
            origin: Origin::Default,
            name: String::new(),
            message: format!("{error:#}"),
        });
    }

    fn push(&mut self, origin: &Origin, name: &str, message: impl fmt::Display) {
        let place = origin.to_string();
        self.0.push(ConfigError {
            origin: origin.clone(),
            name: name.to_owned(),
            message: format!("{}: {message}", output::sanitize(&place)),
        });
    }

    /// Whether a setting with this prefix was rejected. Settings that depend on it are not checked
    /// then.
    pub(super) fn has_rejected(&self, prefix: &str) -> bool {
        let mut errors = self.0.iter();
        errors.any(|error| error.name.starts_with(prefix))
    }

    /// Fails if there are errors.
    pub(super) fn check(mut self) -> Result<(), Self> {
        if self.0.is_empty() {
            return Ok(());
        }
        let position = |error: &ConfigError| (error.origin.source(), error.origin.line());
        self.0.sort_by_key(position);
        Err(self)
    }

    /// Returns the error messages.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|error| error.message.as_str())
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [one] = &*self.0 {
            return f.write_str(&one.message);
        }
        write!(f, "{} problems with the settings", self.0.len())?;
        for message in self.iter() {
            write!(f, "\n  {message}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}
