//! OpenID providers and OAuth authorization servers, and the tokens that they issue.
//!
//! An [`Issuer`] is known by its URL alone: it publishes its endpoints and keys there. Who may
//! present which token for what is up to callers; here it is only checked that a token is genuine,
//! current, and meant for whom the caller says.
//!
//! `token` takes tokens apart, `algorithm` lists how they may be signed, `keys` reads key sets, and
//! `rules` knows what each kind of token has to claim. `metadata` reads what issuers publish,
//! `fetch` gets it and `fetched` keeps it. `introspection` asks about opaque tokens, and `cache`
//! remembers those that were checked.

mod algorithm;
mod cache;
mod fetch;
mod fetched;
mod introspection;
mod keys;
mod metadata;
mod rules;
mod token;

use std::sync::Arc;
use std::time::Duration;

use entreat_core::UnixTime;
use rustls::ClientConfig;
use serde_json::{Map, Value};
use url::Url;

#[cfg(feature = "oauth")]
pub(crate) use self::fetch::MAX_DOCUMENT;
pub use self::introspection::ClientCredentials;
pub use self::metadata::Metadata;
pub(crate) use self::metadata::is_acceptable;
#[cfg(feature = "oauth")]
pub(crate) use self::metadata::read as read_metadata;
#[doc(hidden)]
pub use self::token::fuzz;
pub use self::token::named_issuer;

use self::cache::{Fingerprint, TokenCache};
use self::fetched::{Fetched, Latest};
use self::introspection::Introspection;
use self::keys::KeySet;
use self::rules::Genuine;
use self::token::Token;

/// The maximum length of a token, in bytes.
pub const MAX_TOKEN: usize = 16 << 10;

/// An issuer of tokens. Clones share what was fetched.
#[derive(Clone)]
pub struct Issuer(Arc<Inner>);

struct Inner {
    url: Arc<str>,
    tls: Option<ClientConfig>,
    keys_url: Option<String>,
    metadata: Fetched<Arc<Metadata>>,
    keys: Fetched<Arc<KeySet>>,
    /// Access tokens and assertions, which come with every request.
    checked: TokenCache<CheckedToken>,
    introspection: Option<Introspection>,
}

/// A token whose signature was checked with one of these keys.
#[derive(Clone)]
struct CheckedToken {
    token: Arc<Genuine>,
    keys: Arc<KeySet>,
}

/// Options of an [`Issuer`].
#[derive(Clone, Debug, Default)]
pub struct IssuerSettings {
    /// A TLS configuration other than the platform's, for private certificate authorities.
    pub tls: Option<ClientConfig>,
    /// Where its keys are, if it publishes no metadata: a proxy that signs assertions, for example.
    pub keys_url: Option<String>,
    /// Our account at the issuer, to ask about opaque access tokens.
    pub introspection: Option<ClientCredentials>,
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
    pub all: Arc<Map<String, Value>>,
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

    /// Finds a claim by its name, or by a path with dots, such as `realm_access.roles`. Names come
    /// first: some are URLs.
    pub fn find(&self, name: &str) -> Option<&Value> {
        self.all.get(name).or_else(|| {
            let (first, rest) = name.split_once('.')?;
            let mut names = rest.split('.');
            names.try_fold(self.all.get(first)?, |value, name| value.get(name))
        })
    }

    /// Returns whom the token is about by this claim, which [`find`](Self::find) finds. The claim
    /// `email` counts only if the issuer has verified the address: at some, people enter whichever
    /// they like.
    pub fn subject_by(&self, claim: &str) -> Option<&str> {
        let is_certain = claim != "email" || self.has_verified_email();
        self.claimed_subject(claim).filter(|_| is_certain)
    }

    /// Returns whom the token is about by this claim, even if that is an address that the issuer
    /// doesn't call verified.
    pub fn claimed_subject(&self, claim: &str) -> Option<&str> {
        if claim == "sub" {
            return Some(&self.subject);
        }
        let subject = self.find(claim)?.as_str()?;
        rules::is_subject(subject).then_some(subject)
    }

