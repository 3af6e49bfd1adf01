//! Forms that can be asked by name.
//!
//! Reads no files; see [`TemplateFolder`](crate::TemplateFolder).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use entreat_core::{Form, Problems};
use parking_lot::RwLock;

/// A named form, as last loaded.
#[derive(Clone, Debug)]
pub struct Template {
    /// The last valid form; `None` if there was none yet.
    pub form: Option<Form>,
    /// Problems of the latest version, if it is invalid; `form` is then an earlier one.
    pub problems: Option<Problems>,
}

type Names = BTreeMap<Box<str>, Template>;

/// Forms by name. Clones share one state, which is replaced atomically.
///
/// ```
/// use entreat_core::Form;
/// use entreat_service::rpc::Templates;
/// use serde_json::json;
///
/// let load = |label: &str| Form::from_value(&json!({"id": "go", "title": "Go?", "fields": [
///     {"id": "sure", "type": "boolean", "label": label}]}));
/// let templates = Templates::default();
/// templates.replace([("go".to_owned(), load("Sure?"))]);
///
/// // An invalid new version keeps the last valid form.
/// templates.replace([("go".to_owned(), load(""))]);
/// let found = templates.get("go").unwrap();
/// assert_eq!(found.form.unwrap().fields()[0].label(), "Sure?");
/// assert!(found.problems.is_some());
///
/// templates.replace([]);
/// assert!(templates.get("go").is_none());
/// ```
#[derive(Clone, Default)]
pub struct Templates(Arc<RwLock<Arc<Names>>>);

impl Templates {
    /// Replaces all templates. A name whose new form is invalid keeps its last valid form; names
    /// not in `found` are removed.
    pub fn replace(&self, found: impl IntoIterator<Item = (String, Result<Form, Problems>)>) {
        let before = self.all();
        let names = found.into_iter().map(|(name, loaded)| {
            let template = match loaded {
                Ok(form) => Template {
                    form: Some(form),
                    problems: None,
                },
                Err(problems) => Template {
                    form: before.get(name.as_str()).and_then(|old| old.form.clone()),
                    problems: Some(problems),
                },
            };
            (name.into(), template)
        });
        let names = Arc::new(names.collect());
        *self.0.write() = names;
    }

    /// Returns the template of this name.
    pub fn get(&self, name: &str) -> Option<Template> {
        self.0.read().get(name).cloned()
    }

    /// Returns all names in alphabetical order.
    pub fn names(&self) -> Vec<String> {
        self.all().keys().map(ToString::to_string).collect()
    }

    pub(super) fn all(&self) -> Arc<Names> {
        self.0.read().clone()
    }
}

impl fmt::Debug for Templates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.all().keys()).finish()
    }
}
