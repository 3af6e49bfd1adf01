//! Style sheet, script and icon, embedded in the binary and named by content hash.

use std::sync::{Arc, LazyLock};

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;

use super::Site;
use super::accent::Accent;

const STYLE: &str = include_str!("assets/page.css");
const SCRIPT: &str = include_str!("assets/page.js");
const ICON: &str = include_str!("assets/icon.svg");

/// The file names of the assets.
pub(super) struct Names {
    pub(super) style: String,
    pub(super) script: String,
    pub(super) icon: String,
}

struct Asset {
    name: String,
    kind: &'static str,
    plain: Bytes,
    gzipped: Option<Bytes>,
}

impl Asset {
    fn new(stem: &str, extension: &str, kind: &'static str, text: &'static str) -> Self {
        let hash = blake3::hash(text.as_bytes()).to_hex();
        Self {
            name: format!("{stem}-{}.{extension}", &hash[..12]),
            kind,
            plain: Bytes::from_static(text.as_bytes()),
            gzipped: gzip(text),
        }
    }
}

#[cfg(feature = "standalone")]
fn gzip(text: &str) -> Option<Bytes> {
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write as _;

    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing to memory cannot fail; if it did, the uncompressed text would be served.
    encoder.write_all(text.as_bytes()).ok()?;
    encoder.finish().ok().map(Bytes::from)
}

/// Pages of this machine gain nothing by it.
#[cfg(not(feature = "standalone"))]
fn gzip(_text: &str) -> Option<Bytes> {
    None
}

static ASSETS: LazyLock<[Asset; 3]> = LazyLock::new(|| {
    [
        Asset::new("page", "css", "text/css; charset=utf-8", STYLE),
        Asset::new("page", "js", "text/javascript; charset=utf-8", SCRIPT),
        Asset::new("icon", "svg", "image/svg+xml", ICON),
    ]
});

pub(super) static NAMES: LazyLock<Names> = LazyLock::new(|| {
    let [style, script, icon] = &*ASSETS;
    Names {
        style: style.name.clone(),
        script: script.name.clone(),
        icon: icon.name.clone(),
    }
});

pub(super) async fn serve(
    State(_): State<Arc<Site>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Response {
    let accent = name
        .strip_prefix("accent-")
        .and_then(|name| name.strip_suffix(".css"));
    if let Some(accent) = accent.and_then(Accent::parse) {
        return response("text/css; charset=utf-8", accent.style().into());
    }
    let Some(asset) = ASSETS.iter().find(|asset| asset.name == name) else {
        let mut response = Response::new(Body::from("Not found.\n"));
        *response.status_mut() = StatusCode::NOT_FOUND;
        let kind = HeaderValue::from_static("text/plain; charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        return response;
    };
    let accepts_gzip = headers
        .get(header::ACCEPT_ENCODING)
        .and_then(|accepted| accepted.to_str().ok())
        .is_some_and(|accepted| accepted.split(',').any(|coding| coding.trim() == "gzip"));
    let Some(gzipped) = asset.gzipped.clone().filter(|_| accepts_gzip) else {
        return response(asset.kind, asset.plain.clone());
    };
    let mut response = response(asset.kind, gzipped);
    let gzipped = HeaderValue::from_static("gzip");
    response
        .headers_mut()
        .insert(header::CONTENT_ENCODING, gzipped);
    response
}

fn response(kind: &'static str, body: Bytes) -> Response {
    let mut response = Response::new(Body::from(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    // Names contain a content hash, and the contents are public.
    let immutable = HeaderValue::from_static("public, max-age=31536000, immutable");
    headers.insert(header::CACHE_CONTROL, immutable);
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    response
}
