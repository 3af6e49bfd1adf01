//! Hints on how to show a field.
//!
//! A hint never changes what is valid, with three exceptions: `conditionalDisplay` (see
//! [`crate::condition`]), `readonly` and `hidden` (see [`crate::check`]).

use crate::form::kind::Kind;
use crate::form::reader::{Object, Reader};
use crate::number::Number;
use crate::problem::ProblemCode;
use crate::vocabulary::vocabulary;

vocabulary! {
    /// The control that shows a field.
    #[expect(missing_docs, reason = "the words of the form language; see docs/forms.md")]
    DisplayStyle {
        Dropdown = "dropdown",
        Radio = "radio",
        Checkbox = "checkbox",
        Toggle = "toggle",
        Segmented = "segmented",
        MultiselectDropdown = "multiselect_dropdown",
        Chips = "chips",
        Slider = "slider",
        Text = "text",
        Password = "password",
        Email = "email",
        Tel = "tel",
    }
}

vocabulary! {
    /// The type of the HTML input on a page.
    #[expect(missing_docs, reason = "the words of the form language; see docs/forms.md")]
    InputType {
        Text = "text",
        Password = "password",
        Email = "email",
        Tel = "tel",
        Url = "url",
        Number = "number",
        Date = "date",
        Time = "time",
        DatetimeLocal = "datetime_local",
    }
}

vocabulary! {
    /// When a field is checked while a person fills it in.
    #[expect(missing_docs, reason = "the words of the form language; see docs/forms.md")]
    ValidationTrigger {
        OnChange = "on_change",
        OnBlur = "on_blur",
        OnSubmit = "on_submit",
    }
}

impl DisplayStyle {
    fn fits(self, kind: &Kind) -> bool {
        match kind {
            Kind::Text(_) => matches!(self, Self::Text | Self::Password | Self::Email | Self::Tel),
            Kind::Number(_) => matches!(self, Self::Slider | Self::Text),
            Kind::Boolean => matches!(self, Self::Checkbox | Self::Toggle | Self::Radio),
            Kind::Select(_) => matches!(self, Self::Dropdown | Self::Radio | Self::Segmented),
            Kind::MultiSelect(_) => {
                matches!(
                    self,
                    Self::Checkbox | Self::MultiselectDropdown | Self::Chips
                )
            }
            Kind::Url(_) | Kind::Date(_) => matches!(self, Self::Text),
            Kind::File(_) => false,
        }
    }
}

/// The rendering hints of one field. Absent hints are up to the renderer.
#[derive(Clone, Debug, Default)]
#[expect(
    missing_docs,
    reason = "the keys of the form language; see docs/forms.md"
)]
pub struct Rendering {
    pub placeholder: Option<Box<str>>,
    pub help_text: Option<Box<str>>,
    pub display_style: Option<DisplayStyle>,
    pub readonly: bool,
    pub hidden: bool,
    pub autocomplete: Option<Box<str>>,
    pub input_type: Option<InputType>,
    pub rows: Option<u64>,
    pub step: Option<Number>,
    pub searchable: Option<bool>,
    pub grid_column: Option<GridPosition>,
    pub grid_row: Option<GridPosition>,
    pub break_after: bool,
    pub validation_trigger: Option<ValidationTrigger>,
    pub debounce_ms: Option<u64>,
    pub accept_attribute: Option<Box<str>>,
    pub drag_and_drop: Option<bool>,
    pub preview: Option<bool>,
    pub test_button: Option<bool>,
    pub display_format: Option<Box<str>>,
    pub enable_time: Option<bool>,
    pub saved_to: Option<SavedTo>,
}

/// Where the asker saves a secret, for the person to read beforehand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedTo {
    /// The file.
    pub file: Box<str>,
    /// The name in the file under which it is saved.
    pub name: Box<str>,
    /// Whether Git ignores the file, if that is known.
    pub git_ignored: Option<bool>,
}

/// A field's position and span in a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridPosition {
    /// The line at which the field starts, counted from 1.
    pub start: Option<u64>,
    /// The number of cells that the field spans.
    pub span: u64,
}

