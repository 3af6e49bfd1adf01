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
struct Page<'a> {
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
    let typed = if needs_what_was_typed(asked) {
        asked.snapshot.draft()
    } else {
        Map::new()
    };
    show(asked, &typed)
}

/// The page after something was sent too late. What was typed is kept nowhere then: it is shown
/// at once, to be copied.
pub(super) fn late(asked: &Asked, answers: Map<String, Value>) -> Response {
    let visit = &asked.visit;
    let is_lost = match asked.snapshot.outcome() {
        Some(Outcome::TimedOut | Outcome::Cancelled(_)) | None => true,
        Some(Outcome::Completed | Outcome::Declined) => false,
    };
    let has_text = answers
        .values()
        .any(|value| !is_empty(value) && *value != Value::Bool(false));
    if !is_lost || !has_text || visit.site.successor(asked.id).is_some() {
        return visit.send_to(&visit.here());
    }
    let mut typed = if asked.is_typist() {
        asked.snapshot.draft()
    } else {
        Map::new()
    };
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
    let page = Page {
        frame: Frame::new(site, words, Some(&record.request.asker)),
        asker: AskerView::new(site, &record.request.asker),
        sign,
        words: says,
        title: form.title(),
        typed,
    };
    visit.with_cookie(html(StatusCode::OK, &page))
}

/// What was typed and not sent is shown again, to the browser in which it was typed.
fn needs_what_was_typed(asked: &Asked) -> bool {
    let is_lost = match asked.snapshot.outcome() {
        Some(Outcome::TimedOut | Outcome::Cancelled(_)) => true,
        Some(Outcome::Completed | Outcome::Declined) | None => false,
    };
    is_lost && asked.is_typist()
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
