//! Reading a form as it comes, within bounds that follow from the question.

use std::borrow::Cow;

use axum::body::Body;
use axum::http::{HeaderMap, header};
use axum::response::Response;
use entreat_core::{Form, Kind};
use futures_util::{TryStreamExt as _, future::BoxFuture};

use super::meter::Meter;
use super::{Posted, store};
use crate::memory::Received;
use crate::page::visit::Asked;
use crate::upload::{FileName, MOST_FILES};

/// The most text that a form may send, above what its answers may come to.
const OVERHEAD: usize = 1 << 20;
/// So much may come before the form's token: it is the first thing that a page sends.
const BEFORE_TOKEN: usize = 64 << 10;
/// Names that a form may send beyond those of its fields.
const OTHER_PAIRS: usize = 64;
/// The longest boundary that may part the parts of a form (RFC 2046).
const LONGEST_BOUNDARY: usize = 70;

/// Why a form was not read.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// It is from no page of ours, as far as it says.
    Forged,
    /// It sends more than its question can use.
    TooMuch,
    /// It is no form, or did not arrive as a whole.
    Malformed,
    /// It took too long to arrive.
    TooSlow,
    /// Others take the memory that it needs.
    NoMemory,
}

impl Posted {
    /// Reads a form. Nothing of it is believed before its token was seen, which comes first.
    pub(in crate::page) async fn read(
        asked: &Asked,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<Self, Response> {
        let kind = headers.get(header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let settings = &asked.visit.site.settings;
        let limit = if is_multipart(kind) {
            settings.upload_timeout
        } else {
            settings.body_timeout
        };
        let size_limit = asked.snapshot.record().request.size_limit;
        let reading = Reading::new(asked.form(), size_limit, Some(asked));
        let posted = match tokio::time::timeout(limit, reading.run(kind, body)).await {
            Ok(posted) => posted,
            Err(_) => Err(Unreadable::TooSlow),
        };
        posted.map_err(|unreadable| unreadable.page(asked))
    }
}

/// A form that is being read.
pub(crate) struct Reading<'a> {
    form: &'a Form,
    /// Who sends it. What comes from nobody is believed, and its files are not kept.
    asked: Option<&'a Asked>,
    posted: Posted,
    /// Whether its token was seen.
    is_ours: bool,
    /// How much text there is room for once it was.
    room: usize,
    /// How much more may come.
    left: usize,
    pairs_left: usize,
    received: Option<Received>,
}

impl<'a> Reading<'a> {
    /// A form that nobody sends.
    pub(crate) fn of_nobody(form: &'a Form, size_limit: u32) -> Self {
        Self::new(form, size_limit, None)
    }

    fn new(form: &'a Form, size_limit: u32, asked: Option<&'a Asked>) -> Self {
        let size_limit = usize::try_from(size_limit).unwrap_or(usize::MAX);
        Self {
            form,
            asked,
            posted: Posted::default(),
            is_ours: false,
            room: size_limit.saturating_add(OVERHEAD),
            left: BEFORE_TOKEN,
            pairs_left: most_pairs(form),
            received: asked.map(|asked| {
                let memory = &asked.visit.site.memory;
                memory.of(asked.id.to_string().into())
            }),
        }
    }

    pub(crate) async fn run(mut self, kind: &str, body: Body) -> Result<Posted, Unreadable> {
        if !is_multipart(kind) {
            // Each byte may be sent as three.
            self.room = self.room.saturating_mul(3);
        }
        self.believe(self.asked.is_none());
        // In boxes, so that a form without files does not carry room for them.
        let reading: BoxFuture<'_, _> = if is_multipart(kind) {
            Box::pin(self.read_parts(kind, body))
        } else {
            Box::pin(self.read_pairs(body))
        };
        reading.await?;
        if self.is_ours {
            Ok(self.posted)
        } else {
            Err(Unreadable::Forged)
        }
    }

