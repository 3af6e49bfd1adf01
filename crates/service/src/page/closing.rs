//! The page of a question that is over.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use entreat_core::{CancelReason, Outcome};
use serde_json::{Map, Value};

use super::frame::{AskerView, Frame, html};
use super::key::Door;
use super::said::{Line, Said, is_empty, lines};
use super::visit::Asked;
use super::words::{Closing, Words};

#[derive(Template)]
#[template(path = "closing.html")]
struct ClosingPage<'a> {
    frame: Frame<'a>,
    asker: AskerView<'a>,
    sign: &'static str,
    words: Closing,
    title: &'a str,
    typed: Vec<Line<'a>>,
}

pub(super) fn page(asked: &Asked) -> Response {
    let visit = &asked.visit;
    let site = &*visit.site;
    if let Some(next) = site.successor(asked.id) {
        let pass = site.keys.pass(Door::Question(next), &visit.browser);
        return visit.send_to(&format!("{}/e/{next}/{pass}", site.root));
    }
    let typed = if is_lost(asked) {
        kept_by_this_browser(asked)
    } else {
        Map::new()
    };
    show(asked, &typed)
}

/// The page after something was sent too late. What was typed is kept nowhere then: it is shown
/// at once, to be copied.
pub(super) fn late(asked: &Asked, answers: Map<String, Value>) -> Response {
    let visit = &asked.visit;
    let has_text = answers
        .values()
        .any(|value| !is_empty(value) && *value != Value::Bool(false));
    if !is_lost(asked) || !has_text || visit.site.successor(asked.id).is_some() {
        return visit.send_to(&visit.here());
    }
    let mut typed = kept_by_this_browser(asked);
    typed.extend(answers);
    show(asked, &typed)
}

fn show(asked: &Asked, typed: &Map<String, Value>) -> Response {
    let visit = &asked.visit;
    let (site, words) = (&*visit.site, visit.words);
    let record = asked.snapshot.record();
    let form = asked.form();
    let typed = lines(form, typed, words, |field| {
        typed.get(field.id()).is_some_and(|value| !is_empty(value))
    });
    let (sign, says) = says(asked, words);
    let page = ClosingPage {
        frame: Frame::new(site, words, Some(&record.request.asker)),
        asker: AskerView::new(site, &record.request.asker),
        sign,
        words: says,
        title: form.title(),
        typed,
    };
    visit.with_cookie(html(StatusCode::OK, &page))
}

/// Whether nobody got what was typed. A question that was open when it was looked up, and is not
/// any more, ran out of time in between.
fn is_lost(asked: &Asked) -> bool {
    match asked.snapshot.outcome() {
        Some(Outcome::TimedOut | Outcome::Cancelled(_)) | None => true,
        Some(Outcome::Completed | Outcome::Declined) => false,
    }
}

/// What was typed before, for the browser in which it was, secrets sealed.
fn kept_by_this_browser(asked: &Asked) -> Map<String, Value> {
    if asked.is_typist() {
        asked.snapshot.draft()
    } else {
        Map::new()
    }
}

fn says(asked: &Asked, words: &Words) -> (&'static str, Closing) {
    match asked.snapshot.outcome() {
        Some(Outcome::Completed) if asked.is_typist() => ("yes", words.sent),
        Some(Outcome::Completed) => ("yes", words.answered),
        Some(Outcome::Declined) => ("no", words.declined),
        Some(Outcome::Cancelled(CancelReason::UserCancelled)) => ("no", words.cancelled),
        Some(Outcome::Cancelled(CancelReason::MaxRetriesExceeded)) => ("no", words.attempts_used),
        Some(Outcome::Cancelled(
            CancelReason::ClientDisconnected
            | CancelReason::SessionExpired
            | CancelReason::FormInvalidated
            | CancelReason::AskerCancelled,
        )) => ("no", words.withdrawn),
        Some(Outcome::TimedOut) | None => ("late", words.expired),
    }
}
