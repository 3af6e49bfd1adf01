//! View models of fields.
//!
//! Decides presentation only. Validity and active fields come from the core.

use entreat_core::form::{DisplayStyle, ValidationTrigger};
use entreat_core::{Field, Form, Kind, Messages, Progress, TextFormat};
use serde_json::{Map, Value};

use super::control::{Choice, Control, Test, Verdict, control};
use super::file_view::FilesView;
use super::prose::Prose;
use super::texts::{Bounds, Texts};

/// A field on the page.
pub(super) struct FieldView<'a> {
    pub(super) place: usize,
    pub(super) id: &'a str,
    pub(super) label: &'a str,
    pub(super) description: Option<Prose<'a>>,
    pub(super) help: Option<Prose<'a>>,
    /// A hint by the page itself.
    pub(super) note: Option<String>,
    /// What to know before answering.
    pub(super) warning: Option<String>,
    /// Text for screen readers only.
    pub(super) spoken: Option<&'a str>,
    pub(super) errors: Vec<String>,
    /// The maximum length, for the script to count.
    pub(super) max_length: Option<u64>,
    pub(super) placeholder: Option<&'a str>,
    pub(super) autocomplete: Option<&'a str>,
    pub(super) aria_label: Option<&'a str>,
    pub(super) tab_index: Option<i64>,
    pub(super) trigger: Option<&'static str>,
    pub(super) debounce_ms: Option<u64>,
    pub(super) classes: String,
    pub(super) is_optional: bool,
    pub(super) is_answerable: bool,
    pub(super) control: Control<'a>,
    /// The label repeats the title of the page, so only screen readers need it.
    pub(super) repeats_title: bool,
    presence: Presence,
    /// Overrides by the form author for assistive technology.
    aria_required: Option<bool>,
    aria_invalid: Option<bool>,
    /// The index of a field that describes this one.
    pub(super) describer: Option<usize>,
}

/// Whether a field takes part in the form.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    Active,
    Disabled,
    Hidden,
}

impl Presence {
    pub(super) fn of(field: &Field, progress: &Progress<'_>) -> Self {
        if !progress.is_shown(field) {
            Self::Hidden
        } else if progress.is_active(field.id()) {
            Self::Active
        } else {
            Self::Disabled
        }
    }

    /// The name used by the script.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Disabled => "disabled",
            Self::Hidden => "hidden",
        }
    }
}

/// What all fields of a page share.
pub(super) struct FieldContext<'a> {
    pub(super) form: &'a Form,
    /// The draft, including secrets, which are not shown.
    pub(super) values: &'a Map<String, Value>,
    pub(super) progress: &'a Progress<'a>,
    pub(super) texts: &'static Texts,
    pub(super) messages: &'a Messages,
    pub(super) format: TextFormat,
    /// The field that two buttons answer, see [`yes_no`].
    pub(super) yes_no: Option<usize>,
}

/// The index of the only question of a form, if it is a required boolean: it has two buttons, of
/// which one press answers. Nothing else may be asked but one optional text, such as a reason: above
/// it, or below it if it depends on the answer.
pub(super) fn yes_no(form: &Form) -> Option<usize> {
    let is_asked = |field: &Field| !field.rendering().hidden && !field.rendering().readonly;
    let mut asked = form
        .fields()
        .iter()
        .enumerate()
        .filter(|(_, field)| is_asked(field));
    let (place, field) = match (asked.next(), asked.next(), asked.next()) {
        (Some(only), None, None) => only,
        (Some((_, note)), Some(last), None) if is_note(note) => last,
        (Some(first), Some((_, note)), None)
            if is_note(note) && note.dependencies() == [first.0] =>
        {
            first
        }
        _ => return None,
    };
    let is_yes_no = matches!(field.kind(), Kind::Boolean)
        && field.is_required()
        && field.active_when().is_empty()
        && field.shown_when().is_empty();
    is_yes_no.then_some(place)
}

/// Whether a label only repeats the title: that of Yes and No, or of a form's only field.
fn repeats_title(context: &FieldContext<'_>, field: &Field, place: usize) -> bool {
    let is_all = context.form.fields().len() == 1 && field.is_required();
    field.label() == context.form.title() && (is_all || context.yes_no == Some(place))
}

/// Whether a field is a text that may be left empty whatever else is answered.
fn is_note(field: &Field) -> bool {
    matches!(field.kind(), Kind::Text(_))
        && !field.is_required()
        && !field.is_sensitive()
        && field.active_when().is_empty()
        && field.shown_when().is_empty()
}

