//! Who we are at an authorization server: a configured client, a document that describes us, or a
//! client that we register (RFC 7591).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::ClientConfig;
use serde::{Deserialize, Serialize};
use serde_json::json;
use url::form_urlencoded::byte_serialize;
use zeroize::Zeroizing;

use super::outbound::Outbound;
use super::{SecretText, SignInError};
use crate::issuer::Metadata;

/// How we present ourselves to authorization servers.
#[derive(Clone, Default)]
pub struct ClientSettings {
    /// The id of a client that somebody has registered for us.
    pub client_id: Option<String>,
    /// Its secret, if it has one.
    pub client_secret: Option<SecretText>,
    /// The URL of a document that describes us, for servers that accept such a URL as an id.
    pub client_metadata_url: Option<String>,
    /// The scopes to ask for where neither the server nor its metadata names any.
    pub scopes: Vec<String>,
    /// A TLS configuration other than the platform's, for private certificate authorities.
    pub tls: Option<ClientConfig>,
}

impl ClientSettings {
    /// What a grant belongs to besides server and person: a grant of one client is none of another.
    pub(super) fn name(&self) -> &str {
        let named = self
            .client_id
            .as_ref()
            .or(self.client_metadata_url.as_ref());
        named.map_or("", String::as_str)
    }
}

impl std::fmt::Debug for ClientSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientSettings")
            .field("client_id", &self.client_id)
            .field("client_metadata_url", &self.client_metadata_url)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

/// A client as an authorization server knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Client {
    pub(super) id: String,
    pub(super) secret: Option<SecretText>,
    pub(super) method: AuthMethod,
}

/// How a client authenticates at the token endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum AuthMethod {
    None,
    Basic,
    Post,
}

impl AuthMethod {
    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic => "client_secret_basic",
            Self::Post => "client_secret_post",
        }
    }

    fn named(name: &str) -> Option<Self> {
        [Self::None, Self::Basic, Self::Post]
            .into_iter()
            .find(|method| method.name() == name)
    }

    /// The method for a client with a secret. Basic is the default of RFC 8414.
    fn with_secret(metadata: &Metadata) -> Self {
        let methods = &metadata.token_auth_methods;
        let has = |method: Self| methods.iter().any(|it| it == method.name());
        if has(Self::Post) && !has(Self::Basic) {
            Self::Post
        } else {
            Self::Basic
        }
    }

    /// The method to register for: no secret, where the server takes clients without one.
    fn to_register(metadata: &Metadata) -> Self {
        let methods = &metadata.token_auth_methods;
        let has_none = methods.iter().any(|it| it == Self::None.name());
        if methods.is_empty() || has_none {
            Self::None
        } else {
            Self::with_secret(metadata)
        }
    }
}

impl Client {
    /// Adds what authenticates the client to a request: returns a header, or adds fields.
    pub(super) fn authenticate<'a>(
        &'a self,
        fields: &mut Vec<(&'static str, &'a str)>,
    ) -> Option<Zeroizing<String>> {
        match (&self.secret, self.method) {
            (Some(secret), AuthMethod::Basic) => Some(basic(&self.id, secret.expose())),
            (Some(secret), AuthMethod::Post) => {
                fields.push(("client_id", &self.id));
                fields.push(("client_secret", secret.expose()));
                None
            }
            (_, AuthMethod::None) | (None, _) => {
                fields.push(("client_id", &self.id));
                None
            }
        }
    }
}

/// The header of RFC 6749, section 2.3.1: both parts are form-encoded first.
fn basic(id: &str, secret: &str) -> Zeroizing<String> {
    let encode = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    let pair = Zeroizing::new(format!("{}:{}", encode(id), encode(secret)));
    Zeroizing::new(format!("Basic {}", STANDARD.encode(pair.as_bytes())))
}

/// What a registration returns.
#[derive(Deserialize)]
struct Registered {
    client_id: String,
    client_secret: Option<SecretText>,
    token_endpoint_auth_method: Option<String>,
}

