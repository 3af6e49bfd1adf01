//! What a form sent: its fields as pairs of text, its files streamed to where they are kept.

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use entreat_core::form::{DisplayStyle, Options};
use entreat_core::{Field, Form, Kind};
use futures_util::TryStreamExt as _;
use http_body_util::{BodyExt as _, Limited};
use serde_json::{Map, Value};

use super::calendar;
use super::file_view::kept;
use super::said::is_empty;
use super::visit::Asked;
use crate::upload::{FileName, ReceiveError};

/// What was sent.
#[derive(Default)]
pub(super) struct Posted {
    pairs: Vec<(String, String)>,
    /// Files that arrived, by the place of their field.
    pub(super) files: Vec<(usize, Value)>,
    /// Files that were not taken, and why.
    pub(super) refused: Vec<(usize, String)>,
}

/// The most text that a form may send, above what its answers may come to.
const OVERHEAD: usize = 1 << 20;
/// The most parts that a form may have. Each field sends a few.
const MOST_PAIRS: usize = 100_000;

impl Posted {
    /// Reads a form. Nothing of it is believed before its token was seen, which comes first.
    pub(super) async fn read(
        asked: &Asked,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<Self, Response> {
        let settings = &asked.visit.site.settings;
        let kind = headers.get(header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let is_multipart = kind.starts_with("multipart/form-data");
        let (limit, reading): (_, futures_util::future::BoxFuture<'_, _>) = if is_multipart {
            let reading = Self::read_parts(asked, kind, body);
            (settings.upload_timeout, Box::pin(reading))
        } else {
            let reading = Self::read_pairs(asked, body);
            (settings.body_timeout, Box::pin(reading))
        };
        let posted = match tokio::time::timeout(limit, reading).await {
            Ok(posted) => posted?,
            Err(_) => return Err(unreadable(asked, StatusCode::REQUEST_TIMEOUT)),
        };
        if !asked.visit.made(posted.last("_csrf")) {
            return Err(forged(asked));
        }
        Ok(posted)
    }

    async fn read_pairs(asked: &Asked, body: Body) -> Result<Self, Response> {
        // Each byte may be sent as three.
        let body = Limited::new(body, 3 * room(asked)).collect().await;
        let body = body.map_err(|_| unreadable(asked, StatusCode::PAYLOAD_TOO_LARGE))?;
        let pairs = url::form_urlencoded::parse(&body.to_bytes())
            .take(MOST_PAIRS)
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect();
        Ok(Self {
            pairs,
            ..Self::default()
        })
    }

    async fn read_parts(asked: &Asked, kind: &str, body: Body) -> Result<Self, Response> {
        let bad = |_| unreadable(asked, StatusCode::BAD_REQUEST);
        let boundary = multer::parse_boundary(kind).map_err(bad)?;
        let mut parts = multer::Multipart::new(body.into_data_stream(), boundary);
        let mut posted = Self::default();
        let mut left = room(asked);
        while let Some(mut part) = parts.next_field().await.map_err(bad)? {
            let name = part.name().unwrap_or_default().to_owned();
            if part.file_name().is_some() {
                if !asked.visit.made(posted.last("_csrf")) {
                    return Err(forged(asked));
                }
                posted.receive(asked, &name, part).await?;
                continue;
            }
            let mut text = Vec::new();
            while let Some(chunk) = part.chunk().await.map_err(bad)? {
                left = left
                    .checked_sub(chunk.len())
                    .ok_or_else(|| unreadable(asked, StatusCode::PAYLOAD_TOO_LARGE))?;
                text.extend_from_slice(&chunk);
            }
            if posted.pairs.len() < MOST_PAIRS {
                posted
                    .pairs
                    .push((name, String::from_utf8_lossy(&text).into_owned()));
            }
        }
        Ok(posted)
    }

    /// Streams a file to where it is kept.
    async fn receive(
        &mut self,
        asked: &Asked,
        name: &str,
        mut part: multer::Field<'_>,
    ) -> Result<(), Response> {
        let filename = part.file_name().unwrap_or_default().to_owned();
        let form = asked.form();
        let place = name
            .strip_prefix("f.")
            .and_then(|id| form.fields().iter().position(|f| f.id() == id));
        let (Some(place), false) = (place, filename.is_empty()) else {
            // An input in which nothing was chosen, or a field that is not there.
            while let Ok(Some(_)) = part.chunk().await {}
            return Ok(());
        };
        let content_type = part.content_type().map_or_else(
            || "application/octet-stream".to_owned(),
            |kind| kind.essence_str().to_owned(),
        );
        let name = FileName {
            filename: &filename,
            content_type: &content_type,
            length: None,
        };
        match store(asked, place, name, part.map_err(std::io::Error::other)).await {
            Ok(file) => self.files.push((place, file)),
            Err(message) => self.refused.push((place, message)),
        }
        Ok(())
    }

    pub(super) fn last(&self, name: &str) -> Option<&str> {
        let mut pairs = self.pairs.iter().rev();
        pairs
            .find(|(other, _)| other == name)
            .map(|(_, value)| &**value)
    }

    fn all<'p>(&'p self, name: &'p str) -> impl Iterator<Item = &'p str> {
        self.pairs
            .iter()
            .filter(move |(other, _)| other == name)
            .map(|(_, value)| &**value)
    }

    /// The places of the fields that could be answered when the form was sent.
    pub(super) fn shown(&self) -> Vec<usize> {
        self.all("_f")
            .filter_map(|place| place.parse().ok())
            .collect()
    }

    /// What is to be done: a word, and what it is done to.
    pub(super) fn action(&self) -> (&str, &str) {
        let action = self.all("_do").next().unwrap_or_default();
        action.split_once('.').unwrap_or((action, ""))
    }

    /// The answers that were sent, as text; files that arrived are put to those that are kept.
    pub(super) fn answers(&self, form: &Form, kept: &Map<String, Value>) -> Map<String, Value> {
        let mut answers = Map::new();
        for place in self.shown() {
            let Some(field) = form.fields().get(place) else {
                continue;
            };
            if let Some(value) = self.answer(field, kept.get(field.id())) {
                answers.insert(field.id().to_owned(), value);
            }
        }
        for (place, file) in &self.files {
            let field = &form.fields()[*place];
            let before = answers.get(field.id()).or_else(|| kept.get(field.id()));
            let after = with_file(field, before, file.clone());
            answers.insert(field.id().to_owned(), after);
        }
        answers
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
            Kind::Select(options) => option(options, text()).into(),
            Kind::MultiSelect(rules) => self
                .all(&name)
                .map(|sent| Value::from(option(&rules.options, sent)))
                .collect(),
            Kind::Date(rules)
                if rules.has_time && self.last(&format!("z.{}", field.id())).is_some() =>
            {
                let zone = self.last(&format!("z.{}", field.id())).unwrap_or_default();
                calendar::join(text(), zone).into()
            }
            // A browser sends line breaks in two characters; a person typed one.
            _ => text().replace("\r\n", "\n").into(),
        };
        // A secret is not shown again, so an empty field leaves it as it is.
        let stays =
            field.is_sensitive() && is_empty(&value) && kept.is_some_and(|kept| !is_empty(kept));
        (!stays).then_some(value)
    }
}

/// The option that was sent. Browsers change line breaks and NUL on the way, and an option that
/// has them could otherwise not be chosen.
fn option<'o>(options: &'o Options, sent: &'o str) -> &'o str {
    let on_the_way = |text: &str| {
        text.replace("\r\n", "\n")
            .replace('\r', "\n")
            .replace('\0', "\u{fffd}")
    };
    if options.iter().any(|(value, _)| value == sent) {
        return sent;
    }
    let wanted = on_the_way(sent);
    let mut values = options.iter().map(|(value, _)| value);
    values
        .find(|value| on_the_way(value) == wanted)
        .unwrap_or(sent)
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
    uploads
        .receive(asked.id, field, name, body)
        .await
        .map_err(|error| match error {
            ReceiveError::Refused(violations) => {
                let errors = violations.errors(&visit.messages);
                let sentences: Vec<&str> = errors.iter().map(|error| &*error.message).collect();
                sentences.join(" ")
            }
            error => {
                tracing::warn!(%error, "a file was not taken");
                visit.words.upload_failed.to_owned()
            }
        })
}

/// A field's files with one more; a field that takes one has the new one.
pub(super) fn with_file(field: &Field, before: Option<&Value>, file: Value) -> Value {
    if !field.takes_many() {
        return file;
    }
    let mut files: Vec<Value> = kept(before).cloned().collect();
    files.push(file);
    files.into()
}

/// How much text the answers may come to.
fn room(asked: &Asked) -> usize {
    let limit = asked.snapshot.record().request.size_limit;
    usize::try_from(limit)
        .unwrap_or(usize::MAX)
        .saturating_add(OVERHEAD)
}

fn unreadable(asked: &Asked, status: StatusCode) -> Response {
    asked.visit.refuse(status, asked.visit.words.unreadable)
}

fn forged(asked: &Asked) -> Response {
    asked
        .visit
        .refuse(StatusCode::FORBIDDEN, asked.visit.words.forged)
}
