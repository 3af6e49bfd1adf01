//! The page of one question for operators: cancel, reassign, extend.

use askama::Template;
use axum::body::Body;
use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use entreat_core::{CancelReason, ElicitationId, Outcome};
use entreat_engine::{ActError, Snapshot};

use super::OperatorVisit;
use super::row::{RespondentView, Row};
use crate::page::frame::{Frame, see_other};
use crate::rpc::MAX_RESPONDENT;

/// The reasons that operators have; the others are those of askers' programs.
const REASONS: [CancelReason; 3] = [
    CancelReason::AskerCancelled,
    CancelReason::FormInvalidated,
    CancelReason::SessionExpired,
];

#[derive(Template)]
#[template(path = "board_question.html")]
struct OperatorPage<'a> {
    frame: Frame<'a>,
    visit: &'a OperatorVisit,
    csrf: String,
    row: Row,
    is_live: bool,
    can_extend: bool,
    extend_means: String,
    attempts: u8,
    reason: Option<&'static str>,
    reasons: [(&'static str, &'static str); 3],
    respondent: String,
    notice: Option<&'static str>,
    error: Option<&'static str>,
}

/// `GET /board/q/ID`.
pub(super) async fn show(visit: OperatorVisit, id: Path<String>, uri: Uri) -> Response {
    let words = visit.texts.board;
    let notice = match uri.query() {
        Some("cancelled") => Some(words.was_cancelled),
        Some("reassigned") => Some(words.was_reassigned),
        Some("extended") => Some(words.was_extended),
        _ => None,
    };
    match load(&visit, &id).await {
        Ok(snapshot) => page(&visit, &snapshot, StatusCode::OK, notice, None),
        Err(error) => visit.error_page(&error),
    }
}

/// `POST /board/q/ID`.
pub(super) async fn handle(
    visit: OperatorVisit,
    id: Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let form = match visit.read_form(&headers, body).await {
        Ok(form) => form,
        Err(response) => return response,
    };
    let snapshot = match load(&visit, &id).await {
        Ok(snapshot) => snapshot,
        Err(error) => return visit.error_page(&error),
    };
    let (id, words) = (snapshot.id(), visit.texts.board);
    let refused = |error| {
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        page(&visit, &snapshot, status, None, Some(error))
    };
    let done = match form.get("_do") {
        "cancel" => {
            let mut reasons = REASONS.into_iter();
            let Some(reason) = reasons.find(|reason| reason.as_str() == form.get("reason")) else {
                return refused(words.choose_reason);
            };
            let cancelled = visit.operator.cancel(id, reason).await;
            cancelled.map(|_| "cancelled")
        }
        "reassign" => {
            let to = form.get("to");
            if to.is_empty() || to.chars().count() > MAX_RESPONDENT {
                return refused(words.name_respondent);
            }
            let reassigned = visit.operator.reassign(id, to).await;
            if reassigned.is_ok()
                && let Some(uploads) = &visit.site.uploads
            {
                uploads.remove_of_dropped_draft(id).await;
            }
            reassigned.map(|_| "reassigned")
        }
        "extend" => visit.operator.extend(id, None).await.map(|_| "extended"),
        _ => return see_other(&address(&visit, id, "")),
    };
    match done {
        Ok(done) => see_other(&address(&visit, id, done)),
        // The page says how it ended.
        Err(ActError::Settled { .. } | ActError::TimedOut { .. }) => {
            see_other(&address(&visit, id, ""))
        }
        Err(ActError::Extension(_)) => refused(visit.texts.not_extended),
        Err(error) => visit.error_page(&error),
    }
}

async fn load(visit: &OperatorVisit, id: &str) -> Result<Snapshot, ActError> {
    let id = id.parse().map_err(|_| ActError::NotFound)?;
    visit.operator.status(id).await
}

fn address(visit: &OperatorVisit, id: ElicitationId, done: &str) -> String {
    let mark = if done.is_empty() { "" } else { "?" };
    format!("{}/board/q/{id}{mark}{done}", visit.site.root)
}

fn page(
    visit: &OperatorVisit,
    snapshot: &Snapshot,
    status: StatusCode,
    notice: Option<&'static str>,
    error: Option<&'static str>,
) -> Response {
    let (site, texts) = (&*visit.site, visit.texts);
    let lifecycle = snapshot.lifecycle();
    let reason_of = |reason| (texts.board.reason)(reason);
    let respondent = snapshot.record().request.respondent();
    let page = OperatorPage {
        frame: Frame::new(site, texts, None),
        visit,
        csrf: visit.csrf(),
        row: Row::new(site, texts, snapshot, site.engine.now()),
        is_live: lifecycle.is_live(),
        can_extend: lifecycle.terms().extension_allowed() && lifecycle.extensions_left() > 0,
        extend_means: (texts.board.extend_means)(lifecycle.extensions_left()),
        attempts: lifecycle.attempts(),
        reason: match lifecycle.outcome() {
            Some(Outcome::Cancelled(reason)) => Some(reason_of(reason)),
            Some(Outcome::Completed | Outcome::Declined | Outcome::TimedOut) | None => None,
        },
        reasons: REASONS.map(|reason| (reason.as_str(), reason_of(reason))),
        respondent: respondent.unwrap_or_default().to_owned(),
        notice,
        error,
    };
    visit.respond(status, &page)
}
