//! Chooses the control of a field and its contents: one function per field type.

use std::borrow::Cow;
use std::collections::HashSet;

use entreat_core::form::{
    DateRules, DisplayStyle, InputType, MultiSelectRules, NumberRules, Options, TextRules,
};
use entreat_core::url_guard::inspect;
use entreat_core::{Field, Format, Kind, Messages, Number};
use serde_json::Value;

use super::answer_text::{as_typed, is_empty, text_of};
use super::calendar;
use super::field::FieldContext;
use super::file_view::FilesView;
use super::texts::Texts;

/// The control of a field.
pub(super) enum Control<'a> {
    TextInput(TextInput<'a>),
    TextArea {
        value: Cow<'a, str>,
        rows: u64,
    },
    Slider(Slider),
    Checkbox {
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
    DateTime {
        local: String,
        zone: String,
        is_day_only: bool,
        shown: Option<String>,
    },
    Files(FilesView<'a>),
    /// Two buttons that answer and send.
    YesNo,
    Fixed {
        text: String,
    },
}

/// A single-line input.
pub(super) struct TextInput<'a> {
    pub(super) kind: &'static str,
    pub(super) value: Cow<'a, str>,
    pub(super) keyboard: Option<&'static str>,
    pub(super) step: Option<String>,
    /// The class of its width, if the answer is short; see `page.css`.
    pub(super) width: Option<&'static str>,
    /// A secret was entered before and is not shown again.
    pub(super) has_saved_secret: bool,
    pub(super) shown: Option<String>,
    pub(super) test: Option<Test>,
}

impl TextInput<'_> {
    pub(super) fn is_masked(&self) -> bool {
        self.kind == "password"
    }

    /// Free text: either writing direction, with spell checking.
    pub(super) fn is_prose(&self) -> bool {
        self.kind == "text" && self.keyboard.is_none()
    }
}

/// A URL with a test button.
pub(super) struct Test {
    pub(super) verdict: Option<Verdict>,
}

/// The result of testing a URL.
pub(super) struct Verdict {
    pub(super) is_good: bool,
    pub(super) message: String,
    /// What the URL guard warns of.
    pub(super) warnings: Vec<String>,
}

impl Verdict {
    pub(super) fn good(message: &str) -> Self {
        Self {
            is_good: true,
            message: message.to_owned(),
            warnings: Vec::new(),
        }
    }

    pub(super) fn bad(message: &str) -> Self {
        Self {
            is_good: false,
            ..Self::good(message)
        }
    }

    /// Adds the URL guard's warnings, which a terminal shows as well.
    pub(super) fn with_warnings(self, url: &str, messages: &Messages) -> Self {
        let card = inspect(url, None);
        let warnings = card.warnings.into_iter();
        Self {
            warnings: warnings
                .map(|warning| messages.url_warning(warning))
                .collect(),
            ..self
        }
    }
}

pub(super) struct Slider {
    pub(super) min: String,
    pub(super) max: String,
    pub(super) step: String,
    pub(super) value: String,
}

pub(super) struct Choice<'a> {
    pub(super) value: &'a str,
    pub(super) title: &'a str,
    pub(super) is_chosen: bool,
}

/// How a list of options is rendered.
#[derive(Clone, Copy)]
pub(super) struct OptionStyle {
    pub(super) name: &'static str,
    pub(super) input: &'static str,
    pub(super) is_searchable: bool,
    pub(super) is_collapsible: bool,
}

/// Up to this many options are shown as radio buttons by default.
const MAX_RADIO_OPTIONS: usize = 5;

/// Builds the control of a field with its draft value or default.
pub(super) fn control<'a>(
    context: &FieldContext<'a>,
    field: &'a Field,
    files: Option<FilesView<'a>>,
    test: Option<Test>,
) -> Control<'a> {
    let typed = context.values.get(field.id());
    let value = match (typed, field.default()) {
        (Some(typed), _) => Some(Cow::Borrowed(typed)),
        (None, Some(default)) => Some(Cow::Owned(as_typed(default))),
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
    let builder = ControlBuilder {
        field,
        texts: context.texts,
        has_saved_secret: field.is_sensitive() && typed.is_some_and(|typed| !is_empty(typed)),
        // Secrets are never put on the page, not even for the person who typed them.
        value: value.filter(|_| !field.is_sensitive()),
    };
    match field.kind() {
        Kind::Text(rules) => builder.text_field(rules),
        Kind::Number(rules) => builder.number(rules),
        Kind::Boolean => builder.boolean(),
        Kind::Select(options) => builder.select(options),
        Kind::MultiSelect(rules) => builder.multi_select(rules),
        Kind::Url(_) => Control::TextInput(TextInput {
            test,
            ..builder.line("url")
        }),
        Kind::Date(rules) => builder.date(rules),
        // Handled above; without upload storage there is no control.
        Kind::File(_) => Control::Fixed {
            text: String::new(),
        },
    }
}

