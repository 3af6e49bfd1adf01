//! The page of a question while it is open.

use std::collections::HashMap;
use std::sync::Arc;

use askama::Template;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use entreat_core::{CheckSettings, Field, FieldError, Form, Kind, Mode, ReferenceKind, Violations};
use entreat_engine::{ActError, UrlError};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::closing;
use super::control::Verdict;
use super::drawn::Drawn;
use super::field::{FieldView, Setting};
use super::file_view::{FilesView, is_image, kept, location};
use super::frame::{AskerView, Clock, Frame, html, not_made};
use super::said::text_of;
use super::visit::Asked;

/// What is shown besides the question.
#[derive(Default)]
pub(super) struct Look {
    /// All that is wrong, what is missing included.
    pub(super) check: bool,
    pub(super) notice: Option<&'static str>,
    /// Which URL was to be tested.
    pub(super) test: Option<usize>,
    /// What is wrong besides, by field.
    pub(super) refused: Vec<(usize, String)>,
    /// Something that concerns the whole form.
    pub(super) complaint: Option<&'static str>,
}

#[derive(Template)]
#[template(path = "question.html")]
struct QuestionPage<'a> {
    frame: Frame<'a>,
    asker: AskerView<'a>,
    title: &'a str,
    message: Option<&'a str>,
    description: Option<&'a str>,
    action: &'a str,
    here: &'a str,
    csrf: String,
    poll: u128,
    primary: &'static str,
    summary: Vec<Complaint>,
    attempts: Option<String>,
    notice: Option<&'static str>,
    clock: Clock,
    drawn: &'a Drawn,
    kept_for: String,
}

struct Complaint {
    anchor: String,
    message: String,
}

/// Something wrong with an answer.
struct Wrong {
    field: String,
    message: String,
}

/// An error as the engine keeps it, in words of its own.
#[derive(Deserialize)]
struct PreviousError {
    field: String,
    message: String,
    constraint: String,
    #[serde(default)]
    expected: Value,
}

impl From<FieldError> for Wrong {
    fn from(error: FieldError) -> Self {
        Self {
            field: error.field,
            message: error.message,
        }
    }
}

pub(super) async fn show(asked: Asked, uri: Uri) -> Response {
    if let Some(response) = asked.visit.welcome() {
        return response;
    }
    let query = uri.query().unwrap_or_default();
    let words = asked.visit.words;
    let (word, argument) = query.split_once('=').unwrap_or((query, ""));
    let look = match word {
        "check" => Look {
            check: true,
            ..Look::default()
        },
        "test" => Look {
            test: argument.parse().ok(),
            ..Look::default()
        },
        "step" => Look::noticing(words.more_questions),
        "extended" => Look::noticing(words.extended),
        "not-extended" => Look::noticing(words.not_extended),
        _ => Look::default(),
    };
    page(&asked, look).await
}

impl Look {
    /// Nothing but the question, as far as its fields are concerned.
    fn is_plain(&self) -> bool {
        !self.check && self.test.is_none() && self.refused.is_empty() && self.complaint.is_none()
    }

    fn noticing(notice: &'static str) -> Self {
        Self {
            notice: Some(notice),
            ..Self::default()
        }
    }
}

/// The page as the draft has it; the closing page, if it is over.
pub(super) async fn page(asked: &Asked, look: Look) -> Response {
    if asked.snapshot.outcome().is_some() {
        return closing::page(asked);
    }
    match asked.typed().await {
        Ok(values) => page_with(asked, &values, look, StatusCode::OK).await,
        Err(error) => asked.visit.broken(&error),
    }
}

