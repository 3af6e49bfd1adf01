//! Ways in for fuzz targets; nothing else is to use them.

use std::convert::Infallible;

use axum::body::Body;
use bytes::Bytes;
use entreat_core::Form;
use futures_util::{FutureExt as _, stream};
use serde_json::{Map, Value};

use crate::page::Reading;
use crate::upload;

/// Reads a posted form as the page of a question does, whose body comes in pieces of so many
/// bytes; `None` if it is refused. Files are read and not kept.
pub fn posted(
    form: &Form,
    content_type: &str,
    body: &[u8],
    piece: usize,
) -> Option<Map<String, Value>> {
    let size_limit = 1 << 20;
    let mut rest = Bytes::copy_from_slice(body);
    let pieces = std::iter::from_fn(move || {
        let next = rest.split_to(piece.max(1).min(rest.len()));
        (!next.is_empty()).then_some(Ok::<_, Infallible>(next))
    });
    let body = Body::from_stream(stream::iter(pieces));
    let reading = Reading::of_nobody(form, size_limit).run(content_type, body);
    // The body is there as a whole, so whatever is pending asks to be polled again.
    let mut reading = Box::pin(reading);
    loop {
        if let Some(posted) = reading.as_mut().now_or_never() {
            return Some(posted.ok()?.answers(form, &Map::new()));
        }
    }
}

/// Reads the bytes of a sealed file under a fixed key, and tells how many were in it; `None` if
/// they are not what was written.
pub fn sealed_upload(bytes: &[u8]) -> Option<usize> {
    upload::read_under_a_fixed_key(bytes)
}

/// A sealed file with these bytes as its label and as its contents, under the same key.
pub fn seal_upload(label: &[u8], content: &[u8]) -> Option<Vec<u8>> {
    upload::seal_under_a_fixed_key(label, content)
}
