//! Checks answers against a form and returns typed answers, or every violation.
//!
//! The steps: raw values are matched to fields, parsed as the field's type and checked against its
//! rules; conditions decide which fields are active, and so which violations count; the rules
//! across fields are checked in field order; the host program's validators run last.

mod progress;
mod secrets;

use serde_json::{Map, Value};
use smallvec::SmallVec;

use crate::answer::{Answer, Answers};
use crate::condition::{Condition, FieldState};
use crate::form::findings::Findings;
use crate::form::kind::Unreadable;
use crate::form::{Field, Form};
use crate::parse::{AnswerParser, Source as _};
use crate::upload::{FileInfo, ReferenceKind};
use crate::violation::{Constraint, Expected, Violation, Violations};

pub use progress::Progress;

/// Options of a check that the asker chooses.
#[derive(Clone, Debug, Default)]
pub struct CheckSettings {
    /// What happens to answers to fields that the form does not have.
    pub unknown: Unknown,
    /// The kinds of reference that an upload may use as its content; none by default.
    pub references: Vec<ReferenceKind>,
}

/// What happens to answers to fields that the form does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unknown {
    /// They are errors.
    #[default]
    Error,
    /// They are dropped.
    Ignore,
}

/// Why JSON text did not become answers.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// The text is not JSON, or has a duplicate key.
    #[error("the answers cannot be read")]
    Unreadable(#[from] serde_json::Error),
    /// The answers break rules of the form.
    #[error("the answers are not valid")]
    Invalid(#[from] Violations),
}

impl Form {
    /// Checks answers in parsed JSON, either bare or in the envelope
    /// `{"form_id", "responses", "metadata"}`.
    ///
    /// Fails with every violation.
    ///
    /// ```
    /// use entreat_core::Form;
    /// use serde_json::json;
    ///
    /// let form = Form::from_value(&json!({
    ///     "id": "server", "title": "Server",
    ///     "fields": [{"id": "port", "type": "number", "label": "Port",
    ///                 "validation": {"maximum": 65535}}],
    /// }))?;
    /// let answers = form.check(&json!({"port": "8080"}))?.into_owned();
    /// assert_eq!(answers.reveal().to_json()["port"], 8080);
    ///
    /// let violations = form.check(&json!({"port": 70000})).unwrap_err();
    /// assert_eq!(violations.to_string(), "`port` breaks `maximum`");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check<'a>(&self, answers: &'a Value) -> Result<Answers<'a>, Violations> {
        self.check_with(answers, &CheckSettings::default())
    }

    /// Checks answers in parsed JSON with the asker's settings.
    pub fn check_with<'a>(
        &self,
        answers: &'a Value,
        settings: &CheckSettings,
    ) -> Result<Answers<'a>, Violations> {
        let mut parser = AnswerParser::new(self, settings);
        parser.parse_value(answers);
        run(self, parser)
    }

    /// Checks answers in JSON text, without building a document tree.
    ///
    /// Whole numbers keep up to 38 digits; parsed JSON loses precision beyond 64 bits.
    pub fn check_text<'a>(&self, answers: &'a str) -> Result<Answers<'a>, CheckError> {
        self.check_text_with(answers, &CheckSettings::default())
    }

    /// Checks answers in JSON text with the asker's settings.
    pub fn check_text_with<'a>(
        &self,
        answers: &'a str,
        settings: &CheckSettings,
    ) -> Result<Answers<'a>, CheckError> {
        let mut parser = AnswerParser::new(self, settings);
        parser.parse_text(answers)?;
        Ok(run(self, parser)?)
    }
}

impl Form {
    /// Checks one file of a field by what is known of it so far, so that an upload can be
    /// rejected before all of it is received. The rules are those of a submission, except the
    /// number of files, which only a submission can check. A field that takes no files has no
    /// violations here.
    ///
    /// ```
    /// use entreat_core::{FileInfo, Form};
    /// use serde_json::json;
    ///
    /// let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [
    ///     {"id": "photo", "type": "file", "label": "Photo",
    ///      "validation": {"allowedMimeTypes": ["image/*"], "maxSize": 1000}}]}))?;
    /// let mut file = FileInfo {
    ///     filename: "a.png", content_type: "image/png", size: 500, head: None,
    /// };
    /// assert!(form.check_file("photo", &file).is_ok());
    /// file.head = Some(b"%PDF-1.7");
    /// let violations = form.check_file("photo", &file).unwrap_err();
    /// assert_eq!(violations.to_string(), "`photo` breaks `allowedMimeTypes`");
    /// # Ok::<(), entreat_core::Problems>(())
    /// ```
    pub fn check_file(&self, field: &str, file: &FileInfo<'_>) -> Result<(), Violations> {
        let settings = CheckSettings::default();
        let mut findings = Findings::new(&settings);
        if let Some(index) = self.position(field)
            && let Some(rules) = self.fields()[index].kind().file_rules()
        {
            rules.check_partial(file, findings.set_field(index, &self.fields()[index]));
        }
        if findings.list.is_empty() {
            Ok(())
        } else {
            Err(violations_of(self, findings.list))
        }
    }

