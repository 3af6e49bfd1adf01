//! MCP over HTTP as a protected resource of OAuth: who presents which token.
//!
//! Clients find the issuers that are trusted in the resource's metadata (RFC 9728), get a token
//! there and present it. It is checked here and goes no further. Deliberately absent: issuing
//! tokens, and registering clients.

mod challenge;
mod metadata;
mod respondents;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use entreat_core::UnixTime;
use entreat_engine::{Engine, LogThrottle};
use entreat_wire::issuer::{AccessTokenRules, Claims, TokenError, named_issuer};
pub use entreat_wire::issuer::{ClientCredentials, Issuer, IssuerError, IssuerSettings};

pub use self::challenge::Challenge;
pub use self::metadata::{InvalidResource, ResourceUrl};
pub use self::respondents::{PageIssuer, Respondents, SameClaim, SamePerson};

/// A protected resource. Cheap to clone; clones share what is known of issuers and tokens.
#[derive(Clone)]
pub struct ProtectedResource(Arc<Inner>);

struct Inner {
    url: ResourceUrl,
    issuers: Vec<TrustedIssuer>,
    respondents: Respondents,
    /// The log lines about refused tokens.
    refusals: LogThrottle<&'static str>,
}

/// An issuer whose tokens are accepted.
#[derive(Clone, Debug)]
pub struct TrustedIssuer {
    /// The issuer.
    pub issuer: Issuer,
    /// Another audience to accept, for an issuer that cannot name the resource.
    pub also_audience: Option<String>,
    /// The claim that identifies people.
    pub subject_claim: String,
    /// The scopes that a token has to have.
    pub scopes: Vec<String>,
}

impl TrustedIssuer {
    /// Trusts an issuer whose tokens name the resource and identify people by `sub`.
    pub fn new(issuer: Issuer) -> Self {
        Self {
            issuer,
            also_audience: None,
            subject_claim: "sub".to_owned(),
            scopes: Vec::new(),
        }
    }
}

/// Who presented a token. It is the same with the next token of the same person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenHolder {
    /// The issuer and the subject: `https://login.example#ada`.
    pub principal: Arc<str>,
    /// How questions name this person, if the pages know them.
    pub respondent: Option<Arc<str>>,
}

impl ProtectedResource {
    /// Protects the resource of this URL: people of these issuers may use it.
    pub fn new(url: ResourceUrl, issuers: Vec<TrustedIssuer>, respondents: Respondents) -> Self {
        Self(Arc::new(Inner {
            url,
            issuers,
            respondents,
            refusals: LogThrottle::default(),
        }))
    }

    /// Returns who sent a request, or the challenge to respond with.
    pub async fn authorize(
        &self,
        headers: &HeaderMap,
        now: UnixTime,
    ) -> Result<TokenHolder, Challenge> {
        let mut values = headers.get_all(header::AUTHORIZATION).iter();
        let token = match (values.next(), values.next()) {
            (None, _) => return Err(Challenge::NoToken),
            (Some(value), None) => value.to_str().ok().and_then(bearer),
            // One may be what a proxy added; none takes precedence.
            (Some(_), Some(_)) => None,
        };
        let token = token.ok_or(Challenge::InvalidToken)?;
        let checked = self.check(token, now).await;
        checked.inspect_err(|challenge| self.warn(*challenge, now))
    }

    async fn check(&self, token: &str, now: UnixTime) -> Result<TokenHolder, Challenge> {
        let inner = &*self.0;
        let found = match inner.issuers.as_slice() {
            [only] => Some((only, inner.claims(only, token, now).await)),
            all => match named_issuer(token) {
                Some(name) => match all.iter().find(|it| it.issuer.url() == name) {
                    Some(named) => Some((named, inner.claims(named, token, now).await)),
                    None => None,
                },
                None => inner.of_any_issuer(token, now).await,
            },
        };
        let (trusted, claims) = found.ok_or(Challenge::InvalidToken)?;
        let claims = claims.map_err(|error| {
            // The reason is for operators; whoever presents the token learns that it is invalid.
            tracing::debug!(%error, "a token was refused");
            match error {
                TokenError::Issuer(_) => Challenge::Unavailable,
                _ => Challenge::InvalidToken,
            }
        })?;
        let granted = granted_scopes(&claims);
        if !trusted.scopes.iter().all(|it| granted.contains(&&**it)) {
            return Err(Challenge::InsufficientScope);
        }
        let subject = claims.subject_by(&trusted.subject_claim);
        let subject = subject.ok_or(Challenge::InvalidToken)?;
        let principal: Arc<str> = format!("{}#{subject}", claims.issuer).into();
        let respondent = inner
            .respondents
            .of(&claims, &trusted.subject_claim, &principal);
        Ok(TokenHolder {
            principal,
            respondent,
        })
    }

