//! What every response of a page says to the browser, and which requests are not from a page.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;

use super::Site;

/// Everything from here, nothing inline, no frame, no plug-in.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";

/// Headers for whatever is answered, whatever its status.
static ALWAYS: [(HeaderName, HeaderValue); 9] = [
    always(header::CONTENT_SECURITY_POLICY, POLICY),
    always(header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    always(header::X_FRAME_OPTIONS, "DENY"),
    always(header::REFERRER_POLICY, "no-referrer"),
    always(header::CACHE_CONTROL, "no-store"),
    always(
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    always(
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    always(
        HeaderName::from_static("permissions-policy"),
        "camera=(), microphone=(), geolocation=()",
    ),
    always(HeaderName::from_static("x-robots-tag"), "noindex, nofollow"),
];

const fn always(name: HeaderName, value: &'static str) -> (HeaderName, HeaderValue) {
    (name, HeaderValue::from_static(value))
}

/// Two years, as browsers' lists ask for.
const ONLY_TLS: &str = "max-age=63072000";

pub(super) async fn protect(State(site): State<Arc<Site>>, mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.reserve(ALWAYS.len());
    for (name, value) in &ALWAYS {
        headers.entry(name).or_insert_with(|| value.clone());
    }
    if site.is_secure() {
        let only_tls = HeaderValue::from_static(ONLY_TLS);
        headers.insert(header::STRICT_TRANSPORT_SECURITY, only_tls);
    }
    response
}

/// Whether a request that changes something may come from one of our own pages.
///
/// Pages that send no referrer make a browser say `Origin: null` of their own forms, so that this
/// alone condemns nobody; the token in the form and the cookie decide then.
pub(super) fn may_be_ours(site: &Site, headers: &HeaderMap) -> bool {
    let site_of = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    if site_of.is_some_and(|from| from != b"same-origin") {
        return false;
    }
    let mut origins = headers.get_all(header::ORIGIN).iter();
    match (origins.next(), origins.next()) {
        (None, _) => true,
        (Some(origin), None) => origin == "null" || is_our_origin(site, headers, origin),
        (Some(_), Some(_)) => false,
    }
}

/// Whether an origin is where we are reached: by the public URL, or by the host that the request
/// itself names, which the browser's own look at the origin makes the same.
fn is_our_origin(site: &Site, headers: &HeaderMap, origin: &HeaderValue) -> bool {
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
