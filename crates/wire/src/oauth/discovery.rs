//! Finds out where a server's tokens come from: the metadata of the resource (RFC 9728), then those
//! of its authorization server (RFC 8414, OpenID Connect Discovery).

use entreat_core::document::{Notation, read};
use serde_json::Value;
use url::Url;

use super::outbound::Outbound;
use super::{Challenge, SignInError};
use crate::issuer::{self, Metadata, is_acceptable};

/// The maximum number of scopes that are taken over from metadata.
const MAX_SCOPES: usize = 64;

/// What a server says about its tokens.
#[derive(Debug)]
pub(super) struct Discovered {
    /// The resource that tokens are asked for.
    pub(super) resource: String,
    /// The scopes that the resource knows.
    pub(super) scopes: Vec<String>,
    pub(super) issuer: String,
    pub(super) metadata: Metadata,
}

/// Reads what a server and its authorization server publish.
pub(super) async fn discover(
    server: &Url,
    challenge: &Challenge,
    outbound: &Outbound<'_>,
) -> Result<Discovered, SignInError> {
    let Some(resource) = resource(server, challenge, outbound).await? else {
        // Servers of 2025-03-26 publish nothing about themselves: their origin is the issuer.
        let issuer = server.origin().ascii_serialization();
        let metadata = authorization_server(&issuer, outbound).await;
        let metadata = metadata.map_err(|error| match error {
            SignInError::NoMetadata => SignInError::NoResourceMetadata,
            error => error,
        })?;
        return Ok(Discovered {
            resource: canonical(server),
            scopes: Vec::new(),
            issuer,
            metadata,
        });
    };
    let issuer = resource.issuers.into_iter().find(|url| is_acceptable(url));
    let issuer = issuer.ok_or(SignInError::NoIssuer)?;
    let metadata = authorization_server(&issuer, outbound).await?;
    Ok(Discovered {
        resource: resource.url,
        scopes: resource.scopes,
        issuer,
        metadata,
    })
}

/// Fetches the metadata of an authorization server, from the first place where there are any.
pub(super) async fn authorization_server(
    issuer: &str,
    outbound: &Outbound<'_>,
) -> Result<Metadata, SignInError> {
    let url = Url::parse(issuer).map_err(|_| SignInError::NoIssuer)?;
    for place in issuer_places(&url) {
        if let Some(text) = outbound.document(&place).await? {
            return Ok(issuer::read_metadata(&text, issuer)?);
        }
    }
    Err(SignInError::NoMetadata)
}

struct Resource {
    url: String,
    issuers: Vec<String>,
    scopes: Vec<String>,
}

/// Fetches the metadata of a resource; `None` if there are none.
async fn resource(
    server: &Url,
    challenge: &Challenge,
    outbound: &Outbound<'_>,
) -> Result<Option<Resource>, SignInError> {
    // Where the server says that they are, they have to be.
    if let Some(place) = &challenge.resource_metadata {
        let text = outbound.document(place).await?;
        let text = text.ok_or(SignInError::NoResourceMetadata)?;
        return read_resource(&text, server).map(Some);
    }
    for place in resource_places(server) {
        if let Some(text) = outbound.document(&place).await? {
            return read_resource(&text, server).map(Some);
        }
    }
    Ok(None)
}

