//! Makes an account of the claims of a token.

use entreat_core::is_unsafe_to_display;
use entreat_wire::issuer::Claims;
use serde_json::Value;

use super::Account;

/// Maximum length of what is shown as a person's name, in characters.
const MAX_SHOWN: usize = 100;

/// Which claims say what about a person.
#[derive(Clone, Debug)]
pub struct ClaimNames {
    /// The claim that names the person, `sub` if nothing else is needed.
    pub subject: String,
    /// The claim that lists the person's groups.
    pub groups: String,
    /// The claim that makes somebody an operator, and the value that it has to be or to contain.
    pub operator: Option<(String, String)>,
    /// Whether questions may name people by an address that the issuer has verified.
    pub trusts_email: bool,
}

impl Default for ClaimNames {
    fn default() -> Self {
        Self {
            subject: "sub".to_owned(),
            groups: "groups".to_owned(),
            operator: None,
            trusts_email: false,
        }
    }
}

impl ClaimNames {
    /// The account of the person whom a token names; `None` if the token lacks the subject.
    pub(crate) fn account(&self, claims: &Claims) -> Option<Account> {
        Some(self.account_of(claims, claims.subject_by(&self.subject)?))
    }

    /// The account of the person whom a proxy's token names. Proxies that know people by their
    /// addresses alone send no `email_verified`.
    pub(crate) fn account_at_proxy(&self, claims: &Claims) -> Option<Account> {
        let says_more = claims.all.contains_key("email_verified");
        let subject = if self.subject == "email" && !says_more {
            claims.claimed_subject(&self.subject)
        } else {
            claims.subject_by(&self.subject)
        };
        Some(self.account_of(claims, subject?))
    }

    fn account_of(&self, claims: &Claims, subject: &str) -> Account {
        let mut names = ["name", "preferred_username", "email"].into_iter();
        let shown_as = names.find_map(|name| claims.text(name));
        let shown_as: String = shown_as
            .unwrap_or(subject)
            .chars()
            // Operators and others in a group read it, and people choose it themselves.
            .filter(|character| !is_unsafe_to_display(*character))
            .take(MAX_SHOWN)
            .collect();
        let operator = self.operator.as_ref();
        Account {
            issuer: (*claims.issuer).into(),
            subject: subject.into(),
            is_of_default_issuer: true,
            shown_as: shown_as.into(),
            email: self.email(claims).map(Box::from),
            groups: texts(claims, &self.groups).map(Box::from).collect(),
            is_operator: operator.is_some_and(|(name, value)| {
                let mut values = texts(claims, name);
                values.any(|found| found == value)
            }),
        }
    }

    fn email<'c>(&self, claims: &'c Claims) -> Option<&'c str> {
        let is_trusted = self.trusts_email && claims.has_verified_email();
        claims.text("email").filter(|_| is_trusted)
    }
}

/// The texts of a claim that is a list, or the only one.
fn texts<'c>(claims: &'c Claims, name: &str) -> impl Iterator<Item = &'c str> {
    let found = claims.find(name);
    let items = match found {
        Some(Value::Array(items)) => items.as_slice(),
        Some(item) => std::slice::from_ref(item),
        None => &[],
    };
    items.iter().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use entreat_core::UnixTime;
    use serde_json::json;

    use super::*;

    fn claims(all: Value) -> Claims {
        let Value::Object(all) = all else {
            panic!("claims are an object");
        };
        Claims {
            issuer: "https://id.example.com".into(),
            subject: all["sub"].as_str().unwrap().to_owned(),
            expires: UnixTime::from_millis(0),
            all: all.into(),
        }
    }

    #[test]
    fn a_person_is_named_by_the_claim_that_is_configured() {
        let token = claims(json!({"sub": "pairwise", "oid": "0-1", "name": "Ada"}));
        let mut names = ClaimNames::default();
        let account = names.account(&token).unwrap();
        assert_eq!((&*account.subject, &*account.shown_as), ("pairwise", "Ada"));
        names.subject = "oid".to_owned();
        assert_eq!(&*names.account(&token).unwrap().subject, "0-1");
        names.subject = "missing".to_owned();
        assert_eq!(names.account(&token), None);
    }

    #[test]
    fn a_claim_that_people_can_choose_names_nobody_else() {
        let by = |claim: &str, token: Value| {
            let names = ClaimNames {
                subject: claim.to_owned(),
                ..ClaimNames::default()
            };
            let account = names.account(&claims(token));
            account.map(|account| account.subject.to_string())
        };
        let address = |verified: Value| {
            let token = json!({"sub": "eve", "email": "ada@example.com",
                "email_verified": verified});
            by("email", token)
        };
        assert_eq!(address(json!(true)).as_deref(), Some("ada@example.com"));
        assert_eq!(address(json!(false)), None);
        assert_eq!(address(json!(null)), None);
        // A proxy says nothing about addresses that it has checked itself.
        let at_proxy = |token: Value| {
            let names = ClaimNames {
                subject: "email".to_owned(),
                ..ClaimNames::default()
            };
            names.account_at_proxy(&claims(token)).is_some()
        };
        assert!(at_proxy(json!({"sub": "eve", "email": "ada@example.com"})));
        let refused = json!({"sub": "eve", "email": "a@example.com", "email_verified": false});
        assert!(!at_proxy(refused));
        for name in ["", "ada\nroot", &"a".repeat(256)] {
            assert_eq!(by("login", json!({"sub": "eve", "login": name})), None);
        }
        let nested = json!({"sub": "eve", "ids": {"login": "e-1"}});
        assert_eq!(by("ids.login", nested).as_deref(), Some("e-1"));
    }

    #[test]
    fn a_name_that_is_shown_cannot_rearrange_what_stands_around_it() {
        let token = claims(json!({"sub": "a", "name": "Ada\u{202e}\u{200b}\n Lovelace"}));
        let account = ClaimNames::default().account(&token).unwrap();
        assert_eq!(&*account.shown_as, "Ada Lovelace");
    }

    #[test]
    fn an_address_counts_only_if_it_is_verified_and_trusted() {
        let of = |verified: Value, trusts_email| {
            let token = claims(json!({"sub": "a", "email": "a@example.com",
                "email_verified": verified}));
            let names = ClaimNames {
                trusts_email,
                ..ClaimNames::default()
            };
            names.account(&token).unwrap().email
        };
        assert_eq!(of(json!(true), true).as_deref(), Some("a@example.com"));
        assert_eq!(of(json!("true"), true).as_deref(), Some("a@example.com"));
        for (verified, trusts) in [(json!(true), false), (json!(false), true), (json!(1), true)] {
            assert_eq!(of(verified, trusts), None);
        }
    }

    #[test]
    fn groups_and_roles_are_found_below_other_claims_and_by_urls() {
        let token = claims(json!({"sub": "a", "https://example.com/groups": "one",
            "realm_access": {"roles": ["x", "operator", 3]}}));
        let names = ClaimNames {
            groups: "https://example.com/groups".to_owned(),
            operator: Some(("realm_access.roles".to_owned(), "operator".to_owned())),
            ..ClaimNames::default()
        };
        let account = names.account(&token).unwrap();
        assert_eq!(*account.groups, [Box::from("one")]);
        assert!(account.is_operator);
        let other = claims(json!({"sub": "a", "realm_access": {"roles": ["operators"]}}));
        assert!(!names.account(&other).unwrap().is_operator);
    }
}
