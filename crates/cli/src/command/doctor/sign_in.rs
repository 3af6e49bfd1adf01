//! Checks the issuer of whoever signs people in, and says what to register there.

use entreat::UnixTime;
use entreat_wire::issuer::{IssuerError, Metadata};
use url::Url;

use super::finding::Finding;
use super::issuer;
use crate::config::{Config, IdentityKind};

const CHECK: &str = "sign-in";
/// What the issuer says of itself.
pub(super) struct Facts {
    kind: IdentityKind,
    issuer: String,
    /// `None` if keys have an address of their own, so that no metadata are needed.
    metadata: Option<Result<Metadata, IssuerError>>,
    keys: Result<usize, IssuerError>,
    /// The issuer's time, and ours at that moment.
    clocks: Option<(UnixTime, UnixTime)>,
    /// Where people reach the service.
    url: Option<String>,
    subject_claim: Option<String>,
    has_email: bool,
}

/// Asks the issuer; `None` if nobody signs in. An error is one of the settings.
pub(super) async fn gather(
    config: &Config,
    now: impl Fn() -> UnixTime,
) -> Option<Result<Facts, String>> {
    let pages = &config.pages;
    let issuer = match pages.kind {
        IdentityKind::Local | IdentityKind::Header => return None,
        IdentityKind::Oidc | IdentityKind::Assertion => pages.sign_in.issuer(),
    };
    // Also reads the client's secret.
    let issuer = pages.identity().and(issuer);
    let issuer = match issuer {
        Ok(Some(issuer)) => issuer,
        Ok(None) => return None,
        Err(error) => return Some(Err(format!("{error:#}"))),
    };
    let needs_metadata = pages.sign_in.keys_url.is_none() || pages.kind == IdentityKind::Oidc;
    let metadata = if needs_metadata {
        let found = issuer.metadata(now()).await;
        Some(found.map(|found| Metadata::clone(&found)))
    } else {
        None
    };
    Some(Ok(Facts {
        kind: pages.kind,
        issuer: issuer.url().to_owned(),
        metadata,
        keys: issuer.count_keys(now()).await,
        clocks: issuer::time_of(issuer.url())
            .await
            .map(|theirs| (theirs, now())),
        url: config.public_url.clone(),
        subject_claim: pages.sign_in.subject_claim.clone(),
        has_email: pages.sign_in.trusts_email(),
    }))
}

pub(super) fn check(facts: Result<&Facts, &str>) -> Vec<Finding> {
    let facts = match facts {
        Ok(facts) => facts,
        Err(error) => {
            let remedy = "correct the settings `identity.…`; otherwise the service doesn't start";
            return vec![Finding::problem(CHECK, error, remedy)];
        }
    };
    let mut findings = vec![provider(facts)];
    let clock = |clocks| issuer::clock(CHECK, &facts.issuer, clocks);
    findings.extend(facts.clocks.and_then(clock));
    findings.extend(registration(facts));
    findings.extend(subject(facts));
    findings.extend(email(facts));
    findings
}

/// Whether the issuer can be used at all.
fn provider(facts: &Facts) -> Finding {
    let name = &facts.issuer;
    let metadata = match &facts.metadata {
        None => None,
        Some(Ok(metadata)) => Some(metadata),
        Some(Err(error @ IssuerError::Invalid(_))) => {
            return Finding::problem(
                CHECK,
                error.to_string(),
                "set `identity.issuer` to the value of `issuer` in the provider's document \
                 `.well-known/openid-configuration`, byte for byte: a slash at the end counts",
            );
        }
        Some(Err(error)) => {
            return Finding::problem(
                CHECK,
                format!("{name}: {error}"),
                "correct `identity.issuer`, or let this machine reach the provider; until then, \
                 nobody can sign in",
            );
        }
    };
    if facts.kind == IdentityKind::Oidc
        && let Some(metadata) = metadata
        && (metadata.authorization_endpoint.is_none() || metadata.token_endpoint.is_none())
    {
        return Finding::problem(
            CHECK,
            format!("{name} has no endpoint to sign in at"),
            "set `identity.issuer` to an OpenID provider",
        );
    }
    issuer::keys(CHECK, name, &facts.keys, "`identity.keys_url`")
}

