//! The URL of a resource, and what it publishes about itself (RFC 9728).

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use bytes::Bytes;
use serde_json::json;
use url::Url;

use crate::local::is_loopback_url;

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The identifier of a resource, which tokens name in their audience.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceUrl {
    /// As it was given: it is compared byte for byte.
    text: String,
    path: String,
    metadata_url: String,
}

/// Not a URL that a resource may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a resource is a URL such as https://ask.example/mcp, without query and fragment")]
pub struct InvalidResource;

impl ResourceUrl {
    /// Reads a URL. It has to start with `https://`, or name this machine.
    ///
    /// ```
    /// use entreat_service::resource::ResourceUrl;
    ///
    /// let url = ResourceUrl::new("https://ask.example/mcp").unwrap();
    /// let place = "https://ask.example/.well-known/oauth-protected-resource/mcp";
    /// assert_eq!(url.metadata_url(), place);
    /// assert!(ResourceUrl::new("http://ask.example/mcp").is_err());
    /// ```
    pub fn new(text: &str) -> Result<Self, InvalidResource> {
        let url = Url::parse(text).map_err(|_| InvalidResource)?;
        let is_private = url.scheme() == "https" || is_loopback_url(text);
        let has_more = url.query().is_some()
            || url.fragment().is_some()
            || !url.username().is_empty()
            || url.password().is_some();
        let is_plain = text
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'"');
        if !matches!(url.scheme(), "https" | "http") || !is_private || has_more || !is_plain {
            return Err(InvalidResource);
        }
        let path = url.path().trim_end_matches('/').to_owned();
        let mut place = url;
        place.set_path(&format!("{WELL_KNOWN}{path}"));
        Ok(Self {
            text: text.to_owned(),
            path,
            metadata_url: place.into(),
        })
    }

    /// Returns the URL as it was given.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns where the metadata are.
    pub fn metadata_url(&self) -> &str {
        &self.metadata_url
    }

    /// Whether a path is the resource's, or below it.
    pub(super) fn covers(&self, path: &str) -> bool {
        let rest = path.strip_prefix(&*self.path);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// Serves the metadata: without a path, and with that of the resource or of something below it.
pub(super) fn router<'a>(
    url: &ResourceUrl,
    issuers: impl Iterator<Item = &'a str>,
    scopes: &[&str],
) -> Router {
    let mut metadata = json!({
        "resource": url.as_str(),
        "authorization_servers": issuers.collect::<Vec<_>>(),
        "bearer_methods_supported": ["header"],
    });
    if !scopes.is_empty() {
        metadata["scopes_supported"] = json!(scopes);
    }
    let metadata = Bytes::from(metadata.to_string());
    let root = metadata.clone();
    let url = url.clone();
    let below = move |path: axum::extract::Path<String>| async move {
        if url.covers(&format!("/{}", *path)) {
            document(metadata)
        } else {
            StatusCode::NOT_FOUND.into_response()
        }
    };
    Router::new()
        .route(WELL_KNOWN, get(move || async move { document(root) }))
        .route(&format!("{WELL_KNOWN}/{{*path}}"), get(below))
}

/// Clients in browsers may read it, too: it is for everybody.
fn document(metadata: Bytes) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CACHE_CONTROL, "max-age=3600"),
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, metadata).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_is_reached_by_tls_or_on_this_machine() {
        for good in [
            "https://ask.example",
            "https://ask.example/mcp/",
            "http://127.0.0.1:7272/mcp",
            "http://localhost/mcp",
        ] {
            assert_eq!(ResourceUrl::new(good).unwrap().as_str(), good);
        }
        for bad in [
            "http://ask.example/mcp",
            "https://ask.example/mcp?a",
            "https://ask.example/mcp#a",
            "https://a:b@ask.example/mcp",
            "https://ask.example/\"",
            "ftp://localhost/mcp",
            "/mcp",
        ] {
            assert_eq!(ResourceUrl::new(bad), Err(InvalidResource), "{bad}");
        }
    }

    #[test]
    fn a_resource_covers_what_is_below_it() {
        let url = ResourceUrl::new("https://ask.example/mcp").unwrap();
        for (path, is_covered) in [
            ("/mcp", true),
            ("/mcp/github", true),
            ("/mcp2", false),
            ("/", false),
            ("/rpc", false),
        ] {
            assert_eq!(url.covers(path), is_covered, "{path}");
        }
        assert!(
            ResourceUrl::new("https://ask.example")
                .unwrap()
                .covers("/mcp")
        );
    }
}
