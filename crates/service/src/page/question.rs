//! The page of an open question.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use askama::Template;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use entreat_core::{
    CheckSettings, Constraint, Field, FieldError, Form, Kind, Mode, ReferenceKind, Violations,
};
use entreat_engine::{ActError, Snapshot, UrlError};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::answer_text::{is_empty, text_of};
use super::closing;
use super::control::Verdict;
use super::field::{FieldContext, FieldView, yes_no};
use super::file_view::{FilesView, is_image, location, uploads_in};
use super::frame::{AskerIdentity, AskerView, Clock, Frame, html, render_failed};
use super::prose::Prose;
use super::rendered::RenderedFields;
use super::visit::QuestionVisit;

/// What is shown besides the question.
#[derive(Default)]
pub(super) struct ViewOptions {
    /// Show all errors, including missing answers.
    pub(super) check: bool,
    pub(super) notice: Option<&'static str>,
    /// The field whose URL is tested.
    pub(super) test: Option<usize>,
    /// Additional errors by field index.
    pub(super) refused: Vec<(usize, String)>,
    /// An error that concerns the whole form.
    pub(super) form_error: Option<&'static str>,
}

#[derive(Template)]
#[template(path = "question.html")]
struct QuestionPage<'a> {
    frame: Frame<'a>,
    asker: AskerView<'a>,
    title: &'a str,
    message: Option<Prose<'a>>,
    description: Option<Prose<'a>>,
    action: &'a str,
    here: &'a str,
    csrf: String,
    poll: u128,
    primary: &'static str,
    summary: Vec<SummaryEntry>,
    attempts: Option<String>,
    notice: Option<&'static str>,
    clock: Clock,
    rendered: &'a RenderedFields,
    kept_for: String,
}

struct SummaryEntry {
    anchor: String,
    /// The index of its field.
    place: Option<usize>,
    /// The label of its field, if the message alone does not tell which one it is about.
    label: Option<String>,
    message: String,
}

/// An error of an answer.
pub(super) struct AnswerError {
    pub(super) field: String,
    pub(super) message: String,
    constraint: String,
}

impl AnswerError {
    pub(super) fn is_absence(&self) -> bool {
        self.constraint == Constraint::Required.key()
    }
}

/// An error as stored by the engine, in its default language.
#[derive(Deserialize)]
struct PreviousError {
    field: String,
    message: String,
    constraint: String,
    #[serde(default)]
    expected: Value,
}

impl From<FieldError> for AnswerError {
    fn from(error: FieldError) -> Self {
        Self {
            field: error.field,
            message: error.message,
            constraint: error.constraint,
        }
    }
}

pub(super) async fn show(question: QuestionVisit, uri: Uri) -> Response {
    if let Some(response) = question.visit.redirect_from_link() {
        return response;
    }
    let query = uri.query().unwrap_or_default();
    let texts = question.visit.texts;
    let (word, argument) = query.split_once('=').unwrap_or((query, ""));
    let options = match word {
        "check" => ViewOptions {
            check: true,
            ..ViewOptions::default()
        },
        "test" => ViewOptions {
            test: argument.parse().ok(),
            ..ViewOptions::default()
        },
        "step" => ViewOptions::with_notice(texts.more_questions),
        "extended" => ViewOptions::with_notice(texts.extended),
        "not-extended" => ViewOptions::with_notice(texts.not_extended),
        _ => ViewOptions::default(),
    };
    page(&question, options).await
}

impl ViewOptions {
    /// Whether the fields show nothing but the draft.
    fn is_plain(&self) -> bool {
        !self.check && self.test.is_none() && self.refused.is_empty() && self.form_error.is_none()
    }

    fn with_notice(notice: &'static str) -> Self {
        Self {
            notice: Some(notice),
            ..Self::default()
        }
    }
}

/// The page with the current draft, or the closing page if the question has settled.
pub(super) async fn page(question: &QuestionVisit, options: ViewOptions) -> Response {
    if question.snapshot.outcome().is_some() {
        return closing::page(question);
    }
    match question.draft_values().await {
        Ok(values) => page_with(question, &values, options, StatusCode::OK).await,
        Err(error) => question.visit.internal_error(&error),
    }
}

