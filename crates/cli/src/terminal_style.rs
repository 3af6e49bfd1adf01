//! Chooses the terminal's style by flag and environment.

use entreat::terminal::{Mode, TerminalStyle};

use crate::environment::Environment;

/// Returns the style to use; `plain` is the value of the flag.
pub(crate) fn terminal_style(environment: &Environment, plain: bool) -> TerminalStyle {
    let variable = |name| environment.variable(name).and_then(|value| value.to_str());
    let is_plain = plain
        || variable("ACCESSIBLE").is_some_and(|value| value != "0")
        || variable("TERM") == Some("dumb");
    TerminalStyle {
        mode: if is_plain { Mode::Plain } else { Mode::Full },
        colour: variable("NO_COLOR").is_none(),
        unicode: shows_unicode(environment),
    }
}

/// Whether the locale is UTF-8. An unset locale counts as UTF-8: terminals show it, and containers
/// rarely set one.
fn shows_unicode(environment: &Environment) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| environment.variable(name));
    locale.is_none_or(|locale| {
        let locale = locale.to_string_lossy().to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> TerminalStyle {
        terminal_style(&Environment::with(variables), false)
    }

    #[test]
    fn screen_readers_and_dumb_terminals_get_plain_lines() {
        assert_eq!(of(&[("TERM", "xterm")]).mode, Mode::Full);
        assert_eq!(of(&[("TERM", "dumb")]).mode, Mode::Plain);
        assert_eq!(of(&[("ACCESSIBLE", "1")]).mode, Mode::Plain);
        assert_eq!(of(&[("ACCESSIBLE", "0")]).mode, Mode::Full);
        assert_eq!(
            terminal_style(&Environment::default(), true).mode,
            Mode::Plain
        );
    }

    #[test]
    fn colours_and_unicode_can_be_turned_off() {
        let usual = of(&[("LANG", "de_DE.UTF-8")]);
        assert!(usual.colour && usual.unicode);
        assert!(!of(&[("NO_COLOR", "1")]).colour);
        assert!(of(&[("NO_COLOR", "")]).colour);
        assert!(!of(&[("LC_ALL", "C"), ("LANG", "C.UTF-8")]).unicode);
        assert!(of(&[("LC_CTYPE", "C.utf8"), ("LANG", "C")]).unicode);
        assert!(of(&[]).unicode);
    }
}
