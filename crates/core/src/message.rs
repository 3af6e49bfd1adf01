//! Localised messages about violations.
//!
//! A catalogue holds one set of Fluent messages per language, with plurals. English and German
//! are built in; a host program can add languages or replace these. English is the fallback for
//! messages that a language lacks.

mod file_kinds;
mod size;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock};

use fluent_bundle::concurrent::FluentBundle;
use fluent_bundle::{FluentArgs, FluentResource, FluentValue};
use serde_json::Value;
use unic_langid::LanguageIdentifier;

use crate::condition::Comparison;
use crate::form::{Field, Form, Options};
use crate::url_guard::Warning;
use crate::violation::{Constraint, Expected, Violation};

pub use size::readable_size;

const ENGLISH: &str = include_str!("message/en.ftl");
const GERMAN: &str = include_str!("message/de.ftl");

/// The messages of all languages.
///
/// ```
/// use entreat_core::{Catalogue, Form};
/// use serde_json::json;
///
/// let form = Form::from_value(&json!({
///     "id": "f", "title": "F",
///     "fields": [{"id": "name", "type": "text", "label": "Name", "required": true}],
/// }))?;
/// let violations = form.check(&json!({})).unwrap_err();
/// let catalogue = Catalogue::default();
/// assert_eq!(violations.errors(&catalogue.messages(["en"]))[0].message, "Name is required");
/// let german = catalogue.messages(["gsw", "de-AT"]);
/// assert_eq!(violations.errors(&german)[0].message, "Name muss ausgefüllt werden");
/// # Ok::<(), entreat_core::Problems>(())
/// ```
#[derive(Clone)]
pub struct Catalogue {
    english: Arc<Language>,
    /// In the order they were added.
    languages: Vec<Arc<Language>>,
}

struct Language {
    tag: LanguageIdentifier,
    bundle: FluentBundle<FluentResource>,
}

/// Why messages could not be added.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogueError {
    /// The tag is not a language tag.
    #[error("`{0}` is not a language tag such as `de` or `pt-BR`")]
    Tag(String),
    /// The messages are not valid Fluent.
    #[error("the messages for `{tag}` cannot be read: {error}")]
    Syntax {
        /// The language.
        tag: String,
        /// The first error.
        error: String,
    },
}

impl Catalogue {
    /// Adds a language, or replaces it. Keys are `error-` and the rule's name; the English
    /// messages show the arguments of each.
    pub fn add(&mut self, tag: &str, messages: &str) -> Result<(), CatalogueError> {
        let language = Arc::new(Language::new(tag, messages)?);
        self.languages.retain(|other| other.tag != language.tag);
        self.languages.push(language);
        Ok(())
    }

    /// Returns the messages of the first known language in `wanted`. A tag falls back to its
    /// language without region and script, and the list to English.
    pub fn messages<'t>(&self, wanted: impl IntoIterator<Item = &'t str>) -> Messages {
        let language = wanted.into_iter().find_map(|tag| self.find(tag));
        Messages {
            language: language.unwrap_or_else(|| self.english.clone()),
            english: self.english.clone(),
        }
    }

    fn find(&self, tag: &str) -> Option<Arc<Language>> {
        let wanted: LanguageIdentifier = tag.parse().ok()?;
        let exact = self.languages.iter().find(|l| l.tag == wanted);
        let same_language = || {
            self.languages
                .iter()
                .find(|l| l.tag.language == wanted.language)
        };
        exact.or_else(same_language).cloned()
    }
}

/// The built-in languages, read once: that takes as long as all else at the start of a program.
static BUILT_IN: LazyLock<Catalogue> = LazyLock::new(|| {
    let built_in = |tag, messages| {
        // A test parses both files, so this cannot fail in a tested build.
        Arc::new(Language::new(tag, messages).unwrap_or_else(|_| Language::empty()))
    };
    let english = built_in("en", ENGLISH);
    Catalogue {
        languages: vec![english.clone(), built_in("de", GERMAN)],
        english,
    }
});

impl Default for Catalogue {
    fn default() -> Self {
        BUILT_IN.clone()
    }
}

