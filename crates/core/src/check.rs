//! Checks answers against a form: typed answers out, or every error.
//!
//! The order of things: raw values are sorted by field and read as the field's type, then
//! conditions decide which fields take part, then each field's rules and the rules across
//! fields are judged in field order, then the host program's validators have a say.

mod progress;

use serde_json::{Map, Value};
use smallvec::SmallVec;

use crate::answer::{Answer, Answers};
use crate::condition::{Condition, Seen};
use crate::form::findings::Findings;
use crate::form::kind::Unreadable;
use crate::form::{Field, Form, Kind};
use crate::parse::{Intake, Source as _};
use crate::upload::{FileFacts, ReferenceKind};
use crate::violation::{Constraint, Expected, Violation, Violations};

pub use progress::Progress;

/// What an asker can choose about a check.
#[derive(Clone, Debug, Default)]
pub struct CheckSettings {
    /// What happens to answers that no field asked for.
    pub unknown: Unknown,
    /// The kinds of reference that an upload may be; none by default.
    pub references: Vec<ReferenceKind>,
}

/// What happens to answers that no field asked for.
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
    /// The text is not JSON, or says something twice.
    #[error("the answers cannot be read")]
    Unreadable(#[from] serde_json::Error),
    /// The answers break rules of the form.
    #[error("the answers are not valid")]
    Invalid(#[from] Violations),
}

impl Form {
    /// Checks answers that are parsed JSON: bare, or in the envelope
    /// `{"form_id", "responses", "metadata"}`.
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

    /// Checks parsed JSON under the asker's settings.
    pub fn check_with<'a>(
        &self,
        answers: &'a Value,
        settings: &CheckSettings,
    ) -> Result<Answers<'a>, Violations> {
        let mut intake = Intake::new(self, settings);
        intake.take_value(answers);
        run(self, intake)
    }

    /// Checks answers that are JSON text, without building a document tree.
    ///
    /// Whole numbers keep up to 38 digits here; parsed JSON has lost those beyond 64 bits.
    pub fn check_text<'a>(&self, answers: &'a str) -> Result<Answers<'a>, CheckError> {
        self.check_text_with(answers, &CheckSettings::default())
    }

    /// Checks JSON text under the asker's settings.
    pub fn check_text_with<'a>(
        &self,
        answers: &'a str,
        settings: &CheckSettings,
    ) -> Result<Answers<'a>, CheckError> {
        let mut intake = Intake::new(self, settings);
        intake.take_text(answers)?;
        Ok(run(self, intake)?)
    }
}

impl Form {
    /// Judges one file of a field by what is known of it so far, so that a file that cannot be
    /// accepted need not be taken in as a whole. The rules are those of a submission; how many
    /// files there are is judged there. Nothing is said against a field that takes no files.
    ///
    /// ```
    /// use entreat_core::{FileFacts, Form};
    /// use serde_json::json;
    ///
    /// let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [
    ///     {"id": "photo", "type": "file", "label": "Photo",
    ///      "validation": {"allowedMimeTypes": ["image/*"], "maxSize": 1000}}]}))?;
    /// let mut file = FileFacts {
    ///     filename: "a.png", content_type: "image/png", size: 500, head: None,
    /// };
    /// assert!(form.check_file("photo", &file).is_ok());
    /// file.head = Some(b"%PDF-1.7");
    /// let violations = form.check_file("photo", &file).unwrap_err();
    /// assert_eq!(violations.to_string(), "`photo` breaks `allowedMimeTypes`");
    /// # Ok::<(), entreat_core::Problems>(())
    /// ```
    pub fn check_file(&self, field: &str, file: &FileFacts<'_>) -> Result<(), Violations> {
        let settings = CheckSettings::default();
        let mut findings = Findings::new(&settings);
        if let Some(place) = self.position(field)
            && let Kind::File(rules) = self.fields()[place].kind()
        {
            rules.check_described(file, findings.about(place, &self.fields()[place]));
        }
        if findings.list.is_empty() {
            Ok(())
        } else {
            Err(refuse(self, findings.list))
        }
    }

    /// The answers as the form reads them, right or wrong: parsed where they can be,
    /// defaults filled in, cleared, inactive and unknown ones left out.
    ///
    /// This is what a draft keeps and what the form's schema speaks of. Secrets are
    /// included.
    pub fn normalise(&self, answers: &Value) -> Map<String, Value> {
        let settings = CheckSettings::default();
        let mut intake = Intake::new(self, &settings);
        intake.take_value(answers);
        let mut state = State::new(intake).0;
        state.deactivate(self);
        let value = |(place, field): (usize, &Field)| {
            let value = match &state.values[place] {
                Some(Answer::Files(files)) if !field.takes_many() => files.first()?.to_json(),
                Some(answer) => answer.to_json(),
                None => state.unreadable(place)?.raw.to_json(),
            };
            Some((field.id().to_owned(), value))
        };
        self.fields().iter().enumerate().filter_map(value).collect()
    }
}

