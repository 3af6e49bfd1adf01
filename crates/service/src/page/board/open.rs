//! The list of open questions: overdue and soonest first.

use std::collections::BTreeSet;

use askama::Template;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use entreat_core::Status;
use entreat_engine::store::Query;
use entreat_engine::{ActError, Snapshot, StatusFilter};

use super::OperatorVisit;
use super::filter::{AGES, Choice, Filter, LATE};
use super::row::{RespondentView, Row};
use crate::page::frame::Frame;
use crate::page::texts::Texts;

/// Maximum number of open questions to look at, newest first. They are in memory; one look at this
/// many takes some milliseconds.
const MAX_OPEN: usize = 20_000;
/// Rows per page.
const PAGE: usize = 50;
/// Maximum number of askers and of respondents to choose from.
const MAX_CHOICES: usize = 100;

#[derive(Template)]
#[template(path = "board.html")]
struct BoardPage<'a> {
    frame: Frame<'a>,
    visit: &'a OperatorVisit,
    csrf: String,
    filter: &'a Filter,
    states: Vec<Choice>,
    ages: Vec<Choice>,
    list: String,
    board: OpenQuestions,
}

#[derive(Template)]
#[template(path = "board_list.html")]
struct Fragment<'a> {
    frame: Frame<'a>,
    filter: &'a Filter,
    board: OpenQuestions,
}

/// A page of the open questions.
struct OpenQuestions {
    rows: Vec<Row>,
    /// How many there are, and how many of them are selected.
    open: usize,
    found: Option<String>,
    /// Whether there are more than were looked at.
    is_cut: bool,
    askers: Vec<Choice>,
    respondents: Vec<Choice>,
    summary: String,
    previous: Option<String>,
    next: Option<String>,
}

/// `GET /board`.
pub(super) async fn show(visit: OperatorVisit, uri: Uri) -> Response {
    let filter = Filter::read(uri.query().unwrap_or_default());
    let board = match OpenQuestions::load(&visit, &filter).await {
        Ok(board) => board,
        Err(error) => return visit.error_page(&error),
    };
    let page = BoardPage {
        frame: Frame::new(&visit.site, visit.texts, None),
        visit: &visit,
        csrf: visit.csrf(),
        list: format!(
            "{}/board/list{}",
            visit.site.root,
            filter.query(filter.page, "")
        ),
        states: states(visit.texts, &filter),
        ages: ages(visit.texts, &filter),
        filter: &filter,
        board,
    };
    visit.respond(StatusCode::OK, &page)
}

/// `GET /board/list`: only the list, for refreshing an open board.
pub(super) async fn list(visit: OperatorVisit, uri: Uri) -> Response {
    let filter = Filter::read(uri.query().unwrap_or_default());
    match OpenQuestions::load(&visit, &filter).await {
        Ok(board) => {
            let frame = Frame::new(&visit.site, visit.texts, None);
            let page = Fragment {
                frame,
                filter: &filter,
                board,
            };
            visit.respond(StatusCode::OK, &page)
        }
        Err(error) => visit.error_page(&error),
    }
}

impl OpenQuestions {
    async fn load(visit: &OperatorVisit, filter: &Filter) -> Result<Self, ActError> {
        let query = Query {
            asker: None,
            respondents: None,
            which: StatusFilter::Live,
            before: None,
            limit: MAX_OPEN,
        };
        let found = visit.operator.select(query).await?;
        let site = &*visit.site;
        let now = site.engine.now();
        let is_late = |snapshot: &Snapshot| {
            let lifecycle = snapshot.lifecycle();
            lifecycle.remaining(now) <= lifecycle.terms().warning()
        };
        let (mut askers, mut respondents) = (BTreeSet::new(), BTreeSet::new());
        let mut late = 0;
        let open = found.elicitations.len();
        let mut selected = Vec::new();
        for snapshot in found.elicitations {
            let request = &snapshot.record().request;
            choice(&mut askers, &request.asker);
            choice(&mut respondents, request.respondent().unwrap_or_default());
            let is_late = is_late(&snapshot);
            late += usize::from(is_late);
            if filter.matches_state(snapshot.status(), is_late) && filter.matches(&snapshot, now) {
                selected.push(snapshot);
            }
        }
        // What an operator has chosen stays a choice after its last question has settled.
        choice(&mut askers, &filter.asker);
        choice(&mut respondents, &filter.respondent);
        // Of one deadline, the one that has waited longest.
        selected.sort_by_key(|snapshot| (snapshot.lifecycle().deadline(), snapshot.id()));
        let last = selected.len().div_ceil(PAGE).max(1);
        let page = filter.page.min(last);
        let path = format!("{}/board", site.root);
        let to = |page: usize| format!("{path}{}", filter.query(page, ""));
        let rows = selected.iter().skip((page - 1) * PAGE).take(PAGE);
        Ok(Self {
            rows: rows
                .map(|it| Row::new(site, visit.texts, it, now))
                .collect(),
            summary: (visit.texts.board.summary)(open, late),
            open,
            found: filter
                .is_set()
                .then(|| (visit.texts.board.found)(selected.len())),
            is_cut: found.next.is_some(),
            askers: choices(&askers, &filter.asker),
            respondents: choices(&respondents, &filter.respondent),
            previous: (page > 1).then(|| to(page - 1)),
            next: (page < last).then(|| to(page + 1)),
        })
    }
}

fn choice(choices: &mut BTreeSet<String>, name: &str) {
    if choices.len() < MAX_CHOICES && !name.is_empty() && !choices.contains(name) {
        choices.insert(name.to_owned());
    }
}

fn choices(names: &BTreeSet<String>, chosen: &str) -> Vec<Choice> {
    let choice = |name: &String| Choice::new(name, name, chosen);
    names.iter().map(choice).collect()
}

fn states(texts: &Texts, filter: &Filter) -> Vec<Choice> {
    let words = texts.board;
    let states = [
        (LATE, words.late),
        (Status::Pending.as_str(), words.pending),
        (Status::Active.as_str(), words.active),
    ];
    let choice = |(value, title): (&str, &str)| Choice::new(value, title, &filter.state);
    states.into_iter().map(choice).collect()
}

fn ages(texts: &Texts, filter: &Filter) -> Vec<Choice> {
    let chosen = filter.age.to_string();
    let choice = |minutes: u32| {
        let title = (texts.board.at_least)(minutes);
        Choice::new(&minutes.to_string(), &title, &chosen)
    };
    AGES.into_iter().map(choice).collect()
}
