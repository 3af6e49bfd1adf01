//! Answers as they are given: parsed, or as text whose digits are all there.

use std::borrow::Cow;

use entreat_core::{Answers, CheckError, CheckSettings, Form, Violations};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::payload::compact;

/// What was given: as a tree, or as text that was not read yet.
#[derive(Clone, Copy)]
pub(crate) enum Given<'a> {
    Tree(&'a Value),
    Text(&'a RawValue),
}

impl<'a> Given<'a> {
    pub(crate) fn check(
        self,
        form: &Form,
        settings: &CheckSettings,
    ) -> Result<Answers<'a>, Violations> {
        match self {
            Self::Tree(tree) => form.check_with(tree, settings),
            Self::Text(raw) => match form.check_text_with(raw.get(), settings) {
                Ok(answers) => Ok(answers),
                Err(CheckError::Invalid(violations)) => Err(violations),
                // Text that is JSON and cannot be read says something twice. Its tree has
                // the last of it.
                Err(_) => {
                    let tree = self.tree();
                    form.check_with(&tree, settings).map(Answers::into_owned)
                }
            },
        }
    }

    pub(crate) fn tree(self) -> Cow<'a, Value> {
        match self {
            Self::Tree(tree) => Cow::Borrowed(tree),
            Self::Text(raw) => Cow::Owned(serde_json::from_str(raw.get()).unwrap_or_default()),
        }
    }

    pub(crate) fn text(self) -> Box<str> {
        match self {
            Self::Tree(tree) => tree.to_string().into(),
            Self::Text(raw) => compact(raw.get()),
        }
    }
}
