//! Checks the servers behind the gateway that somebody has to sign in to.

use entreat_wire::oauth::{Challenge, SignInError, SignedIn};

use super::finding::Finding;
use crate::command::gateway::account;
use crate::config::Config;
use crate::sign_in::explain;

/// What was found out about a server.
struct Facts {
    /// Where people sign in, by what the server publishes.
    issuer: Result<String, SignInError>,
    signed_in: Option<SignedIn>,
}

/// Checks each server with `oauth`.
pub(super) async fn check(config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    for upstream in &config.upstreams {
        let name = &upstream.name;
        let found = match account(config, upstream) {
            Ok(None) => continue,
            Ok(Some(account)) => Ok(Facts {
                issuer: account.look_up(&Challenge::default()).await,
                signed_in: account.signed_in().await.ok().flatten(),
            }),
            Err(error) => Err(format!("{error:#}")),
        };
        findings.push(match found {
            Ok(facts) => judge(name, &facts),
            Err(error) => Finding::problem("upstream", error, "correct its [[upstream]] table"),
        });
    }
    findings
}

fn judge(name: &str, facts: &Facts) -> Finding {
    let sign_in = format!("run `entreat gateway sign-in {name}`");
    match (&facts.issuer, &facts.signed_in) {
        (Err(error), _) => Finding::problem(
            "upstream",
            explain(name, error, "`client_id`"),
            "correct its `url`, or ask whoever runs the server",
        ),
        (Ok(issuer), None) => Finding::warning(
            "upstream",
            format!("nobody has signed in to {name}, at {issuer}"),
            sign_in,
        ),
        (Ok(issuer), Some(signed_in)) if signed_in.issuer != *issuer => Finding::warning(
            "upstream",
            format!(
                "{name} has moved from {} to {issuer}: the sign-in will not be renewed",
                signed_in.issuer
            ),
            sign_in,
        ),
        (Ok(issuer), Some(signed_in)) if !signed_in.is_renewed => Finding::note(
            "upstream",
            format!("{name} is signed in to at {issuer}, until its token expires"),
            "if the authorization server has refresh tokens, allow them for the client",
        ),
        (Ok(issuer), Some(_)) => {
            Finding::ok("upstream", format!("{name} is signed in to at {issuer}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::{Level, levels};
    use super::*;

    #[test]
    fn a_server_is_fine_while_somebody_is_signed_in_where_it_says() {
        let at = |issuer: &str, is_renewed| {
            Some(SignedIn {
                issuer: issuer.to_owned(),
                expires: None,
                is_renewed,
            })
        };
        let issuer = || Ok("https://login.example".to_owned());
        let found = [
            (issuer(), at("https://login.example", true)),
            (issuer(), at("https://login.example", false)),
            (issuer(), at("https://other.example", true)),
            (issuer(), None),
            (Err(SignInError::NoMetadata), None),
        ];
        let findings = found.map(|(issuer, signed_in)| judge("x", &Facts { issuer, signed_in }));
        let expected = [
            Level::Ok,
            Level::Ok,
            Level::Warning,
            Level::Warning,
            Level::Problem,
        ];
        assert_eq!(levels(&findings), expected);
        let remedy = findings[3].remedy.as_deref();
        assert_eq!(remedy, Some("run `entreat gateway sign-in x`"));
    }
}
