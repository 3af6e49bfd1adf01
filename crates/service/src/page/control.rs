//! Which control a field is answered with, and what is in it: one function for each type.

use std::borrow::Cow;
use std::collections::HashSet;

use entreat_core::form::{
    DateRules, DisplayStyle, InputType, MultiSelectRules, NumberRules, Options, TextRules,
};
use entreat_core::{Field, Format, Kind, Number};
use serde_json::Value;

use super::calendar;
use super::field::Setting;
use super::file_view::FilesView;
use super::said::{is_empty, plain, text_of};
use super::words::Words;

/// What a person answers with.
pub(super) enum Control<'a> {
    Line(Line<'a>),
    Lines {
        value: Cow<'a, str>,
        rows: u64,
    },
    Slider(Slider),
    Check {
        is_on: bool,
        is_toggle: bool,
    },
    Dropdown {
        options: Vec<Choice<'a>>,
        has_blank: bool,
    },
    Options {
        options: Vec<Choice<'a>>,
        style: OptionStyle,
        has_none: bool,
    },
    Moment {
        local: String,
        zone: String,
        is_day_only: bool,
        shown: Option<String>,
    },
    Files(FilesView<'a>),
    Fixed {
        text: String,
    },
}

/// One line of text, of whatever kind.
pub(super) struct Line<'a> {
    pub(super) kind: &'static str,
    pub(super) value: Cow<'a, str>,
    pub(super) keyboard: Option<&'static str>,
    pub(super) step: Option<String>,
    /// A secret was typed before, and is not shown again.
    pub(super) is_kept: bool,
    pub(super) shown: Option<String>,
    pub(super) test: Option<Test>,
}

impl Line<'_> {
    pub(super) fn is_masked(&self) -> bool {
        self.kind == "password"
    }

    /// Prose: it may be written in either direction, and spelt.
    pub(super) fn is_prose(&self) -> bool {
        self.kind == "text" && self.keyboard.is_none()
    }
}

/// A URL that can be tested.
pub(super) struct Test {
    pub(super) verdict: Option<Verdict>,
}

/// What was found out about a URL.
pub(super) struct Verdict {
    pub(super) is_good: bool,
    pub(super) words: String,
}

impl Verdict {
    pub(super) fn good(words: &str) -> Self {
        Self {
            is_good: true,
            words: words.to_owned(),
        }
    }

    pub(super) fn bad(words: &str) -> Self {
        Self {
            is_good: false,
            ..Self::good(words)
        }
    }
}

pub(super) struct Slider {
    pub(super) least: String,
    pub(super) most: String,
    pub(super) step: String,
    pub(super) value: String,
}

pub(super) struct Choice<'a> {
    pub(super) value: &'a str,
    pub(super) title: &'a str,
    pub(super) is_chosen: bool,
}

/// How a list of options is drawn.
#[derive(Clone, Copy)]
pub(super) struct OptionStyle {
    pub(super) name: &'static str,
    pub(super) input: &'static str,
    pub(super) is_searched: bool,
    pub(super) is_folded: bool,
}

/// Up to this many options are all on the screen where the author does not say.
const FEW: usize = 5;

/// The control of a field, with what was typed into it, or what it begins with.
pub(super) fn control<'a>(
    setting: &Setting<'a>,
    field: &'a Field,
    files: Option<FilesView<'a>>,
    test: Option<Test>,
) -> Control<'a> {
    let typed = setting.values.get(field.id());
    let value = match (typed, field.default()) {
        (Some(typed), _) => Some(Cow::Borrowed(typed)),
        (None, Some(default)) => Some(Cow::Owned(plain(default))),
        (None, None) => None,
    };
    if field.rendering().readonly {
        let fixed = value.as_deref().map(text_of);
        return Control::Fixed {
            text: fixed.unwrap_or_default(),
        };
    }
    if let Some(files) = files {
        return Control::Files(files);
    }
    let drawing = Drawing {
        field,
        words: setting.words,
        is_kept: field.is_sensitive() && typed.is_some_and(|typed| !is_empty(typed)),
        // A secret is not put on the page, not even for who typed it.
        value: value.filter(|_| !field.is_sensitive()),
    };
    match field.kind() {
        Kind::Text(rules) => drawing.text_field(rules),
        Kind::Number(rules) => drawing.number(rules),
        Kind::Boolean => drawing.boolean(),
        Kind::Select(options) => drawing.select(options),
        Kind::MultiSelect(rules) => drawing.multi_select(rules),
        Kind::Url(_) => Control::Line(Line {
            test,
            ..drawing.line("url")
        }),
        Kind::Date(rules) => drawing.date(rules),
        // Was made into a control before; without anywhere to keep files there is none.
        Kind::File(_) => Control::Fixed {
            text: String::new(),
        },
    }
}