impl Language {
    fn new(tag: &str, messages: &str) -> Result<Self, CatalogueError> {
        let id: LanguageIdentifier = tag
            .parse()
            .map_err(|_| CatalogueError::Tag(tag.to_owned()))?;
        let resource = FluentResource::try_new(messages.to_owned()).map_err(|(_, errors)| {
            CatalogueError::Syntax {
                tag: tag.to_owned(),
                error: errors.first().map(ToString::to_string).unwrap_or_default(),
            }
        })?;
        let mut language = Self {
            tag: id.clone(),
            bundle: FluentBundle::new_concurrent(vec![id]),
        };
        // Bidi isolation marks around labels would show up in terminals and JSON.
        language.bundle.set_use_isolating(false);
        language.bundle.add_resource_overriding(resource);
        Ok(language)
    }

    fn empty() -> Self {
        Self {
            tag: LanguageIdentifier::default(),
            bundle: FluentBundle::new_concurrent(Vec::new()),
        }
    }

    fn format(&self, key: &str, args: &FluentArgs<'_>) -> Option<String> {
        let pattern = self.bundle.get_message(key)?.value()?;
        let mut errors = Vec::new();
        let text = self.bundle.format_pattern(pattern, Some(args), &mut errors);
        errors.is_empty().then(|| text.into_owned())
    }
}

/// The messages in one language, with English as the fallback.
#[derive(Clone)]
pub struct Messages {
    language: Arc<Language>,
    english: Arc<Language>,
}

impl fmt::Debug for Messages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Messages").field(&self.language()).finish()
    }
}

impl Messages {
    /// The tag of the language.
    pub fn language(&self) -> String {
        self.language.tag.to_string()
    }

    /// Renders the message of a stored [`FieldError`] again, from the field, the name of the
    /// broken rule and the expected value.
    ///
    /// Returns `None` if the stored message must be used: a custom validator provides its own,
    /// and a rule across fields may.
    ///
    /// ```
    /// use entreat_core::{Catalogue, Form};
    /// use serde_json::json;
    ///
    /// let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [
    ///     {"id": "site", "type": "url", "label": "Seite"}]}))?;
    /// let german = Catalogue::default().messages(["de"]);
    /// let message = german.message_for(&form, "site", "blockPrivateIPs", &json!("public IP"));
    /// assert_eq!(message.unwrap(), "Seite muss zu einer öffentlichen Adresse führen");
    /// assert!(german.message_for(&form, "site", "is_ours", &json!(null)).is_none());
    /// # Ok::<(), entreat_core::Problems>(())
    /// ```
    ///
    /// [`FieldError`]: crate::FieldError
    pub fn message_for(
        &self,
        form: &Form,
        field: &str,
        constraint: &str,
        expected: &Value,
    ) -> Option<String> {
        let index = form.position(field)?;
        let constraint =
            Constraint::named(constraint).filter(|constraint| !refers_to_fields(constraint))?;
        let violation = Violation::of(Some(index), constraint, Expected::from_json(expected));
        Some(self.render(form, &violation))
    }

    /// The sentence of a warning about a URL.
    ///
    /// ```
    /// use entreat_core::Catalogue;
    /// use entreat_core::url_guard::Warning;
    ///
    /// let german = Catalogue::default().messages(["de"]);
    /// assert_eq!(german.url_warning(Warning::BadScheme), "Die Adresse ist keine Webadresse.");
    /// ```
    pub fn url_warning(&self, warning: Warning) -> String {
        let key = format!("warning-{}", warning.code().replace('_', "-"));
        let sentence = self.language.format(&key, &FluentArgs::new());
        sentence.unwrap_or_else(|| warning.message().to_owned())
    }

