//! Logging to stderr: filter and format.

use std::fmt;
use std::str::FromStr;

use anyhow::anyhow;
use entreat_core::closest;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::config::LogFormat;
use crate::telemetry::Telemetry;

const LEVELS: &[&str] = &["off", "error", "warn", "info", "debug", "trace"];

/// The log filter: a level, or levels by target.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    text: String,
    targets: Targets,
}

impl Default for Filter {
    fn default() -> Self {
        Self {
            text: "info".to_owned(),
            targets: Targets::new().with_default(tracing::Level::INFO),
        }
    }
}

impl FromStr for Filter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refusal = "it must be a level (off, error, warn, info, debug, trace), or levels by \
                       component, such as info,entreat_service=debug";
        for part in text.split(',') {
            let level = part.rsplit_once('=').map_or(part, |(_, level)| level);
            // The parser takes a bare word for a target, so a typo would disable logging.
            if !LEVELS.contains(&level.to_ascii_lowercase().as_str()) {
                let suggestion = closest(level, LEVELS)
                    .map(|suggestion| format!("; did you mean {suggestion}?"));
                return Err(format!("{refusal}{}", suggestion.unwrap_or_default()));
            }
        }
        let targets = text.parse().map_err(|_| refusal.to_owned())?;
        Ok(Self {
            text: text.to_owned(),
            targets,
        })
    }
}

impl Filter {
    /// Turns off the MCP SDK's logs unless it is named: it logs whole messages, with answers and
    /// links.
    fn without_sdk(&self) -> Targets {
        const SDK: &str = "rmcp";
        let is_named = self.text.split(',').any(|part| part.starts_with(SDK));
        let targets = self.targets.clone();
        if is_named {
            return targets;
        }
        targets.with_target(SDK, tracing_subscriber::filter::LevelFilter::OFF)
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Starts logging for the rest of the process; spans also go to the collector if there is one.
pub(crate) fn start(
    filter: &Filter,
    format: LogFormat,
    telemetry: Option<&Telemetry>,
) -> anyhow::Result<()> {
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let lines = match format {
        LogFormat::Text => lines.with_ansi(false).boxed(),
        LogFormat::Json => lines.json().boxed(),
    };
    tracing_subscriber::registry()
        .with(lines.with_filter(filter.without_sdk()))
        .with(telemetry.map(Telemetry::layer))
        .try_init()
        .map_err(|error| anyhow!("cannot start logging: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_made_of_levels() {
        for text in ["info", "off", "WARN", "info,entreat_service=debug", "a=off"] {
            assert_eq!(text.parse::<Filter>().unwrap().to_string(), text);
        }
        for text in ["", "inof", "info,entreat_service", "a=b", "info,"] {
            assert!(text.parse::<Filter>().is_err(), "{text}");
        }
        let words = "inof".parse::<Filter>().unwrap_err();
        assert!(words.ends_with("did you mean info?"), "{words}");
    }
}