    /// Whether the issuer has verified that the claim `email` is the person's address. Some issuers
    /// send this as text.
    pub fn has_verified_email(&self) -> bool {
        let verified = self.all.get("email_verified");
        verified.is_some_and(|it| *it == Value::Bool(true) || *it == "true")
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
    /// The issuer says that it is not active.
    #[error("the issuer says that the token is not active")]
    Inactive,
}

impl Issuer {
    /// Prepares an issuer. Nothing is fetched yet.
    ///
    /// Its URL has to start with `https://`, or name this machine.
    ///
    /// ```
    /// use entreat_wire::issuer::{Issuer, IssuerSettings};
    ///
    /// let issuer = Issuer::new("https://login.example/tenant", IssuerSettings::default()).unwrap();
    /// assert_eq!(issuer.url(), "https://login.example/tenant");
    /// for url in ["http://login.example", "https://login.example?a=b", "login.example"] {
    ///     assert!(Issuer::new(url, IssuerSettings::default()).is_err());
    /// }
    /// ```
    pub fn new(url: &str, settings: IssuerSettings) -> Result<Self, IssuerError> {
        let IssuerSettings {
            tls,
            keys_url,
            introspection,
        } = settings;
        let parsed = Url::parse(url).map_err(|_| IssuerError::Url)?;
        let has_more = parsed.query().is_some() || parsed.fragment().is_some();
        let are_acceptable = is_acceptable(url) && keys_url.as_deref().is_none_or(is_acceptable);
        if has_more || !are_acceptable {
            return Err(IssuerError::Url);
        }
        Ok(Self(Arc::new(Inner {
            url: Arc::from(url),
            tls,
            keys_url,
            metadata: Fetched::new(),
            keys: Fetched::new(),
            checked: TokenCache::new(),
            introspection: introspection.map(Introspection::new),
        })))
    }

    /// Returns the issuer's identifier.
    pub fn url(&self) -> &str {
        &self.0.url
    }

    /// Whether it can be asked about opaque tokens.
    pub fn knows_opaque_tokens(&self) -> bool {
        self.0.introspection.is_some()
    }

    /// Returns what it publishes about itself. It is fetched when first needed, fetched again in
    /// the background when it is old, and kept for a day while the issuer is down.
    pub async fn metadata(&self, now: UnixTime) -> Result<Arc<Metadata>, IssuerError> {
        let fetch = || {
            let fetch = fetch::metadata(self.0.url.to_string(), self.0.tls.clone());
            async { fetch.await.map(Arc::new) }
        };
        let latest = self.0.metadata.get(now, fetch).await?;
        Ok(latest.value)
    }

    /// Fetches its keys, unless there are some already, and returns how many there are that tokens
    /// may be signed with.
    pub async fn count_keys(&self, now: UnixTime) -> Result<usize, IssuerError> {
        Ok(self.keys(now, false).await?.value.count())
    }

    /// Checks the ID token of a sign-in.
    pub async fn check_id_token(
        &self,
        token: &str,
        rules: IdTokenRules<'_>,
        now: UnixTime,
    ) -> Result<Claims, TokenError> {
        let (genuine, _) = self.genuine(Token::read(token)?, now).await?;
        genuine.id(rules, now)
    }

    /// Checks a token that was issued for a resource: a signed one with the issuer's keys, another
    /// one by asking the issuer, if there are credentials for that.
    pub async fn check_access_token(
        &self,
        token: &str,
        rules: AccessTokenRules<'_>,
        now: UnixTime,
    ) -> Result<Claims, TokenError> {
        if let Some(introspection) = &self.0.introspection
            && token.split('.').count() != 3
        {
            let genuine = self.look_up(introspection, token, now).await?;
            return genuine.access(rules, now);
        }
        self.genuine_again(token, now).await?.access(rules, now)
    }

    /// Checks a logout token (OpenID Connect Back-Channel Logout), which names a session, a subject
    /// or both. The subject is empty if it names none. Whether it was used already, by its claim
    /// `jti`, is up to the caller.
    pub async fn check_logout_token(
        &self,
        token: &str,
        client_id: &str,
        now: UnixTime,
    ) -> Result<Claims, TokenError> {
        let (genuine, _) = self.genuine(Token::read(token)?, now).await?;
        genuine.logout(client_id, now)
    }

