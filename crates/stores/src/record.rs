//! The encoding of records, compatible across versions of Entreat.
//!
//! A record has two parts: the request, which never changes, and the state, which every step
//! replaces. Each part is a format byte, then MessagePack with field names. Id, asker, version and
//! form are not included; stores keep them in separate columns.
//!
//! Compatibility:
//!
//! - New readers accept old parts: missing fields have their default.
//! - Old readers accept new parts and ignore unknown fields. An addition that must not be ignored
//!   raises the format byte; old readers then reject the record, as they reject unknown states and
//!   channels.
//!
//! MessagePack instead of JSON: answers are already JSON text, which would be escaped again, and
//! floats round-trip exactly. Without field names parts would be half as long, but fields could
//! never be reordered or removed.

use std::sync::Arc;

use entreat_core::{ElicitationId, Form, Lifecycle, Mode, Unknown};
use entreat_engine::{AnswerState, Channel, Entry, Extras, Record, Request, Subject, Version};
use serde::{Deserialize, Serialize};

/// The format of every part, except those with something that older readers must not ignore.
const FORMAT: u8 = 1;
/// The format of a state with another respondent than its request: who ignored that would show the
/// question to the wrong person. It is the newest that can be read.
const REASSIGNED: u8 = 2;

/// Why a stored record cannot be decoded.
///
/// Contains no stored data, which may include answers.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// A newer Entreat wrote it.
    #[error("it has format {found}, but this version reads up to {REASSIGNED}")]
    Newer {
        /// The record's format.
        found: u8,
    },
    /// It is corrupt, or another program wrote it.
    #[error("it is damaged, or another program wrote it")]
    Damaged,
    /// Its form is missing.
    #[error("its form is missing")]
    NoForm,
    /// Its form cannot be loaded, for example because a custom validator is missing.
    #[error("its form does not load")]
    BadForm(#[source] entreat_core::Problems),
}

/// An encoded record with its columns.
pub(crate) struct EncodedRecord<'k> {
    pub(crate) id: ElicitationId,
    pub(crate) version: Version,
    pub(crate) asker: Arc<str>,
    /// `None` for a URL.
    pub(crate) form: Option<Form>,
    pub(crate) request: &'k [u8],
    pub(crate) state: &'k [u8],
}

/// Encodes the request, without form and asker.
pub(crate) fn encode_request(request: &Request) -> Vec<u8> {
    let url = match &request.subject {
        Subject::Form(_) => None,
        Subject::Url(url) => Some(&**url),
    };
    encode(&RequestRef {
        url,
        mode: request.mode,
        channel: request.channel,
        ignores_unknown: request.unknown == Unknown::Ignore,
        durable: request.durable,
        wipe: request.wipe,
        size_limit: request.size_limit,
        extras: request.extras.as_deref(),
    })
}

/// Encodes lifecycle and answers.
pub fn encode_state(record: &Record) -> Vec<u8> {
    let held = record.answer_state.as_deref();
    let is_reassigned = record.request.is_reassigned();
    let part = StateRef {
        lifecycle: &record.lifecycle,
        held,
        respondent: record.request.respondent().filter(|_| is_reassigned),
        author: record.author,
    };
    let format = if is_reassigned { REASSIGNED } else { FORMAT };
    encode_into(format, held.map_or(0, AnswerState::weight), &part)
}

/// Returns whom an encoded request is for.
pub(crate) fn respondent_of(request: &[u8]) -> Result<Option<Box<str>>, RecordError> {
    let request: OwnedRequest = read(request)?;
    Ok(request.extras.and_then(|extras| extras.respondent))
}

/// Decodes a record.
pub(crate) fn decode(encoded: EncodedRecord<'_>) -> Result<Record, RecordError> {
    let request: OwnedRequest = read(encoded.request)?;
    let state: OwnedState = read(encoded.state)?;
    let subject = match (encoded.form, request.url) {
        (Some(form), None) => Subject::Form(form),
        (None, Some(url)) => Subject::Url(url.into()),
        (None, None) | (Some(_), Some(_)) => return Err(RecordError::Damaged),
    };
    let unknown = if request.ignores_unknown {
        Unknown::Ignore
    } else {
        Unknown::Error
    };
    let mut request = Request {
        asker: encoded.asker,
        subject,
        mode: request.mode,
        channel: request.channel,
        unknown,
        durable: request.durable,
        wipe: request.wipe,
        size_limit: request.size_limit,
        extras: request.extras.map(Arc::new),
    };
    if let Some(respondent) = state.respondent {
        request.reassign(&respondent);
    }
    Ok(Record::from(Entry {
        id: encoded.id,
        version: encoded.version,
        lifecycle: state.lifecycle,
        request,
        answer_state: state.held.map(Arc::new),
        author: state.author,
    }))
}

#[derive(Serialize)]
struct RequestRef<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'r str>,
    mode: Mode,
    channel: Channel,
    #[serde(skip_serializing_if = "is_false")]
    ignores_unknown: bool,
    #[serde(skip_serializing_if = "is_false")]
    durable: bool,
    #[serde(skip_serializing_if = "is_false")]
    wipe: bool,
    size_limit: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    extras: Option<&'r Extras>,
}

#[derive(Deserialize)]
struct OwnedRequest {
    #[serde(default)]
    url: Option<Box<str>>,
    mode: Mode,
    channel: Channel,
    #[serde(default)]
    ignores_unknown: bool,
    #[serde(default)]
    durable: bool,
    #[serde(default)]
    wipe: bool,
    size_limit: u32,
    #[serde(default)]
    extras: Option<Extras>,
}

#[derive(Serialize)]
struct StateRef<'r> {
    lifecycle: &'r Lifecycle,
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<&'r AnswerState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    respondent: Option<&'r str>,
    #[serde(skip_serializing_if = "is_zero")]
    author: u64,
}

#[derive(Deserialize)]
struct OwnedState {
    lifecycle: Lifecycle,
    #[serde(default)]
    held: Option<AnswerState>,
    #[serde(default)]
    respondent: Option<Box<str>>,
    #[serde(default)]
    author: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_false(flag: &bool) -> bool {
    !*flag
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Encodes a part.
pub(crate) fn encode(part: &impl Serialize) -> Vec<u8> {
    encode_into(FORMAT, 0, part)
}

/// Encodes a part with capacity for `answers` bytes, to avoid copying them on growth.
fn encode_into(format: u8, answers: usize, part: &impl Serialize) -> Vec<u8> {
    // A small part fits without growth.
    let mut bytes = Vec::with_capacity(512 + answers);
    bytes.push(format);
    part.serialize(&mut rmp_serde::Serializer::new(&mut bytes).with_struct_map())
        .expect("these types always serialise, and writing to memory cannot fail");
    bytes
}

/// Decodes a part.
pub(crate) fn read<'k, T: Deserialize<'k>>(bytes: &'k [u8]) -> Result<T, RecordError> {
    match bytes.split_first() {
        // Without the decoder's message, which quotes the data.
        Some((&(FORMAT | REASSIGNED), part)) => {
            rmp_serde::from_slice(part).map_err(|_| RecordError::Damaged)
        }
        Some((&found, _)) if found > REASSIGNED => Err(RecordError::Newer { found }),
        _ => Err(RecordError::Damaged),
    }
}

#[cfg(test)]
mod tests;
