//! Reads a form as it arrives, within limits derived from the question.

use std::borrow::Cow;

use axum::body::Body;
use axum::http::{HeaderMap, header};
use axum::response::Response;
use entreat_core::{Form, Kind};
use futures_util::{TryStreamExt as _, future::BoxFuture};

use super::meter::Meter;
use super::{Posted, store};
use crate::memory::Reservation;
use crate::page::visit::QuestionVisit;
use crate::upload::{FileMetadata, MAX_FILES};

/// Text beyond the question's size limit, for names and encoding.
const OVERHEAD: usize = 1 << 20;
/// Maximum bytes before the CSRF token, which pages send first.
const LIMIT_BEFORE_TOKEN: usize = 64 << 10;
/// Maximum number of names besides those of the fields.
const OTHER_PAIRS: usize = 64;
/// Maximum length of a multipart boundary (RFC 2046).
const MAX_BOUNDARY: usize = 70;

/// Why a form was rejected.
#[derive(Debug)]
pub(crate) enum PostError {
    /// The CSRF token is missing or wrong.
    Forged,
    /// It exceeds what the question can use.
    TooMuch,
    /// It is not a form, or is incomplete.
    Malformed,
    /// It took too long to arrive.
    Timeout,
    /// The memory quota is exhausted.
    NoMemory,
}

impl Posted {
    /// Reads a form. Little is accepted before its CSRF token, which must come first.
    pub(in crate::page) async fn read(
        question: &QuestionVisit,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<Self, Response> {
        let kind = headers.get(header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let settings = &question.visit.site.settings;
        let limit = if is_multipart(kind) {
            settings.upload_timeout
        } else {
            settings.body_timeout
        };
        let size_limit = question.snapshot.record().request.size_limit;
        let reading = FormReader::new(question.form(), size_limit, Some(question));
        let posted = match tokio::time::timeout(limit, reading.run(kind, body)).await {
            Ok(posted) => posted,
            Err(_) => Err(PostError::Timeout),
        };
        posted.map_err(|error| error.page(question))
    }
}

/// A form being read.
pub(crate) struct FormReader<'a> {
    form: &'a Form,
    /// The sender. `None` in fuzzing: accepted without a token, and files are discarded.
    question: Option<&'a QuestionVisit>,
    posted: Posted,
    /// Whether a valid CSRF token was read.
    has_valid_token: bool,
    /// The limit for text after the token.
    limit_after_token: usize,
    /// How many more bytes are allowed.
    left: usize,
    pairs_left: usize,
    reservation: Option<Reservation>,
}

impl<'a> FormReader<'a> {
    /// A form without a sender, for fuzzing.
    pub(crate) fn without_sender(form: &'a Form, size_limit: u32) -> Self {
        Self::new(form, size_limit, None)
    }

    fn new(form: &'a Form, size_limit: u32, question: Option<&'a QuestionVisit>) -> Self {
        let size_limit = usize::try_from(size_limit).unwrap_or(usize::MAX);
        Self {
            form,
            question,
            posted: Posted::default(),
            has_valid_token: false,
            limit_after_token: size_limit.saturating_add(OVERHEAD),
            left: LIMIT_BEFORE_TOKEN,
            pairs_left: max_pairs(form),
            reservation: question.map(|question| {
                let memory = &question.visit.site.memory;
                memory.reserve_for(question.id.to_string().into())
            }),
        }
    }

    pub(crate) async fn run(mut self, kind: &str, body: Body) -> Result<Posted, PostError> {
        if !is_multipart(kind) {
            // Percent-encoding can triple the size.
            self.limit_after_token = self.limit_after_token.saturating_mul(3);
        }
        self.accept_token(self.question.is_none());
        // Boxed, so that forms without files do not pay for the larger future.
        let reading: BoxFuture<'_, _> = if is_multipart(kind) {
            Box::pin(self.read_parts(kind, body))
        } else {
            Box::pin(self.read_pairs(body))
        };
        reading.await?;
        if self.has_valid_token {
            Ok(self.posted)
        } else {
            Err(PostError::Forged)
        }
    }

    async fn read_pairs(&mut self, body: Body) -> Result<(), PostError> {
        let mut body = body.into_data_stream();
        let mut pair = Vec::new();
        while let Some(chunk) = body.try_next().await.map_err(|_| PostError::Malformed)? {
            for part in chunk.split_inclusive(|byte| *byte == b'&') {
                self.count_bytes(part.len())?;
                let whole = part.strip_suffix(b"&");
                pair.extend_from_slice(whole.unwrap_or(part));
                if whole.is_some() {
                    self.read_pair(&pair)?;
                    pair.clear();
                }
            }
        }
        self.read_pair(&pair)
    }

    fn read_pair(&mut self, pair: &[u8]) -> Result<(), PostError> {
        let mut pairs = url::form_urlencoded::parse(pair);
        pairs.try_for_each(|(name, value)| self.keep(&name, value))
    }

