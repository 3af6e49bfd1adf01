//! `GET /files/{id}/{upload}/{token}`: a one-time download of an uploaded file, for the asker.
//!
//! The contents are untrusted. The headers make browsers save them, and never render or run them.

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
use crate::upload::{FileInfo, UploadError, Uploads};

pub(super) async fn download(
    State(shared): State<Arc<Shared>>,
    Extension(peer): Extension<SocketAddr>,
    Path((id, upload, token)): Path<(String, String, String)>,
    method: Method,
) -> Response {
    let Some(uploads) = shared.uploads() else {
        return with_security_headers(not_found());
    };
    let fetched = match id.parse() {
        Ok(id) => fetch(uploads, id, &upload, &token, &method).await,
        Err(_) => Err(UploadError::NotFound),
    };
    with_security_headers(match fetched {
        Ok(response) => response,
        Err(UploadError::NotFound)
            if shared
                .guess_limiter
                .is_exceeded_by(peer.ip(), shared.rpc.engine().now()) =>
        {
            let message = "Too many wrong links: wait a second and try again.\n";
            with_retry_after(text(StatusCode::TOO_MANY_REQUESTS, message))
        }
        Err(UploadError::NotFound) => not_found(),
        Err(UploadError::InUse) => {
            let message = "This file is already being downloaded; it can be downloaded only \
                           once.\n";
            with_retry_after(text(StatusCode::CONFLICT, message))
        }
        Err(error) => {
            tracing::error!(%error, source = ?std::error::Error::source(&error), "a file cannot be downloaded");
            let message = "The file cannot be read.\n";
            text(StatusCode::INTERNAL_SERVER_ERROR, message)
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
    // HEAD does not consume the link.
    if method == Method::HEAD {
        let info = uploads.describe_download(id, upload, token).await?;
        return Ok(file_response(&info, Body::empty()));
    }
    let download = uploads.start_download(id, upload, token).await?;
    let info = download.info().clone();
    let body = Body::from_stream(download.into_stream());
    Ok(file_response(&info, body))
}

fn file_response(info: &FileInfo, body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_LENGTH, info.size.into());
    headers.insert(header::CONTENT_TYPE, media_type(&info.content_type));
    headers.insert(header::CONTENT_DISPOSITION, disposition(&info.filename));
    response
}

fn not_found() -> Response {
    text(StatusCode::NOT_FOUND, "Not found.\n")
}

fn with_retry_after(mut response: Response) -> Response {
    let second = HeaderValue::from_static("1");
    response.headers_mut().insert(header::RETRY_AFTER, second);
    response
}

/// Adds the headers that every response of this route has.
fn with_security_headers(mut response: Response) -> Response {
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

/// The declared media type if it is valid, without parameters.
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

/// All characters but those that RFC 8187 allows unescaped.
const ATTR_CHAR_ESCAPES: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// An attachment with the filename in UTF-8 and an ASCII fallback.
fn disposition(filename: &str) -> HeaderValue {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ' ');
    let plain: String = filename
        .chars()
        .map(|c| if is_plain(&c) { c } else { '_' })
        .collect();
    let encoded = utf8_percent_encode(filename, ATTR_CHAR_ESCAPES);
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