/// The page with these answers filled in.
pub(super) async fn page_with(
    question: &QuestionVisit,
    values: &Map<String, Value>,
    options: ViewOptions,
    status: StatusCode,
) -> Response {
    let visit = &question.visit;
    let (site, texts) = (&*visit.site, visit.texts);
    let form = question.form();
    let record = question.snapshot.record();
    let here = visit.here();
    let frame = Frame::new(site, texts, Some(&record.request.asker));
    let format = record.request.text_format();
    let is_untouched = values.is_empty() && options.is_plain();
    let before = is_untouched.then(|| site.render_cache.find(form, format, texts));
    let (rendered, summary) = match before.flatten() {
        Some(rendered) => (rendered, Vec::new()),
        None => match question
            .render_fields(&frame, values, &options, &here)
            .await
        {
            Ok(rendered) => rendered,
            Err(error) => return render_failed(&error),
        },
    };
    let lifecycle = question.snapshot.lifecycle();
    let attempts_left = lifecycle
        .attempt_limit()
        .saturating_sub(lifecycle.attempts());
    let has_tried = options.check && lifecycle.attempts() > 0;
    let extras = record.request.extras.as_ref();
    let page = QuestionPage {
        frame,
        asker: AskerView::new(site, texts, &record.request),
        title: form.title(),
        message: extras
            .and_then(|extras| form.rest_of_message(extras.message()?))
            .map(|message| Prose::new(message, format)),
        description: form
            .description()
            .filter(|_| record.request.mode != Mode::Inline)
            .map(|description| Prose::new(description, format)),
        action: &here,
        here: &here,
        csrf: visit.csrf(),
        poll: site.settings.poll.as_millis(),
        primary: if rendered.is_yes_no {
            // Enter in a note answers nothing.
            "save"
        } else if rendered.answerable > 1 {
            "review"
        } else {
            "send"
        },
        attempts: has_tried.then(|| (texts.attempts_left)(attempts_left)),
        summary,
        notice: options.notice,
        clock: Clock::new(&question.snapshot, site.engine.now(), texts),
        rendered: &rendered,
        kept_for: (texts.kept_for)(site.engine.retention()),
    };
    visit.with_cookie(html(status, &page))
}

