//! Caches the wire form of forms: a tool asks the same form repeatedly, and computing its schema
//! costs more than all other work for a question.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use entreat_core::schema::{Era, Projection, project};
use entreat_core::{Form, Kind};
use entreat_wire::digest::Digest;
use parking_lot::Mutex;
use serde_json::Value;

/// The cache is cleared when full. One-field questions are new forms each time and only pass
/// through.
const CAPACITY: usize = 256;

/// The name of a confirmation: it reads right beside a checkbox, a switch and a list.
const CONFIRM: &str = "I confirm";

/// Names the only answer in a client's form where the message already asks the question, which is
/// the field's label.
pub(crate) fn name_the_answer(schema: &mut Value, form: &Form, message: &str) {
    let [field] = form.fields() else {
        return;
    };
    let is_asked =
        field.label() == form.title() && message.contains(form.title().trim_end_matches('…'));
    let name = match field.kind() {
        Kind::Boolean if field.is_required() => CONFIRM,
        Kind::Boolean => return,
        Kind::Select(_) => "Choice",
        Kind::MultiSelect(_) => "Choices",
        Kind::Text(_) | Kind::Number(_) | Kind::Date(_) | Kind::Url(_) | Kind::File(_) => "Answer",
    };
    let property = schema["properties"].get_mut(field.id());
    if let Some(property) = property.and_then(Value::as_object_mut).filter(|_| is_asked) {
        property.insert("title".to_owned(), name.into());
    }
}

#[derive(Default)]
pub(crate) struct WireFormCache(Mutex<HashMap<(usize, Era), Arc<WireForm>>>);

/// A form as sent in one protocol version.
pub(crate) struct WireForm {
    /// Held so that its address, which is the cache key, is not reused.
    form: Form,
    digest: OnceLock<Digest>,
    projection: Projection,
}

impl WireFormCache {
    pub(crate) fn of(&self, form: &Form, era: Era) -> Arc<WireForm> {
        // Keyed by address: hashing the contents would cost as much as a miss. Forms of types and
        // templates have stable addresses.
        let key = (std::ptr::from_ref(form.definition()).addr(), era);
        let mut cached = self.0.lock();
        if let Some(found) = cached.get(&key) {
            return found.clone();
        }
        if cached.len() >= CAPACITY {
            cached.clear();
        }
        let fresh = Arc::new(WireForm {
            form: form.clone(),
            digest: OnceLock::new(),
            projection: project(form, era),
        });
        cached.insert(key, fresh.clone());
        fresh
    }
}

impl WireForm {
    /// The digest of the form's definition.
    pub(crate) fn digest(&self) -> Digest {
        let definition = self.form.definition();
        *self.digest.get_or_init(|| Digest::of(definition))
    }

    /// The form's schema in this protocol version.
    pub(crate) fn projection(&self) -> &Projection {
        &self.projection
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form(label: &str) -> Form {
        let field = json!({"id": "name", "type": "text", "label": label});
        Form::from_value(&json!({"id": "f", "title": "F", "fields": [field]})).unwrap()
    }

    #[test]
    fn a_form_is_known_by_its_place_and_no_other_takes_it() {
        let (forms, era) = (WireFormCache::default(), Era::V2025_11_25);
        let first = form("First");
        let known = forms.of(&first, era);
        assert!(Arc::ptr_eq(&known, &forms.of(&first.clone(), era)));
        for number in 0..2 * CAPACITY {
            let label = number.to_string();
            let other = forms.of(&form(&label), era);
            let schema = &other.projection().requested_schema;
            assert_eq!(schema["properties"]["name"]["title"], json!(label));
            assert_ne!(other.digest(), known.digest());
        }
        assert!(forms.0.lock().len() <= CAPACITY);
        assert_eq!(forms.of(&first, era).digest(), known.digest());
    }

    #[test]
    fn eras_are_told_apart() {
        // The first two versions encode option titles differently.
        let options = json!([{"value": "r", "title": "Red"}, {"value": "g", "title": "Green"}]);
        let field = json!({"id": "color", "type": "select", "label": "C", "options": options});
        let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [field]})).unwrap();
        let forms = WireFormCache::default();
        for era in Era::ALL {
            assert_eq!(*forms.of(&form, era).projection(), project(&form, era));
        }
    }
}
