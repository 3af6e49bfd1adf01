//! The page of a settled question.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use entreat_core::{CancelReason, Outcome};
use serde_json::{Map, Value};

use super::answer_text::{AnswerLine, AnswerText, answer_lines, is_empty};
use super::field::yes_no;
use super::frame::{AskerIdentity, AskerView, Frame, html};
use super::moment::Moment;
use super::texts::{NoticeTexts, Texts};
use super::token::Target;
use super::visit::QuestionVisit;

#[derive(Template)]
#[template(path = "closing.html")]
struct ClosingPage<'a> {
    frame: Frame<'a>,
    asker: AskerView<'a>,
    sign: &'static str,
    texts: NoticeTexts,
    title: &'a str,
    typed: Vec<AnswerLine<'a>>,
    /// Somebody else who settled it, with the words around the name, and when.
    settler: Option<(&'static str, String, &'static str)>,
    settled: Option<Moment>,
}

pub(super) fn page(question: &QuestionVisit) -> Response {
    let visit = &question.visit;
    let site = &*visit.site;
    if let Some(next) = site.successor(question.id) {
        let pass = site.keys.pass(Target::Question(next), &visit.browser);
        return visit.redirect_to(&format!("{}/e/{next}/{pass}", site.root));
    }
    let typed = if is_lost(question) {
        draft_of_this_browser(question)
    } else {
        Map::new()
    };
    show(question, &typed)
}

/// The page after a late submission. What was typed is not stored any more, so it is shown once
/// more, for copying.
pub(super) fn late(question: &QuestionVisit, answers: Map<String, Value>) -> Response {
    let visit = &question.visit;
    let has_text = answers
        .values()
        .any(|value| !is_empty(value) && *value != Value::Bool(false));
    if !is_lost(question) || !has_text || visit.site.successor(question.id).is_some() {
        return visit.redirect_to(&visit.here());
    }
    let mut typed = draft_of_this_browser(question);
    typed.extend(answers);
    show(question, &typed)
}

fn show(question: &QuestionVisit, typed: &Map<String, Value>) -> Response {
    let visit = &question.visit;
    let (site, texts) = (&*visit.site, visit.texts);
    let record = question.snapshot.record();
    let form = question.form();
    let typed = answer_lines(form, typed, (texts, &visit.messages), |field| {
        typed.get(field.id()).is_some_and(|value| !is_empty(value))
    });
    let is_kept = !typed.is_empty()
        && record
            .request
            .extras
            .as_ref()
            .is_some_and(|extras| extras.keeps_typed_answer());
    let (sign, outcome_texts) = outcome_texts(question, texts, is_kept);
    let settled_at = question.snapshot.lifecycle().settled_at();
    let page = ClosingPage {
        frame: Frame::new(site, texts, Some(&record.request.asker)),
        asker: AskerView::new(site, texts, &record.request),
        sign,
        texts: outcome_texts,
        title: form.title(),
        typed,
        settler: visit.other_settler(&question.snapshot),
        settled: settled_at.map(|at| Moment::new(at, texts)),
    };
    visit.with_cookie(html(StatusCode::OK, &page))
}

/// Whether the asker did not receive the answers. A question without an outcome timed out after it
/// was loaded.
fn is_lost(question: &QuestionVisit) -> bool {
    match question.snapshot.outcome() {
        Some(Outcome::TimedOut | Outcome::Cancelled(_)) | None => true,
        Some(Outcome::Completed | Outcome::Declined) => false,
    }
}

/// The draft with its secrets sealed, if it was typed in this browser.
fn draft_of_this_browser(question: &QuestionVisit) -> Map<String, Value> {
    if question.is_typist() {
        question.snapshot.draft()
    } else {
        Map::new()
    }
}

fn outcome_texts(
    question: &QuestionVisit,
    texts: &Texts,
    is_kept: bool,
) -> (&'static str, NoticeTexts) {
    let is_by_another = question.visit.other_settler(&question.snapshot).is_some();
    match question.snapshot.outcome() {
        Some(Outcome::Completed) if question.is_typist() => ("yes", texts.sent),
        Some(Outcome::Completed) => ("yes", texts.answered),
        Some(Outcome::Declined) if is_by_another => ("no", texts.declined_by_another),
        Some(Outcome::Declined) if yes_no(question.form()).is_some() => {
            ("no", texts.declined_yes_no)
        }
        Some(Outcome::Declined) => ("no", texts.declined),
        Some(Outcome::Cancelled(CancelReason::UserCancelled)) if is_by_another => {
            ("no", texts.withdrawn)
        }
        Some(Outcome::Cancelled(CancelReason::UserCancelled)) => ("no", texts.cancelled),
        Some(Outcome::Cancelled(CancelReason::MaxRetriesExceeded)) => ("no", texts.attempts_used),
        Some(Outcome::Cancelled(
            CancelReason::ClientDisconnected | CancelReason::SessionExpired,
        )) if is_kept => ("no", texts.nobody_waits_kept),
        Some(Outcome::Cancelled(
            CancelReason::ClientDisconnected | CancelReason::SessionExpired,
        )) => ("no", texts.nobody_waits),
        Some(Outcome::Cancelled(CancelReason::FormInvalidated | CancelReason::AskerCancelled)) => {
            ("no", texts.withdrawn)
        }
        Some(Outcome::TimedOut) | None => ("late", texts.expired),
    }
}