fn run<'a>(form: &Form, intake: Intake<'_, 'a>) -> Result<Answers<'a>, Violations> {
    if form.is_plain() && form.validators().is_empty() && intake.is_flawless() {
        // Everything was judged as it came by.
        return Ok(Answers {
            form: form.clone(),
            values: intake.values,
            missing: Vec::new(),
        });
    }
    sort_out(form, intake)
}

/// The answers of a submission, or what is wrong.
#[inline(never)]
fn sort_out<'a>(form: &Form, intake: Intake<'_, 'a>) -> Result<Answers<'a>, Violations> {
    let (state, violations, missing) = examine(form, intake);
    if !violations.is_empty() {
        return Err(refuse(form, violations));
    }
    let answers = Answers {
        form: form.clone(),
        values: state.values,
        missing,
    };
    if !form.validators().is_empty() {
        ask_validators(form, &answers)?;
    }
    Ok(answers)
}

/// Judges everything but what the host's validators have to say: the answers, what is wrong
/// with them, and the places of those left out where that is allowed.
fn examine<'a>(form: &Form, mut intake: Intake<'_, 'a>) -> (State<'a>, Vec<Violation>, Vec<usize>) {
    let not_answers = if !intake.is_object {
        let expected = Expected::Name("object");
        Some(Violation::stranger("", Constraint::Type, expected))
    } else if let Some(other) = intake.other_form.take() {
        let expected = Expected::Text(form.id().into());
        let mut violation = Violation::stranger("form_id", Constraint::FormId, expected);
        violation.actual = Some(crate::violation::shown(&other));
        Some(violation)
    } else {
        None
    };
    let (mut state, mut findings, strangers) = State::new(intake);
    if let Some(violation) = not_answers {
        findings.list.push(violation);
        return (state, findings.list, Vec::new());
    }
    let missing = if form.is_plain() {
        state.judge_absent(form, &mut findings)
    } else {
        state.deactivate(form);
        state.judge(form, &mut findings)
    };
    if findings.settings.unknown == Unknown::Error {
        findings.list.extend(strangers.iter().map(|name| {
            Violation::stranger(name, Constraint::AdditionalProperties, Expected::Nothing)
        }));
    }
    (state, findings.list, missing)
}

fn refuse(form: &Form, list: Vec<Violation>) -> Violations {
    Violations {
        form: form.clone(),
        list,
    }
}

/// The answers of one submission while they are judged.
struct State<'a> {
    /// What could be read, by field.
    values: Vec<Option<Answer<'a>>>,
    /// What could not, by place.
    unreadable: Vec<(usize, Box<Unreadable<'a>>)>,
    /// The fields that conditions have taken out.
    inactive: SmallVec<[usize; 8]>,
}

