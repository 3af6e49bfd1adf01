//! How a record is kept as bytes, so that other versions of Entreat can read it.
//!
//! A record lies in two parts: what was asked, which never changes, and where it stands, which
//! every step replaces. Each part is a byte that names the format, then MessagePack with the
//! names of the fields. Identity, asker, version and form are not in here; stores keep them in
//! columns of their own.
//!
//! Who reads what:
//!
//! - A new reader takes an old part: a field that is not there has its default.
//! - An old reader takes a new part if it can do so without harm: it passes over fields that it
//!   does not know. What it must not overlook raises the format's byte, and then it refuses the
//!   record, as it refuses a state or channel that it has never heard of.
//!
//! MessagePack and not JSON: answers are JSON text already, which would be escaped a second
//! time, and numbers with a fraction come back exactly. A format without names would be half as
//! long, but would tie a field to its place for ever.

use std::sync::Arc;

use entreat_core::{ElicitationId, Form, Lifecycle, Mode, Unknown};
use entreat_engine::{Channel, Entry, Extras, Held, Record, Request, Subject, Version};
use serde::{Deserialize, Serialize};

/// The format that is written, and the newest that is read.
const FORMAT: u8 = 1;

/// Why what is kept cannot be read.
///
/// Says nothing of what is kept: that may hold answers.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// A newer Entreat wrote it.
    #[error("it is kept in format {found}, and this version reads up to {FORMAT}")]
    Newer {
        /// The format's number.
        found: u8,
    },
    /// Another program or a broken disk wrote it.
    #[error("what is kept is damaged, or another program wrote it")]
    Damaged,
    /// Its form is not kept.
    #[error("its form is not kept any more")]
    NoForm,
    /// Its form is kept, and cannot be used: a custom validator may be missing.
    #[error("its form does not load")]
    BadForm(#[source] entreat_core::Problems),
}

/// A record taken apart, as a store holds it.
pub(crate) struct EncodedRecord<'k> {
    pub(crate) id: ElicitationId,
    pub(crate) version: Version,
    pub(crate) asker: Arc<str>,
    /// `None` where a URL is asked.
    pub(crate) form: Option<Form>,
    pub(crate) request: &'k [u8],
    pub(crate) state: &'k [u8],
}

/// What was asked, but for the form and the asker.
pub(crate) fn encode_request(request: &Request) -> Vec<u8> {
    let url = match &request.subject {
        Subject::Form(_) => None,
        Subject::Url(url) => Some(&**url),
    };
    encode(&WrittenRequest {
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

/// Where it stands, and what was answered.
pub fn encode_state(record: &Record) -> Vec<u8> {
    let held = record.held.as_deref();
    let part = WrittenState {
        lifecycle: &record.lifecycle,
        held,
    };
    encode_into(held.map_or(0, Held::weight), &part)
}

/// Puts a record together again.
pub(crate) fn decode(kept: EncodedRecord<'_>) -> Result<Record, RecordError> {
    let request: ReadRequest = read(kept.request)?;
    let state: ReadState = read(kept.state)?;
    let subject = match (kept.form, request.url) {
        (Some(form), None) => Subject::Form(form),
        (None, Some(url)) => Subject::Url(url.into()),
        (None, None) | (Some(_), Some(_)) => return Err(RecordError::Damaged),
    };
    let unknown = if request.ignores_unknown {
        Unknown::Ignore
    } else {
        Unknown::Error
    };
    Ok(Record::from(Entry {
        id: kept.id,
        version: kept.version,
        lifecycle: state.lifecycle,
        request: Request {
            asker: kept.asker,
            subject,
            mode: request.mode,
            channel: request.channel,
            unknown,
            durable: request.durable,
            wipe: request.wipe,
            size_limit: request.size_limit,
            extras: request.extras.map(Arc::new),
        },
        held: state.held.map(Arc::new),
    }))
}

#[derive(Serialize)]
struct WrittenRequest<'r> {
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
struct ReadRequest {
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
struct WrittenState<'r> {
    lifecycle: &'r Lifecycle,
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<&'r Held>,
}

#[derive(Deserialize)]
struct ReadState {
    lifecycle: Lifecycle,
    #[serde(default)]
    held: Option<Held>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_false(flag: &bool) -> bool {
    !*flag
}

/// A part as bytes.
pub(crate) fn encode(part: &impl Serialize) -> Vec<u8> {
    encode_into(0, part)
}

/// A part as bytes, which about so many of answers are among: to grow would copy them.
fn encode_into(answers: usize, part: &impl Serialize) -> Vec<u8> {
    // A small part fits without growing.
    let mut bytes = Vec::with_capacity(512 + answers);
    bytes.push(FORMAT);
    part.serialize(&mut rmp_serde::Serializer::new(&mut bytes).with_struct_map())
        .expect("these types have no value that cannot be written, and memory takes any bytes");
    bytes
}

/// A part from its bytes.
pub(crate) fn read<'k, T: Deserialize<'k>>(bytes: &'k [u8]) -> Result<T, RecordError> {
    match bytes.split_first() {
        // The reader's own words are left out: they quote what they stumbled over.
        Some((&FORMAT, part)) => rmp_serde::from_slice(part).map_err(|_| RecordError::Damaged),
        Some((&found, _)) if found > FORMAT => Err(RecordError::Newer { found }),
        _ => Err(RecordError::Damaged),
    }
}

#[cfg(test)]
mod tests;