/// The page with these answers filled in.
pub(super) async fn page_with(
    asked: &Asked,
    values: &Map<String, Value>,
    look: Look,
    status: StatusCode,
) -> Response {
    let visit = &asked.visit;
    let (site, words) = (&*visit.site, visit.words);
    let form = asked.form();
    let record = asked.snapshot.record();
    let here = visit.here();
    let frame = Frame::new(site, words, Some(&record.request.asker));
    let is_untouched = values.is_empty() && look.is_plain();
    let before = is_untouched.then(|| site.drawings.find(form, words));
    let (drawn, summary) = match before.flatten() {
        Some(drawn) => (drawn, Vec::new()),
        None => match asked.draw(&frame, values, &look, &here).await {
            Ok(drawn) => drawn,
            Err(error) => return not_made(&error),
        },
    };
    let lifecycle = asked.snapshot.lifecycle();
    let attempts_left = lifecycle
        .attempt_limit()
        .saturating_sub(lifecycle.attempts());
    let has_tried = look.check && lifecycle.attempts() > 0;
    let extras = record.request.extras.as_ref();
    let page = QuestionPage {
        frame,
        asker: AskerView::new(site, &record.request.asker),
        title: form.title(),
        message: extras.and_then(|extras| extras.message.as_deref()),
        description: form
            .description()
            .filter(|_| record.request.mode != Mode::Inline),
        action: &here,
        here: &here,
        csrf: visit.csrf(),
        poll: site.settings.poll.as_millis(),
        primary: if drawn.answerable > 1 {
            "review"
        } else {
            "send"
        },
        attempts: has_tried.then(|| (words.attempts_left)(attempts_left)),
        summary,
        notice: look.notice,
        clock: Clock::new(&asked.snapshot, site.engine.now(), words),
        drawn: &drawn,
        kept_for: (words.kept_for)(site.engine.retention()),
    };
    visit.with_cookie(html(status, &page))
}

