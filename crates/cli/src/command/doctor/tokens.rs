//! Checks whose tokens MCP clients may present: `mcp.resource`, `[[mcp.issuer]]` and
//! `[[identity.same]]`.

use entreat::UnixTime;
use entreat::service::resource::TrustedIssuer;
use entreat_wire::issuer::{AccessTokenRules, IssuerError, Metadata, TokenError};

use super::finding::Finding;
use super::issuer;
use crate::config::{Config, ConfiguredIssuer};

const CHECK: &str = "tokens";
/// Claims that people can change at most providers.
const CHANGEABLE: [&str; 5] = ["email", "name", "nickname", "preferred_username", "upn"];
/// An opaque token that no issuer has issued.
const PROBE: &str = "a-token-of-entreat-doctor-that-was-never-issued";

/// What was found out about the issuers of a resource.
pub(super) struct Facts {
    resource: String,
    issuers: Vec<Result<IssuerFacts, String>>,
    /// Issuers that an `[[identity.same]]` table names, and no `[[mcp.issuer]]` table.
    strays: Vec<String>,
}

struct IssuerFacts {
    url: String,
    /// `None` if nothing is needed of it.
    metadata: Option<Result<Metadata, IssuerError>>,
    keys: Result<usize, IssuerError>,
    /// The issuer's time, and ours at that moment.
    clocks: Option<(UnixTime, UnixTime)>,
    /// What it says of a token that nobody has; `None` if it is not asked about tokens.
    introspection: Option<Result<(), IssuerError>>,
    also_audience: Option<String>,
    subject_claim: String,
}

/// Asks the issuers; `None` if MCP clients need no tokens.
pub(super) async fn gather(config: &Config, now: impl Fn() -> UnixTime) -> Option<Facts> {
    let resource = config.tokens.resource()?.as_str().to_owned();
    let mut issuers = Vec::new();
    for configured in config.tokens.issuers() {
        issuers.push(match configured {
            Ok(configured) => Ok(ask(configured, &resource, &now).await),
            Err(error) => Err(format!("{error:#}")),
        });
    }
    let strays = config.tokens.strays().map(str::to_owned).collect();
    Some(Facts {
        resource,
        issuers,
        strays,
    })
}

async fn ask(
    configured: ConfiguredIssuer,
    resource: &str,
    now: &impl Fn() -> UnixTime,
) -> IssuerFacts {
    let ConfiguredIssuer {
        trusted,
        has_keys_url,
    } = configured;
    let TrustedIssuer {
        issuer,
        also_audience,
        subject_claim,
        ..
    } = trusted;
    let metadata = if has_keys_url && !issuer.knows_opaque_tokens() {
        None
    } else {
        let found = issuer.metadata(now()).await;
        Some(found.map(|found| Metadata::clone(&found)))
    };
    let introspection = if issuer.knows_opaque_tokens() {
        let rules = AccessTokenRules {
            resource,
            also_audience: None,
        };
        Some(match issuer.check_access_token(PROBE, rules, now()).await {
            Err(TokenError::Issuer(error)) => Err(error),
            // That it is not active is what has to come.
            Ok(_) | Err(_) => Ok(()),
        })
    } else {
        None
    };
    IssuerFacts {
        metadata,
        keys: issuer.count_keys(now()).await,
        clocks: issuer::time_of(issuer.url())
            .await
            .map(|theirs| (theirs, now())),
        introspection,
        also_audience,
        subject_claim,
        url: issuer.url().to_owned(),
    }
}

pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    for issuer in &facts.issuers {
        match issuer {
            Ok(issuer) => findings.extend(check_issuer(&facts.resource, issuer)),
            Err(error) => findings.push(Finding::problem(
                CHECK,
                error,
                "correct its [[mcp.issuer]] table; otherwise neither `entreat gateway` nor \
                 `entreat mcp --listen` starts",
            )),
        }
    }
    findings.extend(facts.strays.iter().map(|stray| {
        Finding::warning(
            CHECK,
            format!("[[identity.same]] names {stray}, whose tokens are not accepted"),
            "correct its `issuer`, or add an [[mcp.issuer]] table with this `url`",
        )
    }));
    findings
}

fn check_issuer(resource: &str, facts: &IssuerFacts) -> Vec<Finding> {
    let url = &facts.url;
    match &facts.metadata {
        None | Some(Ok(_)) => {}
        Some(Err(error @ IssuerError::Invalid(_))) => {
            return vec![Finding::problem(
                CHECK,
                format!("{url}: {error}"),
                "set `url` in [[mcp.issuer]] to the value of `issuer` in its metadata, byte for \
                 byte: a slash at the end counts",
            )];
        }
        Some(Err(error)) => {
            return vec![Finding::problem(
                CHECK,
                format!("{url}: {error}"),
                "correct `url` in [[mcp.issuer]], or let this machine reach the issuer; until \
                 then, clients with its tokens get 503",
            )];
        }
    }
    let mut findings = vec![issuer::keys(CHECK, url, &facts.keys, "`keys_url`")];
    findings.extend(facts.clocks.and_then(|it| issuer::clock(CHECK, url, it)));
    findings.extend(introspection(facts));
    findings.push(audience(resource, facts));
    findings.extend(subject(facts));
    findings
}

