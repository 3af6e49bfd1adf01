//! What all pages have in common.

use askama::Template;
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use entreat_core::UnixTime;
use entreat_engine::Snapshot;

use super::Site;
use super::assets::{NAMES, Names};
use super::words::{Closing, Words};

/// What the layout needs.
pub(super) struct Frame<'a> {
    pub(super) words: &'static Words,
    pub(super) root: &'a str,
    pub(super) assets: &'static Names,
    pub(super) accent: Option<String>,
}

impl<'a> Frame<'a> {
    pub(super) fn new(site: &'a Site, words: &'static Words, asker: Option<&str>) -> Self {
        let accent = asker.and_then(|asker| site.accents.get(asker));
        Self {
            words,
            root: &site.root,
            assets: &NAMES,
            accent: accent.map(|accent| accent.name()),
        }
    }
}

/// Who asks.
pub(super) struct AskerView<'a> {
    pub(super) name: &'a str,
}

impl<'a> AskerView<'a> {
    pub(super) fn new(site: &'a Site, asker: &'a str) -> Self {
        let brand = site.settings.brands.get(asker);
        let name = brand.and_then(|brand| brand.name.as_deref());
        Self {
            name: name.unwrap_or(asker),
        }
    }

    pub(super) fn initial(&self) -> String {
        let first = self.name.chars().find(|c| c.is_alphanumeric());
        first.map_or_else(|| "?".to_owned(), |first| first.to_uppercase().collect())
    }
}

/// How long is left.
pub(super) struct Clock {
    pub(super) left_ms: u128,
    pub(super) warn_ms: u128,
    pub(super) left: String,
    pub(super) can_extend: bool,
}

impl Clock {
    pub(super) fn new(snapshot: &Snapshot, now: UnixTime, words: &Words) -> Self {
        let lifecycle = snapshot.lifecycle();
        let left = lifecycle.remaining(now);
        Self {
            left_ms: left.as_millis(),
            warn_ms: lifecycle.terms().warning().as_millis(),
            left: (words.left)(left),
            can_extend: lifecycle.terms().extension_allowed() && lifecycle.extensions_left() > 0,
        }
    }
}

/// A page that says one thing.
#[derive(Template)]
#[template(path = "notice.html")]
struct Notice<'a> {
    frame: Frame<'a>,
    sign: &'static str,
    title: &'static str,
    lead: &'static str,
    lines: &'a [&'static str],
}

/// A page that leads nowhere, and says why.
pub(super) fn notice(
    site: &Site,
    words: &'static Words,
    status: StatusCode,
    says: Closing,
    lines: &[&'static str],
) -> Response {
    let page = Notice {
        frame: Frame::new(site, words, None),
        sign: "no",
        title: says.title,
        lead: says.lead,
        lines,
    };
    html(status, &page)
}

/// Room for a page of a dozen questions, in bytes: a buffer that grows is copied each time.
pub(super) const ROOM: usize = 16 << 10;

/// A page, made.
pub(super) fn html(status: StatusCode, page: &impl Template) -> Response {
    let mut text = String::with_capacity(ROOM);
    match page.render_into(&mut text) {
        Ok(()) => response(status, text),
        Err(error) => not_made(&error),
    }
}

/// What is shown instead of a page that could not be made.
pub(super) fn not_made(error: &askama::Error) -> Response {
    tracing::error!(%error, "a page could not be made");
    let sorry = "This page could not be made. Try again in a moment.".to_owned();
    response(StatusCode::INTERNAL_SERVER_ERROR, sorry)
}

fn response(status: StatusCode, text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