impl<'a> FieldView<'a> {
    pub(super) fn new(
        context: &FieldContext<'a>,
        place: usize,
        errors: Vec<String>,
        files: Option<FilesView<'a>>,
        verdict: Option<Verdict>,
    ) -> Self {
        let test = (context.form.fields()[place].rendering().test_button == Some(true))
            .then_some(Test { verdict });
        let field = &context.form.fields()[place];
        let hints = field.rendering();
        let access = field.accessibility();
        let limits = files.as_ref().map(|files| files.limits.clone());
        let limits = limits.or_else(|| limits_of(field, context.texts));
        // Where a secret goes is said on its own; a limit is a detail.
        let saved_to = context.messages.saved_to(field);
        let (note, warning) = match saved_to.as_deref().and_then(|told| told.split_once('\n')) {
            Some((told, warning)) => (Some(told.to_owned()), Some(warning.to_owned())),
            None => (saved_to.or(limits), None),
        };
        let describer = access.aria_described_by.as_deref();
        let describer_place = describer.and_then(|id| context.form.position(id));
        Self {
            place,
            id: field.id(),
            label: field.label(),
            description: field
                .description()
                .map(|text| Prose::new(text, context.format)),
            help: hints
                .help_text
                .as_deref()
                .map(|text| Prose::new(text, context.format)),
            note,
            warning,
            spoken: describer.filter(|_| describer_place.is_none()),
            errors,
            max_length: match field.kind() {
                Kind::Text(rules) => rules.max_length,
                _ => None,
            },
            placeholder: hints.placeholder.as_deref(),
            autocomplete: hints
                .autocomplete
                .as_deref()
                .filter(|token| is_autofill(token)),
            aria_label: access.aria_label.as_deref(),
            tab_index: access.tab_index,
            trigger: hints.validation_trigger.map(ValidationTrigger::name),
            debounce_ms: hints.debounce_ms,
            classes: classes(context.form, place),
            is_optional: !field.is_required() && !hints.readonly && !always_has_value(field),
            is_answerable: !hints.readonly,
            control: if context.yes_no == Some(place) {
                Control::YesNo
            } else {
                control(context, field, files, test)
            },
            repeats_title: repeats_title(context, field, place),
            presence: Presence::of(field, context.progress),
            aria_required: access.required,
            aria_invalid: access.invalid,
            describer: describer_place,
        }
    }

    pub(super) fn is_hidden(&self) -> bool {
        self.presence == Presence::Hidden
    }

    pub(super) fn is_inactive(&self) -> bool {
        self.presence != Presence::Active
    }

    pub(super) fn has_error(&self) -> bool {
        !self.errors.is_empty() || self.aria_invalid == Some(true)
    }

    pub(super) fn is_required(&self) -> bool {
        let by_itself = !self.is_optional
            && self.is_answerable
            && !matches!(
                self.control,
                Control::Slider(_) | Control::Checkbox { .. } | Control::Files(_)
            );
        self.aria_required.unwrap_or(by_itself)
    }

    /// Has several controls under one question.
    pub(super) fn is_group(&self) -> bool {
        matches!(
            self.control,
            Control::Options { .. } | Control::DateTime { .. } | Control::YesNo
        )
    }

    pub(super) fn is_radio(&self) -> bool {
        matches!(&self.control, Control::Options { style, .. } if style.input == "radio")
    }

    /// The label is next to the control.
    pub(super) fn has_own_label(&self) -> bool {
        matches!(self.control, Control::Checkbox { .. })
    }

    /// The id to focus for an error.
    pub(super) fn anchor(&self) -> String {
        match &self.control {
            Control::Options { .. } => format!("f{}-0", self.place),
            Control::TextInput(_)
            | Control::TextArea { .. }
            | Control::Slider(_)
            | Control::Checkbox { .. }
            | Control::Dropdown { .. }
            | Control::DateTime { .. }
            | Control::Files(_)
            | Control::YesNo
            | Control::Fixed { .. } => format!("f{}", self.place),
        }
    }

