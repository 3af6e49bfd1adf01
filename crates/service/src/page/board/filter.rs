//! What an operator looks for, as it stands in the address of the board.

use std::time::Duration;

use entreat_core::{Status, UnixTime};
use entreat_engine::Snapshot;
use url::form_urlencoded;

/// Maximum length of what is searched for, in characters.
const MAX_SEARCH: usize = 200;

/// Which questions to show. Empty texts select all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Filter {
    /// Part of a title, an id, or a name.
    pub(super) search: String,
    pub(super) asker: String,
    pub(super) respondent: String,
    /// The name of a state.
    pub(super) state: String,
    /// Only questions that have waited for at least this many minutes.
    pub(super) age: u32,
    /// The number of the page, from one.
    pub(super) page: usize,
    /// Where a page of the history begins: before this id.
    pub(super) before: String,
}

/// An option of the filter.
pub(super) struct Choice {
    pub(super) value: String,
    pub(super) title: String,
    pub(super) is_chosen: bool,
}

impl Choice {
    pub(super) fn new(value: &str, title: &str, chosen: &str) -> Self {
        Self {
            value: value.to_owned(),
            title: title.to_owned(),
            is_chosen: value == chosen,
        }
    }
}

/// The minimum ages to choose from, in minutes.
pub(super) const AGES: [u32; 4] = [15, 60, 4 * 60, 24 * 60];
/// Open questions that will soon time out.
pub(super) const LATE: &str = "late";

impl Filter {
    /// Ignores what it doesn't know.
    pub(super) fn read(query: &str) -> Self {
        let mut filter = Self {
            page: 1,
            ..Self::default()
        };
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let text = || value.trim().chars().take(MAX_SEARCH).collect();
            match &*name {
                "q" => filter.search = text(),
                "asker" => filter.asker = text(),
                "for" => filter.respondent = text(),
                "state" => filter.state = text(),
                "age" => filter.age = value.parse().unwrap_or_default(),
                "page" => filter.page = value.parse().unwrap_or(1).max(1),
                "before" => filter.before = text(),
                _ => {}
            }
        }
        filter
    }

    /// Whether it leaves anything out.
    pub(super) fn is_set(&self) -> bool {
        let texts = [&self.search, &self.asker, &self.respondent, &self.state];
        texts.iter().any(|text| !text.is_empty()) || self.age > 0
    }

    /// The same selection on this page, as a query with its question mark; empty if there is
    /// nothing to say.
    pub(super) fn query(&self, page: usize, before: &str) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let age = if self.age > 0 {
            self.age.to_string()
        } else {
            String::new()
        };
        let page = if page > 1 {
            page.to_string()
        } else {
            String::new()
        };
        for (name, value) in [
            ("q", &*self.search),
            ("asker", &self.asker),
            ("for", &self.respondent),
            ("state", &self.state),
            ("age", &age),
            ("page", &page),
            ("before", before),
        ] {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        let query = query.finish();
        if query.is_empty() {
            query
        } else {
            format!("?{query}")
        }
    }

    /// Whether a question is selected, except for its state.
    pub(super) fn matches(&self, snapshot: &Snapshot, now: UnixTime) -> bool {
        let request = &snapshot.record().request;
        let respondent = request.respondent().unwrap_or_default();
        let waited = now.since(snapshot.lifecycle().created());
        (self.asker.is_empty() || self.asker == *request.asker)
            && (self.respondent.is_empty() || self.respondent == respondent)
            && waited >= Duration::from_secs(u64::from(self.age) * 60)
            && self.finds(snapshot)
    }

    fn finds(&self, snapshot: &Snapshot) -> bool {
        if self.search.is_empty() {
            return true;
        }
        let wanted = self.search.to_lowercase();
        let request = &snapshot.record().request;
        let settler = snapshot.settled_by();
        let (id, title) = (snapshot.id().to_string(), snapshot.question());
        let texts = [
            Some(&*id),
            Some(&*title),
            Some(&*request.asker),
            request.respondent(),
            settler.map(|actor| &*actor.name),
            settler.map(|actor| &*actor.account),
        ];
        let mut texts = texts.into_iter().flatten();
        texts.any(|text| text.to_lowercase().contains(&wanted))
    }

    /// Whether an open question is in the selected state.
    pub(super) fn matches_state(&self, status: Status, is_late: bool) -> bool {
        match &*self.state {
            "" => true,
            LATE => is_late,
            state => state == status.as_str(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_the_selection() {
        let text = "?q=Zo%C3%AB+%26+co&asker=ci&for=group%3Aops&state=late&age=60";
        let filter = Filter::read(&text[1..]);
        assert_eq!(filter.search, "Zoë & co");
        assert!(filter.is_set());
        assert_eq!(filter.query(1, ""), text);
        assert_eq!(filter.query(2, ""), format!("{text}&page=2"));
        assert_eq!(Filter::read("page=0&age=x&what=this").query(1, ""), "");
    }

    #[test]
    fn what_is_searched_for_is_cut() {
        let filter = Filter::read(&format!("q={}", "x".repeat(100_000)));
        assert_eq!(filter.search.len(), MAX_SEARCH);
    }
}
