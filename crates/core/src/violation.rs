//! Violations: the rules that answers break.
//!
//! A [`Violation`] holds facts only, so that collecting many is cheap. Messages are rendered on
//! demand (see [`Violations::errors`]). A violation never contains the answer to a sensitive
//! field.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::check::CheckSettings;
use crate::condition::Comparison;
use crate::form::findings::Findings;
use crate::form::{Form, Kind};
use crate::message::Messages;
use crate::number::Number;
use crate::url_guard::Blocked;

/// The JSON-RPC code of a validation error.
pub const VALIDATION_FAILED: i32 = -32007;

/// The maximum length of a text in `actual`, in characters.
const MAX_ACTUAL_CHARS: usize = 256;

macro_rules! constraints {
    ($($(#[$doc:meta])* $variant:ident = $key:literal,)*) => {
        /// A rule that an answer can break.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum Constraint {
            $($(#[$doc])* $variant,)*
            /// A custom validator, by its name.
            Custom(Arc<str>),
        }

        impl Constraint {
            /// The names of all rules except custom ones.
            pub const KEYS: &[&str] = &[$($key),*];

            /// The rule's name in definitions and errors.
            pub fn key(&self) -> &str {
                match self {
                    $(Self::$variant => $key,)*
                    Self::Custom(name) => name,
                }
            }

            /// The rule with this name; `None` for custom ones.
            pub(crate) fn named(key: &str) -> Option<Self> {
                match key {
                    $($key => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

constraints! {
    /// A required field has no answer.
    Required = "required",
    /// The value cannot be parsed as the field's type.
    Type = "type",
    /// The text does not have the format.
    Format = "format",
    /// Not one of the options.
    Enum = "enum",
    /// Too few code points.
    MinLength = "minLength",
    /// Too many code points.
    MaxLength = "maxLength",
    /// The pattern does not match.
    Pattern = "pattern",
    /// Below the minimum.
    Minimum = "minimum",
    /// Above the maximum.
    Maximum = "maximum",
    /// Not above the exclusive minimum.
    ExclusiveMinimum = "exclusiveMinimum",
    /// Not below the exclusive maximum.
    ExclusiveMaximum = "exclusiveMaximum",
    /// Not a multiple.
    MultipleOf = "multipleOf",
    /// Too few items.
    MinItems = "minItems",
    /// Too many items.
    MaxItems = "maxItems",
    /// An item is a duplicate.
    UniqueItems = "uniqueItems",
    /// A URL's scheme is not allowed.
    AllowedSchemes = "allowedSchemes",
    /// A URL points to an address or name that is not public.
    BlockPrivateIps = "blockPrivateIPs",
    /// A URL points to this machine.
    BlockLocalhost = "blockLocalhost",
    /// A file is too large.
    MaxSize = "maxSize",
    /// A file's type is not allowed.
    AllowedMimeTypes = "allowedMimeTypes",
    /// A file's extension is not allowed.
    AllowedExtensions = "allowedExtensions",
    /// A file's declared size differs from that of its content.
    Size = "size",
    /// A file's content contradicts its declared type.
    ContentType = "content_type",
    /// A file's name is not safe.
    Filename = "filename",
    /// A file is a reference of a kind that is not accepted.
    Reference = "reference",
    /// A read-only field was changed.
    Readonly = "readonly",
    /// Fields that this one depends on have no answer.
    Dependencies = "dependencies",
    /// The comparison of two fields does not hold.
    Compare = "compare",
    /// None of the fields has an answer.
    AtLeastOne = "at_least_one",
    /// None or several of the fields have an answer.
    ExactlyOne = "exactly_one",
    /// Some of the fields have an answer and some have none.
    AllOrNone = "all_or_none",
    /// The form has no such field.
    AdditionalProperties = "additionalProperties",
    /// The answers are for another form.
    FormId = "form_id",
}

/// What a rule expects.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// The rule must hold.
    True,
    /// A length, count or size.
    Count(u64),
    /// A bound or step.
    Number(Number),
    /// A type, format or other fixed name.
    Name(&'static str),
    /// A pattern, date bound or other text of the form.
    Text(Arc<str>),
    /// The allowed values or, for rules across fields, the ids of the other fields.
    Names(Arc<[Arc<str>]>),
    /// The default of a read-only field.
    Json(Box<Value>),
    /// There is no expected value to report.
    Nothing,
}

impl Expected {
    /// Converts to the JSON that errors contain.
    pub fn to_json(&self) -> Value {
        match self {
            Self::True => true.into(),
            Self::Count(count) => (*count).into(),
            Self::Number(number) => number.to_json(),
            Self::Name(name) => (*name).into(),
            Self::Text(text) => (**text).into(),
            Self::Names(names) => names.iter().map(|name| Value::from(&**name)).collect(),
            Self::Json(value) => (**value).clone(),
            Self::Nothing => Value::Null,
        }
    }

    /// Converts from the JSON of an error, as far as messages need it.
    pub(crate) fn from_json(value: &Value) -> Self {
        match value {
            Value::Null => Self::Nothing,
            Value::Bool(true) => Self::True,
            Value::String(text) => Self::Text(text.as_str().into()),
            Value::Array(names) => {
                let names = names.iter().filter_map(Value::as_str);
                Self::Names(names.map(Arc::from).collect())
            }
            value => match value.as_u64() {
                Some(count) => Self::Count(count),
                None => Self::Json(Box::new(value.clone())),
            },
        }
    }
}

/// A rule that an answer breaks.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// The field's index in the form; `None` if it belongs to no field.
    pub(crate) field: Option<usize>,
    /// The submitted name, if the form has no such field.
    pub(crate) unknown_name: Option<Box<str>>,
    pub(crate) constraint: Constraint,
    pub(crate) expected: Expected,
    pub(crate) actual: Option<Value>,
    /// The list item that is wrong, if the value is a list.
    pub(crate) item: Option<usize>,
    pub(crate) part: Option<&'static str>,
    /// The comparison of a `compare` rule.
    pub(crate) comparison: Option<Comparison>,
    /// A message by the form's author or by a custom validator.
    pub(crate) message: Option<Arc<str>>,
}

impl Violation {
    /// The rule that was broken.
    pub fn constraint(&self) -> &Constraint {
        &self.constraint
    }

    /// What the rule expects.
    pub fn expected(&self) -> &Expected {
        &self.expected
    }

    /// The actual value; always absent for a sensitive field.
    pub fn actual(&self) -> Option<&Value> {
        self.actual.as_ref()
    }

    pub(crate) fn without_field(name: &str, constraint: Constraint, expected: Expected) -> Self {
        Self {
            unknown_name: Some(name.into()),
            ..Self::of(None, constraint, expected)
        }
    }

    pub(crate) fn of(field: Option<usize>, constraint: Constraint, expected: Expected) -> Self {
        Self {
            field,
            unknown_name: None,
            constraint,
            expected,
            actual: None,
            item: None,
            part: None,
            comparison: None,
            message: None,
        }
    }
}

/// All violations of one submission. Never empty.
///
/// Contains at most twenty violations about single items of one list.
#[derive(Clone)]
pub struct Violations {
    pub(crate) form: Form,
    pub(crate) list: Vec<Violation>,
}

impl Violations {
    /// Iterates over the violations in field order, those without a field last.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Violation> {
        self.list.iter()
    }

    /// Creates violations for URLs whose hosts turned out to resolve to blocked addresses. Each
    /// entry is a field's id, the URL and the error. Returns `None` if there are no violations.
    pub fn of_blocked_urls(form: &Form, blocked: &[(&str, &str, Blocked)]) -> Option<Self> {
        let settings = CheckSettings::default();
        let mut findings = Findings::new(&settings);
        for (id, url, blocked) in blocked {
            let Some(index) = form.position(id) else {
                continue;
            };
            let field = &form.fields()[index];
            if let Kind::Url(rules) = field.kind() {
                rules.add_blocked(url, blocked, findings.set_field(index, field));
            }
        }
        let (form, list) = (form.clone(), findings.list);
        (!list.is_empty()).then_some(Self { form, list })
    }

    /// The number of violations.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// The id of the field that a violation belongs to, or the unknown name that was submitted.
    pub fn field_of<'v>(&'v self, violation: &'v Violation) -> &'v str {
        match violation.field {
            Some(index) => self.form.fields()[index].id(),
            None => violation.unknown_name.as_deref().unwrap_or(""),
        }
    }

    /// Renders the violations as errors for people and wires, in one language.
    pub fn errors(&self, messages: &Messages) -> Vec<FieldError> {
        self.list
            .iter()
            .map(|violation| self.error(violation, messages))
            .collect()
    }

    fn error(&self, violation: &Violation, messages: &Messages) -> FieldError {
        let field = self.field_of(violation);
        let mut path = Vec::new();
        if !field.is_empty() {
            path.push(PathStep::Key(field.to_owned().into()));
        }
        path.extend(violation.item.map(PathStep::Index));
        path.extend(violation.part.map(|part| PathStep::Key(part.into())));
        FieldError {
            field: field.to_owned(),
            code: VALIDATION_FAILED,
            message: messages.render(&self.form, violation),
            constraint: violation.constraint.key().to_owned(),
            expected: violation.expected.to_json(),
            actual: violation.actual.clone(),
            path,
        }
    }
}

impl fmt::Debug for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.list).finish()
    }
}

impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, violation) in self.list.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            let field = self.field_of(violation);
            write!(f, "`{field}` breaks `{}`", violation.constraint.key())?;
        }
        Ok(())
    }
}

