//! The attributes of a field that go into its definition as they are.
//!
//! A flat table; what needs thought (`id`, `default`, `show_if`, …) is in `field.rs`.

use crate::shape::Family::{
    self, Boolean, Date, File, Files, MultiSelect, Number, Select, Text, Url,
};

/// An attribute and where it goes.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) place: Place,
    /// The key in the definition.
    pub(crate) json: &'static str,
    pub(crate) wants: Wants,
    /// The fields that it is for; empty for all.
    pub(crate) fits: &'static [Family],
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Place {
    /// On the field itself.
    Field,
    /// In `validation`.
    Rule,
    /// In `rendering`.
    Hint,
}

/// What stands behind the `=`.
#[derive(Clone, Copy)]
pub(crate) enum Wants {
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A whole number of at least zero.
    Count,
    Number,
    /// A value of the field's own type.
    Bound,
    Texts,
    /// Nothing; the flag stands for this value.
    Flag(bool),
    /// `true` or `false`, or nothing for `true`.
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
    place: Place,
    json: &'static str,
    wants: Wants,
    fits: &'static [Family],
) -> Key {
    Key {
        name,
        place,
        json,
        wants,
        fits,
    }
}

pub(crate) const KEYS: &[Key] = &[
    key(
        "sensitive",
        Place::Field,
        "sensitive",
        Wants::Flag(true),
        &[],
    ),
    key(
        "min_length",
        Place::Rule,
        "minLength",
        Wants::Count,
        &[Text],
    ),
    key(
        "max_length",
        Place::Rule,
        "maxLength",
        Wants::Count,
        &[Text, Url],
    ),
    key("pattern", Place::Rule, "pattern", Wants::Text, &[Text]),
    key(
        "format",
        Place::Rule,
        "format",
        Wants::Word(FORMATS),
        &[Text],
    ),
    key("min", Place::Rule, "minimum", Wants::Bound, &[Number, Date]),
    key("max", Place::Rule, "maximum", Wants::Bound, &[Number, Date]),
    key(
        "exclusive_min",
        Place::Rule,
        "exclusiveMinimum",
        Wants::Number,
        &[Number],
    ),
    key(
        "exclusive_max",
        Place::Rule,
        "exclusiveMaximum",
        Wants::Number,
        &[Number],
    ),
    key(
        "multiple_of",
        Place::Rule,
        "multipleOf",
        Wants::Number,
        &[Number],
    ),
    key(
        "min_items",
        Place::Rule,
        "minItems",
        Wants::Count,
        &[MultiSelect, Files],
    ),
    key(
        "max_items",
        Place::Rule,
        "maxItems",
        Wants::Count,
        &[MultiSelect, Files],
    ),
    key(
        "schemes",
        Place::Rule,
        "allowedSchemes",
        Wants::Texts,
        &[Url],
    ),
    key(
        "allow_private",
        Place::Rule,
        "blockPrivateIPs",
        Wants::Flag(false),
        &[Url],
    ),
    key(
        "allow_localhost",
        Place::Rule,
        "blockLocalhost",
        Wants::Flag(false),
        &[Url],
    ),
    key(
        "max_size",
        Place::Rule,
        "maxSize",
        Wants::Count,
        &[File, Files],
    ),
    key(
        "mime_types",
        Place::Rule,
        "allowedMimeTypes",
        Wants::Texts,
        &[File, Files],
    ),
    key(
        "extensions",
        Place::Rule,
        "allowedExtensions",
        Wants::Texts,
        &[File, Files],
    ),
    key("placeholder", Place::Hint, "placeholder", Wants::Text, &[]),
    key("help", Place::Hint, "helpText", Wants::Text, &[]),
    key(
        "display",
        Place::Hint,
        "displayStyle",
        Wants::Word(STYLES),
        DRAWN,
    ),
    key("input", Place::Hint, "inputType", Wants::Word(INPUTS), &[]),
    key("readonly", Place::Hint, "readonly", Wants::Flag(true), &[]),
    key("hidden", Place::Hint, "hidden", Wants::Flag(true), &[]),
    key(
        "autocomplete",
        Place::Hint,
        "autocomplete",
        Wants::Text,
        &[],
    ),
    key("rows", Place::Hint, "rows", Wants::Count, &[Text]),
    key("step", Place::Hint, "step", Wants::Number, &[Number]),
    key(
        "searchable",
        Place::Hint,
        "searchable",
        Wants::Switch,
        &[Select, MultiSelect],
    ),
    key("grid_column", Place::Hint, "gridColumn", Wants::Text, &[]),
    key("grid_row", Place::Hint, "gridRow", Wants::Text, &[]),
    key(
        "break_after",
        Place::Hint,
        "breakAfter",
        Wants::Flag(true),
        &[],
    ),
    key(
        "trigger",
        Place::Hint,
        "validationTrigger",
        Wants::Word(TRIGGERS),
        &[],
    ),
    key("debounce_ms", Place::Hint, "debounceMs", Wants::Count, &[]),
    key(
        "accept",
        Place::Hint,
        "acceptAttribute",
        Wants::Text,
        &[File, Files],
    ),
    key(
        "drag_and_drop",
        Place::Hint,
        "dragAndDrop",
        Wants::Switch,
        &[File, Files],
    ),
    key(
        "preview",
        Place::Hint,
        "preview",
        Wants::Switch,
        &[File, Files],
    ),
    key(
        "test_button",
        Place::Hint,
        "testButton",
        Wants::Switch,
        &[Url],
    ),
    key(
        "display_format",
        Place::Hint,
        "displayFormat",
        Wants::Text,
        &[Date],
    ),
    key(
        "enable_time",
        Place::Hint,
        "enableTime",
        Wants::Switch,
        &[Date],
    ),
];

/// The attributes that `field.rs` reads itself.
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

/// Names of broken rules that are no attribute, for `messages(…)`.
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

    /// A macro cannot read the lists of the crate that it writes code for.
    #[test]
    fn the_words_are_those_of_the_form_language() {
        assert_eq!(FORMATS, Format::NAMES);
        assert_eq!(STYLES, DisplayStyle::NAMES);
        assert_eq!(INPUTS, InputType::NAMES);
        assert_eq!(TRIGGERS, ValidationTrigger::NAMES);
    }
}
