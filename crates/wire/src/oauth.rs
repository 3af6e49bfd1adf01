//! Signs in at servers that want a token (the authorization of MCP: OAuth 2.1), as their client.
//!
//! An [`Account`] is one person's at one server: it keeps the token, renews it, and signs the
//! person in, in two halves between which they are in their browser. A [`TokenSource`] is what
//! connections ask for tokens; how a person is reached is up to it.
//!
//! Deliberately absent: clients without a person (client credentials), and endpoints that are
//! guessed. A server has to publish where its tokens come from, and its authorization server has
//! to know PKCE.
//!
//! `challenge` reads refusals, `discovery` what servers publish, and `outbound` fetches it within
//! limits. `client` is who we are, `grant` gets tokens, `files` keeps them.

mod challenge;
mod client;
mod discovery;
mod files;
mod grant;
mod outbound;
mod secret;

use std::io;
use std::pin::Pin;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use entreat_core::UnixTime;
use entreat_engine::{Clock, Entropy, Resolver};
use ring::digest;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use url::{Url, form_urlencoded};

pub use self::challenge::Challenge;
pub use self::client::ClientSettings;
pub use self::files::GrantFiles;
pub use self::secret::SecretText;

use self::client::{Client, client_for};
use self::discovery::{Discovered, authorization_server, discover};
use self::files::GrantName;
use self::grant::{Grant, TokenRequest, known, union};
use self::outbound::Outbound;
use crate::http::Response;
use crate::issuer::IssuerError;

/// The method of PKCE; the other one protects nothing.
const PKCE: &str = "S256";
/// The scope for refresh tokens.
const OFFLINE: &str = "offline_access";
/// The maximum length of the parameters of a redirect, in bytes.
const MAX_CALLBACK: usize = 16 << 10;

/// Yields the tokens for requests to one server.
pub trait TokenSource: Send + Sync {
    /// Returns the token for the next request; `None` if there is none yet.
    fn token(&self) -> TokenFuture<'_, Option<SecretText>>;

    /// Returns another token after the server has refused a request, to send it with once more.
    fn renewed<'a>(&'a self, refusal: Refusal<'a>) -> TokenFuture<'a, SecretText>;
}

/// What becomes of a request for a token.
pub type TokenFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, SignInError>> + Send + 'a>>;

/// A request that a server refused.
#[derive(Clone, Copy, Debug)]
pub struct Refusal<'a> {
    /// The token that it had.
    pub token: Option<&'a SecretText>,
    /// What the server said.
    pub challenge: &'a Challenge,
    /// Whether that token was new, so that renewing it is no use.
    pub is_repeated: bool,
}

/// Sends a request with the source's token, and again with another one if the server refuses it:
/// twice for the lack of a valid token, once for the lack of a scope.
///
/// `send` gets the token; a request that was refused did not run. What the server says at last is
/// returned, also if it is a refusal.
pub async fn send_with_token<E, F>(
    source: &dyn TokenSource,
    send: impl Fn(Option<SecretText>) -> F,
) -> Result<Response, SendError<E>>
where
    F: Future<Output = Result<Response, E>>,
{
    let mut token = source.token().await?;
    let (mut renewals, mut steps_up) = (0, 0);
    loop {
        let response = send(token.clone()).await.map_err(SendError::Exchange)?;
        let Some(challenge) = Challenge::read(response.status(), response.headers()) else {
            return Ok(response);
        };
        let (count, limit) = if challenge.lacks_scope {
            (&mut steps_up, 1)
        } else {
            (&mut renewals, 2)
        };
        if *count == limit {
            return Ok(response);
        }
        *count += 1;
        let refusal = Refusal {
            token: token.as_ref(),
            challenge: &challenge,
            is_repeated: !challenge.lacks_scope && *count > 1,
        };
        // Nothing of the response is needed, and its connection may be.
        drop(response);
        token = Some(source.renewed(refusal).await?);
    }
}

