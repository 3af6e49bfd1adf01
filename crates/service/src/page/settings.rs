//! What a program says about its pages.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::identity::Identity;
use crate::upload::Uploads;

/// What holds for the pages on which people answer.
#[derive(Clone, Debug)]
pub struct PageSettings {
    /// How people are told apart.
    pub identity: Identity,
    /// How askers are shown to people, by their names.
    pub brands: HashMap<String, Brand>,
    /// Where files are kept that people send; without it none are taken.
    pub uploads: Option<Uploads>,
    /// How often an open page looks whether its question is still open.
    pub poll: Duration,
    /// How long a file may take to arrive.
    pub upload_timeout: Duration,
    /// How long the rest of a form may take.
    pub body_timeout: Duration,
    /// How much memory forms may take that are being received, in bytes; those of one question a
    /// quarter of it.
    pub body_memory: usize,
}

impl Default for PageSettings {
    fn default() -> Self {
        Self {
            identity: Identity::default(),
            brands: HashMap::new(),
            uploads: None,
            poll: Duration::from_secs(10),
            upload_timeout: Duration::from_secs(900),
            body_timeout: Duration::from_secs(60),
            body_memory: 256 << 20,
        }
    }
}

/// How an asker is shown to people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Brand {
    /// What people know it by; its name as an asker if there is none.
    pub name: Option<String>,
    /// The colour of its pages.
    pub color: Option<Color>,
}

/// A colour, written `#rrggbb`.
///
/// ```
/// use entreat_service::Color;
///
/// let color: Color = "#0A7F5c".parse()?;
/// assert_eq!(color.rgb(), [10, 127, 92]);
/// assert_eq!(color.to_string(), "#0a7f5c");
/// # Ok::<(), entreat_service::NoColor>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Color([u8; 3]);

impl Color {
    /// Its parts of red, green and blue.
    pub fn rgb(self) -> [u8; 3] {
        self.0
    }
}

/// A text that is no colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a colour is # and six hexadecimal digits, as #0a7f5c")]
pub struct NoColor;

impl FromStr for Color {
    type Err = NoColor;

    fn from_str(text: &str) -> Result<Self, NoColor> {
        let digits = text.strip_prefix('#').ok_or(NoColor)?;
        if digits.len() != 6 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(NoColor);
        }
        let [_, red, green, blue] = u32::from_str_radix(digits, 16)
            .map_err(|_| NoColor)?
            .to_be_bytes();
        Ok(Self([red, green, blue]))
    }
}

impl fmt::Display for Color {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [red, green, blue] = self.0;
        write!(f, "#{red:02x}{green:02x}{blue:02x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_colour_is_refused() {
        for text in [
            "", "#", "0a7f5c", "#0a7f5", "#0a7f5cc", "#0a7f5g", "#+a7f5c", "red", "#ééé",
        ] {
            assert_eq!(text.parse::<Color>(), Err(NoColor), "{text}");
        }
    }
}
