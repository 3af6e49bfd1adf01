//! The names of months and weekdays, by language.

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
    pub const ENGLISH: &'static Self = &Self {
        months: [
            "January",
            "February",
            "March",
            "April",
            "May",
            "June",
            "July",
            "August",
            "September",
            "October",
            "November",
            "December",
        ],
        weekdays: [
            "Monday",
            "Tuesday",
            "Wednesday",
            "Thursday",
            "Friday",
            "Saturday",
            "Sunday",
        ],
    };

    /// German.
    pub const GERMAN: &'static Self = &Self {
        months: [
            "Januar",
            "Februar",
            "März",
            "April",
            "Mai",
            "Juni",
            "Juli",
            "August",
            "September",
            "Oktober",
            "November",
            "Dezember",
        ],
        weekdays: [
            "Montag",
            "Dienstag",
            "Mittwoch",
            "Donnerstag",
            "Freitag",
            "Samstag",
            "Sonntag",
        ],
    };
}
