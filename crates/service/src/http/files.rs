//! `GET /files/{id}/{upload}/{token}`: a file that a person sent, for the asker, once.
//!
//! The bytes are a stranger's. Whatever they are, a browser that is led here saves them, and runs
//! and shows nothing.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use entreat_core::ElicitationId;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::{Shared, text};
use crate::upload::{Described, UploadError, Uploads};

pub(super) async fn download(
    State(shared): State<Arc<Shared>>,
    Extension(peer): Extension<SocketAddr>,
    Path((id, upload, token)): Path<(String, String, String)>,
    method: Method,
) -> Response {
    let Some(uploads) = &shared.uploads else {
        return guarded(not_there());
    };
    let fetched = match id.parse() {
        Ok(id) => fetch(uploads, id, &upload, &token, &method).await,
        Err(_) => Err(UploadError::NotThere),
    };
    guarded(match fetched {
        Ok(response) => response,
        Err(UploadError::NotThere) if shared.guesses.is_one_too_many(peer.ip()) => {
            let words = "Too many wrong links: wait a second before the next.\n";
            later(text(StatusCode::TOO_MANY_REQUESTS, words))
        }
        Err(UploadError::NotThere) => not_there(),
        Err(UploadError::InUse) => {
            let words = "This file is being downloaded, and can be downloaded once.\n";
            later(text(StatusCode::CONFLICT, words))
        }
        Err(error) => {
            tracing::error!(%error, source = ?std::error::Error::source(&error), "a file cannot be downloaded");
            let words = "The file cannot be read.\n";
            text(StatusCode::INTERNAL_SERVER_ERROR, words)
        }
    })
}

async fn fetch(
    uploads: &Uploads,
    id: ElicitationId,
    upload: &str,
    token: &str,
    method: &Method,
) -> Result<Response, UploadError> {
    // Looking at the head changes nothing.
    if method == Method::HEAD {
        let described = uploads.peek(id, upload, token).await?;
        return Ok(described_response(&described, Body::empty()));
    }
    let download = uploads.take(id, upload, token).await?;
    let described = download.described().clone();
    let body = Body::from_stream(download.into_stream());
    Ok(described_response(&described, body))
}

fn described_response(described: &Described, body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_LENGTH, described.size.into());
    headers.insert(header::CONTENT_TYPE, media_type(&described.content_type));
    headers.insert(
        header::CONTENT_DISPOSITION,
        disposition(&described.filename),
    );
    response
}

fn not_there() -> Response {
    text(StatusCode::NOT_FOUND, "There is nothing here.\n")
}

fn later(mut response: Response) -> Response {
    let second = HeaderValue::from_static("1");
    response.headers_mut().insert(header::RETRY_AFTER, second);
    response
}

/// What holds for every answer here, whatever its status.
fn guarded(mut response: Response) -> Response {
    let headers: &mut HeaderMap = response.headers_mut();
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; frame-ancestors 'none'; sandbox",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// The declared type if it is one, without what may stand behind it.
fn media_type(declared: &str) -> HeaderValue {
    let essence = declared.split(';').next().unwrap_or_default().trim();
    let is_token = |part: &str| {
        let is_good = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
        !part.is_empty() && part.bytes().all(is_good)
    };
    let parts = essence.split_once('/');
    let is_type = parts.is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype));
    HeaderValue::from_str(essence)
        .ok()
        .filter(|_| is_type)
        .unwrap_or(HeaderValue::from_static("application/octet-stream"))
}

/// What RFC 8187 lets stand as it is.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A name for whoever reads UTF-8, and one that everybody can read.
fn disposition(filename: &str) -> HeaderValue {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ' ');
    let plain: String = filename
        .chars()
        .map(|c| if is_plain(&c) { c } else { '_' })
        .collect();
    let encoded = utf8_percent_encode(filename, ENCODED);
    let value = format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}");
    HeaderValue::from_str(&value).unwrap_or(HeaderValue::from_static("attachment"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_types_of_strangers_cannot_add_to_a_header() {
        assert_eq!(
            disposition("Ünder \"x\";\r\n.txt"),
            "attachment; filename=\"_nder _x____.txt\"; \
             filename*=UTF-8''%C3%9Cnder%20%22x%22%3B%0D%0A.txt"
        );
        for (declared, told) in [
            ("image/png", "image/png"),
            ("text/plain; charset=utf-8", "text/plain"),
            ("", "application/octet-stream"),
            ("image", "application/octet-stream"),
            ("image/", "application/octet-stream"),
            ("a/b/c", "application/octet-stream"),
            ("a/b c", "application/octet-stream"),
            ("a/b\r\nx: y", "application/octet-stream"),
        ] {
            assert_eq!(media_type(declared), told, "{declared}");
        }
    }
}
