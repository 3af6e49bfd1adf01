//! Under which names questions reach a person, and who the person is in the records of questions.

use entreat_engine::Actor;
use entreat_engine::store::Respondents;

use super::{Account, Person};

impl Person {
    /// Returns the respondents whose questions this person may answer; `None` for all questions.
    pub(crate) fn respondents(&self) -> Option<Respondents> {
        match self {
            Self::Local => None,
            Self::Named(name) => Some(Respondents::new([&**name])),
            Self::SignedIn(account) => Some(account.respondents()),
        }
    }

    /// Returns who acts, as questions keep it; `None` for the user of this machine, who has no
    /// name.
    pub(crate) fn actor(&self) -> Option<Actor> {
        let (account, name) = match self {
            Self::Local => return None,
            Self::Named(name) => (name.clone(), name.clone()),
            Self::SignedIn(account) => (account.id().into(), account.shown_as.clone()),
        };
        Some(Actor {
            account,
            name,
            is_operator: false,
        })
    }
}

impl Account {
    /// The issuer and the subject: `issuer#subject`.
    pub(crate) fn id(&self) -> String {
        format!("{}#{}", self.issuer, self.subject)
    }

    /// What [`is_named_by`](Self::is_named_by) accepts.
    fn respondents(&self) -> Respondents {
        let subject = self.is_of_default_issuer.then(|| self.subject.to_string());
        let email = self.email.as_ref().map(|email| format!("email:{email}"));
        let groups = self.groups.iter().map(|name| format!("group:{name}"));
        let names = [Some(self.id()), subject, email];
        let names: Vec<String> = names.into_iter().flatten().chain(groups).collect();
        // What looks like another kind of name is none of this person's.
        let is_own = |name: &&str| self.is_named_by(name);
        Respondents::new(names.iter().map(String::as_str).filter(is_own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(subject: &str, is_of_default_issuer: bool) -> Account {
        Account {
            issuer: "https://id.example".into(),
            subject: subject.into(),
            is_of_default_issuer,
            shown_as: "Ada".into(),
            email: Some("Ada@example.com".into()),
            groups: ["ops".into(), "night shift".into()].into(),
            is_operator: false,
        }
    }

    #[test]
    fn the_inbox_finds_what_the_person_may_answer_and_nothing_else() {
        for (account, own) in [(account("ada", true), true), (account("ada", false), false)] {
            let respondents = account.respondents();
            for respondent in [
                "ada",
                "bob",
                "https://id.example#ada",
                "https://other.example#ada",
                "email:ada@EXAMPLE.com",
                "email:bob@example.com",
                "group:ops",
                "group:night shift",
                "group:Ops",
                "ops",
                "",
            ] {
                let found = respondents.contains(respondent);
                assert_eq!(found, account.is_named_by(respondent), "{respondent}");
            }
            assert_eq!(respondents.contains("ada"), own);
        }
        // A subject that looks like a group names no group.
        let trickster = account("group:admins", true);
        assert!(!trickster.respondents().contains("group:admins"));
        // Nor does one that looks like somebody's full name name them.
        let trickster = account("https://id.example#ada", true);
        assert!(!trickster.is_named_by("https://id.example#ada"));
        assert!(!trickster.respondents().contains("https://id.example#ada"));
        assert!(account("ada#EXT#", true).is_named_by("ada#EXT#"));
    }
}