/// Why a request with a token got no response.
#[derive(Debug, thiserror::Error)]
pub enum SendError<E> {
    /// There is no token for it.
    #[error(transparent)]
    SignIn(#[from] SignInError),
    /// It could not be sent.
    #[error("the request failed")]
    Exchange(E),
}

/// Why there is no token. Contains nothing secret, and no text of a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignInError {
    /// Somebody has to sign in first.
    #[error("sign-in is needed")]
    Needed,
    /// Nobody has signed in in time.
    #[error("nobody signed in in time")]
    TimedOut,
    /// Not the URL of a server that can be signed in to.
    #[error("tokens are only sent by https://, or on this machine")]
    Insecure,
    /// The server publishes no metadata.
    #[error("the server does not say where to sign in: it publishes no metadata (RFC 9728)")]
    NoResourceMetadata,
    /// Its metadata are those of another resource.
    #[error("the server's metadata are those of another resource")]
    OtherResource,
    /// Its metadata name no authorization server that can be used.
    #[error("the server's metadata name no authorization server with https://")]
    NoIssuer,
    /// The authorization server publishes no metadata.
    #[error("the authorization server publishes no metadata")]
    NoMetadata,
    /// The authorization server publishes what cannot be right.
    #[error("{0}")]
    Issuer(#[from] IssuerError),
    /// It lacks an endpoint.
    #[error("the authorization server has no {0}")]
    NoEndpoint(&'static str),
    /// It does not offer PKCE.
    #[error(
        "the authorization server does not offer PKCE with S256, without which codes can be stolen"
    )]
    NoPkce,
    /// We are unknown to it, and it registers nobody.
    #[error("the authorization server registers no clients: register one there, and set its id")]
    NoClient,
    /// It refuses to register us.
    #[error(
        "the authorization server does not register clients (HTTP {0}): register one there, and set its id"
    )]
    Registration(u16),
    /// An address that the server names may not be used.
    #[error("the server leads to an address that is not allowed: {0}")]
    Address(String),
    /// There is no connection, or it broke.
    #[error("the authorization server cannot be reached: {0}")]
    Unreachable(String),
    /// A status that tells nothing more.
    #[error("the authorization server responded with HTTP {0}")]
    Status(u16),
    /// A response that is not what it should be.
    #[error("the authorization server's response is not what it should be")]
    Malformed,
    /// It refused, with a code of OAuth.
    #[error("the authorization server refused: {0}")]
    Refused(&'static str),
    /// The redirect is not that of this sign-in.
    #[error("the redirect is not that of this sign-in")]
    State,
    /// The redirect comes from another authorization server.
    #[error("the redirect does not come from the authorization server that was asked")]
    OtherIssuer,
    /// More was asked for already.
    #[error("the server wants scopes that were not granted")]
    Scopes,
    /// There is nothing on this machine for the browser to come back to.
    #[error("cannot listen for the browser: {0}")]
    Listener(String),
    /// Tokens cannot be kept.
    #[error("the token cannot be kept: {0}")]
    Files(String),
}

impl From<io::Error> for SignInError {
    fn from(error: io::Error) -> Self {
        Self::Files(error.to_string())
    }
}

/// What an [`Account`] needs of the world around it.
#[derive(Clone)]
pub struct Surroundings {
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Makes what nobody may guess.
    pub entropy: Arc<dyn Entropy>,
    /// Looks up names that servers name.
    pub resolver: Arc<dyn Resolver>,
}

/// One person's account at one server.
pub struct Account {
    server: Url,
    settings: ClientSettings,
    surroundings: Surroundings,
    files: GrantFiles,
    name: GrantName,
    /// Whoever holds it renews the token; others wait for it.
    held: Mutex<Option<Grant>>,
}

/// What is known of a sign-in without its tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedIn {
    /// Where the person signed in.
    pub issuer: String,
    /// When the token expires, if it does.
    pub expires: Option<UnixTime>,
    /// Whether it is renewed without the person.
    pub is_renewed: bool,
}

/// A sign-in under way. It has secrets: seal it before it leaves the process.
#[derive(Clone, Serialize, Deserialize)]
pub struct Attempt {
    address: String,
    state: String,
    verifier: SecretText,
    redirect_uri: String,
    issuer: String,
    sends_issuer: bool,
    token_endpoint: String,
    resource: String,
    scopes: Vec<String>,
    client: Client,
}

/// The parameters with which a browser comes back.
#[derive(Clone, Default)]
pub struct Callback {
    code: Option<SecretText>,
    state: Option<String>,
    issuer: Option<String>,
    error: Option<String>,
}

