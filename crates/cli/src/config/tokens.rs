//! Whose tokens clients of MCP may present: `mcp.resource`, and the tables `[[mcp.issuer]]` and
//! `[[identity.same]]`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use entreat::service::resource::{
    PageIssuer, ProtectedResource, ResourceUrl, Respondents, SameClaim, SamePerson, TrustedIssuer,
};
use entreat_wire::issuer::{ClientCredentials, Issuer, IssuerSettings};

use super::errors::ConfigErrors;
use super::origin::Origin;
use super::secret::read_secret;
use super::value::{RawValue, Rejection};

/// The keys of an `[[mcp.issuer]]` table.
pub(super) const ISSUER_KEYS: &[&str] = &[
    URL,
    ALSO_AUDIENCE,
    SUBJECT_CLAIM,
    SCOPES,
    KEYS_URL,
    CLIENT_ID,
    SECRET_FILE,
];
const URL: &str = "url";
const ALSO_AUDIENCE: &str = "also_audience";
const SUBJECT_CLAIM: &str = "subject_claim";
const SCOPES: &str = "scopes";
const KEYS_URL: &str = "keys_url";
const CLIENT_ID: &str = "introspection_client_id";
const SECRET_FILE: &str = "introspection_secret_file";

/// The keys of an `[[identity.same]]` table.
pub(super) const SAME_KEYS: &[&str] = &[ISSUER, CLAIM, PAGE_ISSUER, EQUALS];
const ISSUER: &str = "issuer";
const CLAIM: &str = "claim";
const PAGE_ISSUER: &str = "page_issuer";
const EQUALS: &str = "equals";

/// An unparsed table of either kind.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) origin: Origin,
    /// The folder of the file; paths are relative to it.
    pub(super) folder: PathBuf,
    pub(super) values: Vec<RawValue>,
}

/// The tables of a file.
#[derive(Debug, Default)]
pub(super) struct TokenTables {
    pub(super) issuers: Vec<Table>,
    pub(super) same: Vec<Table>,
}

/// What clients of MCP need tokens for, and whose.
#[derive(Debug, Default)]
pub(crate) struct TokenConfig {
    pub(super) resource: Option<ResourceUrl>,
    issuers: Vec<IssuerConfig>,
    same: Vec<SamePerson>,
}

/// An issuer of tokens.
#[derive(Debug)]
struct IssuerConfig {
    url: String,
    also_audience: Option<String>,
    subject_claim: Option<String>,
    scopes: Vec<String>,
    keys_url: Option<String>,
    /// The client id, and the file with the secret, which is read when a command serves.
    introspection: Option<(String, PathBuf)>,
}

/// An issuer of tokens that is ready to be asked.
pub(crate) struct ConfiguredIssuer {
    pub(crate) trusted: TrustedIssuer,
    /// Whether its keys are where the configuration says.
    pub(crate) has_keys_url: bool,
}

impl TokenConfig {
    /// Reads the tables, and checks them together with the resource.
    pub(super) fn resolve(
        &mut self,
        tables: TokenTables,
        resource_origin: &Origin,
        errors: &mut ConfigErrors,
    ) {
        let first = tables.issuers.first().map(|table| table.origin.clone());
        match (&self.resource, first) {
            (Some(_), None) => errors.report(
                resource_origin,
                "`mcp.resource` is incomplete: name an issuer of tokens in an [[mcp.issuer]] table",
            ),
            (None, Some(origin)) if !errors.has_rejected("mcp.resource") => errors.report(
                &origin,
                "[[mcp.issuer]] is incomplete: set `mcp.resource` to the URL that clients use",
            ),
            (Some(_), Some(_)) | (None, _) => {}
        }
        for table in tables.issuers {
            let origin = table.origin.clone();
            let Some(issuer) = read_issuer(table, errors) else {
                continue;
            };
            if self.issuers.iter().any(|other| other.url == issuer.url) {
                errors.report(&origin, "there is another table for this issuer");
            }
            self.issuers.push(issuer);
        }
        for table in tables.same {
            self.same.extend(read_same(table, errors));
        }
    }

    /// Returns the URL of the resource.
    pub(crate) fn resource(&self) -> Option<&ResourceUrl> {
        self.resource.as_ref()
    }

    /// Prepares the issuers, each on its own.
    pub(crate) fn issuers(&self) -> impl Iterator<Item = anyhow::Result<ConfiguredIssuer>> {
        self.issuers.iter().map(|issuer| {
            Ok(ConfiguredIssuer {
                trusted: issuer.trusted()?,
                has_keys_url: issuer.keys_url.is_some(),
            })
        })
    }

    /// Returns the issuers of tables `[[identity.same]]` whose tokens are not accepted.
    pub(crate) fn strays(&self) -> impl Iterator<Item = &str> {
        let named = self.same.iter().map(|same| same.issuer.as_str());
        named.filter(|name| !self.issuers.iter().any(|issuer| issuer.url == *name))
    }