/// What is wrong, with the way to it. While nothing was to be sent, fields speak for themselves.
fn summary(fields: &[FieldView<'_>], look: &Look, errors: &[Wrong], form: &Form) -> Vec<Complaint> {
    let mut summary: Vec<Complaint> = Vec::new();
    if let Some(complaint) = look.complaint {
        summary.push(Complaint {
            anchor: "main".to_owned(),
            message: complaint.to_owned(),
        });
    }
    if look.check || !look.refused.is_empty() || look.complaint.is_some() {
        summary.extend(fields.iter().filter_map(|field| {
            Some(Complaint {
                anchor: field.anchor(),
                message: field.error.clone()?,
            })
        }));
        // What concerns no field that is shown has to be said all the same.
        let is_nowhere = |error: &&Wrong| form.field(&error.field).is_none();
        summary.extend(errors.iter().filter(is_nowhere).map(|error| Complaint {
            anchor: "main".to_owned(),
            message: error.message.clone(),
        }));
    }
    summary
}

impl Asked {
    /// Draws the fields with what is in them, and says what is wrong.
    async fn draw(
        &self,
        frame: &Frame<'_>,
        values: &Map<String, Value>,
        look: &Look,
        here: &str,
    ) -> askama::Result<(Arc<Drawn>, Vec<Complaint>)> {
        let (site, words, form) = (&self.visit.site, self.visit.words, self.form());
        let tree = Value::Object(values.clone());
        let settings = check_settings();
        let progress = form.progress(&tree, &settings);
        let setting = Setting {
            form,
            values,
            progress: &progress,
            words,
        };
        let errors = if look.check {
            self.all_errors(&tree)
        } else {
            let errors = progress.errors(&self.visit.messages);
            errors.into_iter().map(Wrong::from).collect()
        };
        let refused = look.refused.iter().map(|(place, message)| {
            let field = form.fields().get(*place);
            (field.map_or("", Field::id), &**message)
        });
        let wrong = errors.iter().map(|error| (&*error.field, &*error.message));
        let mut sentences = by_field(refused.chain(wrong));
        let mut fields = Vec::with_capacity(form.fields().len());
        for (place, field) in form.fields().iter().enumerate() {
            if field.rendering().hidden {
                continue;
            }
            let error = sentences.remove(field.id());
            let value = values.get(field.id());
            let files = match FilesView::new(field, value, words) {
                Some(files) => Some(self.with_previews(files, place, value, here).await),
                None => None,
            };
            let verdict = match look.test {
                Some(test) if test == place => Some(self.test(field, value).await),
                _ => None,
            };
            fields.push(FieldView::new(&setting, place, error, files, verdict));
        }
        let drawn = Arc::new(Drawn::new(form, frame, &fields)?);
        // What is wrong is said in words that are not in the key.
        if values.is_empty() && look.is_plain() && errors.is_empty() {
            site.drawings.keep(form, words, &drawn);
        }
        Ok((drawn, summary(&fields, look, &errors, form)))
    }

    /// The form; whoever got here asked for one.
    pub(super) fn form(&self) -> &Form {
        match self.snapshot.record().request.subject.form() {
            Some(form) => form,
            None => unreachable!("only questions with a form are opened"),
        }
    }

    /// All that is wrong with answers, in the person's language; what a custom validator said at
    /// the last attempt, in its words.
    fn all_errors(&self, answers: &Value) -> Vec<Wrong> {
        let checked = self.form().check_with(answers, &check_settings());
        match checked {
            Err(violations) => {
                let errors = violations.errors(&self.visit.messages);
                errors.into_iter().map(Wrong::from).collect()
            }
            Ok(_) => self.previous_errors(),
        }
    }

    fn previous_errors(&self) -> Vec<Wrong> {
        let held = self.snapshot.record().held.as_ref();
        let errors = held.and_then(|held| held.errors.as_deref());
        let errors: Vec<PreviousError> = errors
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default();
        let messages = &self.visit.messages;
        let retell = |kept: PreviousError| {
            let PreviousError {
                field,
                message,
                constraint,
                expected,
            } = kept;
            let told = messages.retell(self.form(), &field, &constraint, &expected);
            Wrong {
                field,
                message: told.unwrap_or(message),
            }
        };
        errors.into_iter().map(retell).collect()
    }

    /// Looks a URL up and judges it. Nothing is fetched.
    async fn test(&self, field: &Field, value: Option<&Value>) -> Verdict {
        let words = self.visit.words;
        let url = value.map(text_of).unwrap_or_default();
        let Kind::Url(rules) = field.kind() else {
            return Verdict::bad(words.test_empty);
        };
        if url.is_empty() {
            return Verdict::bad(words.test_empty);
        }
        match self.visit.site.engine.judge_url(&url, &rules.policy).await {
            Ok(cleared) if !cleared.addresses().is_empty() => Verdict::good(words.test_good),
            Err(UrlError::Blocked(blocked)) => {
                let blocked = [(field.id(), &*url, blocked)];
                let violations = Violations::of_blocked_urls(self.form(), &blocked);
                let errors = violations.map(|found| found.errors(&self.visit.messages));
                let error = errors.into_iter().flatten().next();
                Verdict::bad(&error.map_or_else(String::new, |error| error.message))
            }
            Ok(_) | Err(_) => Verdict::good(words.test_unknown),
        }
    }

    /// The files with pictures and beginnings of texts, where the form wants them.
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
        for (view, file) in files.kept.iter_mut().zip(kept(value)) {
            let Some(location) = location(file) else {
                continue;
            };
            let content_type = file["content_type"].as_str().unwrap_or_default();
            if is_image(content_type) {
                view.image = Some(format!("{here}/files/{place}/{location}"));
            } else if content_type.starts_with("text/") || content_type == "application/json" {
                let head = uploads
                    .head(self.id, location, PREVIEW)
                    .await
                    .unwrap_or_default();
                view.text = Some(String::from_utf8_lossy(&head).into_owned());
            }
        }
        files
    }
}

/// So much of a text is shown, in bytes.
const PREVIEW: usize = 1000;

/// How a page checks: files are references to what is kept here until the form is sent.
pub(super) fn check_settings() -> CheckSettings {
    CheckSettings {
        references: vec![ReferenceKind::Local],
        ..CheckSettings::default()
    }
}

/// What there is to say about each field, in one text.
pub(super) fn by_field<'a>(
    sentences: impl Iterator<Item = (&'a str, &'a str)>,
) -> HashMap<&'a str, String> {
    let mut texts: HashMap<&str, String> = HashMap::new();
    for (field, sentence) in sentences {
        let text = texts.entry(field).or_default();
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(sentence);
    }
    texts
}

/// Whether an error means that the question is over, which its page then says.
pub(super) fn is_over(error: &ActError) -> bool {
    matches!(error, ActError::Settled { .. } | ActError::TimedOut { .. })
}