impl std::error::Error for Violations {}

/// An error about one field, as it is sent over wires.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FieldError {
    /// The field's id.
    pub field: String,
    /// Always [`VALIDATION_FAILED`].
    pub code: i32,
    /// A message for the respondent.
    pub message: String,
    /// The rule's name.
    pub constraint: String,
    /// What the rule expects.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub expected: Value,
    /// The actual value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual: Option<Value>,
    /// The path to the value in the answers.
    pub path: Vec<PathStep>,
}

impl FieldError {
    /// Parses an error that was received; `None` if it has no field or message.
    ///
    /// ```
    /// use entreat_core::{Catalogue, FieldError, Form};
    /// use serde_json::json;
    ///
    /// let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [
    ///     {"id": "name", "type": "text", "label": "Name", "required": true}]}))?;
    /// let violations = form.check(&json!({})).unwrap_err();
    /// let error = &violations.errors(&Catalogue::default().messages(["en"]))[0];
    /// let sent = serde_json::to_value(error)?;
    /// assert_eq!(FieldError::from_json(&sent).as_ref(), Some(error));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_json(error: &Value) -> Option<Self> {
        let text = |key: &str| error.get(key)?.as_str().map(str::to_owned);
        let steps = error.get("path").and_then(Value::as_array);
        let step = |step: &Value| match step.as_u64() {
            Some(index) => usize::try_from(index).ok().map(PathStep::Index),
            None => Some(PathStep::Key(step.as_str()?.to_owned().into())),
        };
        Some(Self {
            field: text("field")?,
            code: VALIDATION_FAILED,
            message: text("message")?,
            constraint: text("constraint").unwrap_or_default(),
            expected: error.get("expected").cloned().unwrap_or_default(),
            actual: error.get("actual").cloned(),
            path: steps.into_iter().flatten().filter_map(step).collect(),
        })
    }
}

/// A step of the path to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathStep {
    /// The key of an object member.
    Key(Cow<'static, str>),
    /// The index of a list item.
    Index(usize),
}

impl Serialize for PathStep {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Key(key) => serializer.serialize_str(key),
            Self::Index(index) => index.serialize(serializer),
        }
    }
}

/// Shortens a value for display: long texts are truncated, large structures become text.
pub(crate) fn shorten(value: &Value) -> Value {
    match value {
        Value::String(text) => shorten_text(text),
        Value::Array(_) | Value::Object(_) => {
            let text = value.to_string();
            if text.len() <= MAX_ACTUAL_CHARS {
                value.clone()
            } else {
                shorten_text(&text)
            }
        }
        scalar => scalar.clone(),
    }
}

pub(crate) fn shorten_text(text: &str) -> Value {
    match text.char_indices().nth(MAX_ACTUAL_CHARS) {
        Some((end, _)) => text[..end].into(),
        None => text.into(),
    }
}
