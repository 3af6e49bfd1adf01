//! What waits for this person, and what is over.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use entreat_engine::{ActError, MAX_PAGE, Snapshot, Which};

use super::frame::{AskerView, Frame, html};
use super::key::Door;
use super::visit::Visit;

#[derive(Template)]
#[template(path = "inbox.html")]
struct InboxPage<'a> {
    frame: Frame<'a>,
    list: String,
    lists: Lists,
}

#[derive(Template)]
#[template(path = "inbox_fragment.html")]
struct Fragment<'a> {
    frame: Frame<'a>,
    lists: Lists,
}

/// What waits and what is over, newest first.
struct Lists {
    waiting_words: String,
    waiting: Vec<Item>,
    settled: Vec<Item>,
}

/// A question in the list.
struct Item {
    id: String,
    link: String,
    title: String,
    asker: String,
    when: String,
}

/// So many are listed that wait, and so many that are over.
const WAITING: usize = 200;
const SETTLED: usize = 20;
/// So many pages of the engine's list are looked through for them.
const PAGES: usize = 50;

pub(super) async fn show(visit: Visit) -> Response {
    if let Some(response) = visit.welcome() {
        return response;
    }
    let lists = match Lists::gather(&visit).await {
        Ok(lists) => lists,
        Err(error) => return visit.broken(&error),
    };
    let page = InboxPage {
        frame: Frame::new(&visit.site, visit.words, None),
        list: format!("{}/list", visit.here()),
        lists,
    };
    visit.with_cookie(html(StatusCode::OK, &page))
}

/// The lists alone, for a page that is open.
pub(super) async fn list(visit: Visit) -> Response {
    let frame = Frame::new(&visit.site, visit.words, None);
    match Lists::gather(&visit).await {
        Ok(lists) => html(StatusCode::OK, &Fragment { frame, lists }),
        Err(error) => visit.broken(&error),
    }
}

impl Lists {
    async fn gather(visit: &Visit) -> Result<Self, ActError> {
        let engine = &visit.site.engine;
        let (mut waiting, mut settled) = (Vec::new(), Vec::new());
        for (which, most, list) in [
            (Which::Live, WAITING, &mut waiting),
            (Which::All, SETTLED, &mut settled),
        ] {
            let mut before = None;
            for _ in 0..PAGES {
                let page = engine.list(None, which, MAX_PAGE, before).await?;
                let wanted = page.elicitations.iter().filter(|snapshot| {
                    let is_live = snapshot.lifecycle().is_live();
                    visit.may_see(snapshot) && is_live == matches!(which, Which::Live)
                });
                list.extend(wanted.filter_map(|snapshot| Item::new(visit, snapshot)));
                before = page.next;
                if before.is_none() || list.len() >= most {
                    break;
                }
            }
            list.truncate(most);
        }
        Ok(Self {
            waiting_words: (visit.words.waiting)(waiting.len()),
            waiting,
            settled,
        })
    }
}

impl Item {
    fn new(visit: &Visit, snapshot: &Snapshot) -> Option<Self> {
        let site = &*visit.site;
        let request = &snapshot.record().request;
        let pass = site
            .keys
            .pass(Door::Question(snapshot.id()), &visit.browser);
        let when = match snapshot.outcome() {
            Some(outcome) => (visit.words.outcome)(outcome).to_owned(),
            None => (visit.words.left)(snapshot.lifecycle().remaining(site.engine.now())),
        };
        Some(Self {
            id: snapshot.id().to_string(),
            link: format!("{}/e/{}/{pass}", site.root, snapshot.id()),
            title: request.subject.form()?.title().to_owned(),
            asker: AskerView::new(site, &request.asker).name.to_owned(),
            when,
        })
    }
}
