//! The rules of an asker: from its own table, or from the common settings.

use std::time::Duration;

use entreat::core::{Extensions, TimeoutBounds, TimeoutPolicy};
use entreat::{AskerSettings, Limits, Mode};

use super::value::{self, Rejection};

/// The rules of an asker, before they are checked together.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(super) limits: Limits,
    pub(super) retry_limit: u8,
    pub(super) size_limit: u32,
    timeouts: [ModeTimeouts; Mode::ALL.len()],
}

/// The configured timeouts of a mode; `None` is the built-in value.
#[derive(Clone, Copy, Debug)]
pub(super) struct ModeTimeouts {
    mode: Mode,
    pub(super) default: Option<Duration>,
    pub(super) min: Option<Duration>,
    pub(super) max: Option<Duration>,
    pub(super) extension_allowed: Option<bool>,
    pub(super) extension_duration: Option<Duration>,
    pub(super) max_extensions: Option<u8>,
    pub(super) warn_before: Option<Duration>,
}

/// Settings that contradict each other.
#[derive(Debug)]
pub(super) struct Contradiction {
    mode: Mode,
    /// The setting, or the common prefix of the settings.
    pub(super) name: String,
    pub(super) rejection: Rejection,
}

impl Contradiction {
    /// Returns the common prefix of the mode's settings.
    pub(super) fn mode_name(&self) -> String {
        format!("timeouts.{}", self.mode.as_str())
    }
}

impl ModeTimeouts {
    fn of(mode: Mode) -> Self {
        Self {
            mode,
            default: None,
            min: None,
            max: None,
            extension_allowed: None,
            extension_duration: None,
            max_extensions: None,
            warn_before: None,
        }
    }

    fn built_in(self, value: fn(&TimeoutBounds) -> u64) -> Duration {
        Duration::from_millis(value(TimeoutPolicy::default().bounds(self.mode)))
    }

    pub(super) fn min(self) -> Duration {
        let built_in = || self.built_in(TimeoutBounds::min_ms);
        self.min.unwrap_or_else(built_in)
    }

    pub(super) fn max(self) -> Duration {
        let built_in = || self.built_in(TimeoutBounds::max_ms);
        self.max.unwrap_or_else(built_in)
    }

    /// Returns the default; without a configured one, the built-in value within the bounds.
    pub(super) fn default(self) -> Duration {
        let built_in = || {
            let default = self.built_in(TimeoutBounds::default_ms);
            default.min(self.max()).max(self.min())
        };
        self.default.unwrap_or_else(built_in)
    }

    pub(super) fn extension_allowed(self) -> bool {
        let built_in = || Extensions::default().allowed();
        self.extension_allowed.unwrap_or_else(built_in)
    }

    /// Returns the duration; without a configured one, at most the longest timeout.
    pub(super) fn extension_duration(self) -> Duration {
        let built_in = || Extensions::default().duration().min(self.max());
        self.extension_duration.unwrap_or_else(built_in)
    }

    pub(super) fn max_extensions(self) -> u8 {
        let built_in = || Extensions::default().max();
        self.max_extensions.unwrap_or_else(built_in)
    }

    pub(super) fn warn_before(self) -> Duration {
        let built_in = || Extensions::default().warn_before();
        self.warn_before.unwrap_or_else(built_in)
    }

    fn bounds(self) -> Result<TimeoutBounds, Contradiction> {
        let bounds = TimeoutBounds::new(self.default(), self.min(), self.max());
        bounds.map_err(|error| self.contradiction("", error.to_string()))
    }

    /// Applies the settings one by one, so that every contradiction is found.
    fn extensions(self, found: &mut Vec<Contradiction>) -> Extensions {
        let start = Extensions::default().with_allowed(self.extension_allowed());
        let mut take = |setting: &str, read: Result<Extensions, Rejection>, before: Extensions| {
            read.unwrap_or_else(|rejection| {
                found.push(self.contradiction(setting, rejection));
                before
            })
        };
        let (max, default) = (self.max(), self.default());
        let with_duration = match self.extension_duration {
            Some(duration) if duration > max => Err(format!(
                "it must be at most the longest timeout, {}",
                value::shown(max)
            )),
            Some(duration) => start.with_duration(duration).map_err(|bad| bad.to_string()),
            None => Ok(start),
        };
        let extensions = take(".extension_duration", with_duration, start);
        let with_warning = match self.warn_before {
            Some(warn_before) if warn_before >= default => Err(format!(
                "it must be below the default timeout, {}",
                value::shown(default)
            )),
            Some(warn_before) => {
                let read = extensions.with_warn_before(warn_before);
                read.map_err(|bad| bad.to_string())
            }
            None => Ok(extensions),
        };
        let extensions = take(".warn_before", with_warning, extensions);
        let with_max = extensions.with_max(self.max_extensions());
        let with_max = with_max.map_err(|bad| bad.to_string());
        take(".max_extensions", with_max, extensions)
    }

    fn contradiction(self, setting: &str, rejection: Rejection) -> Contradiction {
        Contradiction {
            mode: self.mode,
            name: format!("timeouts.{}{setting}", self.mode.as_str()),
            rejection,
        }
    }
}

impl Default for Rules {
    fn default() -> Self {
        let settings = AskerSettings::default();
        Self {
            limits: settings.limits,
            retry_limit: settings.retry_limit,
            size_limit: settings.size_limit,
            timeouts: Mode::ALL.map(ModeTimeouts::of),
        }
    }
}

impl Rules {
    pub(super) fn timeouts(&self, mode: Mode) -> ModeTimeouts {
        let found = self.timeouts.iter().find(|timeouts| timeouts.mode == mode);
        found.copied().unwrap_or_else(|| ModeTimeouts::of(mode))
    }

    pub(super) fn timeouts_mut(&mut self, mode: Mode) -> &mut ModeTimeouts {
        let index = self
            .timeouts
            .iter()
            .position(|timeouts| timeouts.mode == mode);
        &mut self.timeouts[index.unwrap_or_default()]
    }

    /// Builds the settings. Fails with all contradictions.
    pub(super) fn settings(&self) -> Result<AskerSettings, Vec<Contradiction>> {
        let mut settings = AskerSettings {
            limits: self.limits.clone(),
            retry_limit: self.retry_limit,
            size_limit: self.size_limit,
            ..AskerSettings::default()
        };
        let mut contradictions = Vec::new();
        for timeouts in self.timeouts {
            match timeouts.bounds() {
                Ok(bounds) => {
                    let extensions = timeouts.extensions(&mut contradictions);
                    settings.timeouts.set_bounds(timeouts.mode, bounds);
                    settings.timeouts.set_extensions(timeouts.mode, extensions);
                }
                // Extensions depend on the bounds, so they are not checked.
                Err(found) => contradictions.push(found),
            }
        }
        if contradictions.is_empty() {
            Ok(settings)
        } else {
            Err(contradictions)
        }
    }
}