/// Returns the client to use at an authorization server, registering one if need be.
pub(super) async fn client_for(
    settings: &ClientSettings,
    metadata: &Metadata,
    redirect_uri: &str,
    scopes: &[String],
    outbound: &Outbound<'_>,
) -> Result<Client, SignInError> {
    if let Some(id) = &settings.client_id {
        let method = match settings.client_secret {
            Some(_) => AuthMethod::with_secret(metadata),
            None => AuthMethod::None,
        };
        return Ok(Client {
            id: id.clone(),
            secret: settings.client_secret.clone(),
            method,
        });
    }
    if let Some(url) = &settings.client_metadata_url
        && metadata.takes_client_documents
    {
        return Ok(Client {
            id: url.clone(),
            secret: None,
            method: AuthMethod::None,
        });
    }
    let endpoint = metadata.registration_endpoint.as_deref();
    let endpoint = endpoint.ok_or(SignInError::NoClient)?;
    register(endpoint, metadata, redirect_uri, scopes, outbound).await
}

async fn register(
    endpoint: &str,
    metadata: &Metadata,
    redirect_uri: &str,
    scopes: &[String],
    outbound: &Outbound<'_>,
) -> Result<Client, SignInError> {
    let asked = AuthMethod::to_register(metadata);
    let is_native = redirect_uri.starts_with("http://");
    let mut body = json!({
        "client_name": "Entreat",
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": asked.name(),
        "application_type": if is_native { "native" } else { "web" },
    });
    if !scopes.is_empty() {
        body["scope"] = scopes.join(" ").into();
    }
    let reply = outbound
        .post(endpoint, "application/json", None, body.to_string())
        .await?;
    if !reply.status.is_success() {
        return Err(SignInError::Registration(reply.status.as_u16()));
    }
    let registered: Registered =
        serde_json::from_str(&reply.body).map_err(|_| SignInError::Malformed)?;
    // A server may give another method than was asked for.
    let named = registered.token_endpoint_auth_method.as_deref();
    let method = match &registered.client_secret {
        None => AuthMethod::None,
        Some(_) => match named.and_then(AuthMethod::named) {
            Some(method) => method,
            None => AuthMethod::with_secret(metadata),
        },
    };
    Ok(Client {
        id: registered.client_id,
        secret: registered.client_secret,
        method,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(methods: &[&str]) -> Metadata {
        Metadata {
            token_auth_methods: methods.iter().map(|&it| it.to_owned()).collect(),
            ..Metadata::default()
        }
    }

    #[test]
    fn a_secret_goes_where_the_server_takes_it_and_is_avoided_where_that_works() {
        let (basic, post) = ("client_secret_basic", "client_secret_post");
        for (methods, with_secret, to_register) in [
            (&[][..], AuthMethod::Basic, AuthMethod::None),
            (&[basic, post], AuthMethod::Basic, AuthMethod::Basic),
            (&[post], AuthMethod::Post, AuthMethod::Post),
            (&[post, "none"], AuthMethod::Post, AuthMethod::None),
            (&["private_key_jwt"], AuthMethod::Basic, AuthMethod::Basic),
        ] {
            let metadata = metadata(methods);
            assert_eq!(AuthMethod::with_secret(&metadata), with_secret);
            assert_eq!(AuthMethod::to_register(&metadata), to_register);
        }
    }

    #[test]
    fn a_client_authenticates_in_one_way_only() {
        let mut client = Client {
            id: "a:b".to_owned(),
            secret: Some("p%d é".to_owned().into()),
            method: AuthMethod::Basic,
        };
        let mut fields = Vec::new();
        let header = client.authenticate(&mut fields).unwrap();
        let pair = STANDARD
            .decode(header.strip_prefix("Basic ").unwrap())
            .unwrap();
        assert_eq!(pair, b"a%3Ab:p%25d+%C3%A9");
        assert_eq!(fields, []);

        client.method = AuthMethod::Post;
        let mut fields = Vec::new();
        assert_eq!(client.authenticate(&mut fields), None);
        assert_eq!(fields, [("client_id", "a:b"), ("client_secret", "p%d é")]);

        client.method = AuthMethod::None;
        let mut fields = Vec::new();
        assert_eq!(client.authenticate(&mut fields), None);
        assert_eq!(fields, [("client_id", "a:b")]);
    }
}