/// The error summary with links to the fields. Empty unless the person tried to proceed.
fn summary(
    fields: &[FieldView<'_>],
    options: &ViewOptions,
    errors: &[AnswerError],
    form: &Form,
) -> Vec<SummaryEntry> {
    let mut summary: Vec<SummaryEntry> = Vec::new();
    if let Some(form_error) = options.form_error {
        summary.push(SummaryEntry {
            anchor: "main".to_owned(),
            place: None,
            label: None,
            message: form_error.to_owned(),
        });
    }
    if options.check || !options.refused.is_empty() || options.form_error.is_some() {
        let messages = fields.iter().flat_map(|field| &field.errors);
        let mut times: HashMap<&str, usize> = HashMap::new();
        messages.for_each(|message| *times.entry(message).or_default() += 1);
        summary.extend(fields.iter().flat_map(|field| {
            field.errors.iter().map(|error| SummaryEntry {
                anchor: field.anchor(),
                place: Some(field.place),
                label: (times[&**error] > 1).then(|| field.label.to_owned()),
                message: error.clone(),
            })
        }));
        // Errors that belong to no field are listed, too.
        let has_no_field = |error: &&AnswerError| form.field(&error.field).is_none();
        summary.extend(
            errors
                .iter()
                .filter(has_no_field)
                .map(|error| SummaryEntry {
                    anchor: "main".to_owned(),
                    place: None,
                    label: None,
                    message: error.message.clone(),
                }),
        );
    }
    summary
}

impl QuestionVisit {
    /// Renders the fields with their values and errors.
    async fn render_fields(
        &self,
        frame: &Frame<'_>,
        values: &Map<String, Value>,
        options: &ViewOptions,
        here: &str,
    ) -> askama::Result<(Arc<RenderedFields>, Vec<SummaryEntry>)> {
        let (site, texts, form) = (&self.visit.site, self.visit.texts, self.form());
        let tree = Value::Object(values.clone());
        let format = self.snapshot.record().request.text_format();
        let settings = check_settings();
        let progress = form.progress(&tree, &settings);
        let context = FieldContext {
            form,
            values,
            progress: &progress,
            texts,
            messages: &self.visit.messages,
            format,
            yes_no: yes_no(form),
        };
        let mut errors = if options.check {
            self.all_errors(&tree, &self.snapshot)
        } else {
            let errors = progress.errors(&self.visit.messages);
            errors.into_iter().map(AnswerError::from).collect()
        };
        // What was refused is not in the draft, but it was not forgotten either.
        let refused = options.refused.iter();
        let refused: HashSet<&str> = refused
            .filter_map(|(place, _)| Some(form.fields().get(*place)?.id()))
            .collect();
        errors.retain(|error| !(error.is_absence() && refused.contains(&*error.field)));
        let refused = options.refused.iter().map(|(place, message)| {
            let field = form.fields().get(*place);
            (field.map_or("", Field::id), &**message)
        });
        let answer_errors = errors.iter().map(|error| (&*error.field, &*error.message));
        let mut sentences = by_field(refused.chain(answer_errors));
        let mut fields = Vec::with_capacity(form.fields().len());
        for (place, field) in form.fields().iter().enumerate() {
            if field.rendering().hidden {
                continue;
            }
            let errors = sentences.remove(field.id()).unwrap_or_default();
            let value = values.get(field.id());
            let files = match FilesView::new(field, value, texts, &self.visit.messages) {
                Some(files) => Some(self.with_previews(files, place, value, here).await),
                None => None,
            };
            let verdict = match options.test {
                Some(test) if test == place => Some(self.test(field, value).await),
                _ => None,
            };
            fields.push(FieldView::new(&context, place, errors, files, verdict));
        }
        let rendered = Arc::new(RenderedFields::new(form, frame, &fields)?);
        // Errors depend on more than the cache key.
        if values.is_empty() && options.is_plain() && errors.is_empty() {
            site.render_cache.insert(form, format, texts, &rendered);
        }
        Ok((rendered, summary(&fields, options, &errors, form)))
    }

    /// The form; [`QuestionVisit`] exists only for questions with one.
    pub(super) fn form(&self) -> &Form {
        match self.snapshot.record().request.subject.form() {
            Some(form) => form,
            None => unreachable!("only questions with a form are opened"),
        }
    }

    /// All errors of the answers, in the person's language, together with what only the last
    /// attempt could find.
    pub(super) fn all_errors(&self, answers: &Value, snapshot: &Snapshot) -> Vec<AnswerError> {
        let mut previous = self.previous_errors(snapshot);
        self.explain_dropped_secrets(&mut previous, answers);
        let violations = self.form().check_with(answers, &check_settings()).err();
        let errors = violations.map(|found| found.errors(&self.visit.messages));
        let errors = errors.into_iter().flatten().map(AnswerError::from);
        let refused: HashSet<String> = previous.iter().map(|error| error.field.clone()).collect();
        let errors = errors.filter(|error| !(error.is_absence() && refused.contains(&error.field)));
        errors.chain(previous).collect()
    }

    /// Says of each secret that the last attempt refused that it was not kept.
    fn explain_dropped_secrets(&self, previous: &mut Vec<AnswerError>, answers: &Value) {
        let form = self.form();
        let is_dropped =
            |id: &str| form.field(id).is_some_and(Field::is_sensitive) && is_empty(&answers[id]);
        let dropped: BTreeSet<String> = previous
            .iter()
            .filter(|error| is_dropped(&error.field))
            .map(|error| error.field.clone())
            .collect();
        previous.extend(dropped.into_iter().map(|field| AnswerError {
            field,
            message: self.visit.texts.secret_not_kept.to_owned(),
            constraint: String::new(),
        }));
    }

    /// What the last attempt found and a check of the form cannot: the errors of custom validators
    /// and of resolved addresses. The engine drops them with the answers they are about.
    fn previous_errors(&self, snapshot: &Snapshot) -> Vec<AnswerError> {
        let held = snapshot.record().answer_state.as_ref();
        let errors = held.and_then(|held| held.errors.as_deref());
        let errors: Vec<PreviousError> = errors
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default();
        let messages = &self.visit.messages;
        let retell = |previous: PreviousError| {
            let PreviousError {
                field,
                message,
                constraint,
                expected,
            } = previous;
            let retold = messages.message_for(self.form(), &field, &constraint, &expected);
            AnswerError {
                field,
                message: retold.unwrap_or(message),
                constraint,
            }
        };
        let errors = errors.into_iter();
        errors
            .filter(|error| !is_found_by_check(&error.constraint))
            .map(retell)
            .collect()
    }

    /// Resolves and checks a URL without fetching it.
    async fn test(&self, field: &Field, value: Option<&Value>) -> Verdict {
        let texts = self.visit.texts;
        let url = value.map(text_of).unwrap_or_default();
        let Kind::Url(rules) = field.kind() else {
            return Verdict::bad(texts.test_empty);
        };
        if url.is_empty() {
            return Verdict::bad(texts.test_empty);
        }
        match self.visit.site.engine.check_url(&url, &rules.policy).await {
            Ok(cleared) if !cleared.addresses().is_empty() => {
                Verdict::good(texts.test_good).with_warnings(&url, &self.visit.messages)
            }
            Err(UrlError::Blocked(blocked)) => {
                let blocked = [(field.id(), &*url, blocked)];
                let violations = Violations::of_blocked_urls(self.form(), &blocked);
                let errors = violations.map(|found| found.errors(&self.visit.messages));
                let error = errors.into_iter().flatten().next();
                Verdict::bad(&error.map_or_else(String::new, |error| error.message))
            }
            Ok(_) | Err(_) => {
                Verdict::good(texts.test_unknown).with_warnings(&url, &self.visit.messages)
            }
        }
    }

    /// Adds image and text previews, if the form wants them.
    pub(super) async fn with_previews<'f>(
        &self,
        mut files: FilesView<'f>,
        place: usize,
        value: Option<&Value>,
        here: &str,
    ) -> FilesView<'f> {
        let Some(uploads) = self
            .visit
            .site
            .uploads
            .as_ref()
            .filter(|_| files.has_previews())
        else {
            return files;
        };
        for (view, file) in files.uploaded.iter_mut().zip(uploads_in(value)) {
            let Some(location) = location(file) else {
                continue;
            };
            let content_type = file["content_type"].as_str().unwrap_or_default();
            if is_image(content_type) {
                view.image = Some(format!("{here}/files/{place}/{location}"));
            } else if content_type.starts_with("text/") || content_type == "application/json" {
                let head = uploads
                    .head(self.id, location, PREVIEW_LEN)
                    .await
                    .unwrap_or_default();
                view.text = Some(String::from_utf8_lossy(&head).into_owned());
            }
        }
        files
    }
}

/// Length of text previews, in bytes.
const PREVIEW_LEN: usize = 1000;

/// Settings for checks on the page: files are local references until the form is submitted.
pub(super) fn check_settings() -> CheckSettings {
    CheckSettings {
        references: vec![ReferenceKind::Local],
        ..CheckSettings::default()
    }
}

/// Whether a check of the form finds violations of this rule. The addresses of a host are looked up
/// when answers are sent.
fn is_found_by_check(constraint: &str) -> bool {
    let by_address = [Constraint::BlockPrivateIps, Constraint::BlockLocalhost];
    Constraint::KEYS.contains(&constraint)
        && !by_address.iter().any(|other| other.key() == constraint)
}

/// The messages of each field.
pub(super) fn by_field<'a>(
    sentences: impl Iterator<Item = (&'a str, &'a str)>,
) -> HashMap<&'a str, Vec<String>> {
    let mut texts: HashMap<&str, Vec<String>> = HashMap::new();
    for (field, sentence) in sentences {
        texts.entry(field).or_default().push(sentence.to_owned());
    }
    texts
}

/// Whether an error means that the question has settled.
pub(super) fn is_over(error: &ActError) -> bool {
    matches!(error, ActError::Settled { .. } | ActError::TimedOut { .. })
}
