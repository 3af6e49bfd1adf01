//! Askers for MCP servers, whose people may take their time.

use std::time::Duration;

use entreat_core::{Mode, TimeoutBounds, TimeoutPolicy};
use entreat_engine::{Asker, Engine};

/// The longest that a person may take for a question of an MCP server.
const MAX_WAIT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Returns an asker for MCP servers. Their clients limit how often each person is asked, so only
/// the engine's global limits apply.
pub(super) fn asker(engine: &Engine, name: &str) -> Asker {
    let mut settings = engine.asker_settings().clone();
    settings.limits.creations_per_minute = None;
    settings.limits.requests_per_second = None;
    settings.limits.live = usize::MAX;
    for mode in [Mode::Form, Mode::Url] {
        allow_long_waits(&mut settings.timeouts, mode);
    }
    engine.asker_with(name, settings)
}

/// Raises the built-in maximum of timeouts, which is for programs that wait themselves. Configured
/// bounds stay.
fn allow_long_waits(timeouts: &mut TimeoutPolicy, mode: Mode) {
    if !timeouts.is_default(mode) {
        return;
    }
    let bounds = timeouts.bounds(mode);
    let (default, minimum) = (bounds.default_ms(), bounds.min_ms());
    let [default, minimum] = [default, minimum].map(Duration::from_millis);
    if let Ok(bounds) = TimeoutBounds::new(default, minimum, MAX_WAIT) {
        timeouts.set_bounds(mode, bounds);
    }
}