fn read_resource(text: &str, server: &Url) -> Result<Resource, SignInError> {
    let document = read(text, Notation::Json).map_err(|_| SignInError::Malformed)?;
    let texts = |name: &str| {
        let list = document.get(name).and_then(Value::as_array);
        let texts = list.into_iter().flatten().filter_map(Value::as_str);
        texts
            .take(MAX_SCOPES)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let url = document.get("resource").and_then(Value::as_str);
    let url = url.filter(|url| contains(url, server));
    Ok(Resource {
        url: url.ok_or(SignInError::OtherResource)?.to_owned(),
        issuers: texts("authorization_servers"),
        scopes: texts("scopes_supported"),
    })
}

/// Whether a server belongs to a resource: it has its URL, or one below it. A token for another
/// resource would be a token that somebody else's server may use.
fn contains(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else {
        return false;
    };
    let path = resource.path().trim_end_matches('/');
    let rest = server.path().strip_prefix(path);
    let has_more = resource.fragment().is_some()
        || resource
            .query()
            .is_some_and(|it| server.query() != Some(it));
    resource.origin() == server.origin()
        && !has_more
        && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The URL of a server as a resource is named.
fn canonical(server: &Url) -> String {
    let mut url = server.clone();
    url.set_fragment(None);
    let text = String::from(url);
    match text.strip_suffix('/') {
        Some(short) if server.path() == "/" && server.query().is_none() => short.to_owned(),
        _ => text,
    }
}

/// Where the metadata of a resource may be, by RFC 9728.
fn resource_places(server: &Url) -> Vec<String> {
    let path = server.path().trim_end_matches('/');
    let mut places = vec![well_known(server, "oauth-protected-resource", path)];
    if !path.is_empty() {
        places.push(well_known(server, "oauth-protected-resource", ""));
    }
    places
}

/// Where the metadata of an authorization server may be, in the order of the MCP specification.
fn issuer_places(issuer: &Url) -> Vec<String> {
    let path = issuer.path().trim_end_matches('/');
    let mut places = vec![
        well_known(issuer, "oauth-authorization-server", path),
        well_known(issuer, "openid-configuration", path),
    ];
    if !path.is_empty() {
        let mut appended = issuer.clone();
        appended.set_query(None);
        appended.set_path(&format!("{path}/.well-known/openid-configuration"));
        places.push(appended.into());
    }
    places
}

fn well_known(url: &Url, name: &str, path: &str) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    url.set_path(&format!("/.well-known/{name}{path}"));
    url.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn a_resource_is_the_server_or_above_it() {
        let server = url("https://a.example/team/mcp");
        for (resource, is_good) in [
            ("https://a.example/team/mcp", true),
            ("https://a.example/team/mcp/", true),
            ("https://a.example/team", true),
            ("https://A.example", true),
            ("https://a.example:443/", true),
            ("https://a.example/tea", false),
            ("https://a.example/team/mcp/more", false),
            ("https://b.example/team/mcp", false),
            ("https://a.example.b.example/team/mcp", false),
            ("http://a.example/team/mcp", false),
            ("https://a.example:8443/team/mcp", false),
            ("https://a.example/team/mcp?x=1", false),
            ("https://a.example/team/mcp#x", false),
            ("team", false),
        ] {
            assert_eq!(contains(resource, &server), is_good, "{resource}");
        }
    }

    #[test]
    fn all_well_known_places_are_tried() {
        assert_eq!(
            resource_places(&url("https://a.example/team/mcp?x#y")),
            [
                "https://a.example/.well-known/oauth-protected-resource/team/mcp",
                "https://a.example/.well-known/oauth-protected-resource",
            ]
        );
        assert_eq!(resource_places(&url("https://a.example")).len(), 1);
        assert_eq!(
            issuer_places(&url("https://a.example/t")),
            [
                "https://a.example/.well-known/oauth-authorization-server/t",
                "https://a.example/.well-known/openid-configuration/t",
                "https://a.example/t/.well-known/openid-configuration",
            ]
        );
        assert_eq!(issuer_places(&url("https://a.example/")).len(), 2);
    }

    #[test]
    fn a_server_without_metadata_is_named_by_its_url() {
        for (server, name) in [
            ("https://A.example/", "https://a.example"),
            ("https://a.example/mcp/", "https://a.example/mcp/"),
            ("https://a.example:443/mcp#x", "https://a.example/mcp"),
        ] {
            assert_eq!(canonical(&url(server)), name);
        }
    }
}
