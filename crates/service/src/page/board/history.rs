//! What was settled: outcome, who, and when.

use std::sync::Arc;

use askama::Template;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use entreat_core::Status;
use entreat_engine::store::{Query, Respondents};
use entreat_engine::{ActError, MAX_PAGE, Snapshot, StatusFilter};

use super::OperatorVisit;
use super::filter::{Choice, Filter};
use super::row::{RespondentView, Row};
use crate::page::frame::Frame;
use crate::page::texts::Texts;

/// Rows per page.
const PAGE: usize = 50;
/// Maximum number of pages of the engine's list to search for a page.
const MAX_PAGES: usize = 10;

#[derive(Template)]
#[template(path = "board_history.html")]
struct HistoryPage<'a> {
    frame: Frame<'a>,
    visit: &'a OperatorVisit,
    csrf: String,
    filter: &'a Filter,
    outcomes: Vec<Choice>,
    rows: Vec<Row>,
    /// Where older questions are.
    next: Option<String>,
    /// Whether the search ended before it had found a page.
    is_cut: bool,
}

/// `GET /board/history`.
pub(super) async fn show(visit: OperatorVisit, uri: Uri) -> Response {
    let filter = Filter::read(uri.query().unwrap_or_default());
    let (rows, next) = match load(&visit, &filter).await {
        Ok(found) => found,
        Err(error) => return visit.error_page(&error),
    };
    let page = HistoryPage {
        frame: Frame::new(&visit.site, visit.texts, None),
        visit: &visit,
        csrf: visit.csrf(),
        is_cut: next.is_some() && rows.len() < PAGE,
        next: next.map(|id| format!("{}/board/history{}", visit.site.root, filter.query(1, &id))),
        outcomes: outcomes(visit.texts, &filter),
        filter: &filter,
        rows,
    };
    visit.respond(StatusCode::OK, &page)
}

/// A page of the selected questions, newest first, and the id before which to continue.
async fn load(
    visit: &OperatorVisit,
    filter: &Filter,
) -> Result<(Vec<Row>, Option<String>), ActError> {
    let settled = |status: &Status| status.as_str() == filter.state;
    let only = Status::ALL.into_iter().find(settled);
    let asker = Some(&*filter.asker).filter(|asker| !asker.is_empty());
    let respondent = Some(&*filter.respondent).filter(|name| !name.is_empty());
    let mut query = Query {
        asker: asker.map(Arc::from),
        respondents: respondent.map(|name| Respondents::new([name])),
        which: only.map_or(StatusFilter::Settled, StatusFilter::Only),
        before: filter.before.parse().ok(),
        limit: MAX_PAGE,
    };
    let now = visit.site.engine.now();
    let mut rows = Vec::new();
    for _ in 0..MAX_PAGES {
        let page = visit.operator.select(query.clone()).await?;
        for snapshot in &page.elicitations {
            query.before = Some(snapshot.id());
            if !snapshot.lifecycle().is_live() && filter.matches(snapshot, now) {
                rows.push(Row::new(&visit.site, visit.texts, snapshot, now));
                if rows.len() == PAGE {
                    let is_last = page.elicitations.last().map(Snapshot::id) == query.before;
                    let has_more = !is_last || page.next.is_some();
                    return Ok((rows, has_more.then(|| snapshot.id().to_string())));
                }
            }
        }
        if page.next.is_none() {
            return Ok((rows, None));
        }
    }
    Ok((rows, query.before.map(|id| id.to_string())))
}

fn outcomes(texts: &Texts, filter: &Filter) -> Vec<Choice> {
    let words = texts.board;
    let outcomes = [
        (Status::Completed, words.answered),
        (Status::Declined, words.declined),
        (Status::Cancelled, words.cancelled),
        (Status::Timeout, words.timed_out),
    ];
    let choice =
        |(status, title): (Status, &str)| Choice::new(status.as_str(), title, &filter.state);
    outcomes.into_iter().map(choice).collect()
}
