//! The inbox: a person's open and recently settled questions.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use entreat_engine::{ActError, MAX_PAGE, Snapshot, StatusFilter};

use super::account::AccountView;
use super::frame::{AskerIdentity, AskerView, Frame, html};
use super::token::Target;
use super::visit::Visit;

#[derive(Template)]
#[template(path = "inbox.html")]
struct InboxPage<'a> {
    frame: Frame<'a>,
    list: String,
    lists: Lists,
    account: Option<AccountView>,
}

#[derive(Template)]
#[template(path = "inbox_fragment.html")]
struct Fragment<'a> {
    frame: Frame<'a>,
    lists: Lists,
}

/// Open and settled questions, newest first.
struct Lists {
    waiting_text: String,
    waiting: Vec<Item>,
    settled: Vec<Item>,
}

/// A question in the list.
struct Item {
    id: String,
    link: String,
    title: String,
    asker: String,
    identity: AskerIdentity,
    introduced_as: Option<String>,
    when: String,
}

/// Maximum number of open and of settled questions in the list.
const MAX_OPEN: usize = 200;
const MAX_SETTLED: usize = 20;
/// Maximum number of pages of the engine's list to search.
const MAX_PAGES: usize = 50;

pub(super) async fn show(visit: Visit) -> Response {
    if let Some(response) = visit.redirect_from_link() {
        return response;
    }
    let lists = match Lists::load(&visit).await {
        Ok(lists) => lists,
        Err(error) => return visit.internal_error(&error),
    };
    let page = InboxPage {
        frame: Frame::new(&visit.site, visit.texts, None),
        list: format!("{}/list", visit.here()),
        lists,
        account: AccountView::new(&visit),
    };
    visit.with_cookie(html(StatusCode::OK, &page))
}

/// Only the lists, for refreshing an open page.
pub(super) async fn list(visit: Visit) -> Response {
    let frame = Frame::new(&visit.site, visit.texts, None);
    match Lists::load(&visit).await {
        Ok(lists) => html(StatusCode::OK, &Fragment { frame, lists }),
        Err(error) => visit.internal_error(&error),
    }
}

impl Lists {
    async fn load(visit: &Visit) -> Result<Self, ActError> {
        let engine = &visit.site.engine;
        let (mut waiting, mut settled) = (Vec::new(), Vec::new());
        for (which, most, list) in [
            (StatusFilter::Live, MAX_OPEN, &mut waiting),
            (StatusFilter::All, MAX_SETTLED, &mut settled),
        ] {
            let mut before = None;
            for _ in 0..MAX_PAGES {
                let page = engine.list(None, which, MAX_PAGE, before).await?;
                let wanted = page.elicitations.iter().filter(|snapshot| {
                    let is_live = snapshot.lifecycle().is_live();
                    visit.may_see(snapshot) && is_live == matches!(which, StatusFilter::Live)
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
            waiting_text: (visit.texts.waiting)(waiting.len()),
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
            .pass(Target::Question(snapshot.id()), &visit.browser);
        let when = match snapshot.outcome() {
            Some(outcome) => (visit.texts.outcome)(outcome).to_owned(),
            None => visit
                .texts
                .left(snapshot.lifecycle().remaining(site.engine.now())),
        };
        let asker = AskerView::new(site, visit.texts, request);
        Some(Self {
            id: snapshot.id().to_string(),
            link: format!("{}/e/{}/{pass}", site.root, snapshot.id()),
            title: request.subject.form()?.title().to_owned(),
            asker: asker.name.to_owned(),
            identity: asker.identity,
            introduced_as: asker.introduced_as.map(str::to_owned),
            when,
        })
    }
}