/// What to register at the provider.
fn registration(facts: &Facts) -> Option<Finding> {
    if facts.kind != IdentityKind::Oidc {
        return None;
    }
    let Some(url) = facts.url.as_deref().map(|url| url.trim_end_matches('/')) else {
        return Some(Finding::warning(
            CHECK,
            "`public_url` is not set, so the provider sends people back to the address that the \
             service listens at",
            "set `public_url` to the URL at which people open pages",
        ));
    };
    let parsed = Url::parse(url).ok();
    let is_plain = parsed.as_ref().is_some_and(|url| url.scheme() == "http");
    let is_here = parsed
        .as_ref()
        .and_then(Url::host_str)
        .is_some_and(|host| host == "localhost" || host.starts_with("127.") || host == "[::1]");
    if is_plain && !is_here {
        return Some(Finding::problem(
            CHECK,
            format!("people sign in at {url} without TLS: others can take their sessions"),
            "serve pages by TLS, and set `public_url` to a URL with https://",
        ));
    }
    let can_sign_out = matches!(&facts.metadata, Some(Ok(it)) if it.end_session_endpoint.is_some());
    let sign_out = if can_sign_out {
        format!("; as address after sign-out {url}/signed-out")
    } else {
        String::new()
    };
    Some(Finding::note(
        CHECK,
        "the provider has to know the addresses of this service",
        format!(
            "register there, exactly so: as redirect address {url}/sign-in/callback{sign_out}; \
             for back-channel logout, if it has that, {url}/sign-in/back-channel-logout"
        ),
    ))
}

/// Whether the claim names a person for everybody who asks.
fn subject(facts: &Facts) -> Option<Finding> {
    let claim = facts.subject_claim.as_deref().unwrap_or("sub");
    (issuer::is_entra(&facts.issuer) && claim != "oid").then(|| {
        Finding::warning(
            CHECK,
            "Entra ID gives each application other values of `sub`, so that askers can't know them",
            "set `identity.subject_claim` to oid, and name people by their object ids",
        )
    })
}

fn email(facts: &Facts) -> Option<Finding> {
    facts.has_email.then(|| {
        Finding::note(
            CHECK,
            "questions may name people by e-mail (`identity.trust_email`)",
            "make sure that nobody can give themselves another's address at the provider: it has \
             to set `email_verified` only after it has checked the address",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::finding::{Level, levels};
    use super::*;

    fn facts() -> Facts {
        let endpoint = |name: &str| Some(format!("https://id.example.com/{name}"));
        let now = UnixTime::from_millis(1_800_000_000_000);
        Facts {
            kind: IdentityKind::Oidc,
            issuer: "https://id.example.com".to_owned(),
            metadata: Some(Ok(Metadata {
                authorization_endpoint: endpoint("authorize"),
                token_endpoint: endpoint("token"),
                end_session_endpoint: endpoint("logout"),
                ..Metadata::default()
            })),
            keys: Ok(2),
            clocks: Some((now, now)),
            url: Some("https://ask.example.com".to_owned()),
            subject_claim: None,
            has_email: false,
        }
    }

    fn problems(facts: &Facts) -> usize {
        let findings = check(Ok(facts));
        let is_problem = |level: &&Level| **level == Level::Problem;
        levels(&findings).iter().filter(is_problem).count()
    }

    #[test]
    fn a_good_set_up_is_told_what_to_register() {
        let findings = check(Ok(&facts()));
        assert_eq!(levels(&findings), [Level::Ok, Level::Ok]);
        let remedy = findings[1].remedy.as_deref().unwrap();
        for path in [
            "/sign-in/callback",
            "/signed-out",
            "/sign-in/back-channel-logout",
        ] {
            let address = format!("https://ask.example.com{path}");
            assert!(remedy.contains(&address), "{remedy}");
        }
    }

    #[test]
    fn what_keeps_people_from_signing_in_is_a_problem() {
        let mut other = facts();
        let named = "metadata of another issuer, `https://id.example.com/`".to_owned();
        other.metadata = Some(Err(IssuerError::Invalid(named)));
        assert_eq!(problems(&other), 1);
        let mut unreachable = facts();
        let error = IssuerError::Unavailable("no connection".to_owned());
        unreachable.metadata = Some(Err(error.clone()));
        assert_eq!(problems(&unreachable), 1);
        let mut without_keys = facts();
        without_keys.keys = Ok(0);
        assert_eq!(problems(&without_keys), 1);
        without_keys.keys = Err(error);
        assert_eq!(problems(&without_keys), 1);
        let mut no_provider = facts();
        no_provider.metadata = Some(Ok(Metadata::default()));
        assert_eq!(problems(&no_provider), 1);
        let mut plain = facts();
        plain.url = Some("http://ask.example.com".to_owned());
        assert_eq!(problems(&plain), 1);
        plain.url = Some("http://localhost:7171".to_owned());
        assert_eq!(problems(&plain), 0);
        assert_eq!(levels(&check(Err("no secret"))), [Level::Problem]);
    }

    #[test]
    fn entra_names_people_by_another_claim() {
        let mut entra = facts();
        entra.issuer = "https://login.microsoftonline.com/t/v2.0".to_owned();
        assert_eq!(subject(&entra).unwrap().level, Level::Warning);
        entra.subject_claim = Some("oid".to_owned());
        assert_eq!(subject(&entra), None);
        assert_eq!(subject(&facts()), None);
    }
}