    pub(super) fn folded_summary(&self, options: &[Choice<'_>], texts: &Texts) -> String {
        let chosen = options.iter().filter(|option| option.is_chosen);
        match chosen.count() {
            0 => self.placeholder.unwrap_or(texts.choose).to_owned(),
            count => format!("{count} {}", texts.chosen),
        }
    }
}

/// The bounds of an answer, said before anybody breaks them. Those of files are in their own view,
/// and a slider shows its ends.
fn limits_of(field: &Field, texts: &Texts) -> Option<String> {
    let hints = field.rendering();
    if hints.readonly {
        return None;
    }
    // Any answer has one character and one option.
    let at_least = |low: Option<u64>| low.filter(|low| *low > 1);
    match field.kind() {
        Kind::Text(rules) => {
            let bounds = Bounds::new(at_least(rules.min_length), rules.max_length)?;
            Some((texts.characters)(&bounds))
        }
        Kind::Number(rules) if hints.display_style != Some(DisplayStyle::Slider) => {
            let bounds = Bounds::new(rules.minimum, rules.maximum)?;
            Some((texts.numbers)(&bounds))
        }
        Kind::MultiSelect(rules) => {
            let bounds = Bounds::new(at_least(rules.min_items), rules.max_items)?;
            Some((texts.choices)(&bounds))
        }
        Kind::Number(_)
        | Kind::Boolean
        | Kind::Select(_)
        | Kind::Url(_)
        | Kind::Date(_)
        | Kind::File(_) => None,
    }
}

/// Whether a boolean is shown as the options Yes and No, and not as a box to tick.
pub(super) fn shows_options(field: &Field) -> bool {
    field.rendering().display_style == Some(DisplayStyle::Radio)
}

/// Whether the control always has a value, so that it cannot be left empty.
fn always_has_value(field: &Field) -> bool {
    let style = field.rendering().display_style;
    match field.kind() {
        Kind::Boolean => !shows_options(field),
        Kind::Number(_) => style == Some(DisplayStyle::Slider),
        Kind::Text(_)
        | Kind::Date(_)
        | Kind::Select(_)
        | Kind::MultiSelect(_)
        | Kind::Url(_)
        | Kind::File(_) => false,
    }
}

/// CSS classes for the field's position in the grid.
fn classes(form: &Form, place: usize) -> String {
    let fields = form.fields();
    let hints = fields[place].rendering();
    let mut classes = Vec::new();
    for (axis, at) in [("g", hints.grid_column), ("r", hints.grid_row)] {
        let Some(at) = at else { continue };
        classes.extend(at.start.map(|start| format!(" {axis}s-{start}")));
        classes.push(format!(" {axis}w-{}", at.span));
    }
    let before = place
        .checked_sub(1)
        .map(|before| fields[before].rendering());
    if before.is_some_and(|before| before.break_after) {
        classes.push(" fresh-line".to_owned());
    }
    classes.concat()
}

/// The layout class: stacked (none), a grid, or lines that the author breaks.
pub(super) fn layout(form: &Form) -> String {
    let columns = form
        .fields()
        .iter()
        .filter_map(|field| field.rendering().grid_column);
    let columns = columns.map(|at| at.start.unwrap_or(1) + at.span - 1).max();
    match columns {
        Some(columns) => format!("grid cols-{}", columns.min(12)),
        None if form
            .fields()
            .iter()
            .any(|field| field.rendering().break_after) =>
        {
            "lines".to_owned()
        }
        None => String::new(),
    }
}

/// Whether the HTML standard defines the autofill token; others would be invalid HTML.
fn is_autofill(token: &str) -> bool {
    const FIELDS: &[&str] = &[
        "on",
        "off",
        "name",
        "honorific-prefix",
        "given-name",
        "additional-name",
        "family-name",
        "honorific-suffix",
        "nickname",
        "username",
        "new-password",
        "current-password",
        "one-time-code",
        "organization-title",
        "organization",
        "street-address",
        "address-line1",
        "address-line2",
        "address-line3",
        "address-level1",
        "address-level2",
        "address-level3",
        "address-level4",
        "country",
        "country-name",
        "postal-code",
        "cc-name",
        "cc-number",
        "cc-exp",
        "cc-exp-month",
        "cc-exp-year",
        "cc-csc",
        "cc-type",
        "transaction-currency",
        "transaction-amount",
        "language",
        "bday",
        "bday-day",
        "bday-month",
        "bday-year",
        "sex",
        "url",
        "photo",
        "tel",
        "tel-country-code",
        "tel-national",
        "tel-area-code",
        "tel-local",
        "tel-extension",
        "email",
        "impp",
    ];
    let mut parts = token.split(' ');
    let last = parts.next_back().unwrap_or_default();
    let is_prefix = |word: &str| {
        matches!(
            word,
            "shipping" | "billing" | "home" | "work" | "mobile" | "fax" | "pager"
        )
    };
    FIELDS.contains(&last) && parts.all(is_prefix)
}