/// A field that is being drawn.
struct Drawing<'a> {
    field: &'a Field,
    words: &'static Words,
    value: Option<Cow<'a, Value>>,
    is_kept: bool,
}

impl<'a> Drawing<'a> {
    fn text(&self) -> String {
        self.value.as_deref().map(text_of).unwrap_or_default()
    }

    fn style(&self) -> Option<DisplayStyle> {
        self.field.rendering().display_style
    }

    /// A line of a kind; of a secret, the kind that masks.
    fn line(&self, kind: &'static str) -> Line<'a> {
        Line {
            kind: if self.field.is_sensitive() {
                "password"
            } else {
                kind
            },
            value: Cow::Owned(self.text()),
            keyboard: None,
            step: None,
            is_kept: self.is_kept,
            shown: None,
            test: None,
        }
    }

    fn text_field(&self, rules: &TextRules) -> Control<'a> {
        let hints = self.field.rendering();
        if let Some(rows) = hints.rows.filter(|_| !self.field.is_sensitive()) {
            return Control::Lines {
                value: Cow::Owned(self.text()),
                rows: rows.min(40),
            };
        }
        let by_style = match hints.display_style {
            Some(DisplayStyle::Email) => Some("email"),
            Some(DisplayStyle::Tel) => Some("tel"),
            _ => None,
        };
        let by_format = match rules.format {
            Some(Format::Email) => Some("email"),
            Some(Format::Uri) => Some("url"),
            Some(Format::Date) => Some("date"),
            _ => None,
        };
        let kind = input_kind(hints.input_type).or(by_style).or(by_format);
        Control::Line(self.line(kind.unwrap_or("text")))
    }