    /// Says where the asker saves the answer to this field, if it does.
    ///
    /// ```
    /// use entreat_core::{Catalogue, Form};
    /// use serde_json::json;
    ///
    /// let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [
    ///     {"id": "key", "type": "text", "label": "Key", "sensitive": true,
    ///      "rendering": {"savedTo": {"file": "/srv/app/.env", "name": "API_KEY"}}}]}))?;
    /// let told = Catalogue::default().messages(["en"]).saved_to(&form.fields()[0]).unwrap();
    /// assert!(told.starts_with("Will be saved to /srv/app/.env as API_KEY."));
    /// # Ok::<(), entreat_core::Problems>(())
    /// ```
    pub fn saved_to(&self, field: &Field) -> Option<String> {
        let place = field.rendering().saved_to.as_ref()?;
        let mut args = FluentArgs::new();
        args.set("file", &*place.file);
        args.set("name", &*place.name);
        let mut told = self.text("saved-to", &args);
        if place.git_ignored == Some(false) {
            told.extend(["\n", &self.text("saved-to-git", &args)]);
        }
        Some(told)
    }

    /// Renders the message of a violation, using the author's message if there is one.
    pub(crate) fn render(&self, form: &Form, violation: &Violation) -> String {
        let field = violation.field.map(|index| &form.fields()[index]);
        let constraint = violation.constraint.key();
        if let Some(message) = field.and_then(|field| field.own_message(constraint)) {
            return message.to_string();
        }
        if let Some(message) = &violation.message {
            return message.to_string();
        }
        let mut args = FluentArgs::new();
        let unknown = violation.unknown_name.as_deref().unwrap_or("");
        let label = field.map_or(unknown, |field| field.label());
        let is_question = is_question(form, label) && !refers_to_fields(&violation.constraint);
        if is_question {
            let is_unanswered = violation.constraint == Constraint::Required
                && violation.item.is_none()
                && violation.part.is_none();
            // A language may lack these messages; its others are still better than English ones.
            if is_unanswered && let Some(message) = self.language.format(QUESTION_UNANSWERED, &args)
            {
                return message;
            }
        }
        let subject = self
            .language
            .format(QUESTION_SUBJECT, &args)
            .filter(|_| is_question);
        args.set("label", subject.unwrap_or_else(|| label.to_owned()));
        args.set(
            "operator",
            violation.comparison.map_or("", Comparison::name),
        );
        self.set_expected(&mut args, form, violation);
        let example = field.and_then(|field| field.rendering().placeholder.as_deref());
        args.set("example", example.unwrap_or_default());
        let key = match (&violation.constraint, &violation.expected) {
            (Constraint::Type, _) if unknown.is_empty() && field.is_none() => {
                "error-type-answers".to_owned()
            }
            (Constraint::MultipleOf, Expected::Number(step)) if step.as_i128() == Some(1) => {
                "error-multipleOf-whole".to_owned()
            }
            // Bounds of other types are numbers.
            (Constraint::Minimum, Expected::Text(_)) => "error-minimum-date".to_owned(),
            (Constraint::Maximum, Expected::Text(_)) => "error-maximum-date".to_owned(),
            (Constraint::Pattern, _) if example.is_some() => "error-pattern-example".to_owned(),
            _ => format!("error-{constraint}"),
        };
        let general = || format!("error-{constraint}");
        self.language
            .format(&key, &args)
            .or_else(|| self.language.format(&general(), &args))
            .or_else(|| self.english.format(&key, &args))
            .unwrap_or_else(|| format!("{unknown} breaks the rule {constraint}"))
    }

    /// A text of this language, or else of English.
    fn text(&self, key: &str, args: &FluentArgs<'_>) -> String {
        let text = self.language.format(key, args);
        text.or_else(|| self.english.format(key, args))
            .unwrap_or_default()
    }

    fn set_expected(&self, args: &mut FluentArgs<'_>, form: &Form, violation: &Violation) {
        match (&violation.constraint, &violation.expected) {
            (Constraint::MaxSize, Expected::Count(bytes)) => {
                args.set("expected", self.size(*bytes));
            }
            (Constraint::AllowedMimeTypes, Expected::Names(types)) => {
                args.set(
                    "expected",
                    self.file_kinds(types.iter().map(|kind| &**kind)),
                );
            }
            (Constraint::ContentType, Expected::Text(kind)) => {
                args.set("expected", self.file_kinds([&**kind]));
            }
            (Constraint::ContentType, Expected::Name(kind)) => {
                args.set("expected", self.file_kinds([*kind]));
            }
            (Constraint::Enum, Expected::Names(values)) => {
                args.set("expected", titles(form, violation, values));
            }
            (_, expected) => set_plain(args, form, &violation.constraint, expected),
        }
    }
}

