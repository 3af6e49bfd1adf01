//! A posted form: its fields as text, its files streamed to upload storage.
//!
//! Takes linear time in the size of the post and the form: names are looked up in maps, and each
//! field is answered once however often it is named.

mod meter;
mod read;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use axum::http::StatusCode;
use axum::response::Response;
use bytes::Bytes;
use entreat_core::form::Options;
use entreat_core::{Field, Form, Kind};
use serde_json::{Map, Value, json};

use super::answer_text::is_empty;
use super::calendar;
use super::field::{shows_options, yes_no};
use super::file_view::uploads_in;
use super::visit::QuestionVisit;
use crate::upload::{FileMetadata, ReceiveError};

pub(crate) use self::read::{FormReader, PostError};

/// The contents of a posted form.
#[derive(Default)]
pub(crate) struct Posted {
    /// The values of each name, in order.
    texts: HashMap<String, Vec<String>>,
    /// Received files by field index.
    pub(super) files: BTreeMap<usize, Vec<Value>>,
    /// Rejected files by field index, with the message.
    pub(super) refused: Vec<(usize, String)>,
    /// Secrets that were not kept because they are not valid, by field index, with a message.
    pub(super) invalid_secrets: Vec<(usize, String)>,
}

impl Posted {
    /// A post of a single file.
    pub(super) fn of_file(place: usize, file: Value) -> Self {
        Self {
            files: [(place, vec![file])].into(),
            ..Self::default()
        }
    }

    /// The CSRF token.
    pub(super) fn token(&self) -> Option<&str> {
        self.last("_csrf")
    }

    /// Whether there is nothing to save.
    pub(super) fn is_empty(&self) -> bool {
        self.all("_f").is_empty() && self.files.is_empty()
    }

    fn last(&self, name: &str) -> Option<&str> {
        self.all(name).last().map(String::as_str)
    }

    fn all(&self, name: &str) -> &[String] {
        self.texts.get(name).map_or(&[], Vec::as_slice)
    }

    /// The indices of the fields that could be answered when the form was sent.
    pub(super) fn shown(&self, form: &Form) -> BTreeSet<usize> {
        let places = self.all("_f").iter().filter_map(|place| place.parse().ok());
        places
            .filter(|place| *place < form.fields().len())
            .collect()
    }

    /// Whether the page showed the errors of a check, which are to be kept up to date.
    pub(super) fn is_checked(&self) -> bool {
        self.last("_check").is_some()
    }

    /// The action and its argument.
    pub(super) fn action(&self) -> (&str, &str) {
        let action = self.all("_do").first().map_or("", String::as_str);
        action.split_once('.').unwrap_or((action, ""))
    }

    /// The posted answers as text, without files; `draft` is the draft so far.
    pub(crate) fn answers(&self, form: &Form, draft: &Map<String, Value>) -> Map<String, Value> {
        let yes_no = yes_no(form);
        let answer = |place: usize| {
            let field = &form.fields()[place];
            let value = if yes_no == Some(place) {
                self.pressed()?
            } else {
                self.answer(field, draft.get(field.id()))?
            };
            Some((field.id().to_owned(), value))
        };
        self.shown(form).into_iter().filter_map(answer).collect()
    }

    /// What the pressed button answers; `None` for one that only saves, asks for time or declines.
    fn pressed(&self) -> Option<Value> {
        match self.action() {
            ("send", "yes") => Some(true.into()),
            ("send", "no") => Some(false.into()),
            _ => None,
        }
    }

    fn answer(&self, field: &Field, saved: Option<&Value>) -> Option<Value> {
        let name = format!("f.{}", field.id());
        let text = || self.last(&name).unwrap_or_default();
        let value = match field.kind() {
            // Files are handled separately.
            Kind::File(_) => return None,
            Kind::Boolean if !shows_options(field) => Value::Bool(text() == "true"),
            Kind::Select(options) => OptionFinder::new(options).option(text()).into(),
            Kind::MultiSelect(rules) => {
                let mut finder = OptionFinder::new(&rules.options);
                let sent = self.all(&name).iter();
                sent.map(|sent| Value::from(finder.option(sent))).collect()
            }
            Kind::Date(rules) if rules.has_time => match self.last(&format!("z.{}", field.id())) {
                Some(zone) => calendar::join(text(), zone).into(),
                None => text().into(),
            },
            // Browsers send line breaks as CRLF.
            Kind::Text(_) | Kind::Number(_) | Kind::Boolean | Kind::Date(_) | Kind::Url(_) => {
                text().replace("\r\n", "\n").into()
            }
        };
        // Secrets are not shown again, so an empty field leaves them unchanged.
        let stays =
            field.is_sensitive() && is_empty(&value) && saved.is_some_and(|saved| !is_empty(saved));
        (!stays).then_some(value)
    }
}

