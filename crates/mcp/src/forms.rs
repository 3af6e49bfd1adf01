//! What forms come to on the wire, worked out once for each: a tool asks the same form again and
//! again, and it costs more than everything else that is done for a question.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use entreat_core::Form;
use entreat_core::schema::{Era, Projection, project};
use parking_lot::Mutex;

use crate::digest::Digest;

/// So many are known; one more, and all are forgotten. Questions of one field are new forms each
/// time and pass through.
const MOST: usize = 256;

#[derive(Default)]
pub(crate) struct WireForms(Mutex<HashMap<(usize, Era), Arc<Known>>>);

/// A form with what is known of it in an era.
pub(crate) struct Known {
    /// Kept, so that no other form can be in its place.
    form: Form,
    digest: OnceLock<Digest>,
    projection: Projection,
}

impl WireForms {
    pub(crate) fn of(&self, form: &Form, era: Era) -> Arc<Known> {
        // By place and not by contents, which would have to be read for that. A form from a type
        // or a template is always in the same.
        let place = (std::ptr::from_ref(form.definition()).addr(), era);
        let mut known = self.0.lock();
        if let Some(found) = known.get(&place) {
            return found.clone();
        }
        if known.len() >= MOST {
            known.clear();
        }
        let fresh = Arc::new(Known {
            form: form.clone(),
            digest: OnceLock::new(),
            projection: project(form, era),
        });
        known.insert(place, fresh.clone());
        fresh
    }
}

impl Known {
    /// The digest of its definition.
    pub(crate) fn digest(&self) -> Digest {
        let definition = self.form.definition();
        *self.digest.get_or_init(|| Digest::of(definition))
    }

    /// The form as an era says it.
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
        let (forms, era) = (WireForms::default(), Era::V2025_11_25);
        let first = form("First");
        let known = forms.of(&first, era);
        assert!(Arc::ptr_eq(&known, &forms.of(&first.clone(), era)));
        for number in 0..2 * MOST {
            let label = number.to_string();
            let other = forms.of(&form(&label), era);
            let schema = &other.projection().requested_schema;
            assert_eq!(schema["properties"]["name"]["title"], json!(label));
            assert_ne!(other.digest(), known.digest());
        }
        assert!(forms.0.lock().len() <= MOST);
        assert_eq!(forms.of(&first, era).digest(), known.digest());
    }

    #[test]
    fn eras_are_told_apart() {
        // Titles of options are said in another way in each of the first two.
        let options = json!([{"value": "r", "title": "Red"}, {"value": "g", "title": "Green"}]);
        let field = json!({"id": "color", "type": "select", "label": "C", "options": options});
        let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [field]})).unwrap();
        let forms = WireForms::default();
        for era in Era::ALL {
            assert_eq!(*forms.of(&form, era).projection(), project(&form, era));
        }
    }
}
