//! A table of the attributes of a field that go into its definition unchanged.
//!
//! Attributes that need more code (`id`, `default`, `show_if`, …) are in `field.rs`.

use crate::shape::Family::{
    self, Boolean, Date, File, Files, MultiSelect, Number, Select, Text, Url,
};

/// An attribute, and the key that it sets in the definition.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) section: Section,
    /// The key in the definition.
    pub(crate) json: &'static str,
    pub(crate) value_kind: ValueKind,
    /// The fields that it applies to; empty for all.
    pub(crate) fits: &'static [Family],
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Section {
    /// On the field itself.
    Field,
    /// In `validation`.
    Rule,
    /// In `rendering`.
    Hint,
}

/// The kind of value that an attribute takes.
#[derive(Clone, Copy)]
pub(crate) enum ValueKind {
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A whole number of at least zero.
    Count,
    Number,
    /// A value of the field's type.
    Bound,
    Texts,
    /// No value; the attribute alone means this.
    Flag(bool),
    /// `true` or `false`; the attribute alone means `true`.
    Switch,
}

const FORMATS: &[&str] = &[
    "email",
    "uri",
    "uuid",
    "hostname",
    "ipv4",
    "ipv6",
    "date",
    "date-time",
    "time",
];
const STYLES: &[&str] = &[
    "dropdown",
    "radio",
    "checkbox",
    "toggle",
    "segmented",
    "multiselect_dropdown",
    "chips",
    "slider",
    "text",
    "password",
    "email",
    "tel",
];
const INPUTS: &[&str] = &[
    "text",
    "password",
    "email",
    "tel",
    "url",
    "number",
    "date",
    "time",
    "datetime_local",
];
const TRIGGERS: &[&str] = &["on_change", "on_blur", "on_submit"];

const DRAWN: &[Family] = &[Text, Number, Boolean, Date, Select, MultiSelect, Url];

const fn key(
    name: &'static str,
    section: Section,
    json: &'static str,
    value_kind: ValueKind,
    fits: &'static [Family],
) -> Key {
    Key {
        name,
        section,
        json,
        value_kind,
        fits,
    }
}