/// Whether opaque tokens can be looked up.
fn introspection(facts: &IssuerFacts) -> Option<Finding> {
    let url = &facts.url;
    Some(match facts.introspection.as_ref()? {
        Ok(()) => Finding::ok(CHECK, format!("{url} looks up opaque tokens")),
        Err(error) => Finding::problem(
            CHECK,
            format!("opaque tokens of {url} can't be looked up: {error}"),
            "register a client with a secret at the issuer that may use its introspection \
             endpoint, and set `introspection_client_id` and `introspection_secret_file`",
        ),
    })
}

/// Which audience tokens need.
fn audience(resource: &str, facts: &IssuerFacts) -> Finding {
    let url = &facts.url;
    match &facts.also_audience {
        None => Finding::note(
            CHECK,
            format!("tokens of {url} must have the audience {resource}"),
            "register it there as the identifier of an API (Keycloak: an audience mapper in a \
             client scope), so that it is in the claim `aud`",
        ),
        Some(also) => Finding::warning(
            CHECK,
            format!(
                "tokens of {url} for {also} are accepted, too (`also_audience`): whoever can get \
                 one for that application can call this server"
            ),
            format!(
                "have the issuer put {resource} into the claim `aud`, then remove `also_audience`"
            ),
        ),
    }
}

/// Whether the claim names one person, and always the same one.
fn subject(facts: &IssuerFacts) -> Option<Finding> {
    let (url, claim) = (&facts.url, &*facts.subject_claim);
    if issuer::is_entra(url) && claim != "oid" {
        return Some(Finding::warning(
            CHECK,
            format!("{url} gives each application other values of `sub`"),
            "set `subject_claim` in [[mcp.issuer]] to oid",
        ));
    }
    CHANGEABLE.contains(&claim).then(|| {
        Finding::warning(
            CHECK,
            format!("people are identified by `{claim}`, which many providers let them change"),
            "set `subject_claim` in [[mcp.issuer]] to a claim that the issuer assigns, or remove \
             it",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::finding::{Level, levels};
    use super::*;

    fn issuer() -> IssuerFacts {
        IssuerFacts {
            url: "https://id.example.com".to_owned(),
            metadata: Some(Ok(Metadata::default())),
            keys: Ok(2),
            clocks: None,
            introspection: None,
            also_audience: None,
            subject_claim: "sub".to_owned(),
        }
    }

    fn found(issuer: IssuerFacts) -> Vec<Finding> {
        check(&Facts {
            resource: "https://ask.example.com/mcp".to_owned(),
            issuers: vec![Ok(issuer)],
            strays: Vec::new(),
        })
    }

    #[test]
    fn a_good_set_up_is_told_the_audience() {
        let findings = found(issuer());
        assert_eq!(levels(&findings), [Level::Ok, Level::Ok]);
        let what = &findings[1].what;
        assert!(what.contains("https://ask.example.com/mcp"), "{what}");
        assert!(findings[1].remedy.as_deref().unwrap().contains("`aud`"));
    }

    #[test]
    fn an_issuer_that_cannot_be_used_is_a_problem() {
        let down = || IssuerError::Unavailable("no connection".to_owned());
        for error in [down(), IssuerError::Invalid("no metadata".to_owned())] {
            let facts = IssuerFacts {
                metadata: Some(Err(error)),
                ..issuer()
            };
            assert_eq!(levels(&found(facts)), [Level::Problem]);
        }
        for keys in [Ok(0), Err(down())] {
            let facts = IssuerFacts { keys, ..issuer() };
            assert_eq!(levels(&found(facts)), [Level::Problem, Level::Ok]);
        }
        let facts = IssuerFacts {
            introspection: Some(Err(down())),
            ..issuer()
        };
        let expected = [Level::Ok, Level::Problem, Level::Ok];
        assert_eq!(levels(&found(facts)), expected);
        let facts = IssuerFacts {
            introspection: Some(Ok(())),
            ..issuer()
        };
        assert_eq!(levels(&found(facts)), [Level::Ok; 3]);
        let broken = Facts {
            resource: String::new(),
            issuers: vec![Err("no secret".to_owned())],
            strays: Vec::new(),
        };
        assert_eq!(levels(&check(&broken)), [Level::Problem]);
    }

    #[test]
    fn what_lets_others_in_is_warned_of() {
        let facts = IssuerFacts {
            also_audience: Some("an-app".to_owned()),
            ..issuer()
        };
        let findings = found(facts);
        assert_eq!(levels(&findings), [Level::Ok, Level::Warning]);
        assert!(findings[1].what.contains("an-app"));
        for claim in ["email", "preferred_username"] {
            let facts = IssuerFacts {
                subject_claim: claim.to_owned(),
                ..issuer()
            };
            assert_eq!(levels(&found(facts))[2], Level::Warning, "{claim}");
        }
        let facts = IssuerFacts {
            url: "https://login.microsoftonline.com/t/v2.0".to_owned(),
            ..issuer()
        };
        assert_eq!(levels(&found(facts))[2], Level::Warning);
        let stray = Facts {
            resource: String::new(),
            issuers: Vec::new(),
            strays: vec!["https://other.example.com".to_owned()],
        };
        assert_eq!(levels(&check(&stray)), [Level::Warning]);
    }
}
