//! Untyped values, and accessors to parse them.

use std::borrow::Cow;

use serde_json::Value;

use crate::number::Number;

/// An untyped value of a submission.
#[derive(Clone, Debug, Default)]
pub(crate) enum Raw<'a> {
    /// The field is absent.
    #[default]
    Absent,
    Null,
    Boolean(bool),
    Number(Number),
    /// The source text of a number that cannot be represented without loss.
    Unreadable(&'a str),
    Text(Cow<'a, str>),
    /// A list or an object of parsed JSON.
    Tree(&'a Value),
    /// A list parsed from text.
    List(Vec<Raw<'a>>),
    /// An object parsed from text.
    Object(Vec<(Cow<'a, str>, Raw<'a>)>),
}

impl<'a> From<&'a Value> for Raw<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Boolean(*value),
            Value::Number(number) => Number::from_json(number).map_or(Self::Null, Self::Number),
            Value::String(text) => Self::Text(Cow::Borrowed(text)),
            tree @ (Value::Array(_) | Value::Object(_)) => Self::Tree(tree),
        }
    }
}

/// An untyped value, from parsed JSON or from text.
///
/// Each field type calls the accessors it needs. A value is converted to a [`Raw`] only if it
/// cannot be parsed.
pub(crate) trait Source<'a>: Clone + Into<Raw<'a>> {
    /// Whether the value counts as no answer: null, an empty text or an empty list (spec 1.2).
    fn is_empty(&self) -> bool;

    fn is_null(&self) -> bool;

    fn boolean(&self) -> Option<bool>;

    fn number(&self) -> Option<Number>;

    /// The text, or the value itself if it is not a text.
    fn text(self) -> Result<Cow<'a, str>, Self>;

    /// The items of a list of texts, or the value itself if it is not one.
    fn texts(self) -> Result<Vec<Cow<'a, str>>, Self>;

    /// The items of a list.
    fn items(&self) -> Option<Vec<Self>>;

    /// Calls `visit` with each member of an object. Returns false if the value is not an object.
    fn each_member(&self, visit: impl FnMut(&str, Self)) -> bool;

    fn to_json(&self) -> Value;
}

impl<'a> Source<'a> for &'a Value {
    #[inline]
    fn is_empty(&self) -> bool {
        // Most values are texts; a `match` would go through a jump table each time.
        if let Value::String(text) = self {
            text.is_empty()
        } else if let Value::Array(items) = self {
            items.is_empty()
        } else {
            Value::is_null(self)
        }
    }

    fn is_null(&self) -> bool {
        Value::is_null(self)
    }

    #[inline]
    fn boolean(&self) -> Option<bool> {
        self.as_bool()
    }

    #[inline]
    fn number(&self) -> Option<Number> {
        match self {
            Value::Number(number) => Number::from_json(number),
            _ => None,
        }
    }

    #[inline]
    fn text(self) -> Result<Cow<'a, str>, Self> {
        match self {
            Value::String(text) => Ok(Cow::Borrowed(text)),
            other => Err(other),
        }
    }

    #[inline]
    fn texts(self) -> Result<Vec<Cow<'a, str>>, Self> {
        let items = self.as_array().ok_or(self)?;
        let mut texts = Vec::with_capacity(items.len());
        for item in items {
            texts.push(Cow::Borrowed(item.as_str().ok_or(self)?));
        }
        Ok(texts)
    }

    fn items(&self) -> Option<Vec<Self>> {
        Some(self.as_array()?.iter().collect())
    }

    #[inline]
    fn each_member(&self, mut visit: impl FnMut(&str, Self)) -> bool {
        let Value::Object(members) = self else {
            return false;
        };
        for (key, value) in members {
            visit(key, value);
        }
        true
    }

    fn to_json(&self) -> Value {
        (*self).clone()
    }
}

impl<'a> Source<'a> for Raw<'a> {
    fn is_empty(&self) -> bool {
        match self {
            Self::Absent | Self::Null => true,
            Self::Text(text) => text.is_empty(),
            Self::Tree(tree) => Source::is_empty(tree),
            Self::List(items) => items.is_empty(),
            Self::Boolean(_) | Self::Number(_) | Self::Unreadable(_) | Self::Object(_) => false,
        }
    }

    fn is_null(&self) -> bool {
        matches!(self, Self::Absent | Self::Null)
    }

    fn boolean(&self) -> Option<bool> {
        match self {
            Self::Boolean(value) => Some(*value),
            _ => None,
        }
    }

    fn number(&self) -> Option<Number> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    fn text(self) -> Result<Cow<'a, str>, Self> {
        match self {
            Self::Text(text) => Ok(text),
            other => Err(other),
        }
    }

    fn texts(self) -> Result<Vec<Cow<'a, str>>, Self> {
        match self {
            Self::List(items) if items.iter().all(|item| matches!(item, Self::Text(_))) => {
                Ok(items.into_iter().flat_map(Self::text).collect())
            }
            Self::Tree(tree) => tree.texts().map_err(Self::Tree),
            other => Err(other),
        }
    }

    fn items(&self) -> Option<Vec<Self>> {
        match self {
            Self::Tree(tree) => Some(tree.items()?.into_iter().map(Self::from).collect()),
            Self::List(items) => Some(items.clone()),
            _ => None,
        }
    }

    fn each_member(&self, mut visit: impl FnMut(&str, Self)) -> bool {
        match self {
            Self::Tree(tree) => tree.each_member(|key, value| visit(key, value.into())),
            Self::Object(members) => {
                for (key, value) in members {
                    visit(key, value.clone());
                }
                true
            }
            _ => false,
        }
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Absent | Self::Null => Value::Null,
            Self::Boolean(value) => (*value).into(),
            Self::Number(number) => number.to_json(),
            Self::Unreadable(text) => (*text).into(),
            Self::Text(text) => text.as_ref().into(),
            Self::Tree(tree) => (*tree).clone(),
            Self::List(items) => items.iter().map(Raw::to_json).collect(),
            Self::Object(members) => members
                .iter()
                .map(|(key, value)| (key.to_string(), value.to_json()))
                .collect(),
        }
    }
}