    /// The response to a request that was not authorized.
    pub fn refuse(&self, challenge: Challenge) -> Response {
        challenge.response(&self.0.url, &self.scopes())
    }

    /// The router with the metadata of the resource, for everybody.
    pub fn router(&self) -> Router {
        let issuers = self.0.issuers.iter().map(|it| it.issuer.url());
        metadata::router(&self.0.url, issuers, &self.scopes())
    }

    /// The scopes that any issuer's tokens have to have, each once.
    fn scopes(&self) -> Vec<&str> {
        let mut scopes = Vec::new();
        for scope in self.0.issuers.iter().flat_map(|it| &it.scopes) {
            if !scopes.contains(&scope.as_str()) {
                scopes.push(scope);
            }
        }
        scopes
    }

    /// Logs that a token was refused: one line per reason in some seconds.
    fn warn(&self, challenge: Challenge, now: UnixTime) {
        let reason = challenge.code();
        if tracing::enabled!(tracing::Level::WARN)
            && let Some(count) = self.0.refusals.count(reason, now)
        {
            tracing::warn!(reason, count, "a token was refused");
        }
    }
}

impl Inner {
    async fn claims(
        &self,
        trusted: &TrustedIssuer,
        token: &str,
        now: UnixTime,
    ) -> Result<Claims, TokenError> {
        let rules = AccessTokenRules {
            resource: self.url.as_str(),
            also_audience: trusted.also_audience.as_deref(),
        };
        trusted.issuer.check_access_token(token, rules, now).await
    }

    /// Asks the issuers about an opaque token, one after the other. If none knows it, but one could
    /// not be asked, nobody can say that it is invalid.
    async fn of_any_issuer(
        &self,
        token: &str,
        now: UnixTime,
    ) -> Option<(&TrustedIssuer, Result<Claims, TokenError>)> {
        let mut refused = None;
        let issuers = self.issuers.iter();
        for trusted in issuers.filter(|it| it.issuer.knows_opaque_tokens()) {
            let claims = self.claims(trusted, token, now).await;
            if claims.is_ok() {
                return Some((trusted, claims));
            }
            if !matches!(refused, Some((_, Err(TokenError::Issuer(_))))) {
                refused = Some((trusted, claims));
            }
        }
        refused
    }
}

impl std::fmt::Debug for ProtectedResource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProtectedResource")
            .field("url", &self.0.url)
            .field("issuers", &self.0.issuers)
            .finish_non_exhaustive()
    }
}

/// The state of [`require_token`].
#[derive(Clone, Debug)]
pub struct TokenCheck {
    /// The resource.
    pub resource: ProtectedResource,
    /// Whose clock counts.
    pub engine: Engine,
}

/// A layer that lets requests with a valid token through, with the [`TokenHolder`] among their
/// extensions and without the token.
pub async fn require_token(
    State(check): State<TokenCheck>,
    mut request: Request,
    next: Next,
) -> Response {
    let now = check.engine.now();
    match check.resource.authorize(request.headers(), now).await {
        Ok(holder) => {
            request.headers_mut().remove(header::AUTHORIZATION);
            request.extensions_mut().insert(holder);
            next.run(request).await
        }
        Err(challenge) => check.resource.refuse(challenge).into_response(),
    }
}

/// The token of an `Authorization` header.
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim_matches(' ');
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// The scopes of a token: `scope` is text, `scp` text or a list.
fn granted_scopes(claims: &Claims) -> Vec<&str> {
    let claimed = ["scope", "scp"].into_iter();
    let texts = claimed.flat_map(|name| claims.texts(name));
    texts.flat_map(|text| text.split(' ')).collect()
}
