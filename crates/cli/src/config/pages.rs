//! Settings of pages: identity, TLS and uploads.

use std::path::PathBuf;
use std::str::FromStr;

use entreat::service::identity::{HeaderIdentity, Identity, ProxyRange};
use entreat::service::resource::PageIssuer;
use entreat::service::{Tls, UploadSettings};

use super::sign_in::SignIn;
use super::value::Rejection;

/// The settings of pages, before they are checked together.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    pub(crate) kind: Kind,
    pub(super) header: Option<String>,
    pub(super) proxies: Vec<ProxyRange>,
    pub(crate) sign_in: SignIn,
    /// The folder of uploads, if configured.
    pub(super) uploads: Option<PathBuf>,
    pub(super) upload: UploadSettings,
    pub(crate) certificate: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
}

/// How people are identified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    #[default]
    Local,
    Header,
    Assertion,
    Oidc,
}

impl Kind {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Header => "header",
            Self::Assertion => "assertion",
            Self::Oidc => "oidc",
        }
    }
}

impl FromStr for Kind {
    type Err = Rejection;

    fn from_str(text: &str) -> Result<Self, Rejection> {
        match text {
            "local" => Ok(Self::Local),
            "header" => Ok(Self::Header),
            "assertion" => Ok(Self::Assertion),
            "oidc" => Ok(Self::Oidc),
            _ => Err("it must be local, header, assertion or oidc".to_owned()),
        }
    }
}

/// Parses comma-separated ranges.
pub(super) fn ranges(text: &str) -> Result<Vec<ProxyRange>, Rejection> {
    let refusal = |bad: entreat::service::identity::InvalidProxyRange| {
        format!("it must be a comma-separated list, in which each item is {bad}")
    };
    let range = |text: &str| text.trim().parse().map_err(refusal);
    text.split(',').map(range).collect()
}

pub(super) fn shown_ranges(ranges: &[ProxyRange]) -> Option<String> {
    let ranges: Vec<String> = ranges.iter().map(ToString::to_string).collect();
    (!ranges.is_empty()).then(|| ranges.join(", "))
}

impl Pages {
    /// Checks settings that depend on each other; returns the one to change, and the remedy.
    pub(super) fn contradiction(&self) -> Option<(&'static str, &'static str)> {
        let tls = match (&self.certificate, &self.key) {
            (Some(_), None) => Some(("tls.certificate", "set `tls.key` to its private key file")),
            (None, Some(_)) => Some(("tls.key", "set `tls.certificate` to its certificate file")),
            (Some(_), Some(_)) | (None, None) => None,
        };
        self.identity_contradiction()
            .or_else(|| self.sign_in.contradiction(self.kind))
            .or(tls)
    }

    /// Checks which headers of which proxies count.
    fn identity_contradiction(&self) -> Option<(&'static str, &'static str)> {
        let has_header = self.header.is_some();
        let has_proxies = !self.proxies.is_empty();
        Some(match (self.kind, has_header, has_proxies) {
            (Kind::Header, false, _) => (
                "identity.kind",
                "set `identity.header` to the header that names users",
            ),
            (Kind::Header, true, false) => (
                "identity.kind",
                "set `identity.proxies` to the trusted proxies",
            ),
            (Kind::Assertion, false, _) => (
                "identity.kind",
                "set `identity.header` to the header with the proxy's token",
            ),
            (Kind::Local | Kind::Oidc, true, _) => (
                "identity.header",
                "it requires `identity.kind` = header or assertion",
            ),
            (Kind::Local | Kind::Oidc | Kind::Assertion, _, true) => {
                ("identity.proxies", "it requires `identity.kind` = header")
            }
            (Kind::Local | Kind::Oidc, false, false)
            | (Kind::Header, true, true)
            | (Kind::Assertion, true, false) => return None,
        })
    }

    /// How people are identified. Reads the client's secret.
    pub(crate) fn identity(&self) -> anyhow::Result<Identity> {
        let header = self.header.as_deref().unwrap_or_default();
        Ok(match self.kind {
            Kind::Local => Identity::Local,
            Kind::Header => Identity::Header(HeaderIdentity::new(header, self.proxies.clone())?),
            Kind::Assertion => self.sign_in.assertion(header)?,
            Kind::Oidc => self.sign_in.oidc()?,
        })
    }

    /// Whether people have names.
    pub(crate) fn names_people(&self) -> bool {
        match self.kind {
            Kind::Local => false,
            Kind::Header | Kind::Assertion | Kind::Oidc => true,
        }
    }

    /// Where visitors sign in, if they do.
    pub(crate) fn issuer(&self) -> Option<PageIssuer> {
        match self.kind {
            Kind::Oidc | Kind::Assertion => self.sign_in.page_issuer(),
            Kind::Local | Kind::Header => None,
        }
    }

    /// Whether a range covers all addresses, so that anyone could claim any identity.
    pub(crate) fn trusts_everybody(&self) -> bool {
        self.proxies.iter().any(ProxyRange::covers_all_addresses)
    }

    pub(crate) fn upload_settings(&self) -> UploadSettings {
        self.upload.clone()
    }

    /// Loads the TLS certificate, if configured.
    pub(crate) fn tls(&self) -> anyhow::Result<Option<Tls>> {
        match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => Ok(Some(Tls::from_files(certificate, key)?)),
            (None, _) | (_, None) => Ok(None),
        }
    }

    pub(crate) fn speaks_tls(&self) -> bool {
        self.certificate.is_some() && self.key.is_some()
    }
}