    async fn read_parts(&mut self, kind: &str, body: Body) -> Result<(), PostError> {
        let boundary = multer::parse_boundary(kind).map_err(|_| PostError::Malformed)?;
        if boundary.len() > MAX_BOUNDARY {
            return Err(PostError::Malformed);
        }
        let meter = Meter::default();
        let bad = |_| {
            if meter.is_exhausted() {
                PostError::TooMuch
            } else {
                PostError::Malformed
            }
        };
        let body = meter.wrap(body.into_data_stream());
        let mut parts = multer::Multipart::new(body, boundary);
        while let Some(mut part) = parts.next_field().await.map_err(bad)? {
            meter.reset();
            let name = part.name().unwrap_or_default().to_owned();
            if part.file_name().is_some_and(|name| !name.is_empty())
                && self.file_place(&name).is_some()
            {
                self.receive(&name, &mut part, &meter).await?;
                // Discards the rest of a rejected file.
                while part.chunk().await.map_err(bad)?.is_some() {
                    meter.reset();
                }
                continue;
            }
            let is_file = part.file_name().is_some();
            let mut text = Vec::new();
            while let Some(chunk) = part.chunk().await.map_err(bad)? {
                meter.reset();
                self.count_bytes(chunk.len())?;
                if !is_file {
                    text.extend_from_slice(&chunk);
                }
            }
            // An empty file input has no value.
            if is_file {
                self.count_pair()?;
            } else {
                self.keep(&name, String::from_utf8_lossy(&text))?;
            }
        }
        Ok(())
    }

    /// Streams a file to upload storage.
    async fn receive(
        &mut self,
        name: &str,
        part: &mut multer::Field<'_>,
        meter: &Meter,
    ) -> Result<(), PostError> {
        self.count_pair()?;
        if !self.has_valid_token {
            return Err(PostError::Forged);
        }
        let (Some(question), Some(place)) = (self.question, self.file_place(name)) else {
            return Ok(());
        };
        let filename = part.file_name().unwrap_or_default().to_owned();
        let content_type = part.content_type().map_or_else(
            || "application/octet-stream".to_owned(),
            |kind| kind.essence_str().to_owned(),
        );
        let name = FileMetadata {
            filename: &filename,
            content_type: &content_type,
            length: None,
        };
        let body = part.inspect_ok(|_| meter.reset());
        match store(question, place, name, body.map_err(std::io::Error::other)).await {
            Ok(file) => self.posted.files.entry(place).or_default().push(file),
            Err(message) => self.posted.refused.push((place, message)),
        }
        Ok(())
    }

    /// The index of the file field with this name.
    fn file_place(&self, name: &str) -> Option<usize> {
        let place = self.form.position(name.strip_prefix("f.")?)?;
        let kind = self.form.fields()[place].kind();
        kind.file_rules().is_some().then_some(place)
    }

    /// Stores a value, if the form has this name.
    fn keep(&mut self, name: &str, value: Cow<'_, str>) -> Result<(), PostError> {
        self.count_pair()?;
        if name == "_csrf" {
            let is_made =
                |question: &QuestionVisit| question.visit.person_of_form(&value).is_some();
            self.accept_token(self.question.is_none_or(is_made));
        }
        let id = name.strip_prefix("f.").or_else(|| name.strip_prefix("z."));
        let is_of_field = id.is_some_and(|id| self.form.field(id).is_some());
        if is_of_field || matches!(name, "_csrf" | "_check" | "_do" | "_f") {
            let values = self.posted.texts.entry(name.to_owned()).or_default();
            values.push(value.into_owned());
        }
        Ok(())
    }

    /// Raises the limit once a valid token was read.
    fn accept_token(&mut self, has_valid_token: bool) {
        if has_valid_token && !self.has_valid_token {
            self.left = self.limit_after_token;
        }
        self.has_valid_token = has_valid_token;
    }

    fn count_bytes(&mut self, bytes: usize) -> Result<(), PostError> {
        self.left = self
            .left
            .checked_sub(bytes)
            .ok_or(if self.has_valid_token {
                PostError::TooMuch
            } else {
                PostError::Forged
            })?;
        match &mut self.reservation {
            Some(reservation) => reservation.grow(bytes).map_err(|_| PostError::NoMemory),
            None => Ok(()),
        }
    }

    fn count_pair(&mut self) -> Result<(), PostError> {
        let left = self.pairs_left.checked_sub(1);
        self.pairs_left = left.ok_or(PostError::TooMuch)?;
        Ok(())
    }
}

fn is_multipart(kind: &str) -> bool {
    kind.starts_with("multipart/form-data")
}

/// The number of names that a page can send for a form: per field its index, value and time zone;
/// every option of a multiple choice, and every file.
fn max_pairs(form: &Form) -> usize {
    let of_field = |kind: &Kind| match kind {
        Kind::MultiSelect(rules) => rules.options.values().len(),
        Kind::File(rules) => usize::try_from(rules.max_items.min(MAX_FILES)).unwrap_or(usize::MAX),
        Kind::Text(_)
        | Kind::Number(_)
        | Kind::Boolean
        | Kind::Date(_)
        | Kind::Select(_)
        | Kind::Url(_) => 1,
    };
    let pairs = form.fields().iter().map(|field| 3 + of_field(field.kind()));
    pairs.fold(OTHER_PAIRS, usize::saturating_add)
}
