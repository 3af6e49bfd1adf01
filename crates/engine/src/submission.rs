//! Submitted answers: parsed JSON, or JSON text that keeps all digits of numbers.

use std::borrow::Cow;

use entreat_core::{Answers, CheckError, CheckSettings, Form, Violations};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::payload::compact;

/// Submitted answers.
#[derive(Clone, Copy)]
pub(crate) enum Submission<'a> {
    Parsed(&'a Value),
    Text(&'a RawValue),
}

impl<'a> Submission<'a> {
    pub(crate) fn check(
        self,
        form: &Form,
        settings: &CheckSettings,
    ) -> Result<Answers<'a>, Violations> {
        match self {
            Self::Parsed(value) => form.check_with(value, settings),
            Self::Text(raw) => match form.check_text_with(raw.get(), settings) {
                Ok(answers) => Ok(answers),
                Err(CheckError::Invalid(violations)) => Err(violations),
                // Valid JSON that cannot be parsed strictly has duplicate keys; in a `Value` the
                // last one wins.
                Err(_) => {
                    let value = self.value();
                    form.check_with(&value, settings).map(Answers::into_owned)
                }
            },
        }
    }

    pub(crate) fn value(self) -> Cow<'a, Value> {
        match self {
            Self::Parsed(value) => Cow::Borrowed(value),
            Self::Text(raw) => Cow::Owned(serde_json::from_str(raw.get()).unwrap_or_default()),
        }
    }

    pub(crate) fn text(self) -> Box<str> {
        match self {
            Self::Parsed(value) => value.to_string().into(),
            Self::Text(raw) => compact(raw.get()),
        }
    }
}
