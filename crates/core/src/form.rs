//! Forms: what is asked.
//!
//! A [`Form`] exists only if its definition is valid. It holds everything compiled (patterns,
//! bounds, conditions), is built once, and is cheap to clone. `definition.rs` reads definitions;
//! each field type has a file of its name.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use crate::answer::Answer;
use crate::condition::Condition;
use crate::document::{self, Notation};
use crate::problem::{ProblemCode, Problems};
use crate::timeout::Timeout;
use crate::validator::{NamedValidator, Validators};

pub(crate) mod definition;
pub(crate) mod reader;

pub(crate) mod boolean;
pub(crate) mod date;
pub(crate) mod file;
pub(crate) mod findings;
pub(crate) mod kind;
pub(crate) mod multi_select;
pub(crate) mod number;
pub(crate) mod options;
pub(crate) mod rendering;
pub(crate) mod rules;
pub(crate) mod select;
pub(crate) mod text;
pub(crate) mod url;

pub use date::{DateBound, DateRules};
pub use file::FileRules;
pub use kind::Kind;
pub use multi_select::MultiSelectRules;
pub use number::NumberRules;
pub use options::Options;
pub use rendering::{
    Accessibility, DisplayStyle, GridPosition, InputType, Rendering, SavedTo, ValidationTrigger,
};
pub use rules::{CrossCheck, CrossRule};
pub use text::TextRules;
pub use url::UrlRules;

use reader::{Reader, Step};

/// Up to this many fields or options, a linear scan is faster than hashing.
const SCAN_UP_TO: usize = 16;

/// A valid form, ready to be shown and to check answers. Cheap to clone.
#[derive(Clone)]
pub struct Form(Arc<Inner>);

struct Inner {
    definition: Value,
    id: Box<str>,
    title: Box<str>,
    description: Option<Box<str>>,
    fields: Vec<Field>,
    index: HashMap<Arc<str>, usize>,
    rules: Vec<CrossRule>,
    validators: Vec<NamedValidator>,
    timeout: Timeout,
    allow_partial: bool,
    /// Indices of the fields that are not always active, each after those its conditions refer to.
    conditional: Vec<usize>,
    /// Indices of the fields that have a default.
    with_default: Vec<usize>,
    /// No field depends on another, so each answer can be checked while it is parsed.
    is_plain: bool,
}

/// Consecutive fields under one heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section<'f> {
    /// The heading; `None` for fields before the first heading.
    pub heading: Option<&'f str>,
    /// Indices of its fields in [`Form::fields`].
    pub fields: Range<usize>,
}

/// One question of a form.
pub struct Field {
    id: Arc<str>,
    label: Box<str>,
    description: Option<Box<str>>,
    section: Option<Box<str>>,
    required: bool,
    sensitive: bool,
    kind: Kind,
    default: Option<Answer<'static>>,
    rendering: Rendering,
    accessibility: Accessibility,
    messages: HashMap<Box<str>, Arc<str>>,
    dependencies: Vec<usize>,
    /// The first `shown_by` conditions decide whether the field is shown, the rest whether it is
    /// enabled.
    active_when: Vec<Condition>,
    shown_by: usize,
    checked_when: Vec<Condition>,
    /// Which of the form's rules report at this field.
    rules: Vec<usize>,
}