    /// Normalises answers, valid or not: parses what can be parsed, fills in defaults, and drops
    /// cleared, inactive and unknown answers.
    ///
    /// This is what a draft stores and what the form's schema describes. Sensitive answers are
    /// included.
    pub fn normalise(&self, answers: &Value) -> Map<String, Value> {
        let settings = CheckSettings::default();
        let mut parser = AnswerParser::new(self, &settings);
        parser.parse_value(answers);
        let mut state = State::new(parser).0;
        state.deactivate(self);
        let value = |(index, field): (usize, &Field)| {
            let value = match &state.values[index] {
                Some(answer) => answer.to_json_in(field),
                None => state.unreadable(index)?.raw.to_json(),
            };
            Some((field.id().to_owned(), value))
        };
        self.fields().iter().enumerate().filter_map(value).collect()
    }
}

fn run<'a>(form: &Form, parser: AnswerParser<'_, 'a>) -> Result<Answers<'a>, Violations> {
    if form.is_plain() && form.validators().is_empty() && parser.is_complete_and_valid() {
        // Every answer was checked while it was parsed.
        return Ok(Answers {
            form: form.clone(),
            values: parser.values,
            missing: Vec::new(),
        });
    }
    check_fully(form, parser)
}

/// The slow path: checks conditions, rules, missing answers and validators.
#[inline(never)]
fn check_fully<'a>(form: &Form, parser: AnswerParser<'_, 'a>) -> Result<Answers<'a>, Violations> {
    let (state, violations, missing) = evaluate(form, parser);
    if !violations.is_empty() {
        return Err(violations_of(form, violations));
    }
    let answers = Answers {
        form: form.clone(),
        values: state.values,
        missing,
    };
    if !form.validators().is_empty() {
        run_validators(form, &answers)?;
    }
    Ok(answers)
}

/// Checks everything except the host's validators. Returns the answers, the violations, and the
/// indices of required fields that `allow_partial` lets stay empty.
fn evaluate<'a>(
    form: &Form,
    mut parser: AnswerParser<'_, 'a>,
) -> (State<'a>, Vec<Violation>, Vec<usize>) {
    let envelope_violation = if !parser.is_object {
        let expected = Expected::Name("object");
        Some(Violation::without_field("", Constraint::Type, expected))
    } else if let Some(other) = parser.other_form.take() {
        let expected = Expected::Text(form.id().into());
        let mut violation = Violation::without_field("form_id", Constraint::FormId, expected);
        violation.actual = Some(crate::violation::shorten(&other));
        Some(violation)
    } else {
        None
    };
    let (mut state, mut findings, unknown) = State::new(parser);
    if let Some(violation) = envelope_violation {
        return (state, vec![violation], Vec::new());
    }
    state.deactivate(form);
    let missing = state.check(form, &mut findings);
    if findings.settings.unknown == Unknown::Error {
        findings.list.extend(unknown.iter().map(|name| {
            Violation::without_field(name, Constraint::AdditionalProperties, Expected::Nothing)
        }));
    }
    (state, findings.list, missing)
}

fn violations_of(form: &Form, list: Vec<Violation>) -> Violations {
    Violations {
        form: form.clone(),
        list,
    }
}

/// The answers of one submission while they are checked.
struct State<'a> {
    /// Answers that could be parsed, by field.
    values: Vec<Option<Answer<'a>>>,
    /// Answers that could not, sorted by field.
    unreadable: Vec<(usize, Box<Unreadable<'a>>)>,
    /// The fields that conditions have deactivated.
    inactive: SmallVec<[usize; 8]>,
}

