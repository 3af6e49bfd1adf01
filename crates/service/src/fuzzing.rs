//! Entry points for fuzz targets only.

use std::convert::Infallible;

use axum::body::Body;
use bytes::Bytes;
use entreat_core::Form;
use futures_util::{FutureExt as _, stream};
use serde_json::{Map, Value};

use crate::page::FormReader;
use crate::upload;

/// Parses a posted form as the question page does, from a body in chunks of `piece` bytes. Returns
/// `None` if it is rejected. Reads files and discards them.
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
    let reading = FormReader::without_sender(form, size_limit).run(content_type, body);
    // The whole body is available, so a pending future only needs polling again.
    let mut reading = Box::pin(reading);
    loop {
        if let Some(posted) = reading.as_mut().now_or_never() {
            return Some(posted.ok()?.answers(form, &Map::new()));
        }
    }
}

/// Opens a sealed file under a fixed key and returns the length of its contents, or `None` if it is
/// not authentic.
pub fn sealed_upload(bytes: &[u8]) -> Option<usize> {
    upload::open_with_fixed_key(bytes)
}

/// Seals a file with this label and these contents under the fixed key of [`sealed_upload`].
pub fn seal_upload(label: &[u8], content: &[u8]) -> Option<Vec<u8>> {
    upload::seal_with_fixed_key(label, content)
}