/// The message that a question was not answered, and how other messages call the answer to a
/// question. They would read badly with the question in them.
const QUESTION_UNANSWERED: &str = "error-required-question";
const QUESTION_SUBJECT: &str = "question-answer";

/// Whether a label is a question: all that the form asks, or marked as one in its script.
fn is_question(form: &Form, label: &str) -> bool {
    let is_all = form.fields().len() == 1 && label == form.title();
    is_all || label.trim_end().ends_with(['?', '？', '؟'])
}

/// The titles of the options; values are for programs.
fn titles(form: &Form, violation: &Violation, values: &[Arc<str>]) -> String {
    let options = violation
        .field
        .and_then(|index| form.fields()[index].kind().options());
    let titles: HashMap<&str, &str> = options.into_iter().flat_map(Options::iter).collect();
    let titles = values
        .iter()
        .map(|value| *titles.get(&**value).unwrap_or(&&**value));
    let titles: Vec<&str> = titles.collect();
    let has_commas = titles.iter().any(|title| title.contains(','));
    titles.join(if has_commas { "; " } else { ", " })
}

fn set_plain(args: &mut FluentArgs<'_>, form: &Form, constraint: &Constraint, expected: &Expected) {
    match expected {
        Expected::Count(count) => {
            // Beyond 2^53 no plural depends on the last digit.
            #[expect(clippy::cast_precision_loss, reason = "only used to choose a plural")]
            args.set("expected", *count as f64);
        }
        Expected::Number(number) => args.set("expected", number.to_string()),
        Expected::Name(name) => args.set("expected", *name),
        Expected::Text(text) => args.set("expected", text.to_string()),
        Expected::Names(names) => {
            let label = |id: &Arc<str>| match form.field(id) {
                Some(field) if refers_to_fields(constraint) => field.label().to_owned(),
                _ => id.to_string(),
            };
            let names: Vec<_> = names.iter().map(label).collect();
            args.set("expected", names.join(", "));
        }
        Expected::True | Expected::Json(_) | Expected::Nothing => {
            args.set("expected", FluentValue::None);
        }
    }
}