impl Form {
    /// The keys of a form in definitions.
    pub const KEYS: &[&'static str] = definition::FORM_KEYS;

    /// Loads a definition.
    ///
    /// Fails with every problem of the definition.
    ///
    /// ```
    /// use entreat_core::Form;
    /// use serde_json::json;
    ///
    /// let form = Form::from_value(&json!({
    ///     "id": "greeting",
    ///     "title": "Who are you?",
    ///     "fields": [{"id": "name", "type": "text", "label": "Name", "required": true}],
    /// }))?;
    /// assert_eq!(form.fields()[0].label(), "Name");
    ///
    /// let problems = Form::from_value(&json!({"id": "x", "titel": "y", "fields": []})).unwrap_err();
    /// assert_eq!(problems.iter().next().unwrap().suggestion.as_deref(), Some("title"));
    /// # Ok::<(), entreat_core::Problems>(())
    /// ```
    pub fn from_value(definition: &Value) -> Result<Self, Problems> {
        Self::with_validators(definition, &Validators::default())
    }

    /// Loads a definition that may name these custom validators.
    pub fn with_validators(definition: &Value, validators: &Validators) -> Result<Self, Problems> {
        definition::read(definition, validators).map(|inner| Self(Arc::new(inner)))
    }

    /// Loads a definition from JSON, YAML or TOML text.
    ///
    /// Fails with every problem, duplicate keys included.
    pub fn from_text(text: &str, notation: Notation) -> Result<Self, Problems> {
        Self::from_value(&document::read(text, notation)?)
    }

    /// The definition that the form was loaded from.
    pub fn definition(&self) -> &Value {
        &self.0.definition
    }

    /// The form's id.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// The form's title.
    pub fn title(&self) -> &str {
        &self.0.title
    }

    /// The form's description.
    pub fn description(&self) -> Option<&str> {
        self.0.description.as_deref()
    }

    /// The paragraphs of a message that neither the title nor the description says already;
    /// `None` if there are none. For whoever shows all three.
    pub fn rest_of_message(&self, message: &str) -> Option<String> {
        let description = self.description().unwrap_or_default();
        let said: HashSet<&str> = paragraphs(self.title())
            .chain(paragraphs(description))
            .collect();
        // Kept as they are: the indentation and the blank lines may be those of a code block.
        let rest: Vec<&str> = message
            .split("\n\n")
            .filter(|it| !said.contains(it.trim()))
            .collect();
        let rest = rest.join("\n\n");
        let rest = rest.trim_end().trim_start_matches(['\n', '\r']);
        (!rest.is_empty()).then(|| rest.to_owned())
    }

    /// The author's metadata, unchanged.
    pub fn metadata(&self) -> Option<&Value> {
        self.0.definition.get("metadata")
    }

    /// The timeout settings of the definition.
    pub fn timeout(&self) -> Timeout {
        self.0.timeout
    }

    /// Whether a submission may leave required fields unanswered.
    pub fn allows_partial(&self) -> bool {
        self.0.allow_partial
    }

    /// The fields in display order.
    pub fn fields(&self) -> &[Field] {
        &self.0.fields
    }

    /// The sections in display order: each starts at a field with a heading and contains the
    /// fields up to the next one. Fields before the first heading are a section without one.
    ///
    /// ```
    /// use entreat_core::{Form, form::Section};
    /// use serde_json::json;
    ///
    /// let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [
    ///     {"id": "name", "type": "text", "label": "Name"},
    ///     {"id": "host", "type": "text", "label": "Host", "section": "Network"},
    ///     {"id": "port", "type": "number", "label": "Port"},
    /// ]}))?;
    /// let sections: Vec<_> = form.sections().collect();
    /// assert_eq!(sections[0], Section { heading: None, fields: 0..1 });
    /// assert_eq!(sections[1], Section { heading: Some("Network"), fields: 1..3 });
    /// # Ok::<(), entreat_core::Problems>(())
    /// ```
    pub fn sections(&self) -> impl Iterator<Item = Section<'_>> {
        let fields = self.fields();
        let mut next = 0;
        std::iter::from_fn(move || {
            let start = next;
            let first = fields.get(start)?;
            let following = fields[start + 1..].iter();
            let length = following
                .take_while(|field| field.section.is_none())
                .count();
            next = start + 1 + length;
            Some(Section {
                heading: first.section(),
                fields: start..next,
            })
        })
    }

    /// The field with this id.
    pub fn field(&self, id: &str) -> Option<&Field> {
        self.position(id).map(|position| &self.0.fields[position])
    }

    /// The rules across fields.
    pub fn rules(&self) -> &[CrossRule] {
        &self.0.rules
    }

    /// The index of a field in [`fields`](Self::fields).
    pub fn position(&self, id: &str) -> Option<usize> {
        if self.0.fields.len() <= SCAN_UP_TO {
            return self.0.fields.iter().position(|field| *field.id == *id);
        }
        self.0.index.get(id).copied()
    }

    /// Finds a field and its index. Tries `likely` first, since answers mostly come in field order.
    #[inline]
    pub(crate) fn find(&self, likely: usize, id: &str) -> Option<(usize, &Field)> {
        let fields = &*self.0.fields;
        match fields.get(likely) {
            Some(field) if *field.id == *id => Some((likely, field)),
            _ => {
                let index = self.position(id)?;
                Some((index, &fields[index]))
            }
        }
    }

    pub(crate) fn with_default(&self) -> &[usize] {
        &self.0.with_default
    }

    pub(crate) fn is_plain(&self) -> bool {
        self.0.is_plain
    }

    pub(crate) fn conditional(&self) -> &[usize] {
        &self.0.conditional
    }

