//! A table of the attributes of a field that go into its definition unchanged.
//!
//! Attributes that need more code (`id`, `default`, `show_if`, …) are in `field.rs`.

use self::ValueKind::{Bound, Count, Flag, Switch, Texts, Word};
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

/// A rule, under this key of `validation`.
const fn rule(
    name: &'static str,
    json: &'static str,
    value_kind: ValueKind,
    fits: &'static [Family],
) -> Key {
    Key {
        name,
        section: Section::Rule,
        json,
        value_kind,
        fits,
    }
}

/// A hint, under this key of `rendering`.
const fn hint(
    name: &'static str,
    json: &'static str,
    value_kind: ValueKind,
    fits: &'static [Family],
) -> Key {
    Key {
        section: Section::Hint,
        ..rule(name, json, value_kind, fits)
    }
}

pub(crate) const KEYS: &[Key] = &[
    Key {
        section: Section::Field,
        ..rule("sensitive", "sensitive", Flag(true), &[])
    },
    Key {
        section: Section::Field,
        ..rule("section", "section", ValueKind::Text, &[])
    },
    rule("min_length", "minLength", Count, &[Text]),
    rule("max_length", "maxLength", Count, &[Text, Url]),
    rule("pattern", "pattern", ValueKind::Text, &[Text]),
    rule("format", "format", Word(FORMATS), &[Text]),
    rule("min", "minimum", Bound, &[Number, Date]),
    rule("max", "maximum", Bound, &[Number, Date]),
    rule(
        "exclusive_min",
        "exclusiveMinimum",
        ValueKind::Number,
        &[Number],
    ),
    rule(
        "exclusive_max",
        "exclusiveMaximum",
        ValueKind::Number,
        &[Number],
    ),
    rule("multiple_of", "multipleOf", ValueKind::Number, &[Number]),
    rule("min_items", "minItems", Count, &[MultiSelect, Files]),
    rule("max_items", "maxItems", Count, &[MultiSelect, Files]),
    rule("schemes", "allowedSchemes", Texts, &[Url]),
    rule("allow_private", "blockPrivateIPs", Flag(false), &[Url]),
    rule("allow_localhost", "blockLocalhost", Flag(false), &[Url]),
    rule("max_size", "maxSize", Count, &[File, Files]),
    rule("mime_types", "allowedMimeTypes", Texts, &[File, Files]),
    rule("extensions", "allowedExtensions", Texts, &[File, Files]),
    hint("placeholder", "placeholder", ValueKind::Text, &[]),
    hint("help", "helpText", ValueKind::Text, &[]),
    hint("display", "displayStyle", Word(STYLES), DRAWN),
    hint("input", "inputType", Word(INPUTS), &[]),
    hint("readonly", "readonly", Flag(true), &[]),
    hint("hidden", "hidden", Flag(true), &[]),
    hint("autocomplete", "autocomplete", ValueKind::Text, &[]),
    hint("rows", "rows", Count, &[Text]),
    hint("step", "step", ValueKind::Number, &[Number]),
    hint("searchable", "searchable", Switch, &[Select, MultiSelect]),
    hint("grid_column", "gridColumn", ValueKind::Text, &[]),
    hint("grid_row", "gridRow", ValueKind::Text, &[]),
    hint("break_after", "breakAfter", Flag(true), &[]),
    hint("trigger", "validationTrigger", Word(TRIGGERS), &[]),
    hint("debounce_ms", "debounceMs", Count, &[]),
    hint("accept", "acceptAttribute", ValueKind::Text, &[File, Files]),
    hint("drag_and_drop", "dragAndDrop", Switch, &[File, Files]),
    hint("preview", "preview", Switch, &[File, Files]),
    hint("test_button", "testButton", Switch, &[Url]),
    hint("display_format", "displayFormat", ValueKind::Text, &[Date]),
    hint("enable_time", "enableTime", Switch, &[Date]),
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
