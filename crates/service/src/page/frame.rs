//! What all pages share.

use askama::Template;
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use entreat_core::UnixTime;
use entreat_engine::{Request, Snapshot};

use super::Site;
use super::assets::{NAMES, Names};
use super::texts::{NoticeTexts, Texts};

/// The data of the layout template.
pub(super) struct Frame<'a> {
    pub(super) texts: &'static Texts,
    pub(super) root: &'a str,
    pub(super) assets: &'static Names,
    pub(super) accent: Option<String>,
}

impl<'a> Frame<'a> {
    pub(super) fn new(site: &'a Site, texts: &'static Texts, asker: Option<&str>) -> Self {
        let accent = asker.and_then(|asker| site.accents.get(asker));
        Self {
            texts,
            root: &site.root,
            assets: &NAMES,
            accent: accent.map(|accent| accent.name()),
        }
    }
}

/// The asker, as shown to people.
pub(super) struct AskerView<'a> {
    pub(super) name: &'a str,
    pub(super) identity: AskerIdentity,
    /// The name that the program gives itself for which the asker asks, if `name` is another.
    pub(super) introduced_as: Option<&'a str>,
}

/// Where the name of an asker comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AskerIdentity {
    /// The service knows it by this name.
    Known,
    /// It is any program on this machine, and calls itself so.
    Claimed,
    /// It is any program on this machine, and has no name.
    Unnamed,
}

impl<'a> AskerView<'a> {
    pub(super) fn new(site: &'a Site, texts: &'static Texts, request: &'a Request) -> Self {
        let asker = &*request.asker;
        let brand = site.settings.brands.get(asker);
        let brand = brand.and_then(|brand| brand.name.as_deref());
        let extras = request.extras.as_ref();
        let program = extras.and_then(|extras| extras.introduced_as.as_deref());
        let is_unnamed = brand.is_none() && site.settings.unnamed_askers.contains(asker);
        let (name, identity) = match program {
            Some(program) if is_unnamed => (program, AskerIdentity::Claimed),
            // Only people at this machine can open the page, so it is their machine too.
            None if is_unnamed && !site.settings.identity.needs_respondent() => {
                (texts.unnamed.name, AskerIdentity::Unnamed)
            }
            _ => (brand.unwrap_or(asker), AskerIdentity::Known),
        };
        Self {
            name,
            identity,
            introduced_as: program.filter(|_| identity == AskerIdentity::Known),
        }
    }

    pub(super) fn initial(&self) -> String {
        let first = self.name.chars().find(|c| c.is_alphanumeric());
        first.map_or_else(|| "?".to_owned(), |first| first.to_uppercase().collect())
    }
}

/// The remaining time.
pub(super) struct Clock {
    pub(super) left_ms: u128,
    pub(super) warn_ms: u128,
    pub(super) left: String,
    pub(super) can_extend: bool,
}

impl Clock {
    pub(super) fn new(snapshot: &Snapshot, now: UnixTime, texts: &Texts) -> Self {
        let lifecycle = snapshot.lifecycle();
        let left = lifecycle.remaining(now);
        Self {
            left_ms: left.as_millis(),
            warn_ms: lifecycle.terms().warning().as_millis(),
            left: texts.left(left),
            can_extend: lifecycle.terms().extension_allowed() && lifecycle.extensions_left() > 0,
        }
    }
}

impl Clock {
    /// Whether the deadline matters now.
    pub(super) fn is_late(&self) -> bool {
        self.left_ms <= self.warn_ms
    }
}

/// Leads a browser to a place of our own, or to an address that was checked.
pub(super) fn see_other(place: &str) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    if let Ok(place) = HeaderValue::from_str(place) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    response
}

/// A page with a single message.
#[derive(Template)]
#[template(path = "notice.html")]
struct Notice<'a> {
    frame: Frame<'a>,
    sign: &'static str,
    title: &'static str,
    lead: &'static str,
    lines: &'a [&'static str],
}

/// Renders a page with a single message, such as an error.
pub(super) fn notice(
    site: &Site,
    texts: &'static Texts,
    status: StatusCode,
    content: NoticeTexts,
    lines: &[&'static str],
) -> Response {
    let page = Notice {
        frame: Frame::new(site, texts, None),
        sign: "no",
        title: content.title,
        lead: content.lead,
        lines,
    };
    html(status, &page)
}

/// Initial buffer size: fits a page with a dozen questions, so that the buffer does not grow.
pub(super) const INITIAL_CAPACITY: usize = 16 << 10;

/// Renders a page.
pub(super) fn html(status: StatusCode, page: &impl Template) -> Response {
    let mut text = String::with_capacity(INITIAL_CAPACITY);
    match page.render_into(&mut text) {
        Ok(()) => response(status, text),
        Err(error) => render_failed(&error),
    }
}

/// The response when rendering fails.
pub(super) fn render_failed(error: &askama::Error) -> Response {
    tracing::error!(%error, "a page could not be rendered");
    let sorry = "This page could not be shown. Try again in a moment.".to_owned();
    response(StatusCode::INTERNAL_SERVER_ERROR, sorry)
}

fn response(status: StatusCode, text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