/// Builds the control of one field.
struct ControlBuilder<'a> {
    field: &'a Field,
    texts: &'static Texts,
    value: Option<Cow<'a, Value>>,
    has_saved_secret: bool,
}

impl<'a> ControlBuilder<'a> {
    fn text(&self) -> String {
        self.value.as_deref().map(text_of).unwrap_or_default()
    }

    fn style(&self) -> Option<DisplayStyle> {
        self.field.rendering().display_style
    }

    /// An input of this type, or a masked one for secrets.
    fn line(&self, kind: &'static str) -> TextInput<'a> {
        TextInput {
            kind: if self.field.is_sensitive() {
                "password"
            } else {
                kind
            },
            value: Cow::Owned(self.text()),
            keyboard: None,
            step: None,
            width: None,
            has_saved_secret: self.has_saved_secret,
            shown: None,
            test: None,
        }
    }

    fn text_field(&self, rules: &TextRules) -> Control<'a> {
        let hints = self.field.rendering();
        if let Some(rows) = hints.rows.filter(|_| !self.field.is_sensitive()) {
            return Control::TextArea {
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
        let kind = kind.unwrap_or("text");
        Control::TextInput(TextInput {
            width: match kind {
                "date" | "time" | "tel" => Some("w-date"),
                _ => rules.max_length.and_then(width),
            },
            ..self.line(kind)
        })
    }

    fn number(&self, rules: &NumberRules) -> Control<'a> {
        let hints = self.field.rendering();
        if self.style() == Some(DisplayStyle::Slider) && !self.field.is_sensitive() {
            return Control::Slider(slider(rules, hints.step, &self.text()));
        }
        // Browsers discard invalid text in number inputs before validation can report it; text
        // inputs keep it. Number inputs are used only where the author asks for steps.
        let has_steps = hints.input_type == Some(InputType::Number) || hints.step.is_some();
        let step = || {
            let step = hints.step.map(|step| step.to_string());
            step.unwrap_or_else(|| "any".to_owned())
        };
        let has_steps = has_steps && !self.field.is_sensitive();
        Control::TextInput(TextInput {
            keyboard: keyboard(rules),
            step: has_steps.then(step),
            width: Some(number_width(rules)),
            ..self.line(if has_steps { "number" } else { "text" })
        })
    }

    fn boolean(&self) -> Control<'a> {
        let text = self.text();
        let name = match self.style() {
            Some(DisplayStyle::Radio) => Some("radio"),
            Some(DisplayStyle::Segmented) => Some("segmented"),
            _ => None,
        };
        let Some(name) = name else {
            return Control::Checkbox {
                is_on: text == "true",
                is_toggle: self.style() == Some(DisplayStyle::Toggle),
            };
        };
        let choice = |value, title| Choice {
            value,
            title,
            is_chosen: text == value,
        };
        Control::Options {
            options: vec![
                choice("true", self.texts.yes),
                choice("false", self.texts.no),
            ],
            style: OptionStyle::of(name, "radio", false),
            has_none: !self.field.is_required(),
        }
    }

