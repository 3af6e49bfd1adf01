//! How the holder of a token is named on pages.
//!
//! The same person may have an account at the issuer of tokens and one at the pages' issuer, and
//! even at one issuer another subject for each client. Nothing is guessed: without a rule, such a
//! person is unknown to the pages.

use std::sync::Arc;

use entreat_wire::issuer::Claims;
use serde_json::Value;

/// Which holders of tokens are which visitors of pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Respondents {
    /// Where visitors of pages sign in; `None` if a proxy names them.
    pub pages: Option<PageIssuer>,
    /// The rules, of which the first for an issuer counts.
    pub same: Vec<SamePerson>,
}

/// The issuer at which visitors of pages sign in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageIssuer {
    /// The issuer's identifier.
    pub issuer: String,
    /// The claim that is their subject.
    pub subject_claim: String,
}

/// A claim of tokens that names the same people as the pages do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SamePerson {
    /// The issuer of the tokens.
    pub issuer: String,
    /// The claim of the tokens.
    pub claim: String,
    /// The issuer at which these people sign in to pages, if it is not the usual one.
    pub page_issuer: Option<String>,
    /// What it equals on pages.
    pub equals: SameClaim,
}

/// By what pages know a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SameClaim {
    /// The subject at the pages' issuer, or the name in a proxy's header.
    #[default]
    Subject,
    /// The verified e-mail address.
    Email,
}

impl Respondents {
    /// Returns how questions name the holder of a token; `None` if the pages don't know them.
    pub(super) fn of(
        &self,
        claims: &Claims,
        subject_claim: &str,
        principal: &Arc<str>,
    ) -> Option<Arc<str>> {
        let rule = self.same.iter().find(|it| it.issuer == *claims.issuer);
        let Some(rule) = rule else {
            let pages = self.pages.as_ref()?;
            let is_same = pages.issuer == *claims.issuer && pages.subject_claim == subject_claim;
            return is_same.then(|| principal.clone());
        };
        let is_address = rule.claim == "email" || rule.equals == SameClaim::Email;
        // Anybody can claim an address that nobody verified.
        if is_address && claims.all.get("email_verified") != Some(&Value::Bool(true)) {
            return None;
        }
        let value = claims.subject_by(&rule.claim)?;
        let usual = || self.pages.as_ref().map(|pages| &pages.issuer);
        let name = match (rule.equals, rule.page_issuer.as_ref().or_else(usual)) {
            (SameClaim::Subject, Some(issuer)) => format!("{issuer}#{value}"),
            (SameClaim::Subject, None) => value.to_owned(),
            (SameClaim::Email, _) => format!("email:{value}"),
        };
        Some(name.into())
    }
}

#[cfg(test)]
mod tests {
    use entreat_core::UnixTime;
    use serde_json::json;

    use super::*;

    fn claims(more: &Value) -> Claims {
        Claims {
            all: Arc::new(more.as_object().unwrap().clone()),
            issuer: "https://tokens.example".into(),
            subject: "t-1".to_owned(),
            expires: UnixTime::from_millis(0),
        }
    }

    fn pages(issuer: &str) -> PageIssuer {
        PageIssuer {
            issuer: issuer.to_owned(),
            subject_claim: "sub".to_owned(),
        }
    }

    fn of(respondents: &Respondents, more: &Value) -> Option<String> {
        let principal = "https://tokens.example#t-1".into();
        let found = respondents.of(&claims(more), "sub", &principal);
        found.map(|it| it.to_string())
    }

    #[test]
    fn people_of_one_issuer_are_the_same_and_others_are_unknown() {
        let mut respondents = Respondents {
            pages: Some(pages("https://tokens.example")),
            same: Vec::new(),
        };
        let expected = Some("https://tokens.example#t-1".to_owned());
        assert_eq!(of(&respondents, &json!({})), expected);
        respondents.pages = Some(pages("https://pages.example"));
        assert_eq!(of(&respondents, &json!({})), None);
        respondents.pages = None;
        assert_eq!(of(&respondents, &json!({})), None);
    }

    #[test]
    fn subjects_that_differ_are_joined_by_a_claim_that_does_not() {
        let same = SamePerson {
            issuer: "https://tokens.example".to_owned(),
            claim: "oid".to_owned(),
            page_issuer: None,
            equals: SameClaim::Subject,
        };
        let mut respondents = Respondents {
            pages: Some(pages("https://pages.example")),
            same: vec![same],
        };
        let found = of(&respondents, &json!({"oid": "o-1"}));
        assert_eq!(found.as_deref(), Some("https://pages.example#o-1"));
        for more in [json!({}), json!({"oid": ""}), json!({"oid": 7})] {
            assert_eq!(of(&respondents, &more), None, "{more}");
        }
        // A proxy's header has names without an issuer.
        respondents.pages = None;
        let found = of(&respondents, &json!({"oid": "o-1"}));
        assert_eq!(found.as_deref(), Some("o-1"));
    }

    #[test]
    fn an_address_joins_people_only_if_the_issuer_verified_it() {
        for equals in [SameClaim::Subject, SameClaim::Email] {
            let same = SamePerson {
                issuer: "https://tokens.example".to_owned(),
                claim: "email".to_owned(),
                page_issuer: None,
                equals,
            };
            let respondents = Respondents {
                pages: None,
                same: vec![same],
            };
            for verified in [json!(null), json!(false), json!("true"), json!(1)] {
                let more = json!({"email": "ada@a.example", "email_verified": verified});
                assert_eq!(of(&respondents, &more), None, "{more}");
            }
            let more = json!({"email": "ada@a.example", "email_verified": true});
            let expected = match equals {
                SameClaim::Subject => "ada@a.example",
                SameClaim::Email => "email:ada@a.example",
            };
            assert_eq!(of(&respondents, &more).as_deref(), Some(expected));
        }
    }
}
