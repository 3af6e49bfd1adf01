//! Adjusts an asker's colour to be readable on light and dark pages.

use super::settings::Color;

/// The accent colour of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Accent([u8; 3]);

/// Page backgrounds, and the minimum contrast of text on them (WCAG 2.2 AA, with a margin).
const LIGHT: [u8; 3] = [255, 255, 255];
const DARK: [u8; 3] = [27, 31, 36];
const READABLE: f64 = 4.6;

impl From<Color> for Accent {
    fn from(color: Color) -> Self {
        Self(color.rgb())
    }
}

impl Accent {
    /// Parses the six hex digits used in asset names.
    pub(super) fn parse(digits: &str) -> Option<Self> {
        format!("#{digits}").parse().ok().map(Color::into)
    }

    /// Six hex digits, for asset names.
    pub(super) fn name(self) -> String {
        let [red, green, blue] = self.0;
        format!("{red:02x}{green:02x}{blue:02x}")
    }

    /// The style sheet for pages in this colour.
    pub(super) fn style(self) -> String {
        let light = Self(self.until_readable(LIGHT, [0, 0, 0]));
        let dark = Self(self.until_readable(DARK, [255, 255, 255]));
        format!(
            ":root{{--accent:#{};--on-accent:#fff}}\n\
             @media (prefers-color-scheme:dark){{:root{{--accent:#{};--on-accent:#14171a}}}}\n",
            light.name(),
            dark.name()
        )
    }

    /// Mixes the colour with another until the contrast with the background suffices.
    fn until_readable(self, background: [u8; 3], towards: [u8; 3]) -> [u8; 3] {
        let mut color = self.0.map(f64::from);
        for _ in 0..64 {
            let rounded = color.map(round);
            if contrast(rounded, background) >= READABLE {
                return rounded;
            }
            for (part, goal) in color.iter_mut().zip(towards) {
                *part += (f64::from(goal) - *part) * 0.06;
            }
        }
        towards
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "parts of a colour lie between 0 and 255"
)]
fn round(part: f64) -> u8 {
    part.round().clamp(0.0, 255.0) as u8
}

fn contrast(one: [u8; 3], other: [u8; 3]) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

fn luminance(color: [u8; 3]) -> f64 {
    let linear = |part: u8| {
        let part = f64::from(part) / 255.0;
        if part <= 0.04045 {
            part / 12.92
        } else {
            ((part + 0.055) / 1.055).powf(2.4)
        }
    };
    let [red, green, blue] = color.map(linear);
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_colour_becomes_readable_on_both_backgrounds() {
        for color in ["ffff00", "000000", "ffffff", "7f7f7f", "0a7c66", "ff0000"] {
            let accent = Accent::parse(color).unwrap();
            let light = accent.until_readable(LIGHT, [0, 0, 0]);
            let dark = accent.until_readable(DARK, [255, 255, 255]);
            assert!(contrast(light, LIGHT) >= 4.5, "{color}");
            assert!(contrast(dark, DARK) >= 4.5, "{color}");
        }
        assert_eq!(Accent::parse("0a7c66").unwrap().name(), "0a7c66");
        for bad in ["", "fff", "red", "12345g", "1234567", "}body{"] {
            assert_eq!(Accent::parse(bad), None, "{bad}");
        }
    }
}