const COMMON: &[&str] = &[
    "placeholder",
    "helpText",
    "displayStyle",
    "readonly",
    "hidden",
    "autocomplete",
    "inputType",
    "rows",
    "step",
    "searchable",
    "gridColumn",
    "gridRow",
    "breakAfter",
    "conditionalDisplay",
    "validationTrigger",
    "debounceMs",
];
const FILE: &[&str] = &["acceptAttribute", "dragAndDrop", "preview"];
const URL: &[&str] = &["testButton"];
const DATE: &[&str] = &["displayFormat", "enableTime"];
const TEXT: &[&str] = &["savedTo"];

/// The maximum length of a path that is shown.
const MAX_PATH: usize = 4096;
/// The maximum length of a name that is shown.
const MAX_NAME: usize = 256;

/// The maximum debounce delay before a field is checked.
const MAX_DEBOUNCE_MS: u64 = 60_000;

impl Rendering {
    /// Whether the answer cannot be changed.
    pub(super) fn is_fixed(&self) -> bool {
        self.hidden || self.readonly
    }

    pub(crate) fn read<'v>(reader: &mut Reader<'v>, hints: &'v Object, kind: &Kind) -> Self {
        check_keys(reader, hints, kind);
        let text = |reader: &mut Reader<'v>, key| reader.text_at(hints, key).map(Box::from);
        let rendering = Self {
            placeholder: text(reader, "placeholder"),
            help_text: text(reader, "helpText"),
            display_style: reader.word_at(hints, "displayStyle", DisplayStyle::WORDS),
            readonly: reader.flag_at(hints, "readonly").unwrap_or(false),
            hidden: reader.flag_at(hints, "hidden").unwrap_or(false),
            autocomplete: text(reader, "autocomplete"),
            input_type: reader.word_at(hints, "inputType", InputType::WORDS),
            rows: reader.count_at(hints, "rows"),
            step: reader.number_at(hints, "step"),
            searchable: reader.flag_at(hints, "searchable"),
            grid_column: read_grid_position(reader, hints, "gridColumn"),
            grid_row: read_grid_position(reader, hints, "gridRow"),
            break_after: reader.flag_at(hints, "breakAfter").unwrap_or(false),
            validation_trigger: reader.word_at(
                hints,
                "validationTrigger",
                ValidationTrigger::WORDS,
            ),
            debounce_ms: reader.count_at(hints, "debounceMs"),
            accept_attribute: text(reader, "acceptAttribute"),
            drag_and_drop: reader.flag_at(hints, "dragAndDrop"),
            preview: reader.flag_at(hints, "preview"),
            test_button: reader.flag_at(hints, "testButton"),
            display_format: text(reader, "displayFormat"),
            enable_time: reader.flag_at(hints, "enableTime"),
            saved_to: read_saved_to(reader, hints),
        };
        rendering.check(reader, kind);
        rendering
    }

    fn check(&self, reader: &mut Reader<'_>, kind: &Kind) {
        if let Some(style) = self.display_style
            && !style.fits(kind)
        {
            let (style, kind) = (style.name(), kind.name());
            let message = format!("A field of type `{kind}` cannot be displayed as `{style}`.");
            reader.report_at("displayStyle", ProblemCode::NotApplicable, message);
        }
        if self.rows == Some(0) {
            let message = "`rows` must be at least 1.";
            reader.report_at("rows", ProblemCode::BadValue, message);
        }
        if self.step.is_some_and(|step| step <= Number::from(0)) {
            let message = "`step` must be above 0.";
            reader.report_at("step", ProblemCode::BadValue, message);
        }
        if self
            .debounce_ms
            .is_some_and(|delay| delay > MAX_DEBOUNCE_MS)
        {
            let message = format!("`debounceMs` is at most {MAX_DEBOUNCE_MS}.");
            reader.report_at("debounceMs", ProblemCode::BadValue, message);
        }
    }

    /// Whether the hints ask for masking, which makes a field sensitive.
    pub(crate) fn masks(&self) -> bool {
        self.input_type == Some(InputType::Password)
            || self.display_style == Some(DisplayStyle::Password)
    }
}

