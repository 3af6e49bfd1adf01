//! The Rust types that a field can have.
//!
//! A type adds the rules that its conversion needs: `u16` adds its bounds and `multipleOf` 1. So
//! a checked answer always converts.

use jiff::Timestamp;
use jiff::civil::Date;
use serde_json::{Map, Value, json};
use url::Url;

use super::Choice;
use crate::answer::{Answer, Moment};
use crate::form::reader;
use crate::number::Number;
use crate::upload::Upload;

/// A type that a field of a [`TypedForm`](super::TypedForm) can have.
///
/// | Rust type | field type | notes |
/// |---|---|---|
/// | `String` | `text` | |
/// | `u8` to `u128`, `i8` to `i128`, `usize`, `isize` | `number` | `multipleOf` 1 and the bounds of the type, unless the attributes have tighter ones |
/// | `f32`, `f64`, [`Number`] | `number` | `f32` adds its bounds |
/// | `bool` | `boolean` | |
/// | [`jiff::civil::Date`] | `date` | |
/// | [`jiff::Timestamp`], [`Moment<'static>`](Moment) | `date` | `format: date-time`; a `Moment` keeps the offset |
/// | [`url::Url`] | `url` | |
/// | [`Upload<'static>`](Upload) | `file` | |
/// | a [`Choice`] | `select` | |
/// | `Vec` of a [`Choice`] | `multi_select` | not required; no answer is an empty `Vec` |
/// | `Vec<Upload<'static>>` | `file` | needs `maxItems` above 1; not required |
/// | `Option` of any of these | the same | not required; no answer is `None` |
///
/// A `Vec` with `minItems` of 1 or more is required.
///
/// Other types can implement the trait by delegating to one of these:
///
/// ```
/// use entreat_core::{Answer, FieldDraft, FieldType};
///
/// struct Percent(u8);
///
/// impl FieldType for Percent {
///     fn describe(field: &mut FieldDraft) {
///         field.add_rule("maximum", 100);
///         u8::describe(field);
///     }
///
///     fn from_answer(answer: Option<Answer<'_>>) -> Option<Self> {
///         u8::from_answer(answer).map(Percent)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "a form cannot ask for `{Self}`",
    label = "not a type that a field can have",
    note = "an enum without data needs `#[derive(Form)]`; a `Vec` is for such enums and for `Upload`; \
            other types are listed at `FieldType`, which can be implemented too"
)]
pub trait FieldType: Sized {
    /// Sets the type, options and rules of the field.
    fn describe(field: &mut FieldDraft);

    /// Converts a checked answer; `None` if it does not fit.
    fn from_answer(answer: Option<Answer<'_>>) -> Option<Self>;
}

/// A type whose `Vec` is a [`FieldType`].
#[diagnostic::on_unimplemented(
    message = "a form cannot ask for several values of type `{Self}`",
    label = "a `Vec` is for choices and uploads",
    note = "put `#[derive(Form)]` on `{Self}` if it is an enum without data"
)]
pub trait ListItem: Sized {
    /// Sets the type, options and rules of a field that takes a list.
    fn describe_list(field: &mut FieldDraft);

    /// Converts a checked answer into a list; `None` if it does not fit.
    fn from_list(answer: Answer<'_>) -> Option<Vec<Self>>;
}

/// A field's definition under construction, from its attributes and its Rust type.
#[derive(Debug)]
pub struct FieldDraft {
    type_name: &'static str,
    required: bool,
    options: Option<Value>,
    rules: Map<String, Value>,
}

impl FieldDraft {
    pub(super) fn new(rules: Map<String, Value>) -> Self {
        Self {
            type_name: "text",
            required: true,
            options: None,
            rules,
        }
    }

    /// Sets the field's type, such as `text`.
    pub fn set_type(&mut self, name: &'static str) {
        self.type_name = name;
    }

    /// Sets whether the field must be answered, which is the default.
    pub fn set_required(&mut self, required: bool) {
        self.required = required;
    }

    /// Returns the current value of a `validation` rule.
    pub fn rule(&self, key: &str) -> Option<&Value> {
        self.rules.get(key)
    }

    /// Adds a `validation` rule, unless the attributes set it.
    pub fn add_rule(&mut self, key: &str, value: impl Into<Value>) {
        if !self.rules.contains_key(key) {
            self.rules.insert(key.to_owned(), value.into());
        }
    }

    /// Sets the options of the field to those of `T`.
    pub fn set_options<T: Choice>(&mut self) {
        let are_titled = T::OPTIONS.iter().any(|(_, title)| title.is_some());
        let option = |(value, title): &(&str, Option<&str>)| match title {
            _ if !are_titled => json!(value),
            title => json!({"value": value, "title": title.unwrap_or(value)}),
        };
        self.options = Some(T::OPTIONS.iter().map(option).collect());
    }

    /// Adds bounds, unless the attributes set tighter ones.
    fn limit_to(&mut self, low: Number, high: Number) {
        let number = |key| self.rules.get(key).and_then(reader::number);
        let lows = [number("minimum"), number("exclusiveMinimum")];
        let highs = [number("maximum"), number("exclusiveMaximum")];
        if !lows.into_iter().flatten().any(|bound| bound >= low) {
            self.rules.insert("minimum".to_owned(), low.to_json());
        }
        if !highs.into_iter().flatten().any(|bound| bound <= high) {
            self.rules.insert("maximum".to_owned(), high.to_json());
        }
    }