pub(crate) const KEYS: &[Key] = &[
    key(
        "sensitive",
        Section::Field,
        "sensitive",
        ValueKind::Flag(true),
        &[],
    ),
    key(
        "min_length",
        Section::Rule,
        "minLength",
        ValueKind::Count,
        &[Text],
    ),
    key(
        "max_length",
        Section::Rule,
        "maxLength",
        ValueKind::Count,
        &[Text, Url],
    ),
    key(
        "pattern",
        Section::Rule,
        "pattern",
        ValueKind::Text,
        &[Text],
    ),
    key(
        "format",
        Section::Rule,
        "format",
        ValueKind::Word(FORMATS),
        &[Text],
    ),
    key(
        "min",
        Section::Rule,
        "minimum",
        ValueKind::Bound,
        &[Number, Date],
    ),
    key(
        "max",
        Section::Rule,
        "maximum",
        ValueKind::Bound,
        &[Number, Date],
    ),
    key(
        "exclusive_min",
        Section::Rule,
        "exclusiveMinimum",
        ValueKind::Number,
        &[Number],
    ),
    key(
        "exclusive_max",
        Section::Rule,
        "exclusiveMaximum",
        ValueKind::Number,
        &[Number],
    ),
    key(
        "multiple_of",
        Section::Rule,
        "multipleOf",
        ValueKind::Number,
        &[Number],
    ),
    key(
        "min_items",
        Section::Rule,
        "minItems",
        ValueKind::Count,
        &[MultiSelect, Files],
    ),
    key(
        "max_items",
        Section::Rule,
        "maxItems",
        ValueKind::Count,
        &[MultiSelect, Files],
    ),
    key(
        "schemes",
        Section::Rule,
        "allowedSchemes",
        ValueKind::Texts,
        &[Url],
    ),
    key(
        "allow_private",
        Section::Rule,
        "blockPrivateIPs",
        ValueKind::Flag(false),
        &[Url],
    ),
    key(
        "allow_localhost",
        Section::Rule,
        "blockLocalhost",
        ValueKind::Flag(false),
        &[Url],
    ),
    key(
        "max_size",
        Section::Rule,
        "maxSize",
        ValueKind::Count,
        &[File, Files],
    ),
    key(
        "mime_types",
        Section::Rule,
        "allowedMimeTypes",
        ValueKind::Texts,
        &[File, Files],
    ),
    key(
        "extensions",
        Section::Rule,
        "allowedExtensions",
        ValueKind::Texts,
        &[File, Files],
    ),
    key(
        "placeholder",
        Section::Hint,
        "placeholder",
        ValueKind::Text,
        &[],
    ),
    key("help", Section::Hint, "helpText", ValueKind::Text, &[]),
    key(
        "display",
        Section::Hint,
        "displayStyle",
        ValueKind::Word(STYLES),
        DRAWN,
    ),
    key(
        "input",
        Section::Hint,
        "inputType",
        ValueKind::Word(INPUTS),
        &[],
    ),
    key(
        "readonly",
        Section::Hint,
        "readonly",
        ValueKind::Flag(true),
        &[],
    ),
    key(
        "hidden",
        Section::Hint,
        "hidden",
        ValueKind::Flag(true),
        &[],
    ),
    key(
        "autocomplete",
        Section::Hint,
        "autocomplete",
        ValueKind::Text,
        &[],
    ),
    key("rows", Section::Hint, "rows", ValueKind::Count, &[Text]),
    key("step", Section::Hint, "step", ValueKind::Number, &[Number]),
    key(
        "searchable",
        Section::Hint,
        "searchable",
        ValueKind::Switch,
        &[Select, MultiSelect],
    ),
    key(
        "grid_column",
        Section::Hint,
        "gridColumn",
        ValueKind::Text,
        &[],
    ),
    key("grid_row", Section::Hint, "gridRow", ValueKind::Text, &[]),
    key(
        "break_after",
        Section::Hint,
        "breakAfter",
        ValueKind::Flag(true),
        &[],
    ),
    key(
        "trigger",
        Section::Hint,
        "validationTrigger",
        ValueKind::Word(TRIGGERS),
        &[],
    ),
    key(
        "debounce_ms",
        Section::Hint,
        "debounceMs",
        ValueKind::Count,
        &[],
    ),
    key(
        "accept",
        Section::Hint,
        "acceptAttribute",
        ValueKind::Text,
        &[File, Files],
    ),
    key(
        "drag_and_drop",
        Section::Hint,
        "dragAndDrop",
        ValueKind::Switch,
        &[File, Files],
    ),
    key(
        "preview",
        Section::Hint,
        "preview",
        ValueKind::Switch,
        &[File, Files],
    ),
    key(
        "test_button",
        Section::Hint,
        "testButton",
        ValueKind::Switch,
        &[Url],
    ),
    key(
        "display_format",
        Section::Hint,
        "displayFormat",
        ValueKind::Text,
        &[Date],
    ),
    key(
        "enable_time",
        Section::Hint,
        "enableTime",
        ValueKind::Switch,
        &[Date],
    ),
];

/// The attributes that `field.rs` reads.
pub(crate) const SPECIAL: &[&str] = &[
    "id",
    "label",
    "description",
    "default",
    "required",
    "requires",
    "show_if",
    "messages",
];

/// Names of rules that are not attributes, for `messages(…)`.
pub(crate) const OTHER_RULES: &[(&str, &str)] = &[
    ("required", "required"),
    ("type", "type"),
    ("enum", "enum"),
    ("requires", "dependencies"),
    ("readonly", "readonly"),
];

pub(crate) fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

#[cfg(test)]
mod tests {
    use entreat_core::Format;
    use entreat_core::form::{DisplayStyle, InputType, ValidationTrigger};

    use super::*;

    /// A macro cannot access the lists of the crate that it generates code for.
    #[test]
    fn the_words_are_those_of_the_form_language() {
        assert_eq!(FORMATS, Format::NAMES);
        assert_eq!(STYLES, DisplayStyle::NAMES);
        assert_eq!(INPUTS, InputType::NAMES);
        assert_eq!(TRIGGERS, ValidationTrigger::NAMES);
    }
}
