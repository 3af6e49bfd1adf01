//! Settings of the pages.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::identity::Identity;
use crate::upload::Uploads;

/// Settings of the pages on which people answer.
#[derive(Clone, Debug)]
pub struct PageSettings {
    /// How people are identified.
    pub identity: Identity,
    /// How askers are presented, by asker name.
    pub brands: HashMap<String, Brand>,
    /// Askers whose names mean nothing to people, because any program on this machine may ask as
    /// them. Unless a brand names them, pages name the program instead, in its own words.
    pub unnamed_askers: HashSet<String>,
    /// Storage for uploads; without it, file fields accept none.
    pub uploads: Option<Uploads>,
    /// How often an open page polls the state of its question.
    pub poll: Duration,
    /// Timeout for uploading a file.
    pub upload_timeout: Duration,
    /// Timeout for posting a form without files.
    pub body_timeout: Duration,
    /// Memory for forms being received, in bytes; those of one question may use a quarter.
    pub body_memory: usize,
}

impl Default for PageSettings {
    fn default() -> Self {
        Self {
            identity: Identity::default(),
            brands: HashMap::new(),
            unnamed_askers: HashSet::new(),
            uploads: None,
            poll: Duration::from_secs(10),
            upload_timeout: Duration::from_secs(900),
            body_timeout: Duration::from_secs(60),
            body_memory: 256 << 20,
        }
    }
}

/// How an asker is presented to people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Brand {
    /// The display name; defaults to the asker's name.
    pub name: Option<String>,
    /// The accent colour of its pages.
    pub color: Option<Color>,
}

/// A colour in the notation `#rrggbb`.
///
/// ```
/// use entreat_service::Color;
///
/// let color: Color = "#0A7F5c".parse()?;
/// assert_eq!(color.rgb(), [10, 127, 92]);
/// assert_eq!(color.to_string(), "#0a7f5c");
/// # Ok::<(), entreat_service::InvalidColor>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Color([u8; 3]);

impl Color {
    /// Returns the red, green and blue components.
    pub fn rgb(self) -> [u8; 3] {
        self.0
    }
}

/// Not a colour in the notation `#rrggbb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a colour is # and six hexadecimal digits, such as #0a7f5c")]
pub struct InvalidColor;

impl FromStr for Color {
    type Err = InvalidColor;

    fn from_str(text: &str) -> Result<Self, InvalidColor> {
        let digits = text.strip_prefix('#').ok_or(InvalidColor)?;
        if digits.len() != 6 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(InvalidColor);
        }
        let [_, red, green, blue] = u32::from_str_radix(digits, 16)
            .map_err(|_| InvalidColor)?
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
            assert_eq!(text.parse::<Color>(), Err(InvalidColor), "{text}");
        }
    }
}
