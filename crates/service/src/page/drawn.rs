//! The fields of a form, drawn.
//!
//! Most of a page is its fields, and before anything was typed they look the same to everyone who
//! is asked with that form: so they are drawn once for each form and language, and kept.

use std::sync::Arc;

use askama::Template;
use entreat_core::Form;
use parking_lot::Mutex;

use super::control::Control;
use super::field::{FieldView, layout};
use super::frame::{Frame, ROOM};
use super::words::Words;

/// Fields as HTML, and what the page around them has to know.
#[expect(
    clippy::struct_excessive_bools,
    reason = "what the template asks, each by itself"
)]
pub(super) struct Drawn {
    pub(super) html: String,
    pub(super) layout: String,
    /// How many of them can be answered.
    pub(super) answerable: usize,
    pub(super) is_empty: bool,
    pub(super) is_rtl: bool,
    pub(super) has_files: bool,
    pub(super) has_secrets: bool,
    pub(super) has_optional: bool,
    pub(super) has_conditions: bool,
}

#[derive(Template)]
#[template(path = "fields.html")]
struct Fields<'a> {
    frame: &'a Frame<'a>,
    fields: &'a [FieldView<'a>],
}

impl Drawn {
    pub(super) fn new(
        form: &Form,
        frame: &Frame<'_>,
        fields: &[FieldView<'_>],
    ) -> askama::Result<Self> {
        let mut html = String::with_capacity(ROOM);
        Fields { frame, fields }.render_into(&mut html)?;
        Ok(Self {
            html,
            layout: layout(form),
            answerable: fields.iter().filter(|field| field.is_answerable).count(),
            is_empty: fields.is_empty(),
            is_rtl: is_rtl(form.title()),
            has_files: fields
                .iter()
                .any(|field| matches!(field.control, Control::Files(_))),
            has_secrets: form.fields().iter().any(entreat_core::Field::is_sensitive),
            has_optional: fields.iter().any(|field| field.is_optional),
            has_conditions: form
                .fields()
                .iter()
                .any(|field| !field.active_when().is_empty()),
        })
    }
}

/// Whether a text is written from right to left, by its first letter.
fn is_rtl(text: &str) -> bool {
    let first = text.chars().find(|c| c.is_alphabetic());
    first.is_some_and(
        |c| matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}'),
    )
}

/// Forms that nobody has touched, as they were drawn before.
#[derive(Default)]
pub(super) struct Drawings(Mutex<Vec<Drawing>>);

struct Drawing {
    /// Held, so that its place in memory is no other form's.
    form: Form,
    language: &'static str,
    drawn: Arc<Drawn>,
}

/// How many drawings are kept. Few are in use at a time, so that looking through all is quick.
const DRAWINGS: usize = 64;
/// A drawing that is larger, in bytes, is not kept.
const LARGEST: usize = 64 << 10;

impl Drawings {
    pub(super) fn find(&self, form: &Form, words: &Words) -> Option<Arc<Drawn>> {
        let drawings = self.0.lock();
        let found = drawings
            .iter()
            .find(|drawing| drawing.language == words.language && is_same(&drawing.form, form));
        found.map(|found| found.drawn.clone())
    }

    pub(super) fn keep(&self, form: &Form, words: &Words, drawn: &Arc<Drawn>) {
        if drawn.html.len() > LARGEST {
            return;
        }
        let mut drawings = self.0.lock();
        if drawings.len() >= DRAWINGS {
            drawings.clear();
        }
        drawings.push(Drawing {
            form: form.clone(),
            language: words.language,
            drawn: drawn.clone(),
        });
    }
}

/// Whether two are clones of one form.
fn is_same(one: &Form, other: &Form) -> bool {
    std::ptr::eq(one.definition(), other.definition())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form() -> Form {
        Form::from_value(&json!({"id": "f", "title": "F", "fields": [
            {"id": "a", "type": "text", "label": "A"}]}))
        .unwrap()
    }

    fn drawn(length: usize) -> Arc<Drawn> {
        Arc::new(Drawn {
            html: "a".repeat(length),
            layout: String::new(),
            answerable: 0,
            is_empty: true,
            is_rtl: false,
            has_files: false,
            has_secrets: false,
            has_optional: false,
            has_conditions: false,
        })
    }

    #[test]
    fn a_drawing_is_found_for_its_form_in_its_language_alone() {
        let drawings = Drawings::default();
        let [english, german] = Words::ALL;
        let form = form();
        drawings.keep(&form, english, &drawn(3));
        assert!(drawings.find(&form.clone(), english).is_some());
        assert!(drawings.find(&form, german).is_none());
        assert!(drawings.find(&self::form(), english).is_none());
    }

    #[test]
    fn drawings_take_so_much_room_and_no_more() {
        let drawings = Drawings::default();
        let [english, _] = Words::ALL;
        let large = form();
        drawings.keep(&large, english, &drawn(LARGEST + 1));
        assert!(drawings.find(&large, english).is_none());
        for _ in 0..3 * DRAWINGS {
            drawings.keep(&form(), english, &drawn(3));
            assert!(drawings.0.lock().len() <= DRAWINGS);
        }
    }
}
