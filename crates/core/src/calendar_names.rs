//! The names of months and weekdays, by language.

mod de;
mod en;

/// The names that a language has for months and weekdays.
#[derive(Debug)]
pub struct CalendarNames {
    /// From January.
    pub months: [&'static str; 12],
    /// From Monday.
    pub weekdays: [&'static str; 7],
}

impl CalendarNames {
    /// English.
    pub const ENGLISH: &'static Self = &en::NAMES;

    /// German.
    pub const GERMAN: &'static Self = &de::NAMES;
}