    fn number(&self, rules: &NumberRules) -> Control<'a> {
        let hints = self.field.rendering();
        if self.style() == Some(DisplayStyle::Slider) && !self.field.is_sensitive() {
            return Control::Slider(slider(rules, hints.step, &self.text()));
        }
        // A number input swallows what is no number before anyone can say so; a text input
        // keeps it. Steps are there where the author asked for them, though.
        let has_steps = hints.input_type == Some(InputType::Number) || hints.step.is_some();
        let step = || {
            let step = hints.step.map(|step| step.to_string());
            step.unwrap_or_else(|| "any".to_owned())
        };
        let has_steps = has_steps && !self.field.is_sensitive();
        Control::Line(Line {
            keyboard: keyboard(rules),
            step: has_steps.then(step),
            ..self.line(if has_steps { "number" } else { "text" })
        })
    }

    fn boolean(&self) -> Control<'a> {
        let text = self.text();
        if self.style() != Some(DisplayStyle::Radio) {
            return Control::Check {
                is_on: text == "true",
                is_toggle: self.style() == Some(DisplayStyle::Toggle),
            };
        }
        let choice = |value, title| Choice {
            value,
            title,
            is_chosen: text == value,
        };
        Control::Options {
            options: vec![
                choice("true", self.words.yes),
                choice("false", self.words.no),
            ],
            style: OptionStyle::of("radio", "radio", false),
            has_none: !self.field.is_required(),
        }
    }

    fn select(&self, options: &'a Options) -> Control<'a> {
        let chosen = self.text();
        let choices = choices(options, |value| value == chosen);
        let is_searched = self.field.rendering().searchable == Some(true);
        let style = match self.style() {
            Some(DisplayStyle::Radio) => "radio",
            Some(DisplayStyle::Segmented) => "segmented",
            Some(_) if !is_searched => "dropdown",
            _ if is_searched || choices.len() <= FEW => "radio",
            _ => "dropdown",
        };
        if style == "dropdown" {
            let is_chosen = has_choice(&choices);
            return Control::Dropdown {
                options: choices,
                has_blank: !self.field.is_required() || !is_chosen,
            };
        }
        Control::Options {
            options: choices,
            style: OptionStyle::of(style, "radio", is_searched),
            has_none: !self.field.is_required(),
        }
    }

    fn multi_select(&self, rules: &'a MultiSelectRules) -> Control<'a> {
        let chosen: HashSet<String> = match self.value.as_deref() {
            Some(Value::Array(items)) => items.iter().map(text_of).collect(),
            _ => HashSet::new(),
        };
        let style = match self.style() {
            Some(DisplayStyle::Chips) => "chips",
            Some(DisplayStyle::MultiselectDropdown) => "folded",
            _ => "checkbox",
        };
        let is_searched = self.field.rendering().searchable == Some(true);
        Control::Options {
            options: choices(&rules.options, |value| chosen.contains(value)),
            style: OptionStyle::of(style, "checkbox", is_searched),
            has_none: false,
        }
    }

    fn date(&self, rules: &DateRules) -> Control<'a> {
        let hints = self.field.rendering();
        let text = self.text();
        let shown = hints.display_format.as_deref().map(|format| {
            calendar::shown(&text, format, self.words).unwrap_or_else(|| format.to_owned())
        });
        let as_text =
            self.style() == Some(DisplayStyle::Text) || hints.input_type == Some(InputType::Text);
        if as_text || !rules.has_time {
            return Control::Line(Line {
                // A calendar shows what is chosen; it is not shown again.
                kind: if as_text { "text" } else { "date" },
                shown,
                ..self.line("date")
            });
        }
        let (local, zone) = calendar::split(&text);
        let is_day_only = hints.enable_time == Some(false);
        let day = local.split('T').next().unwrap_or(local);
        Control::Moment {
            local: if is_day_only { day } else { local }.to_owned(),
            zone: zone.to_owned(),
            is_day_only,
            shown,
        }
    }
}

/// Whether any of the options is chosen.
pub(super) fn has_choice(options: &[Choice<'_>]) -> bool {
    options.iter().any(|option| option.is_chosen)
}

impl OptionStyle {
    fn of(name: &'static str, input: &'static str, is_searched: bool) -> Self {
        Self {
            name,
            input,
            is_searched,
            is_folded: name == "folded",
        }
    }
}

fn choices(options: &Options, is_chosen: impl Fn(&str) -> bool) -> Vec<Choice<'_>> {
    let choice = |(value, title)| Choice {
        value,
        title,
        is_chosen: is_chosen(value),
    };
    options.iter().map(choice).collect()
}

fn slider(rules: &NumberRules, step: Option<Number>, text: &str) -> Slider {
    let least = rules
        .minimum
        .or(rules.exclusive_minimum)
        .unwrap_or(Number::from(0));
    let most = rules
        .maximum
        .or(rules.exclusive_maximum)
        .unwrap_or(Number::from(100));
    let wide = most.as_f64() - least.as_f64() >= 10.0;
    let step = step.or(rules.multiple_of).map(|step| step.to_string());
    Slider {
        step: step.unwrap_or_else(|| if wide { "1" } else { "0.01" }.to_owned()),
        value: if text.is_empty() {
            least.to_string()
        } else {
            text.to_owned()
        },
        least: least.to_string(),
        most: most.to_string(),
    }
}

/// The keys that a phone shows. Those for digits alone often lack a minus sign.
fn keyboard(rules: &NumberRules) -> Option<&'static str> {
    let least = rules.minimum.or(rules.exclusive_minimum)?;
    let is_never_negative = least >= Number::from(0);
    let keys = if rules.is_integer() {
        "numeric"
    } else {
        "decimal"
    };
    is_never_negative.then_some(keys)
}

fn input_kind(hint: Option<InputType>) -> Option<&'static str> {
    Some(match hint? {
        InputType::Text => "text",
        InputType::Password => "password",
        InputType::Email => "email",
        InputType::Tel => "tel",
        InputType::Url => "url",
        InputType::Number => "number",
        InputType::Date => "date",
        InputType::Time => "time",
        InputType::DatetimeLocal => "datetime-local",
    })
}
