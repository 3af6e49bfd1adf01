//! The inbox: a person's open and recently settled questions.

use askama::Template;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use entreat_core::ElicitationId;
use entreat_engine::store::Query;
use entreat_engine::{ActError, ElicitationPage, Snapshot, StatusFilter};

use super::account::AccountView;
use super::frame::{AskerIdentity, AskerView, Frame, html};
use super::moment::Moment;
use super::token::Target;
use super::visit::Visit;
use crate::identity::Person;

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
    /// Where older settled questions are.
    older: Option<String>,
}

/// A question in the list.
struct Item {
    id: String,
    link: String,
    title: String,
    asker: String,
    identity: AskerIdentity,
    introduced_as: Option<String>,
    /// The time left, or the outcome.
    state: &'static str,
    left: String,
    settled: Option<Moment>,
    /// Somebody else who settled it, with the words around the name.
    settler: Option<(&'static str, String, &'static str)>,
}

/// Maximum number of open questions in the list, and of settled ones on a page.
const MAX_OPEN: usize = 200;
const MAX_SETTLED: usize = 20;

pub(super) async fn show(visit: Visit, uri: Uri) -> Response {
    if let Some(response) = visit.redirect_from_link() {
        return response;
    }
    let before = before(&uri);
    let lists = match Lists::load(&visit, before).await {
        Ok(lists) => lists,
        Err(error) => return visit.internal_error(&error),
    };
    let query = before.map(|id| format!("?before={id}"));
    let page = InboxPage {
        frame: Frame::new(&visit.site, visit.texts, None),
        list: format!("{}/list{}", visit.here(), query.unwrap_or_default()),
        lists,
        account: AccountView::new(&visit),
    };
    visit.with_cookie(html(StatusCode::OK, &page))
}

/// Only the lists, for refreshing an open page.
pub(super) async fn list(visit: Visit, uri: Uri) -> Response {
    let frame = Frame::new(&visit.site, visit.texts, None);
    match Lists::load(&visit, before(&uri)).await {
        Ok(lists) => html(StatusCode::OK, &Fragment { frame, lists }),
        Err(error) => visit.internal_error(&error),
    }
}

/// The id before which the settled questions begin.
fn before(uri: &Uri) -> Option<ElicitationId> {
    let id = uri.query()?.strip_prefix("before=")?;
    id.parse().ok()
}

impl Lists {
    /// Looks up what is for this person: the store finds it by the names under which questions
    /// reach them, so that it doesn't matter how many others there are.
    async fn load(visit: &Visit, before: Option<ElicitationId>) -> Result<Self, ActError> {
        let engine = &visit.site.engine;
        let query = |which, before, limit| Query {
            asker: None,
            respondents: visit.person.as_ref().and_then(Person::respondents),
            which,
            before,
            limit,
        };
        let items = |page: &ElicitationPage| {
            let own = page.elicitations.iter().filter(|it| visit.may_see(it));
            own.filter_map(|it| Item::new(visit, it)).collect()
        };
        let open = engine.select(query(StatusFilter::Live, None, MAX_OPEN));
        let waiting: Vec<Item> = items(&open.await?);
        let settled = engine.select(query(StatusFilter::Settled, before, MAX_SETTLED));
        let settled = settled.await?;
        let older = settled
            .next
            .map(|id| format!("{}?before={id}", visit.here()));
        Ok(Self {
            waiting_text: (visit.texts.waiting)(waiting.len()),
            waiting,
            settled: items(&settled),
            older,
        })
    }
}

impl Item {
    fn new(visit: &Visit, snapshot: &Snapshot) -> Option<Self> {
        let (site, texts) = (&*visit.site, visit.texts);
        let request = &snapshot.record().request;
        let pass = site
            .keys
            .pass(Target::Question(snapshot.id()), &visit.browser);
        let lifecycle = snapshot.lifecycle();
        let outcome = snapshot.outcome();
        let asker = AskerView::new(site, texts, request);
        Some(Self {
            id: snapshot.id().to_string(),
            link: format!("{}/e/{}/{pass}", site.root, snapshot.id()),
            title: request.subject.form()?.title().to_owned(),
            asker: asker.name.to_owned(),
            identity: asker.identity,
            introduced_as: asker.introduced_as.map(str::to_owned),
            state: outcome.map_or("", texts.outcome),
            left: texts.left(lifecycle.remaining(site.engine.now())),
            settled: lifecycle.settled_at().map(|at| Moment::new(at, texts)),
            settler: visit.other_settler(snapshot),
        })
    }
}

impl Visit {
    /// Somebody else who settled a question, with the words around the name.
    pub(super) fn other_settler(
        &self,
        snapshot: &Snapshot,
    ) -> Option<(&'static str, String, &'static str)> {
        let settler = snapshot.settled_by()?;
        if self
            .actor()
            .is_some_and(|own| own.account == settler.account)
        {
            return None;
        }
        let (before, after) = (self.texts.settled_by)(snapshot.outcome()?);
        Some((before, settler.name.to_string(), after))
    }
}
