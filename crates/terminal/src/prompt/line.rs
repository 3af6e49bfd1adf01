//! Parses a typed line: an answer or a command.

/// A parsed line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// An empty line: accepts the offered value.
    Enter,
    /// An answer.
    Typed(String),
    /// No answer, even if one was offered.
    Empty,
    Help,
    Back,
    Decline,
    Cancel,
    /// A single colon without a known command.
    Unknown,
}

impl Line {
    pub(crate) fn read(typed: String) -> Self {
        let Some(command) = typed.strip_prefix(':') else {
            return if typed.is_empty() {
                Self::Enter
            } else {
                Self::Typed(typed)
            };
        };
        if command.starts_with(':') {
            return Self::Typed(command.to_owned());
        }
        match command.trim_end().to_ascii_lowercase().as_str() {
            "empty" => Self::Empty,
            "help" => Self::Help,
            "back" => Self::Back,
            "decline" => Self::Decline,
            "cancel" => Self::Cancel,
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_single_colon_makes_a_command() {
        for (typed, line) in [
            ("", Line::Enter),
            (" ", Line::Typed(" ".into())),
            ("-", Line::Typed("-".into())),
            (":back ", Line::Back),
            (":Decline", Line::Decline),
            (":bcak", Line::Unknown),
            (":", Line::Unknown),
            ("::back", Line::Typed(":back".into())),
            ("::", Line::Typed(":".into())),
            (":::x", Line::Typed("::x".into())),
            (" :back", Line::Typed(" :back".into())),
        ] {
            assert_eq!(Line::read(typed.into()), line, "{typed:?}");
        }
    }
}
