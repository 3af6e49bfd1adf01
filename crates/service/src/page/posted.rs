//! What a form sent: its fields as text, its files streamed to where they are kept.
//!
//! Everything here takes time that is linear in what was sent and in the form: names are looked
//! up, not looked for, and each field is answered once however often it is named.

mod meter;
mod read;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use axum::http::StatusCode;
use axum::response::Response;
use bytes::Bytes;
use entreat_core::form::{DisplayStyle, Options};
use entreat_core::{Field, Form, Kind};
use serde_json::{Map, Value, json};

use super::calendar;
use super::file_view::kept;
use super::said::is_empty;
use super::visit::Asked;
use crate::upload::{FileName, ReceiveError};

pub(crate) use self::read::{Reading, Unreadable};

/// What was sent.
#[derive(Default)]
pub(crate) struct Posted {
    /// The values of each name, in the order in which they came.
    texts: HashMap<String, Vec<String>>,
    /// Files that arrived, by the place of their field.
    pub(super) files: BTreeMap<usize, Vec<Value>>,
    /// Files that were not taken, and why.
    pub(super) refused: Vec<(usize, String)>,
}

impl Posted {
    /// A file that came by itself.
    pub(super) fn of_file(place: usize, file: Value) -> Self {
        Self {
            files: [(place, vec![file])].into(),
            ..Self::default()
        }
    }

    /// Whether there is nothing to keep.
    pub(super) fn is_empty(&self) -> bool {
        self.all("_f").is_empty() && self.files.is_empty()
    }

    fn last(&self, name: &str) -> Option<&str> {
        self.all(name).last().map(String::as_str)
    }

    fn all(&self, name: &str) -> &[String] {
        self.texts.get(name).map_or(&[], Vec::as_slice)
    }

    /// The places of the fields that could be answered when the form was sent.
    pub(super) fn shown(&self, form: &Form) -> BTreeSet<usize> {
        let places = self.all("_f").iter().filter_map(|place| place.parse().ok());
        places
            .filter(|place| *place < form.fields().len())
            .collect()
    }

    /// What is to be done: a word, and what it is done to.
    pub(super) fn action(&self) -> (&str, &str) {
        let action = self.all("_do").first().map_or("", String::as_str);
        action.split_once('.').unwrap_or((action, ""))
    }

    /// The answers that were sent, as text; `kept` is what was there before. Files that arrived
    /// are not among them.
    pub(crate) fn answers(&self, form: &Form, kept: &Map<String, Value>) -> Map<String, Value> {
        let answer = |place: usize| {
            let field = &form.fields()[place];
            let value = self.answer(field, kept.get(field.id()))?;
            Some((field.id().to_owned(), value))
        };
        self.shown(form).into_iter().filter_map(answer).collect()
    }

    fn answer(&self, field: &Field, kept: Option<&Value>) -> Option<Value> {
        let name = format!("f.{}", field.id());
        let text = || self.last(&name).unwrap_or_default();
        let value = match field.kind() {
            // Files come by themselves.
            Kind::File(_) => return None,
            Kind::Boolean if field.rendering().display_style != Some(DisplayStyle::Radio) => {
                Value::Bool(text() == "true")
            }
            Kind::Select(options) => Chooser::new(options).option(text()).into(),
            Kind::MultiSelect(rules) => {
                let mut chooser = Chooser::new(&rules.options);
                let sent = self.all(&name).iter();
                sent.map(|sent| Value::from(chooser.option(sent))).collect()
            }
            Kind::Date(rules) if rules.has_time => match self.last(&format!("z.{}", field.id())) {
                Some(zone) => calendar::join(text(), zone).into(),
                None => text().into(),
            },
            // A browser sends line breaks in two characters; a person typed one.
            _ => text().replace("\r\n", "\n").into(),
        };
        // A secret is not shown again, so an empty field leaves it as it is.
        let stays =
            field.is_sensitive() && is_empty(&value) && kept.is_some_and(|kept| !is_empty(kept));
        (!stays).then_some(value)
    }
}