impl<'a> State<'a> {
    /// Splits the parsed submission into its state, the findings so far, and unknown names.
    fn new<'f>(mut parser: AnswerParser<'f, 'a>) -> (Self, Findings<'f>, Vec<Box<str>>) {
        parser.unreadable.sort_unstable_by_key(|(index, _)| *index);
        let state = Self {
            values: parser.values,
            unreadable: parser.unreadable,
            inactive: SmallVec::new(),
        };
        (state, parser.findings, parser.unknown)
    }

    /// Deactivates the fields whose conditions do not hold, in dependency order.
    fn deactivate(&mut self, form: &Form) {
        for &index in form.conditional() {
            if !self.all_hold(form.fields()[index].active_when()) {
                self.inactive.push(index);
                self.values[index] = None;
                self.unreadable.retain(|(other, _)| *other != index);
            }
        }
    }

    fn all_hold(&self, conditions: &[Condition]) -> bool {
        let field_state = |index: usize| match &self.values[index] {
            Some(answer) => FieldState::Answer(answer),
            None if self.unreadable(index).is_some() => FieldState::Unreadable,
            None => FieldState::Empty,
        };
        conditions
            .iter()
            .all(|condition| condition.holds(&field_state))
    }

    fn unreadable(&self, index: usize) -> Option<&Unreadable<'a>> {
        let found = self
            .unreadable
            .binary_search_by_key(&index, |(other, _)| *other);
        Some(&self.unreadable[found.ok()?].1)
    }

    fn has_answer(&self, index: usize) -> bool {
        self.values[index].is_some() || self.unreadable(index).is_some()
    }

    /// Checks every active field. Returns the indices of required fields that `allow_partial`
    /// lets stay empty.
    fn check(&self, form: &Form, findings: &mut Findings<'_>) -> Vec<usize> {
        let mut missing = Vec::new();
        // Answers were checked as they were parsed, before it was known which ones count.
        findings.list.retain(|violation| {
            let applies = |index| {
                !self.inactive.contains(&index)
                    && self.all_hold(form.fields()[index].checked_when())
            };
            violation.field.is_none_or(applies)
        });
        for (index, field) in form.fields().iter().enumerate() {
            let is_active = self.inactive.is_empty() || !self.inactive.contains(&index);
            if is_active {
                findings.set_field(index, field);
                if self.check_field(index, field, form, findings) == Presence::Missing {
                    missing.push(index);
                }
            }
            for &rule in field.rules() {
                form.rules()[rule].evaluate(
                    &|index| self.has_answer(index),
                    &|index| !self.inactive.contains(&index),
                    &|index| self.values[index].as_ref(),
                    &mut findings.list,
                );
            }
        }
        findings.list.sort_by_key(|violation| violation.field);
        missing
    }

    fn check_field(
        &self,
        index: usize,
        field: &Field,
        form: &Form,
        findings: &mut Findings<'_>,
    ) -> Presence {
        let Some(answer) = &self.values[index] else {
            if let Some(unreadable) = self.unreadable(index) {
                self.check_dependencies(field, form, findings);
                findings.add_mistakes(unreadable);
            } else if field.is_required()
                && !field.rendering().hidden
                && self.all_hold(field.checked_when())
            {
                if form.allows_partial() {
                    return Presence::Missing;
                }
                findings.add_bare(Constraint::Required, Expected::True);
            }
            return Presence::Fine;
        };
        if field.rendering().readonly && field.default() != Some(answer) {
            let expected = match field.default() {
                Some(default) if !field.is_sensitive() => {
                    Expected::Json(Box::new(default.to_json()))
                }
                _ => Expected::Nothing,
            };
            findings.add(Constraint::Readonly, expected, || answer.to_json());
        }
        self.check_dependencies(field, form, findings);
        Presence::Fine
    }

    fn check_dependencies(&self, field: &Field, form: &Form, findings: &mut Findings<'_>) {
        let unanswered: Vec<_> = field
            .dependencies()
            .iter()
            .filter(|other| !self.has_answer(**other))
            .map(|other| form.fields()[*other].shared_id())
            .collect();
        if !unanswered.is_empty() {
            findings.add_bare(Constraint::Dependencies, Expected::Names(unanswered.into()));
        }
    }
}

#[derive(PartialEq)]
enum Presence {
    Fine,
    /// Required and without an answer, which `allow_partial` accepts.
    Missing,
}

fn run_validators(form: &Form, answers: &Answers<'_>) -> Result<(), Violations> {
    let mut violations = Vec::new();
    for validator in form.validators() {
        let Err(error) = (validator.function)(answers) else {
            continue;
        };
        let constraint = Constraint::Custom(validator.name.clone());
        let field = form.position(&error.field);
        violations.push(Violation {
            field,
            message: Some(error.message.into()),
            ..Violation::without_field(&error.field, constraint, Expected::Nothing)
        });
    }
    if violations.is_empty() {
        return Ok(());
    }
    violations.sort_by_key(|violation| violation.field.unwrap_or(usize::MAX));
    Err(violations_of(form, violations))
}