fn check_keys<'v>(reader: &mut Reader<'v>, hints: &'v Object, kind: &Kind) {
    let own: &[&str] = match kind {
        Kind::File(_) => FILE,
        Kind::Url(_) => URL,
        Kind::Date(_) => DATE,
        Kind::Text(_) => TEXT,
        Kind::Number(_) | Kind::Boolean | Kind::Select(_) | Kind::MultiSelect(_) => &[],
    };
    for key in hints.keys().map(String::as_str) {
        if COMMON.contains(&key) || own.contains(&key) {
            continue;
        }
        reader.within(key, |reader| {
            if [FILE, URL, DATE, TEXT]
                .iter()
                .any(|keys| keys.contains(&key))
            {
                let message = format!("`{key}` is not a hint for type `{}`.", kind.name());
                reader.report(ProblemCode::NotApplicable, message);
            } else {
                let known: Vec<_> = COMMON.iter().chain(own).copied().collect();
                let message = format!("`{key}` is not a rendering hint.");
                reader.report_unknown(ProblemCode::UnknownKey, message, key, &known);
            }
        });
    }
}

fn read_saved_to<'v>(reader: &mut Reader<'v>, hints: &'v Object) -> Option<SavedTo> {
    let place = reader.object_at(hints, "savedTo")?;
    reader.within("savedTo", |reader| {
        reader.check_keys(place, &["file", "name", "gitIgnored"]);
        let file = reader.required_text(place, "file", MAX_PATH);
        let name = reader.required_text(place, "name", MAX_NAME);
        let git_ignored = reader.flag_at(place, "gitIgnored");
        Some(SavedTo {
            file: file?.into(),
            name: name?.into(),
            git_ignored,
        })
    })
}

/// Reads a line number, `"span 2"`, or `"1 / span 2"`.
fn read_grid_position<'v>(
    reader: &mut Reader<'v>,
    hints: &'v Object,
    key: &'v str,
) -> Option<GridPosition> {
    let value = hints.get(key)?;
    let cell = |text: &str| text.parse().ok().filter(|n| (1..=12_u64).contains(n));
    let span = |text: &str| text.strip_prefix("span ").and_then(|n| cell(n.trim()));
    let position = match value {
        serde_json::Value::Number(line) => cell(&line.to_string()).map(|line| (Some(line), 1)),
        serde_json::Value::String(text) => match text.split_once('/') {
            Some((start, end)) => match (cell(start.trim()), span(end.trim()), cell(end.trim())) {
                (Some(start), Some(span), _) => Some((Some(start), span)),
                (Some(start), None, Some(end)) if end > start => Some((Some(start), end - start)),
                _ => None,
            },
            None => span(text)
                .map(|span| (None, span))
                .or_else(|| cell(text).map(|line| (Some(line), 1))),
        },
        _ => None,
    };
    if position.is_none() {
        let message = format!(
            "`{key}` is a line from 1 to 12, a span such as `span 2`, or both: `1 / span 2`."
        );
        reader.report_at(key, ProblemCode::BadValue, message);
    }
    position.map(|(start, span)| GridPosition { start, span })
}

/// Hints for assistive technology about one field.
#[derive(Clone, Debug, Default)]
#[expect(
    missing_docs,
    reason = "the keys of the form language; see docs/forms.md"
)]
pub struct Accessibility {
    pub aria_label: Option<Box<str>>,
    pub aria_described_by: Option<Box<str>>,
    pub tab_index: Option<i64>,
    pub required: Option<bool>,
    pub invalid: Option<bool>,
}

impl Accessibility {
    pub(crate) fn read<'v>(reader: &mut Reader<'v>, hints: &'v Object) -> Self {
        reader.check_keys(
            hints,
            &[
                "ariaLabel",
                "ariaDescribedBy",
                "tabIndex",
                "required",
                "invalid",
            ],
        );
        let tab_index = reader.number_at(hints, "tabIndex").and_then(|number| {
            let index = number
                .as_integer()
                .and_then(|index| i64::try_from(index).ok());
            if index.is_none_or(|index| index > 0) {
                reader.report_at(
                    "tabIndex",
                    ProblemCode::BadValue,
                    "`tabIndex` is 0 or -1: a positive value breaks the tab order.",
                );
            }
            index
        });
        Self {
            aria_label: reader.text_at(hints, "ariaLabel").map(Box::from),
            aria_described_by: reader.text_at(hints, "ariaDescribedBy").map(Box::from),
            tab_index,
            required: reader.flag_at(hints, "required"),
            invalid: reader.flag_at(hints, "invalid"),
        }
    }
}