/// Finds the option that was sent. Browsers change line breaks and NUL on the way, and an option
/// that has them could otherwise not be chosen.
struct Chooser<'o> {
    options: &'o Options,
    /// By what a browser makes of them; made when the first is not as it was.
    changed: Option<HashMap<Cow<'o, str>, &'o str>>,
}

impl<'o> Chooser<'o> {
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
            // The first of those that look the same on the way, as they are listed.
            let values = self.options.values().collect::<Vec<_>>().into_iter().rev();
            values.map(|value| (on_the_way(value), value)).collect()
        });
        changed.get(&*on_the_way(sent)).copied().unwrap_or(sent)
    }
}

/// What a browser sends of a text.
fn on_the_way(text: &str) -> Cow<'_, str> {
    if !text.contains(['\r', '\0']) {
        return text.into();
    }
    text.replace("\r\n", "\n")
        .replace('\r', "\n")
        .replace('\0', "\u{fffd}")
        .into()
}

/// Receives one file; on failure, the sentence to show.
pub(super) async fn store<S>(
    asked: &Asked,
    place: usize,
    name: FileName<'_>,
    body: S,
) -> Result<Value, String>
where
    S: futures_util::Stream<Item = std::io::Result<Bytes>> + Send,
{
    let visit = &asked.visit;
    let field = asked.form().fields().get(place);
    let (Some(uploads), Some(field)) = (&visit.site.uploads, field) else {
        return Err(visit.words.upload_failed.to_owned());
    };
    let received = uploads.receive(asked.id, field, name, body).await;
    received.map_err(|error| match error {
        ReceiveError::Refused(violations) => {
            let errors = violations.errors(&visit.messages);
            let sentences: Vec<&str> = errors.iter().map(|error| &*error.message).collect();
            sentences.join(" ")
        }
        error => {
            tracing::warn!(%error, "a file was not taken");
            let words = visit.words;
            let says = match error {
                ReceiveError::TooMany { .. } | ReceiveError::TooMuch { .. } => words.upload_no_room,
                ReceiveError::AllFull { .. } | ReceiveError::AskerFull { .. } => words.upload_full,
                ReceiveError::Busy => words.upload_busy,
                _ => words.upload_failed,
            };
            says.to_owned()
        }
    })
}

/// A field's files with others, as many as it takes; a field that takes one has the last. What is
/// returned besides is whether all of them found a place.
pub(super) fn with_files(field: &Field, before: Option<&Value>, new: &[Value]) -> (Value, bool) {
    let Kind::File(rules) = field.kind() else {
        return (before.cloned().unwrap_or_default(), false);
    };
    if !field.takes_many() {
        let last = new.last().or(before).cloned().unwrap_or_default();
        return (last, new.len() <= 1);
    }
    let mut files: Vec<Value> = kept(before).cloned().collect();
    let most = usize::try_from(rules.max_items).unwrap_or(usize::MAX);
    let room = most.saturating_sub(files.len()).min(new.len());
    files.extend_from_slice(&new[..room]);
    (files.into(), room == new.len())
}

/// The sentence for files that found no place.
pub(super) fn too_many_files(asked: &Asked, field: &Field) -> String {
    let most = match field.kind() {
        Kind::File(rules) => rules.max_items,
        _ => 0,
    };
    let messages = &asked.visit.messages;
    let told = messages.retell(asked.form(), field.id(), "maxItems", &json!(most));
    told.unwrap_or_else(|| asked.visit.words.upload_failed.to_owned())
}

impl Unreadable {
    /// The page that says so.
    fn page(self, asked: &Asked) -> Response {
        let words = asked.visit.words;
        let (status, says) = match self {
            Self::Forged => (StatusCode::FORBIDDEN, words.forged),
            Self::TooMuch => (StatusCode::PAYLOAD_TOO_LARGE, words.too_much),
            Self::Malformed => (StatusCode::BAD_REQUEST, words.unreadable),
            Self::TooSlow => (StatusCode::REQUEST_TIMEOUT, words.unreadable),
            Self::NoMemory => (StatusCode::SERVICE_UNAVAILABLE, words.busy),
        };
        asked.visit.refuse(status, says)
    }
}
