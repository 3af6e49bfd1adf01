//! What an issuer publishes about itself: OpenID Connect Discovery, and RFC 8414.

use entreat_core::document::{Notation, read as read_document};
use serde_json::Value;
use url::{Host, Url};

use super::IssuerError;

/// What an issuer publishes about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// Where people sign in.
    pub authorization_endpoint: Option<String>,
    /// Where codes are exchanged for tokens.
    pub token_endpoint: Option<String>,
    /// Where its keys are.
    pub jwks_uri: Option<String>,
    /// Where opaque tokens are looked up (RFC 7662).
    pub introspection_endpoint: Option<String>,
    /// Where people sign out.
    pub end_session_endpoint: Option<String>,
    /// Where clients are registered (RFC 7591).
    pub registration_endpoint: Option<String>,
    /// The methods of PKCE that it knows.
    pub pkce_methods: Vec<String>,
    /// The scopes that it knows.
    pub scopes: Vec<String>,
    /// Whether it takes the URL of a document that describes a client as the client's id.
    pub takes_client_documents: bool,
    /// Whether redirects from it name it (RFC 9207).
    pub sends_issuer: bool,
    /// The ways to authenticate at its token endpoint.
    pub token_auth_methods: Vec<String>,
    /// The ways to authenticate at its introspection endpoint.
    pub introspection_auth_methods: Vec<String>,
}

/// Reads the document of an issuer. The issuer that it names has to be the expected one, byte for
/// byte: another one's document could lead elsewhere.
pub(crate) fn read(text: &str, issuer: &str) -> Result<Metadata, IssuerError> {
    let document = read_document(text, Notation::Json);
    let document = document.map_err(|_| IssuerError::Invalid("no metadata in JSON".to_owned()))?;
    match document.get("issuer").and_then(Value::as_str) {
        Some(named) if named == issuer => {}
        Some(named) => {
            let named = named.chars().take(200).collect::<String>();
            let problem = format!("metadata of another issuer, `{}`", named.escape_debug());
            return Err(IssuerError::Invalid(problem));
        }
        None => {
            let problem = "metadata that names no issuer";
            return Err(IssuerError::Invalid(problem.to_owned()));
        }
    }
    // An issuer elsewhere has nothing to say about addresses on this machine.
    let may_be = |url: &str| is_acceptable(url) && (is_by_tls(url) || !is_by_tls(issuer));
    let endpoint = |name: &str| match document.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(url)) if may_be(url) => Ok(Some(url.clone())),
        Some(_) => Err(IssuerError::Invalid(format!(
            "an address in `{name}` that does not start with https://"
        ))),
    };
    let texts = |name: &str| {
        let list = document.get(name).and_then(Value::as_array);
        let texts = list.into_iter().flatten().filter_map(Value::as_str);
        texts.map(str::to_owned).collect()
    };
    let is_true = |name: &str| document.get(name) == Some(&Value::Bool(true));
    Ok(Metadata {
        authorization_endpoint: endpoint("authorization_endpoint")?,
        token_endpoint: endpoint("token_endpoint")?,
        jwks_uri: endpoint("jwks_uri")?,
        introspection_endpoint: endpoint("introspection_endpoint")?,
        end_session_endpoint: endpoint("end_session_endpoint")?,
        registration_endpoint: endpoint("registration_endpoint")?,
        pkce_methods: texts("code_challenge_methods_supported"),
        scopes: texts("scopes_supported"),
        takes_client_documents: is_true("client_id_metadata_document_supported"),
        sends_issuer: is_true("authorization_response_iss_parameter_supported"),
        token_auth_methods: texts("token_endpoint_auth_methods_supported"),
        introspection_auth_methods: texts("introspection_endpoint_auth_methods_supported"),
    })
}

/// Whether an issuer or one of its endpoints may have this URL: by TLS, or on this machine.
pub(crate) fn is_acceptable(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else {
        return false;
    };
    let is_here = match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => return false,
    };
    let has_user = !url.username().is_empty() || url.password().is_some();
    !has_user && (url.scheme() == "https" || url.scheme() == "http" && is_here)
}

fn is_by_tls(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| url.scheme() == "https")
}

/// Where the document of an issuer may be, most likely first.
///
/// OpenID Connect appends its path to the issuer's; RFC 8414 puts it in front. Both are in use for
/// both documents.
pub(super) fn places(issuer: &Url) -> Vec<String> {
    const OPENID: &str = "/.well-known/openid-configuration";
    const OAUTH: &str = "/.well-known/oauth-authorization-server";
    let path = issuer.path().trim_end_matches('/');
    let place = |path: String| {
        let mut url = issuer.clone();
        url.set_path(&path);
        String::from(url)
    };
    let mut places = vec![
        place(format!("{path}{OPENID}")),
        place(format!("{OAUTH}{path}")),
    ];
    if !path.is_empty() {
        places.push(place(format!("{OPENID}{path}")));
        places.push(place(format!("{path}{OAUTH}")));
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_of_another_issuer_is_refused() {
        let of =
            |issuer: &str| format!(r#"{{"issuer":"{issuer}","jwks_uri":"https://a.example/k"}}"#);
        let good = read(&of("https://a.example"), "https://a.example").unwrap();
        assert_eq!(good.jwks_uri.as_deref(), Some("https://a.example/k"));
        for other in [
            "https://a.example/",
            "https://A.example",
            "https://b.example",
            "",
        ] {
            let refused = read(&of(other), "https://a.example");
            assert!(matches!(refused, Err(IssuerError::Invalid(_))), "{other}");
        }
        assert!(read("{}", "https://a.example").is_err());
        assert!(read("[", "https://a.example").is_err());
    }

    #[test]
    fn endpoints_are_by_tls_or_on_this_machine() {
        for (url, is_good) in [
            ("https://a.example/token", true),
            ("http://127.0.0.1:8080/token", true),
            ("http://localhost/token", true),
            ("http://[::1]/token", true),
            ("http://a.example/token", false),
            ("http://localhost.a.example/token", false),
            ("https://user:pass@a.example/", false),
            ("file:///etc/passwd", false),
            ("javascript:alert(1)", false),
            ("/token", false),
        ] {
            assert_eq!(is_acceptable(url), is_good, "{url}");
            let text = format!(r#"{{"issuer":"i","token_endpoint":"{url}"}}"#);
            assert_eq!(read(&text, "i").is_ok(), is_good, "{url}");
        }
    }

    #[test]
    fn an_issuer_elsewhere_names_no_address_of_this_machine() {
        for (issuer, is_good) in [
            ("https://a.example", false),
            ("http://127.0.0.1:8080", true),
        ] {
            let url = "http://127.0.0.1:9000/token";
            let text = format!(r#"{{"issuer":"{issuer}","token_endpoint":"{url}"}}"#);
            assert_eq!(read(&text, issuer).is_ok(), is_good, "{issuer}");
        }
    }

    #[test]
    fn both_forms_of_the_path_are_tried() {
        let places_of = |issuer| places(&Url::parse(issuer).unwrap());
        assert_eq!(
            places_of("https://a.example/t/v2.0/"),
            [
                "https://a.example/t/v2.0/.well-known/openid-configuration",
                "https://a.example/.well-known/oauth-authorization-server/t/v2.0",
                "https://a.example/.well-known/openid-configuration/t/v2.0",
                "https://a.example/t/v2.0/.well-known/oauth-authorization-server",
            ]
        );
        assert_eq!(
            places_of("https://a.example"),
            [
                "https://a.example/.well-known/openid-configuration",
                "https://a.example/.well-known/oauth-authorization-server",
            ]
        );
    }
}
