//! A question as the board shows it.

use entreat_core::{RoughTime, State, UnixTime};
use entreat_engine::Snapshot;

use crate::page::Site;
use crate::page::frame::AskerView;
use crate::page::moment::Moment;
use crate::page::texts::Texts;

/// A question in a list, or on its own page.
pub(super) struct Row {
    pub(super) id: String,
    pub(super) link: String,
    pub(super) title: String,
    pub(super) asker: String,
    pub(super) respondent: RespondentView,
    /// How long it has waited, and since when.
    pub(super) waited: String,
    pub(super) asked: Moment,
    pub(super) left: String,
    pub(super) deadline: Moment,
    pub(super) is_late: bool,
    /// Its state, or its outcome.
    pub(super) state: &'static str,
    /// The word for style sheets.
    pub(super) sign: &'static str,
    pub(super) settled: Option<Moment>,
    /// Who settled it.
    pub(super) settler: Option<String>,
    pub(super) settler_account: Option<String>,
    pub(super) by_operator: bool,
}

/// Whom a question is for.
pub(super) enum RespondentView {
    /// Anybody who can open pages here.
    Anybody,
    Group(String),
    Person(String),
}

impl RespondentView {
    fn new(respondent: Option<&str>) -> Self {
        let Some(respondent) = respondent else {
            return Self::Anybody;
        };
        if let Some(group) = respondent.strip_prefix("group:") {
            return Self::Group(group.to_owned());
        }
        let person = respondent.strip_prefix("email:").unwrap_or(respondent);
        Self::Person(person.to_owned())
    }
}

impl Row {
    pub(super) fn new(
        site: &Site,
        texts: &'static Texts,
        snapshot: &Snapshot,
        now: UnixTime,
    ) -> Self {
        let request = &snapshot.record().request;
        let lifecycle = snapshot.lifecycle();
        let words = texts.board;
        let (state, sign) = match snapshot.state() {
            State::Pending => (words.pending, "pending"),
            State::Active { .. } => (words.active, "active"),
            State::Completed { .. } => (words.answered, "yes"),
            State::Declined { .. } => (words.declined, "no"),
            State::Cancelled { .. } => (words.cancelled, "no"),
            State::TimedOut { .. } => (words.timed_out, "late"),
        };
        let left = lifecycle.remaining(now);
        let settler = snapshot.settled_by();
        let id = snapshot.id().to_string();
        Self {
            link: format!("{}/board/q/{id}", site.root),
            id,
            title: snapshot.question(),
            asker: AskerView::new(site, texts, request).name.to_owned(),
            respondent: RespondentView::new(request.respondent()),
            waited: (words.brief)(RoughTime::from(now.since(lifecycle.created()))),
            asked: Moment::new(lifecycle.created(), texts),
            left: if lifecycle.is_overdue(now) {
                words.overdue.to_owned()
            } else {
                (words.brief)(RoughTime::from(left))
            },
            deadline: Moment::new(lifecycle.deadline(), texts),
            is_late: lifecycle.is_live() && left <= lifecycle.terms().warning(),
            state,
            sign,
            settled: lifecycle.settled_at().map(|at| Moment::new(at, texts)),
            settler: settler.map(|actor| actor.name.to_string()),
            settler_account: settler
                .filter(|actor| actor.name != actor.account)
                .map(|actor| actor.account.to_string()),
            by_operator: settler.is_some_and(|actor| actor.is_operator),
        }
    }
}