impl Callback {
    /// Reads the query of a redirect; `None` if it is none of a sign-in.
    ///
    /// ```
    /// use entreat_wire::oauth::Callback;
    ///
    /// assert!(Callback::read("code=a&state=b&iss=https%3A%2F%2Fa.example").is_some());
    /// assert!(Callback::read("error=access_denied&state=b").is_some());
    /// for query in ["", "state=b", "code=a", "code=a&code=b&state=c"] {
    ///     assert!(Callback::read(query).is_none(), "{query}");
    /// }
    /// ```
    pub fn read(query: &str) -> Option<Self> {
        if query.len() > MAX_CALLBACK {
            return None;
        }
        let mut found = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let value = value.into_owned();
            let is_repeated = match &*name {
                "code" => found.code.replace(value.into()).is_some(),
                "state" => found.state.replace(value).is_some(),
                "iss" => found.issuer.replace(value).is_some(),
                "error" => found.error.replace(value).is_some(),
                _ => false,
            };
            // Two readers could take different ones.
            if is_repeated {
                return None;
            }
        }
        let has_outcome = found.code.is_some() != found.error.is_some();
        (has_outcome && found.state.is_some()).then_some(found)
    }

    /// Returns the state, by which the sign-in is found.
    pub fn state(&self) -> &str {
        self.state.as_deref().unwrap_or_default()
    }
}

impl Attempt {
    /// Returns the state that is known to this process alone.
    pub fn state(&self) -> &str {
        &self.state
    }

    /// Returns the address to open in the browser. It comes back with this state.
    pub fn address(&self, state: &str) -> String {
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("state", state)
            .finish();
        format!("{}&{query}", self.address)
    }
}

impl std::fmt::Debug for Attempt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attempt")
            .field("issuer", &self.issuer)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Callback {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Callback").finish_non_exhaustive()
    }
}

impl Account {
    /// Prepares an account at the server with this URL. `person` tells those apart whose grants
    /// are in one folder; it may be empty.
    ///
    /// Fails if tokens could be read on their way: the URL has to start with `https://`, or name
    /// this machine.
    pub fn new(
        server: &str,
        person: &str,
        settings: ClientSettings,
        files: GrantFiles,
        surroundings: Surroundings,
    ) -> Result<Self, SignInError> {
        if !crate::issuer::is_acceptable(server) {
            return Err(SignInError::Insecure);
        }
        let server = Url::parse(server).map_err(|_| SignInError::Insecure)?;
        let name = GrantName::of(person, server.as_str(), settings.name());
        Ok(Self {
            server,
            settings,
            surroundings,
            files,
            name,
            held: Mutex::new(None),
        })
    }

    /// Returns the token, renewed if it is about to expire; `None` if nobody has signed in, or it
    /// cannot be renewed.
    pub async fn token(&self) -> Result<Option<SecretText>, SignInError> {
        let mut held = self.held.lock().await;
        if held.is_none() {
            // Another process may have signed in.
            *held = self.files.load(&self.name).await?;
        }
        let Some(grant) = &*held else {
            return Ok(None);
        };
        let (now, token) = (self.now(), grant.token.clone());
        if !grant.is_due(now) {
            return Ok(Some(token));
        }
        let usable = (!grant.is_expired(now)).then(|| token.clone());
        match self.refresh(&mut held, &token, None).await {
            Ok(None) => Ok(usable),
            Err(error) if usable.is_some() => {
                tracing::debug!(%error, "a token was not renewed early");
                Ok(usable)
            }
            outcome => outcome,
        }
    }

    /// Returns another token than one that the server has refused; `None` if somebody has to sign
    /// in.
    pub async fn renew(&self, refusal: Refusal<'_>) -> Result<Option<SecretText>, SignInError> {
        let Refusal {
            token: refused,
            challenge,
            is_repeated,
        } = refusal;
        let mut held = self.held.lock().await;
        if let Some(token) = other_than(refused, held.as_ref()) {
            return Ok(Some(token));
        }
        *held = self.files.load(&self.name).await?;
        if let Some(token) = other_than(refused, held.as_ref()) {
            return Ok(Some(token));
        }
        // More scopes are the person's to give.
        let is_of_use = !challenge.lacks_scope && !is_repeated;
        let Some(grant) = held.as_ref().filter(|_| is_of_use) else {
            return Ok(None);
        };
        if grant.refresh_token.is_none() {
            return Ok(None);
        }
        let outbound = self.outbound().await?;
        let found = discover(&self.server, challenge, &outbound).await?;
        // What one authorization server gave is not for another.
        if found.issuer != grant.issuer || found.resource != grant.resource {
            return Ok(None);
        }
        let token = grant.token.clone();
        self.refresh(&mut held, &token, Some(found)).await
    }