    pub(crate) fn validators(&self) -> &[NamedValidator] {
        &self.0.validators
    }
}

impl fmt::Debug for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Form({:?}, {} fields)", self.0.id, self.0.fields.len())
    }
}

fn paragraphs(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n\n")
        .map(str::trim)
        .filter(|it| !it.is_empty())
}

impl Field {
    /// The keys of a field in definitions.
    pub const KEYS: &[&'static str] = definition::FIELD_KEYS;

    /// The field's id, the key of its answer.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The label shown beside the field.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// A longer explanation.
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// The heading of the section that starts at this field; see [`Form::sections`].
    pub fn section(&self) -> Option<&str> {
        self.section.as_deref()
    }

    /// Whether the field must be answered while it is active.
    pub fn is_required(&self) -> bool {
        self.required
    }

    /// Whether the answer is sensitive, and must be redacted and stored encrypted.
    pub fn is_sensitive(&self) -> bool {
        self.sensitive
    }

    /// The field's type and its rules.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// The default answer.
    pub fn default(&self) -> Option<&Answer<'static>> {
        self.default.as_ref()
    }

    /// Hints on how to show the field.
    pub fn rendering(&self) -> &Rendering {
        &self.rendering
    }

    /// Whether the answer cannot be changed: the field is hidden or read-only.
    pub fn is_fixed(&self) -> bool {
        self.rendering.is_fixed()
    }

    /// Hints for assistive technology.
    pub fn accessibility(&self) -> &Accessibility {
        &self.accessibility
    }

    /// Whether the answer is a list of uploads rather than a single one.
    pub fn takes_many(&self) -> bool {
        let rules = self.kind.file_rules();
        rules.is_some_and(|rules| rules.max_items > 1)
    }

    /// The conditions that must all hold for the field to be shown and enabled.
    pub fn active_when(&self) -> &[Condition] {
        &self.active_when
    }

    /// The conditions of [`active_when`](Self::active_when) that decide whether the field is
    /// shown. If one of the others fails, the field is shown but disabled.
    pub fn shown_when(&self) -> &[Condition] {
        &self.active_when[..self.shown_by]
    }

    /// The conditions that must all hold for the field's rules to apply.
    pub fn checked_when(&self) -> &[Condition] {
        &self.checked_when
    }

    /// Indices of the fields that must be answered if this one is.
    pub fn dependencies(&self) -> &[usize] {
        &self.dependencies
    }

    pub(crate) fn shared_id(&self) -> Arc<str> {
        self.id.clone()
    }

    pub(crate) fn rules(&self) -> &[usize] {
        &self.rules
    }

    /// The author's message for a broken rule.
    pub(crate) fn own_message(&self, constraint: &str) -> Option<&Arc<str>> {
        self.messages.get(constraint)
    }
}

impl fmt::Debug for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Field({:?}, {})", self.id, self.kind.name())
    }
}

/// Resolves references to fields while a form is being read.
pub(crate) struct FieldTable<'f> {
    index: &'f HashMap<Arc<str>, usize>,
    ids: Vec<Arc<str>>,
    /// `None` for a field of unknown type, which has been reported already.
    kinds: Vec<Option<&'f Kind>>,
}

impl<'f> FieldTable<'f> {
    /// Creates the table of a complete form.
    pub(crate) fn new(form: &'f Form) -> Self {
        Self {
            index: &form.0.index,
            ids: form.0.fields.iter().map(Field::shared_id).collect(),
            kinds: form
                .0
                .fields
                .iter()
                .map(|field| Some(&field.kind))
                .collect(),
        }
    }

    /// Finds a field by id; reports an unknown id at `step`.
    pub(crate) fn find<'v>(
        &self,
        reader: &mut Reader<'v>,
        step: impl Into<Step<'v>>,
        id: &str,
    ) -> Option<(usize, &'f Kind)> {
        if let Some(&index) = self.index.get(id) {
            return Some((index, self.kinds[index]?));
        }
        let known: Vec<&str> = self.ids.iter().map(|id| &**id).collect();
        reader.within(step, |reader| {
            let message = format!("The form has no field `{id}`.");
            reader.report_unknown(ProblemCode::UnknownField, message, id, &known);
        });
        None
    }

    pub(crate) fn ids<'p>(&self, indices: impl IntoIterator<Item = &'p usize>) -> Arc<[Arc<str>]> {
        indices
            .into_iter()
            .map(|index| self.ids[*index].clone())
            .collect()
    }
}
