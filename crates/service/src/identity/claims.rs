//! Makes an account of the claims of a token.

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
        let subject = match self.subject.as_str() {
            "sub" => &*claims.subject,
            name => find(claims, name)?.as_str()?,
        };
        if subject.is_empty() {
            return None;
        }
        let mut names = ["name", "preferred_username", "email"].into_iter();
        let shown_as = names.find_map(|name| claims.text(name));
        let shown_as: String = shown_as
            .unwrap_or(subject)
            .chars()
            .take(MAX_SHOWN)
            .collect();
        let operator = self.operator.as_ref();
        Some(Account {
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
        })
    }

    fn email<'c>(&self, claims: &'c Claims) -> Option<&'c str> {
        let verified = claims.all.get("email_verified");
        // Some issuers send it as text.
        let is_verified = verified.is_some_and(|it| *it == Value::Bool(true) || *it == "true");
        claims
            .text("email")
            .filter(|_| self.trusts_email && is_verified)
    }
}

/// Finds a claim by its name, or by a path with dots, such as `realm_access.roles`. Names come
/// first: some are URLs.
fn find<'c>(claims: &'c Claims, name: &str) -> Option<&'c Value> {
    claims.all.get(name).or_else(|| {
        let (first, rest) = name.split_once('.')?;
        let mut names = rest.split('.');
        names.try_fold(claims.all.get(first)?, |value, name| value.get(name))
    })
}

/// The texts of a claim that is a list, or the only one.
fn texts<'c>(claims: &'c Claims, name: &str) -> impl Iterator<Item = &'c str> {
    let found = find(claims, name);
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
