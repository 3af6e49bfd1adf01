//! Custom validators: functions of the host program that a form can name.

use std::collections::HashMap;
use std::sync::Arc;

use crate::answer::Answers;

type Function = dyn Fn(&Answers<'_>) -> Result<(), ValidatorError> + Send + Sync;

/// The functions that forms can name in `validation.custom_validators`.
///
/// ```
/// use entreat_core::{Form, ValidatorError, Validators};
/// use serde_json::json;
///
/// let mut validators = Validators::default();
/// validators.register("no_admin", |answers| match answers.get("user") {
///     Some(user) if user.as_str() == Some("admin") => {
///         Err(ValidatorError::new("user", "That name is taken"))
///     }
///     _ => Ok(()),
/// });
/// let form = Form::with_validators(&json!({
///     "id": "f", "title": "F",
///     "fields": [{"id": "user", "type": "text", "label": "User"}],
///     "validation": {"custom_validators": ["no_admin"]},
/// }), &validators)?;
/// assert!(form.check(&json!({"user": "admin"})).is_err());
/// # Ok::<(), entreat_core::Problems>(())
/// ```
#[derive(Clone, Default)]
pub struct Validators(HashMap<Arc<str>, Arc<Function>>);

impl Validators {
    /// Registers a function, which runs after all other rules hold. Replaces a function of the
    /// same name.
    pub fn register(
        &mut self,
        name: &str,
        function: impl Fn(&Answers<'_>) -> Result<(), ValidatorError> + Send + Sync + 'static,
    ) {
        self.0.insert(name.into(), Arc::new(function));
    }

    pub(crate) fn find(&self, name: &str) -> Option<NamedValidator> {
        let (name, function) = self.0.get_key_value(name)?;
        Some(NamedValidator {
            name: name.clone(),
            function: function.clone(),
        })
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.0.keys().map(|name| &**name).collect()
    }
}

/// The error of a custom validator.
#[derive(Clone, Debug)]
pub struct ValidatorError {
    pub(crate) field: String,
    pub(crate) message: String,
}

impl ValidatorError {
    /// Rejects the answer to a field, with a message for the person.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            message: message.into(),
        }
    }
}

#[derive(Clone)]
pub(crate) struct NamedValidator {
    pub(crate) name: Arc<str>,
    pub(crate) function: Arc<Function>,
}