    /// Begins a sign-in. The browser is to come back to `redirect_uri`.
    pub async fn begin(
        &self,
        challenge: &Challenge,
        redirect_uri: &str,
    ) -> Result<Attempt, SignInError> {
        let outbound = self.outbound().await?;
        let found = discover(&self.server, challenge, &outbound).await?;
        let metadata = &found.metadata;
        if !metadata.pkce_methods.iter().any(|it| it == PKCE) {
            return Err(SignInError::NoPkce);
        }
        let endpoint = metadata.authorization_endpoint.as_deref();
        let endpoint = endpoint.ok_or(SignInError::NoEndpoint("authorization endpoint"))?;
        let token_endpoint = metadata.token_endpoint.clone();
        let token_endpoint = token_endpoint.ok_or(SignInError::NoEndpoint("token endpoint"))?;
        outbound.check(endpoint).await?;
        let mut address = Url::parse(endpoint).map_err(|_| SignInError::Malformed)?;
        address.set_fragment(None);
        let scopes = self.scopes(&found, challenge).await?;
        let client = client_for(&self.settings, metadata, redirect_uri, &scopes, &outbound).await?;
        let verifier = self.random();
        let hash = digest::digest(&digest::SHA256, verifier.as_bytes());
        {
            let mut query = address.query_pairs_mut();
            query
                .append_pair("response_type", "code")
                .append_pair("client_id", &client.id)
                .append_pair("redirect_uri", redirect_uri)
                .append_pair("code_challenge", &URL_SAFE_NO_PAD.encode(hash))
                .append_pair("code_challenge_method", PKCE)
                .append_pair("resource", &found.resource);
            if !scopes.is_empty() {
                query.append_pair("scope", &scopes.join(" "));
            }
            if scopes.iter().any(|it| it == OFFLINE) {
                // OpenID Connect ignores the scope without it.
                query.append_pair("prompt", "consent");
            }
        }
        Ok(Attempt {
            address: address.into(),
            state: self.random(),
            verifier: verifier.into(),
            redirect_uri: redirect_uri.to_owned(),
            issuer: found.issuer,
            sends_issuer: found.metadata.sends_issuer,
            token_endpoint,
            resource: found.resource,
            scopes,
            client,
        })
    }

    /// Ends a sign-in: `state` is the one with which the browser was sent.
    pub async fn finish(
        &self,
        attempt: Attempt,
        state: &str,
        callback: Callback,
    ) -> Result<SecretText, SignInError> {
        if callback.state() != state {
            return Err(SignInError::State);
        }
        // Also on errors: another server's word does not end this sign-in.
        match &callback.issuer {
            Some(issuer) if *issuer != attempt.issuer => return Err(SignInError::OtherIssuer),
            None if attempt.sends_issuer => return Err(SignInError::OtherIssuer),
            _ => {}
        }
        let Some(code) = callback.code else {
            let code = callback.error.as_deref().and_then(known);
            return Err(SignInError::Refused(
                code.unwrap_or("no reason that OAuth knows"),
            ));
        };
        let outbound = self.outbound().await?;
        let request = TokenRequest {
            endpoint: &attempt.token_endpoint,
            issuer: &attempt.issuer,
            resource: &attempt.resource,
            client: &attempt.client,
            scopes: &attempt.scopes,
        };
        let exchange = request.exchange(
            &code,
            &attempt.verifier,
            &attempt.redirect_uri,
            &outbound,
            self.now(),
        );
        let grant = exchange.await?;
        let token = grant.token.clone();
        let mut held = self.held.lock().await;
        self.keep(&mut held, grant).await;
        Ok(token)
    }

    /// Forgets the tokens; returns whether there were any.
    pub async fn forget(&self) -> Result<bool, SignInError> {
        let mut held = self.held.lock().await;
        *held = None;
        let _lock = self.files.lock(&self.name).await?;
        Ok(self.files.forget(&self.name).await?)
    }

    /// Returns what is known of the sign-in that is kept, if there is one.
    pub async fn signed_in(&self) -> Result<Option<SignedIn>, SignInError> {
        let grant = self.files.load(&self.name).await?;
        Ok(grant.map(|grant| SignedIn {
            issuer: grant.issuer,
            expires: grant.expires,
            is_renewed: grant.refresh_token.is_some(),
        }))
    }

    /// Reads what the server publishes, as a sign-in would; returns its authorization server.
    pub async fn look_up(&self, challenge: &Challenge) -> Result<String, SignInError> {
        let outbound = self.outbound().await?;
        Ok(discover(&self.server, challenge, &outbound).await?.issuer)
    }