    async fn read_pairs(&mut self, body: Body) -> Result<(), Unreadable> {
        let mut body = body.into_data_stream();
        let mut pair = Vec::new();
        while let Some(piece) = body.try_next().await.map_err(|_| Unreadable::Malformed)? {
            for part in piece.split_inclusive(|byte| *byte == b'&') {
                self.take(part.len())?;
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

    fn read_pair(&mut self, pair: &[u8]) -> Result<(), Unreadable> {
        let mut pairs = url::form_urlencoded::parse(pair);
        pairs.try_for_each(|(name, value)| self.keep(&name, value))
    }

    async fn read_parts(&mut self, kind: &str, body: Body) -> Result<(), Unreadable> {
        let boundary = multer::parse_boundary(kind).map_err(|_| Unreadable::Malformed)?;
        if boundary.len() > LONGEST_BOUNDARY {
            return Err(Unreadable::Malformed);
        }
        let meter = Meter::default();
        let bad = |_| {
            if meter.is_spent() {
                Unreadable::TooMuch
            } else {
                Unreadable::Malformed
            }
        };
        let body = meter.around(body.into_data_stream());
        let mut parts = multer::Multipart::new(body, boundary);
        while let Some(mut part) = parts.next_field().await.map_err(bad)? {
            meter.reset();
            let name = part.name().unwrap_or_default().to_owned();
            if part.file_name().is_some_and(|name| !name.is_empty())
                && self.file_place(&name).is_some()
            {
                self.receive(&name, &mut part, &meter).await?;
                // What was not wanted of it.
                while part.chunk().await.map_err(bad)?.is_some() {
                    meter.reset();
                }
                continue;
            }
            let is_file = part.file_name().is_some();
            let mut text = Vec::new();
            while let Some(piece) = part.chunk().await.map_err(bad)? {
                meter.reset();
                self.take(piece.len())?;
                if !is_file {
                    text.extend_from_slice(&piece);
                }
            }
            // An input in which nothing was chosen says nothing.
            if is_file {
                self.count()?;
            } else {
                self.keep(&name, String::from_utf8_lossy(&text))?;
            }
        }
        Ok(())
    }

    /// Streams a file to where it is kept.
    async fn receive(
        &mut self,
        name: &str,
        part: &mut multer::Field<'_>,
        meter: &Meter,
    ) -> Result<(), Unreadable> {
        self.count()?;
        if !self.is_ours {
            return Err(Unreadable::Forged);
        }
        let (Some(asked), Some(place)) = (self.asked, self.file_place(name)) else {
            return Ok(());
        };
        let filename = part.file_name().unwrap_or_default().to_owned();
        let content_type = part.content_type().map_or_else(
            || "application/octet-stream".to_owned(),
            |kind| kind.essence_str().to_owned(),
        );
        let name = FileName {
            filename: &filename,
            content_type: &content_type,
            length: None,
        };
        let body = part.inspect_ok(|_| meter.reset());
        match store(asked, place, name, body.map_err(std::io::Error::other)).await {
            Ok(file) => self.posted.files.entry(place).or_default().push(file),
            Err(message) => self.posted.refused.push((place, message)),
        }
        Ok(())
    }

    /// The place of the field that takes files under a name.
    fn file_place(&self, name: &str) -> Option<usize> {
        let place = self.form.position(name.strip_prefix("f.")?)?;
        matches!(self.form.fields()[place].kind(), Kind::File(_)).then_some(place)
    }

    /// Keeps a value, if the form has the name.
    fn keep(&mut self, name: &str, value: Cow<'_, str>) -> Result<(), Unreadable> {
        self.count()?;
        if name == "_csrf" {
            let is_made = |asked: &Asked| asked.visit.made(Some(&value));
            self.believe(self.asked.is_none_or(is_made));
        }
        let id = name.strip_prefix("f.").or_else(|| name.strip_prefix("z."));
        let is_of_field = id.is_some_and(|id| self.form.field(id).is_some());
        if is_of_field || matches!(name, "_csrf" | "_do" | "_f") {
            let values = self.posted.texts.entry(name.to_owned()).or_default();
            values.push(value.into_owned());
        }
        Ok(())
    }

    /// Makes room for the rest when the form's token was seen.
    fn believe(&mut self, is_ours: bool) {
        if is_ours && !self.is_ours {
            self.left = self.room;
        }
        self.is_ours = is_ours;
    }

    fn take(&mut self, bytes: usize) -> Result<(), Unreadable> {
        self.left = self.left.checked_sub(bytes).ok_or(if self.is_ours {
            Unreadable::TooMuch
        } else {
            Unreadable::Forged
        })?;
        match &mut self.received {
            Some(received) => received.add(bytes).map_err(|_| Unreadable::NoMemory),
            None => Ok(()),
        }
    }

    fn count(&mut self) -> Result<(), Unreadable> {
        let left = self.pairs_left.checked_sub(1);
        self.pairs_left = left.ok_or(Unreadable::TooMuch)?;
        Ok(())
    }
}

fn is_multipart(kind: &str) -> bool {
    kind.starts_with("multipart/form-data")
}

/// As many names as a page can send for a form: of a field its place, its value and its time
/// zone; of a choice of many every option, and of files as many as are kept.
fn most_pairs(form: &Form) -> usize {
    let of_field = |kind: &Kind| match kind {
        Kind::MultiSelect(rules) => rules.options.values().len(),
        Kind::File(rules) => usize::try_from(rules.max_items.min(MOST_FILES)).unwrap_or(usize::MAX),
        _ => 1,
    };
    let pairs = form.fields().iter().map(|field| 3 + of_field(field.kind()));
    pairs.fold(OTHER_PAIRS, usize::saturating_add)
}