    fn select(&self, options: &'a Options) -> Control<'a> {
        let chosen = self.text();
        let choices = choices(options, |value| value == chosen);
        let is_searchable = self.field.rendering().searchable == Some(true);
        let style = match self.style() {
            Some(DisplayStyle::Radio) => "radio",
            Some(DisplayStyle::Segmented) => "segmented",
            Some(_) if !is_searchable => "dropdown",
            _ if is_searchable || choices.len() <= MAX_RADIO_OPTIONS => "radio",
            _ => "dropdown",
        };
        if style == "dropdown" {
            let is_chosen = has_choice(&choices);
            return Control::Dropdown {
                options: choices,
                has_blank: !self.field.is_required() || !is_chosen,
            };
        }
        let has_none = !self.field.is_required();
        let style = match style {
            "segmented" => segmented(&choices, has_none.then_some(self.texts.no_answer)),
            other => other,
        };
        Control::Options {
            options: choices,
            style: OptionStyle::of(style, "radio", is_searchable),
            has_none,
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
        let is_searchable = self.field.rendering().searchable == Some(true);
        Control::Options {
            options: choices(&rules.options, |value| chosen.contains(value)),
            style: OptionStyle::of(style, "checkbox", is_searchable),
            has_none: false,
        }
    }

    fn date(&self, rules: &DateRules) -> Control<'a> {
        let hints = self.field.rendering();
        let text = self.text();
        let shown = hints.display_format.as_deref().map(|format| {
            calendar::display(&text, format, self.texts).unwrap_or_else(|| format.to_owned())
        });
        let as_text =
            self.style() == Some(DisplayStyle::Text) || hints.input_type == Some(InputType::Text);
        if as_text || !rules.has_time {
            return Control::TextInput(TextInput {
                // A date picker shows the chosen date itself.
                kind: if as_text { "text" } else { "date" },
                shown,
                width: Some(if rules.has_time { "w-20" } else { "w-date" }),
                ..self.line("date")
            });
        }
        let (local, zone) = calendar::split(&text);
        let is_day_only = hints.enable_time == Some(false);
        let day = local.split('T').next().unwrap_or(local);
        Control::DateTime {
            local: if is_day_only { day } else { local }.to_owned(),
            zone: zone.to_owned(),
            is_day_only,
            shown,
        }
    }
}

/// Whether any option is chosen.
pub(super) fn has_choice(options: &[Choice<'_>]) -> bool {
    options.iter().any(|option| option.is_chosen)
}

/// How many characters of segments fit beside each other on a phone, and on a wide page.
const SEGMENTS_FIT: (usize, usize) = (28, 66);

/// The classes of a segmented control. Segments that do not fit beside each other are rows: broken
/// lines would look like a table.
fn segmented(choices: &[Choice<'_>], none: Option<&str>) -> &'static str {
    let titles = choices.iter().map(|choice| choice.title).chain(none);
    // Each has a margin of about four characters.
    let width: usize = titles.map(|title| title.chars().count() + 4).sum();
    match width {
        _ if width <= SEGMENTS_FIT.0 => "segmented",
        _ if width <= SEGMENTS_FIT.1 => "segmented rows-if-narrow",
        _ => "segmented rows",
    }
}

impl OptionStyle {
    fn of(name: &'static str, input: &'static str, is_searchable: bool) -> Self {
        Self {
            name,
            input,
            is_searchable,
            is_collapsible: name == "folded",
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
    let min = rules
        .minimum
        .or(rules.exclusive_minimum)
        .unwrap_or(Number::from(0));
    let max = rules
        .maximum
        .or(rules.exclusive_maximum)
        .unwrap_or(Number::from(100));
    let wide = max.as_f64() - min.as_f64() >= 10.0;
    let step = step.or(rules.multiple_of).map(|step| step.to_string());
    Slider {
        step: step.unwrap_or_else(|| if wide { "1" } else { "0.01" }.to_owned()),
        value: if text.is_empty() {
            min.to_string()
        } else {
            text.to_owned()
        },
        min: min.to_string(),
        max: max.to_string(),
    }
}

/// The class of an input for so many characters; `None` if it takes the whole line.
fn width(characters: u64) -> Option<&'static str> {
    match characters {
        0..=5 => Some("w-5"),
        6..=10 => Some("w-10"),
        11..=20 => Some("w-20"),
        21..=30 => Some("w-30"),
        _ => None,
    }
}

/// Numbers are short unless their bounds are long.
fn number_width(rules: &NumberRules) -> &'static str {
    let bounds = [rules.minimum, rules.maximum];
    let longest = bounds.iter().flatten().map(|bound| bound.to_string().len());
    match longest.max() {
        Some(digits) if rules.maximum.is_some() && rules.is_integer() && digits <= 5 => "w-5",
        Some(digits) if digits > 10 => "w-20",
        _ => "w-10",
    }
}

/// The on-screen keyboard. Numeric ones often lack a minus sign.
fn keyboard(rules: &NumberRules) -> Option<&'static str> {
    let min = rules.minimum.or(rules.exclusive_minimum)?;
    let is_never_negative = min >= Number::from(0);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_that_do_not_fit_beside_each_other_are_rows() {
        let classes = |titles: &[&'static str], none| {
            let choices: Vec<Choice<'_>> = titles
                .iter()
                .map(|title| Choice {
                    value: title,
                    title,
                    is_chosen: false,
                })
                .collect();
            segmented(&choices, none)
        };
        assert_eq!(classes(&["Small", "Medium", "Large"], None), "segmented");
        let sizes = classes(&["Small", "Medium", "Large"], Some("No answer"));
        assert_eq!(sizes, "segmented rows-if-narrow");
        let long = ["Right now, while I watch", "This evening", "At the weekend"];
        assert_eq!(classes(&long, Some("No answer")), "segmented rows");
    }
}