    /// Exchanges the refresh token, unless another process did. `None` if it is not good any more.
    async fn refresh(
        &self,
        held: &mut Option<Grant>,
        refused: &SecretText,
        found: Option<Discovered>,
    ) -> Result<Option<SecretText>, SignInError> {
        let _lock = self.files.lock(&self.name).await?;
        // Also if there is none any more: then somebody has signed out.
        *held = self.files.load(&self.name).await?;
        if let Some(token) = other_than(Some(refused), held.as_ref()) {
            return Ok(Some(token));
        }
        let Some(grant) = held.as_ref() else {
            return Ok(None);
        };
        let Some(refresh_token) = &grant.refresh_token else {
            return Ok(None);
        };
        let outbound = self.outbound().await?;
        let metadata = match found {
            Some(found) => found.metadata,
            None => authorization_server(&grant.issuer, &outbound).await?,
        };
        let endpoint = metadata.token_endpoint.as_deref();
        let request = TokenRequest {
            endpoint: endpoint.ok_or(SignInError::NoEndpoint("token endpoint"))?,
            issuer: &grant.issuer,
            resource: &grant.resource,
            client: &grant.client,
            scopes: &grant.scopes,
        };
        match request.refresh(refresh_token, &outbound, self.now()).await {
            Ok(grant) => {
                let token = grant.token.clone();
                self.keep(held, grant).await;
                Ok(Some(token))
            }
            Err(SignInError::Refused(
                "invalid_grant" | "invalid_client" | "unauthorized_client",
            )) => {
                *held = None;
                self.files.forget(&self.name).await?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Takes a grant into use.
    async fn keep(&self, held: &mut Option<Grant>, grant: Grant) {
        *held = Some(grant.clone());
        if let Err(error) = self.files.save(&self.name, grant).await {
            // It is good until the process ends.
            tracing::warn!(%error, "a sign-in cannot be kept");
        }
    }

    /// Chooses the scopes of a sign-in.
    async fn scopes(
        &self,
        found: &Discovered,
        challenge: &Challenge,
    ) -> Result<Vec<String>, SignInError> {
        let held = self.held.lock().await;
        let known = held.as_ref().filter(|it| it.issuer == found.issuer);
        let mut scopes = match known {
            Some(grant) if challenge.lacks_scope => {
                let all = union(&grant.scopes, &challenge.scopes);
                // Asked again, the person could do nothing else than before.
                if all.len() == grant.scopes.len() {
                    return Err(SignInError::Scopes);
                }
                all
            }
            _ if !challenge.scopes.is_empty() => challenge.scopes.clone(),
            _ if !found.scopes.is_empty() => found.scopes.clone(),
            _ => self.settings.scopes.clone(),
        };
        let offers_offline = found.metadata.scopes.iter().any(|it| it == OFFLINE);
        if offers_offline && !scopes.iter().any(|it| it == OFFLINE) {
            scopes.push(OFFLINE.to_owned());
        }
        Ok(scopes)
    }

    async fn outbound(&self) -> Result<Outbound<'_>, SignInError> {
        let resolver = &*self.surroundings.resolver;
        Outbound::of(&self.server, resolver, self.settings.tls.as_ref()).await
    }

    fn now(&self) -> UnixTime {
        self.surroundings.clock.wall()
    }

    fn random(&self) -> String {
        let mut bytes = [0; 32];
        self.surroundings.entropy.fill(&mut bytes);
        URL_SAFE_NO_PAD.encode(bytes)
    }
}

/// An account that asks nobody: without a token that works, somebody has to sign in elsewhere.
impl TokenSource for Account {
    fn token(&self) -> TokenFuture<'_, Option<SecretText>> {
        Box::pin(self.token())
    }

    fn renewed<'a>(&'a self, refusal: Refusal<'a>) -> TokenFuture<'a, SecretText> {
        Box::pin(async move { self.renew(refusal).await?.ok_or(SignInError::Needed) })
    }
}

impl std::fmt::Debug for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without the URL, which may contain secrets.
        f.debug_struct("Account").finish_non_exhaustive()
    }
}

/// Returns the token of a grant, unless it is the refused one.
fn other_than(refused: Option<&SecretText>, grant: Option<&Grant>) -> Option<SecretText> {
    let token = grant.map(|grant| &grant.token)?;
    (refused != Some(token)).then(|| token.clone())
}