    /// Prepares the resource, if one is configured. `pages` is where visitors of pages sign in.
    pub(crate) fn protected_resource(
        &self,
        pages: Option<PageIssuer>,
    ) -> anyhow::Result<Option<ProtectedResource>> {
        let Some(url) = &self.resource else {
            return Ok(None);
        };
        let issuers = self.issuers.iter().map(IssuerConfig::trusted);
        let respondents = Respondents {
            pages,
            same: self.same.clone(),
        };
        let issuers = issuers.collect::<anyhow::Result<_>>()?;
        Ok(Some(ProtectedResource::new(
            url.clone(),
            issuers,
            respondents,
        )))
    }
}

impl IssuerConfig {
    fn trusted(&self) -> anyhow::Result<TrustedIssuer> {
        let introspection = match &self.introspection {
            Some((id, file)) => Some(ClientCredentials {
                id: id.clone(),
                secret: read_secret(file, "client secret")?,
            }),
            None => None,
        };
        let settings = IssuerSettings {
            keys_url: self.keys_url.clone(),
            introspection,
            ..IssuerSettings::default()
        };
        let issuer = Issuer::new(&self.url, settings)
            .with_context(|| format!("the issuer {} cannot be used", self.url))?;
        let mut trusted = TrustedIssuer::new(issuer);
        trusted.also_audience.clone_from(&self.also_audience);
        trusted.scopes.clone_from(&self.scopes);
        if let Some(claim) = &self.subject_claim {
            trusted.subject_claim.clone_from(claim);
        }
        Ok(trusted)
    }
}

pub(super) fn resource(text: &str) -> Result<ResourceUrl, Rejection> {
    ResourceUrl::new(text).map_err(|error| error.to_string())
}

fn read_issuer(table: Table, errors: &mut ConfigErrors) -> Option<IssuerConfig> {
    let Table {
        origin,
        folder,
        values,
    } = table;
    let mut values = Values::of(values, errors);
    let Some((url, url_origin)) = values.take(URL) else {
        values.errors.report(&origin, "this issuer has no `url`");
        return None;
    };
    let keys_url = values.take(KEYS_URL);
    let settings = IssuerSettings {
        keys_url: keys_url.as_ref().map(|(url, _)| url.clone()),
        ..IssuerSettings::default()
    };
    if let Err(error) = Issuer::new(&url, settings) {
        let error = error.to_string();
        values.errors.reject(&url_origin, URL, &error);
        return None;
    }
    let scopes = values.text(SCOPES).unwrap_or_default();
    let scopes: Vec<String> = scopes.split_whitespace().map(str::to_owned).collect();
    // RFC 6749 allows these, and a header can carry them.
    let is_scope = |byte: u8| byte.is_ascii_graphic() && !b"\"\\".contains(&byte);
    if !scopes.iter().all(|scope| scope.bytes().all(is_scope)) {
        let words = "scopes are separated by spaces and have no quotes and backslashes";
        values.errors.reject(&origin, SCOPES, words);
        return None;
    }
    let introspection = match (values.text(CLIENT_ID), values.text(SECRET_FILE)) {
        (Some(id), Some(file)) => Some((id, folder.join(Path::new(&file)))),
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => {
            let words = "opaque tokens need both `introspection_client_id` and \
                         `introspection_secret_file`";
            values.errors.report(&origin, words);
            return None;
        }
    };
    Some(IssuerConfig {
        also_audience: values.text(ALSO_AUDIENCE),
        subject_claim: values.text(SUBJECT_CLAIM),
        keys_url: keys_url.map(|(url, _)| url),
        url,
        scopes,
        introspection,
    })
}

fn read_same(table: Table, errors: &mut ConfigErrors) -> Option<SamePerson> {
    let Table { origin, values, .. } = table;
    let mut values = Values::of(values, errors);
    let (Some(issuer), Some(claim)) = (values.text(ISSUER), values.text(CLAIM)) else {
        let words = "[[identity.same]] needs `issuer`, whose tokens these are, and `claim`";
        values.errors.report(&origin, words);
        return None;
    };
    let equals = match values.take(EQUALS) {
        None => SameClaim::Subject,
        Some((text, origin)) => match text.as_str() {
            "subject" => SameClaim::Subject,
            "email" => SameClaim::Email,
            _ => {
                let words = "it must be subject or email";
                values.errors.reject(&origin, EQUALS, words);
                return None;
            }
        },
    };
    Some(SamePerson {
        issuer,
        claim,
        page_issuer: values.text(PAGE_ISSUER),
        equals,
    })
}

/// The values of a table that were not read yet.
struct Values<'e> {
    values: HashMap<String, (String, Origin)>,
    errors: &'e mut ConfigErrors,
}

impl<'e> Values<'e> {
    fn of(values: Vec<RawValue>, errors: &'e mut ConfigErrors) -> Self {
        let values = values.into_iter();
        let values = values.map(|raw| (raw.name, (raw.text, raw.origin)));
        Self {
            values: values.collect(),
            errors,
        }
    }

    /// Takes a value that is not empty.
    fn take(&mut self, name: &str) -> Option<(String, Origin)> {
        let (text, origin) = self.values.remove(name)?;
        if text.trim().is_empty() {
            self.errors.reject(&origin, name, "it must not be empty");
            return None;
        }
        Some((text, origin))
    }

    fn text(&mut self, name: &str) -> Option<String> {
        self.take(name).map(|(text, _)| text)
    }
}