impl<'a> State<'a> {
    /// What came in, with what was found wrong so far and names that are no field's.
    fn new<'f>(mut intake: Intake<'f, 'a>) -> (Self, Findings<'f>, Vec<Box<str>>) {
        intake.unreadable.sort_unstable_by_key(|(place, _)| *place);
        let state = Self {
            values: intake.values,
            unreadable: intake.unreadable,
            inactive: SmallVec::new(),
        };
        (state, intake.findings, intake.strangers)
    }

    /// Takes out the fields whose conditions do not hold, each after those it looks at.
    fn deactivate(&mut self, form: &Form) {
        for &place in form.conditional() {
            if !self.all_hold(form.fields()[place].active_when()) {
                self.inactive.push(place);
                self.values[place] = None;
                self.unreadable.retain(|(other, _)| *other != place);
            }
        }
    }

    fn all_hold(&self, conditions: &[Condition]) -> bool {
        let see = |place: usize| match &self.values[place] {
            Some(answer) => Seen::Answer(answer),
            None if self.unreadable(place).is_some() => Seen::Unreadable,
            None => Seen::Empty,
        };
        conditions.iter().all(|condition| condition.holds(&see))
    }

    fn unreadable(&self, place: usize) -> Option<&Unreadable<'a>> {
        let found = self
            .unreadable
            .binary_search_by_key(&place, |(other, _)| *other);
        Some(&self.unreadable[found.ok()?].1)
    }

    fn has_answer(&self, place: usize) -> bool {
        self.values[place].is_some() || self.unreadable(place).is_some()
    }

    /// Judges what has no answer, in a form whose answers were judged as they came by, and
    /// returns the places of those left out, where that is allowed.
    fn judge_absent(&self, form: &Form, findings: &mut Findings<'_>) -> Vec<usize> {
        let mut missing = Vec::new();
        for (place, value) in self.values.iter().enumerate() {
            if value.is_none() {
                let field = &form.fields()[place];
                findings.about(place, field);
                if self.judge_no_answer(place, field, form, findings) == Presence::Missing {
                    missing.push(place);
                }
            }
        }
        findings.list.sort_by_key(|violation| violation.field);
        missing
    }

    /// Judges every active field and returns the places of those left out, where that is
    /// allowed.
    fn judge(&self, form: &Form, findings: &mut Findings<'_>) -> Vec<usize> {
        let mut missing = Vec::new();
        for (place, field) in form.fields().iter().enumerate() {
            let is_active = self.inactive.is_empty() || !self.inactive.contains(&place);
            if is_active {
                findings.about(place, field);
                if self.judge_field(place, field, form, findings) == Presence::Missing {
                    missing.push(place);
                }
            }
            for &rule in field.rules() {
                form.rules()[rule].judge(
                    &|place| self.has_answer(place),
                    &|place| !self.inactive.contains(&place),
                    &|place| self.values[place].as_ref(),
                    &mut findings.list,
                );
            }
        }
        missing
    }

    fn judge_field(
        &self,
        place: usize,
        field: &Field,
        form: &Form,
        findings: &mut Findings<'_>,
    ) -> Presence {
        let is_checked = self.all_hold(field.checked_when());
        let Some(answer) = &self.values[place] else {
            if self.unreadable(place).is_some() {
                self.judge_dependencies(field, form, findings);
            }
            if is_checked || self.unreadable(place).is_some() {
                return self.judge_no_answer(place, field, form, findings);
            }
            return Presence::Fine;
        };
        if is_checked {
            field.kind().check(answer, findings);
        }
        if field.rendering().readonly && field.default() != Some(answer) {
            let expected = match field.default() {
                Some(default) if !field.is_sensitive() => {
                    Expected::Json(Box::new(default.to_json()))
                }
                _ => Expected::Nothing,
            };
            findings.add(Constraint::Readonly, expected, || answer.to_json());
        }
        self.judge_dependencies(field, form, findings);
        Presence::Fine
    }

    /// Judges a field without an answer that could be read.
    fn judge_no_answer(
        &self,
        place: usize,
        field: &Field,
        form: &Form,
        findings: &mut Findings<'_>,
    ) -> Presence {
        if let Some(unreadable) = self.unreadable(place) {
            findings.add_mistakes(unreadable);
        } else if field.is_required() && !field.rendering().hidden {
            return require(form, findings);
        }
        Presence::Fine
    }

    fn judge_dependencies(&self, field: &Field, form: &Form, findings: &mut Findings<'_>) {
        let lacking: Vec<_> = field
            .dependencies()
            .iter()
            .filter(|other| !self.has_answer(**other))
            .map(|other| form.fields()[*other].shared_id())
            .collect();
        if !lacking.is_empty() {
            findings.add_bare(Constraint::Dependencies, Expected::Names(lacking.into()));
        }
    }
}

#[derive(PartialEq)]
enum Presence {
    Fine,
    /// Required and without an answer, which the form lets pass.
    Missing,
}

fn require(form: &Form, findings: &mut Findings<'_>) -> Presence {
    if form.allows_partial() {
        return Presence::Missing;
    }
    findings.add_bare(Constraint::Required, Expected::True);
    Presence::Fine
}

fn ask_validators(form: &Form, answers: &Answers<'_>) -> Result<(), Violations> {
    let mut violations = Vec::new();
    for validator in form.validators() {
        let Err(objection) = (validator.function)(answers) else {
            continue;
        };
        let constraint = Constraint::Custom(validator.name.clone());
        let field = form.position(&objection.field);
        violations.push(Violation {
            field,
            message: Some(objection.message.into()),
            ..Violation::stranger(&objection.field, constraint, Expected::Nothing)
        });
    }
    if violations.is_empty() {
        return Ok(());
    }
    violations.sort_by_key(|violation| violation.field.unwrap_or(usize::MAX));
    Err(refuse(form, violations))
}