    /// Writes the draft into a definition, which may set `required` already.
    pub(super) fn fill(self, field: &mut Map<String, Value>) {
        field.insert("type".to_owned(), self.type_name.into());
        if self.required {
            field.insert("required".to_owned(), true.into());
        }
        if let Some(options) = self.options {
            field.insert("options".to_owned(), options);
        }
        if !self.rules.is_empty() {
            field.insert("validation".to_owned(), self.rules.into());
        }
    }
}

impl<T: FieldType> FieldType for Option<T> {
    fn describe(field: &mut FieldDraft) {
        T::describe(field);
        field.set_required(false);
    }

    fn from_answer(answer: Option<Answer<'_>>) -> Option<Self> {
        match answer {
            Some(answer) => T::from_answer(Some(answer)).map(Some),
            None => Some(None),
        }
    }
}

impl<T: ListItem> FieldType for Vec<T> {
    fn describe(field: &mut FieldDraft) {
        T::describe_list(field);
        let min_items = field.rule("minItems").and_then(Value::as_u64);
        field.set_required(min_items.is_some_and(|min_items| min_items > 0));
    }

    fn from_answer(answer: Option<Answer<'_>>) -> Option<Self> {
        match answer {
            Some(answer) => T::from_list(answer),
            None => Some(Self::new()),
        }
    }
}

#[diagnostic::do_not_recommend]
impl<T: Choice> FieldType for T {
    fn describe(field: &mut FieldDraft) {
        field.set_type("select");
        field.set_options::<T>();
    }

    fn from_answer(answer: Option<Answer<'_>>) -> Option<Self> {
        let Answer::Choice(value) = answer? else {
            return None;
        };
        T::from_value(&value)
    }
}

impl<T: Choice> ListItem for T {
    fn describe_list(field: &mut FieldDraft) {
        field.set_type("multi_select");
        field.set_options::<T>();
    }

    fn from_list(answer: Answer<'_>) -> Option<Vec<Self>> {
        let Answer::Choices(values) = answer else {
            return None;
        };
        values.iter().map(|value| T::from_value(value)).collect()
    }
}

impl ListItem for Upload<'static> {
    fn describe_list(field: &mut FieldDraft) {
        field.set_type("file");
    }

    fn from_list(answer: Answer<'_>) -> Option<Vec<Self>> {
        let Answer::Files(files) = answer else {
            return None;
        };
        Some(files.into_iter().map(Upload::into_owned).collect())
    }
}

/// Implements [`FieldType`] for types that map to one kind of answer, with at most one rule.
macro_rules! plain {
    ($($type:ty: $name:literal $(, $rule:literal = $value:literal)?; $answer:pat => $result:expr;)*) => {$(
        impl FieldType for $type {
            fn describe(field: &mut FieldDraft) {
                field.set_type($name);
                $(field.add_rule($rule, $value);)?
            }

            fn from_answer(answer: Option<Answer<'_>>) -> Option<Self> {
                let $answer = answer? else {
                    return None;
                };
                $result
            }
        }
    )*};
}

plain! {
    String: "text"; Answer::Text(text) => Some(text.into_owned());
    bool: "boolean"; Answer::Boolean(value) => Some(value);
    f64: "number"; Answer::Number(number) => Some(number.as_f64());
    Number: "number"; Answer::Number(number) => Some(number);
    Date: "date"; Answer::Date(date) => Some(date);
    Timestamp: "date", "format" = "date-time"; Answer::Moment(moment) => Some(moment.instant());
    Moment<'static>: "date", "format" = "date-time"; Answer::Moment(moment) => Some(moment.into_owned());
    // The URL guard accepts nothing that this parser rejects.
    Url: "url"; Answer::Url(text) => Url::parse(&text).ok();
    Upload<'static>: "file"; Answer::Files(files) => match <[_; 1]>::try_from(files) {
        Ok([file]) => Some(file.into_owned()),
        Err(_) => None,
    };
}

impl FieldType for f32 {
    fn describe(field: &mut FieldDraft) {
        field.set_type("number");
        let bounds = [Self::MIN, Self::MAX].map(|bound| Number::from_f64(bound.into()));
        if let [Some(low), Some(high)] = bounds {
            field.limit_to(low, high);
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "within the bounds, the nearest `f32` is what was asked for"
    )]
    fn from_answer(answer: Option<Answer<'_>>) -> Option<Self> {
        f64::from_answer(answer).map(|number| number as Self)
    }
}

macro_rules! whole {
    ($($type:ty)*) => {$(
        impl FieldType for $type {
            fn describe(field: &mut FieldDraft) {
                // `u128` exceeds the range of `Number`.
                let bound = |bound: $type| i128::try_from(bound).unwrap_or(i128::MAX);
                field.set_type("number");
                field.add_rule("multipleOf", 1);
                field.limit_to(
                    Number::from(bound(<$type>::MIN)),
                    Number::from(bound(<$type>::MAX)),
                );
            }

            fn from_answer(answer: Option<Answer<'_>>) -> Option<Self> {
                Number::from_answer(answer)?.as_integer()?.try_into().ok()
            }
        }
    )*};
}

whole! { u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize }
