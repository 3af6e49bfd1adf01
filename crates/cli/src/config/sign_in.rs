//! Settings of people who sign in: at a provider, or in front of a proxy that signs for them.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use entreat::service::identity::{
    AssertionIdentity, ClaimNames, Identity, OidcIdentity, OidcSettings,
};
use entreat::service::resource::PageIssuer;
use entreat_wire::issuer::{Issuer, IssuerSettings};

use super::pages::Kind;
use super::secret::read_secret;
use super::value::{self, Rejection};

/// The longest session: as long as the cookie that tells browsers apart.
const MAX_SESSION: Duration = Duration::from_secs(30 * 24 * 3600);

/// The settings `identity.*` about issuers, before they are checked together.
#[derive(Debug, Default)]
pub(crate) struct SignIn {
    pub(crate) issuer: Option<String>,
    pub(crate) client_id: Option<String>,
    pub(super) client_secret_file: Option<PathBuf>,
    pub(super) scopes: Option<String>,
    pub(super) session: Option<Duration>,
    pub(crate) subject_claim: Option<String>,
    pub(super) groups_claim: Option<String>,
    pub(super) operator_claim: Option<String>,
    pub(super) operator_value: Option<String>,
    pub(super) trust_email: bool,
    pub(crate) audience: Option<String>,
    pub(crate) keys_url: Option<String>,
}

/// Parses the URL of an issuer.
pub(super) fn issuer(text: &str) -> Result<String, Rejection> {
    let issuer = Issuer::new(text, IssuerSettings::default());
    issuer.map_err(|error| error.to_string())?;
    Ok(text.to_owned())
}

/// Parses the name of a claim, a client id or an audience.
pub(super) fn word(text: &str) -> Result<String, Rejection> {
    let is_plain = !text.is_empty() && !text.chars().any(char::is_control);
    if is_plain {
        Ok(text.to_owned())
    } else {
        Err("it must not be empty".to_owned())
    }
}

/// Parses scopes, which have to contain that of OpenID Connect.
pub(super) fn scopes(text: &str) -> Result<String, Rejection> {
    let scopes: Vec<&str> = text.split_whitespace().collect();
    if scopes.contains(&"openid") {
        Ok(scopes.join(" "))
    } else {
        Err("it must be a list of scopes, separated by spaces, among them openid".to_owned())
    }
}

pub(super) fn session(text: &str) -> Result<Duration, Rejection> {
    let session = value::duration(text)?;
    if session > MAX_SESSION {
        let longest = value::shown(MAX_SESSION);
        return Err(format!("it must be at most {longest}"));
    }
    Ok(session)
}

impl SignIn {
    pub(super) fn scopes(&self) -> String {
        let default = || OidcSettings::default().scopes;
        self.scopes.clone().unwrap_or_else(default)
    }

    pub(super) fn session(&self) -> Duration {
        self.session
            .unwrap_or_else(|| OidcSettings::default().session)
    }

    pub(super) fn subject_claim(&self) -> String {
        let default = || ClaimNames::default().subject;
        self.subject_claim.clone().unwrap_or_else(default)
    }

    pub(super) fn groups_claim(&self) -> String {
        let default = || ClaimNames::default().groups;
        self.groups_claim.clone().unwrap_or_else(default)
    }

    /// Checks settings that depend on each other; returns the one to change, and the remedy.
    pub(super) fn contradiction(&self, kind: Kind) -> Option<(&'static str, &'static str)> {
        let missing = match kind {
            Kind::Local | Kind::Header => return self.stray(),
            Kind::Oidc if self.issuer.is_none() => {
                "set `identity.issuer` to the URL of the provider"
            }
            Kind::Oidc if self.client_id.is_none() => {
                "set `identity.client_id` to this service's id at the provider"
            }
            Kind::Assertion if self.issuer.is_none() => {
                "set `identity.issuer` to the issuer of the proxy's tokens"
            }
            Kind::Assertion if self.audience.is_none() => {
                "set `identity.audience` to the audience of the proxy's tokens"
            }
            Kind::Oidc | Kind::Assertion => {
                return match (&self.operator_claim, &self.operator_value) {
                    (Some(_), None) => Some((
                        "identity.operator_claim",
                        "set `identity.operator_value` to the value that makes an operator",
                    )),
                    (None, Some(_)) => Some((
                        "identity.operator_value",
                        "set `identity.operator_claim` to the claim that contains it",
                    )),
                    (Some(_), Some(_)) | (None, None) => None,
                };
            }
        };
        Some(("identity.kind", missing))
    }

    /// A setting that has no effect, because nobody signs in.
    fn stray(&self) -> Option<(&'static str, &'static str)> {
        let remedy = "it requires `identity.kind` = oidc or assertion";
        let given = [
            ("identity.issuer", self.issuer.is_some()),
            ("identity.client_id", self.client_id.is_some()),
            ("identity.audience", self.audience.is_some()),
            ("identity.operator_claim", self.operator_claim.is_some()),
        ];
        let stray = given.into_iter().find(|(_, is_given)| *is_given);
        stray.map(|(name, _)| (name, remedy))
    }

    fn claims(&self) -> ClaimNames {
        let operator = self.operator_claim.clone();
        ClaimNames {
            subject: self.subject_claim(),
            groups: self.groups_claim(),
            operator: operator.zip(self.operator_value.clone()),
            trusts_email: self.trust_email,
        }
    }

    /// Whether questions may name people by e-mail.
    pub(crate) fn trusts_email(&self) -> bool {
        self.trust_email
    }

    /// The issuer, and the claim that is a person's subject.
    pub(super) fn page_issuer(&self) -> Option<PageIssuer> {
        Some(PageIssuer {
            issuer: self.issuer.clone()?,
            subject_claim: self.subject_claim(),
        })
    }

    /// The issuer, if there is one.
    pub(crate) fn issuer(&self) -> anyhow::Result<Option<Issuer>> {
        let Some(url) = &self.issuer else {
            return Ok(None);
        };
        let settings = IssuerSettings {
            keys_url: self.keys_url.clone(),
            ..IssuerSettings::default()
        };
        let issuer = Issuer::new(url, settings);
        Ok(Some(issuer.context("`identity.issuer` cannot be used")?))
    }

    pub(super) fn oidc(&self) -> anyhow::Result<Identity> {
        let issuer = self.issuer()?.context("`identity.issuer` is missing")?;
        let secret = self.client_secret_file.as_deref();
        let secret = secret.map(|path| read_secret(path, "client secret"));
        let settings = OidcSettings {
            client_id: self.client_id.clone().unwrap_or_default(),
            client_secret: secret.transpose()?,
            scopes: self.scopes(),
            session: self.session(),
            claims: self.claims(),
            tls: None,
        };
        Ok(Identity::Oidc(Box::new(OidcIdentity::new(
            issuer, settings,
        ))))
    }

    pub(super) fn assertion(&self, header: &str) -> anyhow::Result<Identity> {
        let issuer = self.issuer()?.context("`identity.issuer` is missing")?;
        let audience = self.audience.as_deref().unwrap_or_default();
        let assertion = AssertionIdentity::new(header, issuer, audience, self.claims())?;
        Ok(Identity::Assertion(Box::new(assertion)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_contain_that_of_openid_connect() {
        let expected = Ok("openid groups".to_owned());
        assert_eq!(scopes("openid   groups"), expected);
        assert!(scopes("profile").is_err());
        assert!(scopes("").is_err());
    }

    #[test]
    fn what_is_missing_is_named() {
        let mut given = SignIn::default();
        let name = |given: &SignIn, kind| given.contradiction(kind).map(|(_, remedy)| remedy);
        assert_eq!(name(&given, Kind::Local), None);
        assert!(
            name(&given, Kind::Oidc)
                .unwrap()
                .contains("identity.issuer")
        );
        given.issuer = Some("https://id.example.com".to_owned());
        assert!(name(&given, Kind::Header).unwrap().contains("requires"));
        assert!(
            name(&given, Kind::Oidc)
                .unwrap()
                .contains("identity.client_id")
        );
        assert!(
            name(&given, Kind::Assertion)
                .unwrap()
                .contains("identity.audience")
        );
        given.client_id = Some("entreat".to_owned());
        assert_eq!(name(&given, Kind::Oidc), None);
        given.operator_claim = Some("roles".to_owned());
        assert!(name(&given, Kind::Oidc).unwrap().contains("operator_value"));
    }
}
