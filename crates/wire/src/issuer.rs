//! OpenID providers and OAuth authorization servers, and the tokens that they issue.
//!
//! An [`Issuer`] is known by its URL alone: it publishes its endpoints and keys there. Who may
//! present which token for what is up to callers; here it is only checked that a token is genuine,
//! current, and meant for whom the caller says.

use std::sync::Arc;
use std::time::Duration;

use entreat_core::UnixTime;
use rustls::ClientConfig;
use serde_json::{Map, Value};

/// An issuer of tokens. Clones share what was fetched.
#[derive(Clone, Debug)]
pub struct Issuer(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    url: String,
}

/// Options of an [`Issuer`].
#[derive(Clone, Debug, Default)]
pub struct IssuerSettings {
    /// A TLS configuration other than the platform's, for private certificate authorities.
    pub tls: Option<ClientConfig>,
}

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
    /// Whether redirects from it name it (RFC 9207).
    pub sends_issuer: bool,
    /// The ways to authenticate at its token endpoint.
    pub token_auth_methods: Vec<String>,
}

/// What an ID token has to be.
#[derive(Clone, Copy, Debug)]
pub struct IdTokenRules<'a> {
    /// Our client id at the issuer.
    pub client_id: &'a str,
    /// The nonce of the sign-in.
    pub nonce: &'a str,
    /// The longest time since the person last proved who they are.
    pub max_age: Option<Duration>,
    /// The required authentication context class.
    pub acr: Option<&'a str>,
}

/// What an access token has to be.
#[derive(Clone, Copy, Debug)]
pub struct AccessTokenRules<'a> {
    /// The resource that its audience has to contain.
    pub resource: &'a str,
    /// Another audience to accept, for issuers that cannot name the resource.
    pub also_audience: Option<&'a str>,
}

/// The claims of a token that passed all checks.
#[derive(Clone, Debug, PartialEq)]
pub struct Claims {
    /// All claims, as they are in the token.
    pub all: Map<String, Value>,
    /// The issuer.
    pub issuer: Arc<str>,
    /// The claim `sub`.
    pub subject: String,
    /// When the token expires.
    pub expires: UnixTime,
}

impl Claims {
    /// Returns a claim that is text and not empty.
    pub fn text(&self, name: &str) -> Option<&str> {
        let text = self.all.get(name).and_then(Value::as_str);
        text.filter(|text| !text.is_empty())
    }

    /// Returns the texts of a claim that is a list, or the only one of a claim that is text.
    pub fn texts(&self, name: &str) -> Vec<&str> {
        match self.all.get(name) {
            Some(Value::String(text)) => vec![text],
            Some(Value::Array(texts)) => texts.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        }
    }
}

/// Why an issuer cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IssuerError {
    /// Not a URL that an issuer may have.
    #[error("an issuer's URL starts with https:// and has no query and no fragment")]
    Url,
    /// It does not answer, or not with what it should.
    #[error("the issuer does not answer: {0}")]
    Unavailable(String),
    /// What it publishes cannot be right.
    #[error("the issuer publishes {0}")]
    Invalid(String),
}

/// Why a token is refused. For logs: whoever presented it learns only that it is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// It cannot be checked now.
    #[error(transparent)]
    Issuer(#[from] IssuerError),
    /// It is not a token of a kind that is accepted here.
    #[error("the token is not {0}")]
    Malformed(&'static str),
    /// Its algorithm is not among the accepted ones.
    #[error("the token's algorithm is not accepted")]
    Algorithm,
    /// The issuer has no such key.
    #[error("the issuer has no key of this id")]
    UnknownKey,
    /// It was altered, or signed by somebody else.
    #[error("the token's signature does not match")]
    Signature,
    /// A claim is missing or wrong.
    #[error("the claim `{0}` does not fit")]
    Claim(&'static str),
    /// It has expired.
    #[error("the token has expired")]
    Expired,
}

impl Issuer {
    /// Prepares an issuer. Nothing is fetched yet.
    ///
    /// Its URL has to start with `https://`, or name this machine.
    pub fn new(url: &str, settings: IssuerSettings) -> Result<Self, IssuerError> {
        let _ = settings;
        Ok(Self(Arc::new(Inner {
            url: url.to_owned(),
        })))
    }

    /// Returns the issuer's identifier.
    pub fn url(&self) -> &str {
        &self.0.url
    }

    /// Returns what it publishes about itself; fetched when first needed, and kept.
    pub async fn metadata(&self) -> Result<Arc<Metadata>, IssuerError> {
        Err(IssuerError::Unavailable(String::new()))
    }

    /// Checks the ID token of a sign-in.
    pub async fn check_id_token(
        &self,
        token: &str,
        rules: IdTokenRules<'_>,
        now: UnixTime,
    ) -> Result<Claims, TokenError> {
        let _ = (token, rules, now);
        Err(TokenError::Signature)
    }

    /// Checks a token that was issued for a resource.
    pub async fn check_access_token(
        &self,
        token: &str,
        rules: AccessTokenRules<'_>,
        now: UnixTime,
    ) -> Result<Claims, TokenError> {
        let _ = (token, rules, now);
        Err(TokenError::Signature)
    }

    /// Checks a logout token (OpenID Connect Back-Channel Logout), which names a session, a subject
    /// or both.
    pub async fn check_logout_token(
        &self,
        token: &str,
        client_id: &str,
        now: UnixTime,
    ) -> Result<Claims, TokenError> {
        let _ = (token, client_id, now);
        Err(TokenError::Signature)
    }

    /// Checks the token by which a proxy names a person.
    pub async fn check_assertion(
        &self,
        token: &str,
        audience: &str,
        now: UnixTime,
    ) -> Result<Claims, TokenError> {
        let _ = (token, audience, now);
        Err(TokenError::Signature)
    }
}