fn refers_to_fields(constraint: &Constraint) -> bool {
    matches!(
        constraint,
        Constraint::Dependencies
            | Constraint::Compare
            | Constraint::AtLeastOne
            | Constraint::ExactlyOne
            | Constraint::AllOrNone
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn keys(source: &str) -> BTreeSet<&str> {
        source
            .lines()
            .filter(|line| line.starts_with("error-"))
            .filter_map(|line| line.split_once(" ="))
            .map(|(key, _)| key)
            .collect()
    }

    #[test]
    fn every_rule_has_a_sentence_in_every_built_in_language() {
        for source in [ENGLISH, GERMAN] {
            assert!(FluentResource::try_new(source.to_owned()).is_ok());
            for rule in Constraint::KEYS {
                assert!(
                    keys(source).contains(format!("error-{rule}").as_str()),
                    "{rule}"
                );
            }
        }
    }

    #[test]
    fn every_warning_about_a_url_has_a_sentence_of_its_own_in_german() {
        let catalogue = Catalogue::default();
        let (english, german) = (catalogue.messages(["en"]), catalogue.messages(["de"]));
        for warning in Warning::ALL {
            let sentence = german.url_warning(*warning);
            assert!(sentence.ends_with('.'), "{sentence}");
            assert_ne!(sentence, warning.message());
            assert_eq!(english.url_warning(*warning), warning.message());
        }
    }

    #[test]
    fn a_language_can_be_added_and_lacks_nothing() {
        let mut catalogue = Catalogue::default();
        catalogue
            .add("fr", "error-required = { $label } est obligatoire")
            .unwrap();
        let french = catalogue.messages(["fr-CA"]);
        assert_eq!(french.language(), "fr");
        assert!(matches!(
            catalogue.add("!", ""),
            Err(CatalogueError::Tag(_))
        ));
        assert!(matches!(
            catalogue.add("fr", "x = { "),
            Err(CatalogueError::Syntax { .. })
        ));
        assert_eq!(catalogue.messages(["xx", "de"]).language(), "de");
        assert_eq!(catalogue.messages([]).language(), "en");
    }

    fn messages_about(fields: &Value, answers: &Value, language: &str) -> Vec<String> {
        let form = serde_json::json!({"id": "f", "title": "F", "fields": fields});
        let form = Form::from_value(&form).unwrap();
        let messages = Catalogue::default().messages([language]);
        let errors = form.check(answers).unwrap_err().errors(&messages);
        errors.into_iter().map(|error| error.message).collect()
    }

    #[test]
    fn a_label_that_is_a_question_is_not_repeated() {
        let fields = serde_json::json!([
            {"id": "a", "type": "text", "label": "What is it called?", "required": true,
             "validation": {"minLength": 3}},
            {"id": "b", "type": "text", "label": "Name", "required": true}]);
        let nothing = serde_json::json!({});
        assert_eq!(
            messages_about(&fields, &nothing, "en"),
            ["Answer this question", "Name is required"]
        );
        assert_eq!(
            messages_about(&fields, &nothing, "de"),
            ["Beantworten Sie diese Frage", "Name muss ausgefüllt werden"]
        );
        let short = serde_json::json!({"a": "x", "b": "x"});
        assert_eq!(
            messages_about(&fields, &short, "en"),
            ["Your answer must be at least 3 characters"]
        );
    }

    #[test]
    fn a_label_that_is_all_that_is_asked_is_not_repeated() {
        let form = serde_json::json!({"id": "f", "title": "Choose a port", "fields": [
            {"id": "a", "type": "number", "label": "Choose a port", "required": true}]});
        let form = Form::from_value(&form).unwrap();
        let messages = Catalogue::default().messages(["en"]);
        for (answers, message) in [
            (serde_json::json!({}), "Answer this question"),
            (
                serde_json::json!({"a": "x"}),
                "Your answer must be a number",
            ),
        ] {
            let errors = form.check(&answers).unwrap_err().errors(&messages);
            assert_eq!(errors[0].message, message);
        }
    }

    #[test]
    fn a_language_without_words_for_questions_keeps_its_own() {
        let mut catalogue = Catalogue::default();
        catalogue
            .add("fr", "error-required = { $label } est obligatoire")
            .unwrap();
        let form = Form::from_value(&serde_json::json!({"id": "f", "title": "F", "fields": [
            {"id": "a", "type": "text", "label": "Quoi ?", "required": true}]}));
        let violations = form.unwrap().check(&serde_json::json!({})).unwrap_err();
        let french = catalogue.messages(["fr"]);
        assert_eq!(
            violations.errors(&french)[0].message,
            "Quoi ? est obligatoire"
        );
    }

    #[test]
    fn people_read_titles_examples_and_dates_rather_than_values_and_patterns() {
        let fields = serde_json::json!([
            {"id": "region", "type": "select", "label": "Region", "options": [
                {"value": "eu-1", "title": "Europe"}, {"value": "us-1", "title": "America"}]},
            {"id": "version", "type": "text", "label": "Version",
             "validation": {"pattern": "^[0-9.]+$"}, "rendering": {"placeholder": "1.4.0"}},
            {"id": "code", "type": "text", "label": "Code", "validation": {"pattern": "^[A-Z]+$"}},
            {"id": "day", "type": "date", "label": "Day", "validation": {"minimum": "2026-03-01"}},
        ]);
        let answers = serde_json::json!(
            {"region": "mars", "version": "x", "code": "x", "day": "2026-02-28"});
        assert_eq!(
            messages_about(&fields, &answers, "en"),
            [
                "Region must be one of: Europe, America",
                "Version does not have the expected format. Example: 1.4.0",
                "Code does not have the expected format",
                "Day must be 2026-03-01 or later",
            ]
        );
    }
}
