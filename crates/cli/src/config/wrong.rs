//! Everything that cannot hold, told at once.

use std::fmt;

use super::origin::Origin;
use crate::output;

/// What is wrong with a configuration, in the order in which it stands there.
#[derive(Debug, Default)]
pub(crate) struct Wrong(Vec<Slip>);

/// One thing that is wrong.
#[derive(Debug)]
struct Slip {
    origin: Origin,
    /// The setting, if it is one.
    name: String,
    words: String,
}

impl Wrong {
    /// Notes that a setting cannot be what it is, and what would do instead.
    pub(super) fn refuse(&mut self, origin: &Origin, name: &str, refused: &str) {
        let words = format!("`{name}` cannot be that: {refused}");
        self.note(origin, name, &words);
    }

    /// Notes anything else, with its place.
    pub(super) fn tell(&mut self, origin: &Origin, words: impl fmt::Display) {
        self.note(origin, "", words);
    }

    /// Notes what has its place in its words.
    pub(super) fn tell_all(&mut self, error: &anyhow::Error) {
        self.0.push(Slip {
            origin: Origin::Default,
            name: String::new(),
            words: format!("{error:#}"),
        });
    }

    fn note(&mut self, origin: &Origin, name: &str, words: impl fmt::Display) {
        let place = origin.to_string();
        self.0.push(Slip {
            origin: origin.clone(),
            name: name.to_owned(),
            words: format!("{}: {words}", output::plain(&place)),
        });
    }

    /// Whether a setting whose name begins like this was refused. What was to hold together with
    /// it is not judged then.
    pub(super) fn has_refused(&self, beginning: &str) -> bool {
        let mut slips = self.0.iter();
        slips.any(|slip| slip.name.starts_with(beginning))
    }

    /// Fails if anything was noted.
    pub(super) fn check(mut self) -> Result<(), Self> {
        if self.0.is_empty() {
            return Ok(());
        }
        let place = |slip: &Slip| (slip.origin.source(), slip.origin.line());
        self.0.sort_by_key(place);
        Err(self)
    }

    /// A sentence for each.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|slip| slip.words.as_str())
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [one] = &*self.0 {
            return f.write_str(&one.words);
        }
        write!(f, "{} things are wrong with the settings", self.0.len())?;
        for words in self.iter() {
            write!(f, "\n  {words}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Wrong {}