    /// Checks the token by which a proxy names a person.
    pub async fn check_assertion(
        &self,
        token: &str,
        audience: &str,
        now: UnixTime,
    ) -> Result<Claims, TokenError> {
        self.genuine_again(token, now)
            .await?
            .assertion(audience, now)
    }

    /// Checks the signature of a token that is likely to come again.
    async fn genuine_again(&self, token: &str, now: UnixTime) -> Result<Arc<Genuine>, TokenError> {
        if token.len() > MAX_TOKEN {
            return Err(TokenError::Malformed("short enough"));
        }
        let fingerprint = Fingerprint::of(token);
        if let Some(checked) = self.0.checked.get(fingerprint) {
            // A key that was taken back signs nothing any more.
            let current = self.keys(now, false).await?.value;
            if Arc::ptr_eq(&checked.keys, &current) {
                return Ok(checked.token);
            }
        }
        let (genuine, keys) = self.genuine(Token::read(token)?, now).await?;
        let token = Arc::new(genuine);
        let checked = CheckedToken {
            token: token.clone(),
            keys,
        };
        self.0.checked.insert(fingerprint, checked, token.size());
        Ok(token)
    }

    /// Checks the signature of a token, if need be with keys that are fetched again.
    async fn genuine(
        &self,
        token: Token<'_>,
        now: UnixTime,
    ) -> Result<(Genuine, Arc<KeySet>), TokenError> {
        let Latest { value, is_new } = self.keys(now, false).await?;
        let (keys, result) = match verify(&token, &value) {
            // The key may be newer than the set. Some issuers even give a new key an old id.
            Err(error) if !is_new => {
                let newer = self.keys(now, true).await?.value;
                if Arc::ptr_eq(&newer, &value) {
                    return Err(error);
                }
                let result = verify(&token, &newer);
                (newer, result)
            }
            result => (value, result),
        };
        result?;
        let genuine = Genuine::new(token.kind, token.claims()?, self.0.url.clone())?;
        Ok((genuine, keys))
    }

    async fn keys(
        &self,
        now: UnixTime,
        is_missing: bool,
    ) -> Result<Latest<Arc<KeySet>>, IssuerError> {
        let fetch = || {
            let issuer = self.clone();
            async move {
                let url = if let Some(url) = &issuer.0.keys_url {
                    url.clone()
                } else {
                    let metadata = issuer.metadata(now).await?;
                    let problem = "no address of its keys";
                    let url = metadata.jwks_uri.clone();
                    url.ok_or_else(|| IssuerError::Invalid(problem.to_owned()))?
                };
                let keys = fetch::keys(url, issuer.0.tls.clone()).await?;
                Ok(Arc::new(keys))
            }
        };
        if is_missing {
            self.0.keys.demand(now, fetch).await
        } else {
            self.0.keys.get(now, fetch).await
        }
    }

    /// Asks the issuer about a token, unless it did recently.
    async fn look_up(
        &self,
        introspection: &Introspection,
        token: &str,
        now: UnixTime,
    ) -> Result<Arc<Genuine>, TokenError> {
        // What a bearer token may consist of (RFC 6750); nothing else is worth a request.
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
        if token.is_empty() || token.len() > MAX_TOKEN || !token.bytes().all(is_allowed) {
            return Err(TokenError::Malformed("of the characters of a token"));
        }
        if let Some(remembered) = introspection.remembered(Fingerprint::of(token), now) {
            return remembered;
        }
        let metadata = self.metadata(now).await?;
        let (tls, url) = (self.0.tls.as_ref(), self.0.url.clone());
        introspection.ask(token, &metadata, tls, url, now).await
    }
}

impl std::fmt::Debug for Issuer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without the tokens that it remembers.
        f.debug_tuple("Issuer").field(&self.0.url).finish()
    }
}

/// Checks a token's signature with the keys of a set.
fn verify(token: &Token<'_>, keys: &KeySet) -> Result<(), TokenError> {
    let candidates = keys.candidates(token.key_id.as_deref(), token.algorithm);
    if candidates.is_empty() {
        return Err(TokenError::UnknownKey);
    }
    let matches = candidates
        .iter()
        .any(|key| key.verifies(token.algorithm, token.message, &token.signature));
    if matches {
        Ok(())
    } else {
        Err(TokenError::Signature)
    }
}
