//! `date`: typed, or picked from a calendar.
//!
//! For a date with time, the calendar sets the day only; the person types time and offset.

use entreat_core::form::{DateBound, DateRules};
use entreat_core::jiff::civil::Date;
use serde_json::Value;

use super::line::LineEditor;
use super::{DrawContext, Editor, KeyOutcome, RenderedField, calendar};
use crate::full::event::Key;

/// The length of `2026-02-28`.
const DAY: usize = 10;

pub(super) struct DateEditor {
    line: LineEditor,
    has_time: bool,
    /// The calendar's initial day when nothing was typed.
    start: Date,
    /// Whether arrow keys move in the calendar.
    in_calendar: bool,
}

impl DateEditor {
    pub(super) fn new(rules: &DateRules, is_secret: bool, today: Date) -> Self {
        let bound = |bound: Option<&str>| bound.and_then(|text| text.get(..DAY)?.parse().ok());
        let first = bound(rules.minimum.as_ref().map(DateBound::as_str));
        let last = bound(rules.maximum.as_ref().map(DateBound::as_str));
        // Start within the bounds, near today.
        let start = first.map_or(today, |first: Date| today.max(first));
        let start = last.map_or(start, |last| start.min(last));
        Self {
            line: LineEditor::new(is_secret),
            has_time: rules.has_time,
            start,
            in_calendar: false,
        }
    }

    /// Returns the typed day, if it parses.
    fn typed(&self) -> Option<Date> {
        self.line.typed().get(..DAY)?.parse().ok()
    }

    fn go_to(&mut self, day: Date) -> KeyOutcome {
        let text = self.line.typed().to_owned();
        let rest = if self.has_time {
            self.typed().and_then(|_| text.get(DAY..)).unwrap_or("T")
        } else {
            ""
        };
        let rest = if rest.is_empty() && self.has_time {
            "T"
        } else {
            rest
        };
        self.line.set(&format!("{day}{rest}"));
        KeyOutcome::Changed
    }
}

impl Editor for DateEditor {
    fn load(&mut self, answer: &Value) {
        self.line.load(answer);
    }

    fn answer(&self) -> Option<Value> {
        self.line.answer()
    }

    fn key(&mut self, key: Key) -> KeyOutcome {
        if key == Key::Enter {
            return KeyOutcome::Next;
        }
        if self.in_calendar {
            let day = self.typed().unwrap_or(self.start);
            if let Some(day) = calendar::step(day, key) {
                return self.go_to(day);
            }
        } else if key == Key::Down {
            self.in_calendar = true;
            let day = self.typed().unwrap_or(self.start);
            return self.go_to(day);
        }
        let said = self.line.key(key);
        if said != KeyOutcome::Ignored {
            self.in_calendar = false;
        }
        said
    }

    fn paste(&mut self, text: &str) -> KeyOutcome {
        self.in_calendar = false;
        self.line.paste(text)
    }

    fn leave(&mut self) {
        self.in_calendar = false;
    }

    fn draw(&self, context: DrawContext<'_>) -> RenderedField {
        let drawn = self.line.draw(context);
        let (below, help) = if self.in_calendar {
            let day = self.typed().unwrap_or(self.start);
            let calendar = calendar::draw(day, context.theme, context.texts);
            (calendar, context.texts.help.in_calendar)
        } else {
            (Vec::new(), context.texts.help.calendar)
        };
        let keys = context.texts.keys;
        let open = if self.in_calendar {
            (
                context
                    .theme
                    .symbol("\u{2190}\u{2191}\u{2192}\u{2193}", "Arrows"),
                keys.day,
            )
        } else {
            (context.theme.symbol("\u{2193}", "Down"), keys.calendar)
        };
        RenderedField {
            below,
            help,
            keys: vec![open, ("Enter", keys.send)],
            ..drawn
        }
    }
}
