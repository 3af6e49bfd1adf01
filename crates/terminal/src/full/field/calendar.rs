//! Draws a month as a calendar.

use entreat_core::jiff::civil::{Date, Weekday};
use entreat_core::jiff::{Span as Days, ToSpan as _};
use ratatui_core::text::{Line, Span};

use crate::full::event::Key;
use crate::full::theme::Theme;
use crate::texts::Texts;

/// Returns the day that a key moves to; `None` if the key does not move within a calendar.
pub(super) fn step(day: Date, key: Key) -> Option<Date> {
    let by: Days = match key {
        Key::Left => -1.day(),
        Key::Right => 1.day(),
        Key::Up => -1.week(),
        Key::Down => 1.week(),
        Key::PageUp => -1.month(),
        Key::PageDown => 1.month(),
        Key::Home => return Some(day.first_of_month()),
        Key::End => return Some(day.last_of_month()),
        _ => return None,
    };
    // Stay at the first and last representable day.
    Some(day.checked_add(by).unwrap_or(day))
}

/// Draws the month of a day, with the day highlighted.
pub(super) fn draw(day: Date, theme: Theme, texts: &Texts) -> Vec<Line<'static>> {
    let month = usize::try_from(day.month() - 1).unwrap_or_default();
    let names = texts.calendar;
    let title = format!("{:^20}", format!("{} {}", names.months[month], day.year()));
    let weekdays = names.weekdays.map(|name| &name[..2]).join(" ");
    let mut lines = vec![
        Line::from(Span::styled(title, theme.bold())),
        Line::from(Span::styled(weekdays, theme.dim())),
    ];
    let first = day.first_of_month();
    let before = first.weekday().since(Weekday::Monday);
    let mut week = vec![Span::raw(
        "   ".repeat(usize::try_from(before).unwrap_or(0)),
    )];
    let mut one = first;
    loop {
        let style = if one == day {
            theme.highlighted()
        } else {
            theme.normal()
        };
        week.push(Span::styled(format!("{:2}", one.day()), style));
        week.push(Span::raw(" "));
        let is_last = one == day.last_of_month();
        if one.weekday() == Weekday::Sunday || is_last {
            lines.push(Line::from(std::mem::take(&mut week)));
        }
        match one.tomorrow() {
            Ok(tomorrow) if !is_last => one = tomorrow,
            _ => return lines,
        }
    }
}
