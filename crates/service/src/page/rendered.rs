//! Renders the fields of a form, with a cache.
//!
//! Most of a page is its fields, and before anything is typed they are the same for everyone: so
//! they are rendered once per form, text format and language, and cached.
//!
//! The cache exists for speed alone: with it, views reach 0.59 of the bare handler's rate in
//! `docs/performance.md`; views whose answers are checked and whose fields are rendered reach 0.35.

use std::sync::Arc;

use askama::Template;
use entreat_core::{Form, TextFormat};
use parking_lot::Mutex;

use super::control::Control;
use super::field::{FieldView, layout};
use super::frame::{Frame, INITIAL_CAPACITY};
use super::texts::Texts;

/// Rendered fields, and what the page around them needs to know.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts for the template"
)]
pub(super) struct RenderedFields {
    pub(super) html: String,
    /// The number of fields that can be answered.
    pub(super) answerable: usize,
    pub(super) is_empty: bool,
    /// Its only question has two buttons, of which one press answers.
    pub(super) is_yes_no: bool,
    /// The script counts the characters of some fields.
    pub(super) has_counts: bool,
    pub(super) is_rtl: bool,
    pub(super) has_files: bool,
    pub(super) has_secrets: bool,
    /// Its answer goes to a file on this machine, not to the asker.
    pub(super) is_saved: bool,
    pub(super) has_optional: bool,
    pub(super) has_conditions: bool,
}

#[derive(Template)]
#[template(path = "fields.html")]
struct Fields<'a> {
    frame: &'a Frame<'a>,
    layout: String,
    sections: Vec<SectionView<'a>>,
}

/// Consecutive fields, under a heading or none.
struct SectionView<'a> {
    /// The index of its first field.
    place: usize,
    heading: Option<&'a str>,
    fields: &'a [FieldView<'a>],
}

impl<'a> SectionView<'a> {
    /// All sections of a form that have fields to show.
    fn all(form: &'a Form, mut fields: &'a [FieldView<'a>]) -> Vec<Self> {
        let mut sections = Vec::new();
        for section in form.sections() {
            let count = fields.partition_point(|field| field.place < section.fields.end);
            let (here, rest) = fields.split_at(count);
            fields = rest;
            if !here.is_empty() {
                sections.push(Self {
                    place: section.fields.start,
                    heading: section.heading,
                    fields: here,
                });
            }
        }
        sections
    }

    fn is_hidden(&self) -> bool {
        self.fields.iter().all(FieldView::is_hidden)
    }
}

impl RenderedFields {
    pub(super) fn new(
        form: &Form,
        frame: &Frame<'_>,
        fields: &[FieldView<'_>],
    ) -> askama::Result<Self> {
        let mut html = String::with_capacity(INITIAL_CAPACITY);
        let template = Fields {
            frame,
            layout: layout(form),
            sections: SectionView::all(form, fields),
        };
        template.render_into(&mut html)?;
        Ok(Self {
            html,
            answerable: fields.iter().filter(|field| field.is_answerable).count(),
            is_empty: fields.is_empty(),
            is_yes_no: fields
                .iter()
                .any(|field| matches!(field.control, Control::YesNo)),
            has_counts: fields.iter().any(|field| field.max_length.is_some()),
            is_rtl: is_rtl(form.title()),
            has_files: fields
                .iter()
                .any(|field| matches!(field.control, Control::Files(_))),
            has_secrets: form.fields().iter().any(entreat_core::Field::is_sensitive),
            is_saved: form
                .fields()
                .iter()
                .any(|field| field.rendering().saved_to.is_some()),
            has_optional: fields.iter().any(|field| field.is_optional),
            has_conditions: form
                .fields()
                .iter()
                .any(|field| !field.active_when().is_empty()),
        })
    }
}

/// Whether a text is right-to-left, by its first letter.
fn is_rtl(text: &str) -> bool {
    let first = text.chars().find(|c| c.is_alphabetic());
    first.is_some_and(
        |c| matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}'),
    )
}

/// Cached renderings of forms without answers.
#[derive(Default)]
pub(super) struct RenderCache(Mutex<Vec<CachedFields>>);

struct CachedFields {
    /// Held so that its address, the cache key, is not reused.
    form: Form,
    format: TextFormat,
    language: &'static str,
    rendered: Arc<RenderedFields>,
}

/// Maximum number of cached renderings. Small enough for a linear search.
const MAX_CACHED: usize = 64;
/// Larger renderings, in bytes, are not cached.
const MAX_CACHED_SIZE: usize = 64 << 10;

impl RenderCache {
    pub(super) fn find(
        &self,
        form: &Form,
        format: TextFormat,
        texts: &Texts,
    ) -> Option<Arc<RenderedFields>> {
        let entries = self.0.lock();
        let found = entries.iter().find(|entry| {
            let is_alike = entry.language == texts.language && entry.format == format;
            is_alike && is_same(&entry.form, form)
        });
        found.map(|found| found.rendered.clone())
    }

    pub(super) fn insert(
        &self,
        form: &Form,
        format: TextFormat,
        texts: &Texts,
        rendered: &Arc<RenderedFields>,
    ) {
        if rendered.html.len() > MAX_CACHED_SIZE {
            return;
        }
        let mut entries = self.0.lock();
        if entries.len() >= MAX_CACHED {
            entries.clear();
        }
        entries.push(CachedFields {
            form: form.clone(),
            format,
            language: texts.language,
            rendered: rendered.clone(),
        });
    }
}

/// Whether two forms are clones of each other.
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

    fn rendered(length: usize) -> Arc<RenderedFields> {
        Arc::new(RenderedFields {
            html: "a".repeat(length),
            answerable: 0,
            is_empty: true,
            is_yes_no: false,
            has_counts: false,
            is_rtl: false,
            has_files: false,
            has_secrets: false,
            is_saved: false,
            has_optional: false,
            has_conditions: false,
        })
    }

    #[test]
    fn a_rendering_is_found_for_its_form_language_and_format_alone() {
        let entries = RenderCache::default();
        let [english, german] = Texts::ALL;
        let [markdown, plain] = [TextFormat::Markdown, TextFormat::Plain];
        let form = form();
        entries.insert(&form, markdown, english, &rendered(3));
        assert!(entries.find(&form.clone(), markdown, english).is_some());
        assert!(entries.find(&form, markdown, german).is_none());
        assert!(entries.find(&form, plain, english).is_none());
        assert!(entries.find(&self::form(), markdown, english).is_none());
    }

    #[test]
    fn the_cache_is_bounded_in_number_and_size() {
        let entries = RenderCache::default();
        let [english, _] = Texts::ALL;
        let format = TextFormat::default();
        let large = form();
        entries.insert(&large, format, english, &rendered(MAX_CACHED_SIZE + 1));
        assert!(entries.find(&large, format, english).is_none());
        for _ in 0..3 * MAX_CACHED {
            entries.insert(&form(), format, english, &rendered(3));
            assert!(entries.0.lock().len() <= MAX_CACHED);
        }
    }
}