/// Finds the option that was sent. Browsers normalize line breaks and NUL, so options that contain
/// them could not be chosen otherwise.
struct OptionFinder<'o> {
    options: &'o Options,
    /// Options by normalized value; built on the first mismatch.
    changed: Option<HashMap<Cow<'o, str>, &'o str>>,
}

impl<'o> OptionFinder<'o> {
    fn new(options: &'o Options) -> Self {
        Self {
            options,
            changed: None,
        }
    }

    fn option<'s>(&mut self, sent: &'s str) -> &'s str
    where
        'o: 's,
    {
        if self.options.contains(sent) {
            return sent;
        }
        let changed = self.changed.get_or_insert_with(|| {
            // Reversed, so that of options with equal normal forms the first wins.
            let values = self.options.values().collect::<Vec<_>>().into_iter().rev();
            values.map(|value| (as_submitted(value), value)).collect()
        });
        changed.get(&*as_submitted(sent)).copied().unwrap_or(sent)
    }
}

/// The text as a browser submits it.
fn as_submitted(text: &str) -> Cow<'_, str> {
    if !text.contains(['\r', '\0']) {
        return text.into();
    }
    text.replace("\r\n", "\n")
        .replace('\r', "\n")
        .replace('\0', "\u{fffd}")
        .into()
}

/// Receives one file; the error is the message to show.
pub(super) async fn store<S>(
    question: &QuestionVisit,
    place: usize,
    name: FileMetadata<'_>,
    body: S,
) -> Result<Value, String>
where
    S: futures_util::Stream<Item = std::io::Result<Bytes>> + Send,
{
    let visit = &question.visit;
    let field = question.form().fields().get(place);
    let (Some(uploads), Some(field)) = (&visit.site.uploads, field) else {
        return Err(visit.texts.upload_failed.to_owned());
    };
    let received = uploads.receive(question.id, field, name, body).await;
    received.map_err(|error| match error {
        ReceiveError::Refused(violations) => {
            let errors = violations.errors(&visit.messages);
            let sentences: Vec<&str> = errors.iter().map(|error| &*error.message).collect();
            sentences.join(" ")
        }
        error => {
            tracing::warn!(%error, "a file was rejected");
            let texts = visit.texts;
            let message = match error {
                ReceiveError::TooManyFiles { .. } | ReceiveError::TooManyBytes { .. } => {
                    texts.upload_no_room
                }
                ReceiveError::TotalQuotaExceeded { .. }
                | ReceiveError::AskerQuotaExceeded { .. } => texts.upload_full,
                ReceiveError::Busy => texts.upload_busy,
                _ => texts.upload_failed,
            };
            message.to_owned()
        }
    })
}

/// Adds files to a field's draft, up to its limit; a field for one file takes the last. Also
/// returns whether all of them fit.
pub(super) fn with_files(field: &Field, before: Option<&Value>, new: &[Value]) -> (Value, bool) {
    let Some(rules) = field.kind().file_rules() else {
        return (before.cloned().unwrap_or_default(), false);
    };
    if !field.takes_many() {
        let last = new.last().or(before).cloned().unwrap_or_default();
        return (last, new.len() <= 1);
    }
    let mut files: Vec<Value> = uploads_in(before).cloned().collect();
    let most = usize::try_from(rules.max_items).unwrap_or(usize::MAX);
    let room = most.saturating_sub(files.len()).min(new.len());
    files.extend_from_slice(&new[..room]);
    (files.into(), room == new.len())
}

/// The message for files beyond the limit.
pub(super) fn too_many_files(question: &QuestionVisit, field: &Field) -> String {
    let most = field.kind().file_rules().map_or(0, |rules| rules.max_items);
    let messages = &question.visit.messages;
    let told = messages.message_for(question.form(), field.id(), "maxItems", &json!(most));
    told.unwrap_or_else(|| question.visit.texts.upload_failed.to_owned())
}

impl PostError {
    /// The error page.
    fn page(self, question: &QuestionVisit) -> Response {
        let texts = question.visit.texts;
        let (status, message) = match self {
            Self::Forged => (StatusCode::FORBIDDEN, texts.forged),
            Self::TooMuch => (StatusCode::PAYLOAD_TOO_LARGE, texts.too_much),
            Self::Malformed => (StatusCode::BAD_REQUEST, texts.unreadable),
            Self::Timeout => (StatusCode::REQUEST_TIMEOUT, texts.unreadable),
            Self::NoMemory => (StatusCode::SERVICE_UNAVAILABLE, texts.busy),
        };
        question.visit.error_page(status, message)
    }
}
