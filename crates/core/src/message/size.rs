//! How sizes are written for people, on pages and terminals and in errors.
//!
//! One rule everywhere: a kilobyte has 1024 bytes, as in the limits that authors set, and is
//! written KB, as file managers do. Sizes are rounded down, so that a limit never promises more
//! than it allows.

use fluent_bundle::FluentArgs;

use super::Messages;

const UNITS: [(&str, u64); 3] = [("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)];

/// A size in the largest unit that it fills.
struct Size {
    whole: u64,
    tenth: u64,
    unit: &'static str,
}

impl Size {
    /// `None` below a kilobyte.
    fn of(bytes: u64) -> Option<Self> {
        let (unit, size) = UNITS.into_iter().find(|(_, size)| bytes >= *size)?;
        Some(Self {
            whole: bytes / size,
            // A unit has at most 2^30 bytes, so this cannot overflow.
            tenth: bytes % size * 10 / size,
            unit,
        })
    }

    fn write(&self, decimal_mark: &str) -> String {
        let Self { whole, tenth, unit } = self;
        match tenth {
            0 => format!("{whole} {unit}"),
            _ => format!("{whole}{decimal_mark}{tenth} {unit}"),
        }
    }
}

/// Formats a size in English: `70 bytes`, `64 KB`, `1.5 MB`. [`Messages::size`] does so in a
/// person's language.
///
/// ```
/// use entreat_core::readable_size;
///
/// assert_eq!(readable_size(10 * 1024 * 1024), "10 MB");
/// assert_eq!(readable_size(1), "1 byte");
/// ```
pub fn readable_size(bytes: u64) -> String {
    match Size::of(bytes) {
        Some(size) => size.write("."),
        None if bytes == 1 => "1 byte".to_owned(),
        None => format!("{bytes} bytes"),
    }
}

impl Messages {
    /// Formats a size in this language: `1.5 MB`, `1,5 MB`.
    pub fn size(&self, bytes: u64) -> String {
        let mut args = FluentArgs::new();
        if let Some(size) = Size::of(bytes) {
            return size.write(&self.text("decimal-mark", &args));
        }
        args.set("count", bytes);
        self.text("size-bytes", &args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalogue;

    #[test]
    fn sizes_are_written_as_people_write_them() {
        let german = Catalogue::default().messages(["de"]);
        for (bytes, english, in_german) in [
            (0, "0 bytes", "0 Bytes"),
            (1, "1 byte", "1 Byte"),
            (1023, "1023 bytes", "1023 Bytes"),
            (65_536, "64 KB", "64 KB"),
            (1_600_000, "1.5 MB", "1,5 MB"),
            (10 << 20, "10 MB", "10 MB"),
            ((10 << 20) - 1, "9.9 MB", "9,9 MB"),
            (u64::MAX, "17179869183.9 GB", "17179869183,9 GB"),
        ] {
            assert_eq!(readable_size(bytes), english);
            assert_eq!(german.size(bytes), in_german);
        }
    }
}
