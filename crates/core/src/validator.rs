//! Custom validators: functions of the host program that a form names.

use std::collections::HashMap;
use std::sync::Arc;

use crate::answer::Answers;

type Function = dyn Fn(&Answers<'_>) -> Result<(), Objection> + Send + Sync;

/// The functions that forms may name in `validation.custom_validators`.
///
/// ```
/// use entreat_core::{Form, Objection, Validators};
/// use serde_json::json;
///
/// let mut validators = Validators::default();
/// validators.register("no_admin", |answers| match answers.get("user") {
///     Some(user) if user.as_str() == Some("admin") => {
///         Err(Objection::new("user", "That name is taken"))
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
    /// Registers a function; it runs once all other rules hold. The same name again
    /// replaces it.
    pub fn register(
        &mut self,
        name: &str,
        function: impl Fn(&Answers<'_>) -> Result<(), Objection> + Send + Sync + 'static,
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

/// Why a custom validator refuses.
#[derive(Clone, Debug)]
pub struct Objection {
    pub(crate) field: String,
    pub(crate) message: String,
}

impl Objection {
    /// Refuses because of one field's answer, with a sentence for the person.
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
