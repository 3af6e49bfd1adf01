//! Security headers of all page responses, and the check for cross-site requests.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;

use super::Site;

/// Only same-origin resources; nothing inline, no framing, no plug-ins.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";

/// Headers of every response, whatever its status.
static SECURITY_HEADERS: [(HeaderName, HeaderValue); 9] = [
    entry(header::CONTENT_SECURITY_POLICY, POLICY),
    entry(header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    entry(header::X_FRAME_OPTIONS, "DENY"),
    entry(header::REFERRER_POLICY, "no-referrer"),
    entry(header::CACHE_CONTROL, "no-store"),
    entry(
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    entry(
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    entry(
        HeaderName::from_static("permissions-policy"),
        "camera=(), microphone=(), geolocation=()",
    ),
    entry(HeaderName::from_static("x-robots-tag"), "noindex, nofollow"),
];

const fn entry(name: HeaderName, value: &'static str) -> (HeaderName, HeaderValue) {
    (name, HeaderValue::from_static(value))
}

/// Two years, the recommended minimum of browsers' preload lists.
const HSTS: &str = "max-age=63072000";

pub(super) async fn add_security_headers(
    State(site): State<Arc<Site>>,
    mut response: Response,
) -> Response {
    let headers = response.headers_mut();
    headers.reserve(SECURITY_HEADERS.len());
    for (name, value) in &SECURITY_HEADERS {
        headers.entry(name).or_insert_with(|| value.clone());
    }
    if site.is_secure() {
        let hsts = HeaderValue::from_static(HSTS);
        headers.insert(header::STRICT_TRANSPORT_SECURITY, hsts);
    }
    response
}

/// Whether a state-changing request may come from one of our own pages.
///
/// With `Referrer-Policy: no-referrer`, browsers send `Origin: null` for our own forms, so that
/// alone is no reason to reject; the CSRF token and the cookie decide.
pub(super) fn may_be_same_origin(site: &Site, headers: &HeaderMap) -> bool {
    let site_of = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    if site_of.is_some_and(|from| from != b"same-origin") {
        return false;
    }
    let mut origins = headers.get_all(header::ORIGIN).iter();
    match (origins.next(), origins.next()) {
        (None, _) => true,
        (Some(origin), None) => origin == "null" || is_own_origin(site, headers, origin),
        (Some(_), Some(_)) => false,
    }
}

/// Whether an origin is this service: its public URL, or the request's own `Host`, which makes it
/// same-origin to the browser.
fn is_own_origin(site: &Site, headers: &HeaderMap, origin: &HeaderValue) -> bool {
    let Ok(origin) = origin.to_str() else {
        return false;
    };
    let public = url::Url::parse(&site.url).map(|url| url.origin().ascii_serialization());
    if public.is_ok_and(|public| public == origin) {
        return true;
    }
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let (scheme, authority) = origin.split_once("://").unwrap_or_default();
    scheme == if site.is_secure() { "https" } else { "http" } && host == Some(authority)
}
