//! People who sign in at an OpenID provider.
//!
//! Nothing about a sign-in or a session is kept here: both are sealed, the one in the `state` that
//! travels through the provider, the other in a cookie. So any number of tabs can sign in at once,
//! and any node can take what another began. What the store knows is which states were used and
//! which sessions ended early.

mod exchange;
mod sign_outs;

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use entreat_core::{ElicitationId, UnixTime};
use entreat_engine::store::Claim;
use entreat_engine::{Engine, RespondentAuth, StoreError};
use entreat_wire::digest::Digest;
use entreat_wire::http::ExchangeError;
use entreat_wire::issuer::{Claims, IdTokenRules, Issuer, IssuerError, Metadata, TokenError};
use entreat_wire::seal::{Binding, RejectReason, Sealer, StateId};
use rustls::ClientConfig;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use url::Url;
use zeroize::Zeroizing;

use self::exchange::{ClientIdentity, CodeError, exchange};
use self::sign_outs::SignOuts;
use super::ClaimNames;
use super::session::{Session, SignInFacts};

/// How long a sign-in may take.
const ATTEMPT: Duration = Duration::from_secs(600);
/// By how much the clocks of an issuer and of this machine may differ.
const CLOCK_SKEW: Duration = Duration::from_secs(60);
/// The longest value of a session's cookie: browsers keep 4096 bytes with name and attributes.
const MAX_COOKIE: usize = 3600;
/// The longest parameter of a callback, in bytes.
const MAX_PARAMETER: usize = 8 << 10;

const KEY_CONTEXT: &str = "entreat 2026-11 sign-in";

/// Which provider signs people in, and what its tokens say of them.
#[derive(Clone, Debug)]
pub struct OidcIdentity {
    issuer: Issuer,
    settings: OidcSettings,
}

/// Options of an [`OidcIdentity`].
#[derive(Clone)]
pub struct OidcSettings {
    /// This service's id at the provider.
    pub client_id: String,
    /// Its secret; `None` for a public client.
    pub client_secret: Option<Zeroizing<String>>,
    /// The scopes to ask for, separated by spaces.
    pub scopes: String,
    /// How long a session lasts.
    pub session: Duration,
    /// Which claims say what about a person.
    pub claims: ClaimNames,
    /// A TLS configuration other than the platform's, for private certificate authorities.
    pub tls: Option<ClientConfig>,
}

impl Default for OidcSettings {
    fn default() -> Self {
        Self {
            client_id: String::new(),
            client_secret: None,
            scopes: "openid profile email".to_owned(),
            session: Duration::from_secs(8 * 3600),
            claims: ClaimNames::default(),
            tls: None,
        }
    }
}

impl std::fmt::Debug for OidcSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OidcSettings")
            .field("client_id", &self.client_id)
            .field("scopes", &self.scopes)
            .field("session", &self.session)
            .field("claims", &self.claims)
            .finish_non_exhaustive()
    }
}

impl OidcIdentity {
    /// Signs people in at this issuer.
    pub fn new(issuer: Issuer, settings: OidcSettings) -> Self {
        Self { issuer, settings }
    }
}

/// Signs people in and out, and knows who is signed in.
pub(crate) struct SignIn {
    identity: OidcIdentity,
    engine: Engine,
    sealer: Sealer,
    sign_outs: SignOuts,
    /// The public URL of the pages.
    url: String,
    /// What seals are bound to besides the browser: a session of another issuer is none.
    realm: Digest,
}

/// A sign-in under way, sealed in its `state`.
#[derive(Serialize, Deserialize)]
struct Attempt {
    nonce: String,
    verifier: String,
    /// The path to return to.
    to: String,
    begun: UnixTime,
    fresh: Option<FreshSignIn>,
}

/// A sign-in that a question asks for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FreshSignIn {
    pub(crate) question: ElicitationId,
    // Not a `RespondentAuth`, which leaves out what is not there: states have no names of members.
    max_age: Option<u32>,
    acr: Option<Box<str>>,
}

impl FreshSignIn {
    pub(crate) fn new(question: ElicitationId, auth: &RespondentAuth) -> Self {
        Self {
            question,
            max_age: auth.max_age,
            acr: auth.acr.clone(),
        }
    }
}

/// How somebody wants to sign in.
#[derive(Default)]
pub(crate) struct SignInRequest {
    /// The path to return to.
    pub(crate) to: String,
    /// With another account than before.
    pub(crate) other_account: bool,
    /// Again, for a question.
    pub(crate) fresh: Option<FreshSignIn>,
}

/// The parameters of a callback.
#[derive(Default)]
pub(crate) struct Callback {
    pub(crate) code: Option<Zeroizing<String>>,
    pub(crate) state: Option<String>,
    pub(crate) iss: Option<String>,
    pub(crate) error: Option<String>,
}

/// A sign-in that succeeded.
pub(crate) struct SignedIn {
    /// The value of the session's cookie.
    pub(crate) cookie: String,
    /// The path to return to.
    pub(crate) to: String,
}

/// A sign-in that failed.
#[derive(Debug)]
pub(crate) struct SignInFailure {
    /// For the log.
    pub(crate) reason: SignInError,
    /// The path to return to, if the state was ours.
    pub(crate) to: Option<String>,
}

/// Why a sign-in failed. Who signs in learns only whether to try again now or later.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SignInError {
    #[error("the callback is malformed")]
    Malformed,
    #[error("the state is refused: {0}")]
    State(RejectReason),
    #[error("the state was used before")]
    Used,
    #[error("the callback is another issuer's")]
    Issuer,
    #[error("the issuer refused: {0}")]
    Refused(&'static str),
    #[error(transparent)]
    Unavailable(#[from] IssuerError),
    #[error(transparent)]
    Code(#[from] CodeError),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error("the token lacks the claim that names people")]
    NoSubject,
    #[error("the issuer has no authorization endpoint")]
    NoEndpoint,
    #[error("the session does not fit into a cookie")]
    TooLarge,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl SignInError {
    /// Whether trying again later may help.
    pub(crate) fn is_temporary(&self) -> bool {
        match self {
            Self::Unavailable(_) | Self::Store(_) | Self::NoEndpoint => true,
            Self::Token(error) => matches!(error, TokenError::Issuer(_)),
            Self::Code(error) => match error {
                CodeError::Exchange(ExchangeError::TooLong(_)) | CodeError::NoToken => false,
                CodeError::Client(_) | CodeError::Exchange(_) | CodeError::NoEndpoint => true,
                CodeError::Refused(status) => *status >= 500,
            },
            Self::Malformed
            | Self::State(_)
            | Self::Used
            | Self::Issuer
            | Self::Refused(_)
            | Self::NoSubject
            | Self::TooLarge => false,
        }
    }
}

/// A session that was found in a cookie.
#[derive(Clone)]
pub(crate) struct OpenSession {
    pub(crate) session: Session,
    pub(crate) id: StateId,
    pub(crate) expires: UnixTime,
}

impl SignIn {
    /// `url` is the public URL of the pages, without a trailing slash.
    pub(crate) fn new(identity: OidcIdentity, engine: Engine, url: &str) -> Self {
        let issuer = identity.issuer.url();
        let OidcSettings {
            client_id, claims, ..
        } = &identity.settings;
        Self {
            sealer: Sealer::new(engine.clone(), KEY_CONTEXT),
            sign_outs: SignOuts::new(engine.clone(), issuer),
            url: url.to_owned(),
            realm: Digest::of(&json!([issuer, client_id, claims.subject])),
            engine,
            identity,
        }
    }

    /// The origin of the issuer, for the policy of pages that lead there.
    pub(crate) fn issuer_origin(&self) -> String {
        let url = Url::parse(self.identity.issuer.url());
        url.map_or_else(|_| String::new(), |url| url.origin().ascii_serialization())
    }

    /// Begins a sign-in of a browser; returns the address at the provider.
    pub(crate) async fn begin(
        &self,
        browser: &str,
        request: SignInRequest,
    ) -> Result<String, SignInError> {
        let metadata = self.identity.issuer.metadata(self.engine.now()).await?;
        let endpoint = metadata.authorization_endpoint.as_deref();
        let endpoint = endpoint.and_then(|url| Url::parse(url).ok());
        let mut address = endpoint.ok_or(SignInError::NoEndpoint)?;
        let attempt = Attempt {
            nonce: self.random_text(),
            verifier: self.random_text(),
            to: request.to,
            begun: self.engine.now(),
            fresh: request.fresh,
        };
        let expires = attempt.begun.after(ATTEMPT);
        let state = self
            .sealer
            .seal(&self.binding("attempt", browser), expires, &attempt);
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(attempt.verifier.as_bytes()));
        let settings = &self.identity.settings;
        let mut query = address.query_pairs_mut();
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", &settings.client_id)
            .append_pair("redirect_uri", &self.redirect_uri())
            .append_pair("scope", &settings.scopes)
            .append_pair("state", &state)
            .append_pair("nonce", &attempt.nonce)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256");
        let max_age = attempt.fresh.as_ref().and_then(|fresh| fresh.max_age);
        // Once: providers refuse repeated parameters.
        if max_age.is_some() {
            query.append_pair("prompt", "login");
        } else if request.other_account {
            query.append_pair("prompt", self.other_account());
        }
        if let Some(max_age) = max_age {
            query.append_pair("max_age", &max_age.to_string());
        }
        if let Some(acr) = attempt
            .fresh
            .as_ref()
            .and_then(|fresh| fresh.acr.as_deref())
        {
            query.append_pair("acr_values", acr);
        }
        drop(query);
        Ok(address.into())
    }

    /// Ends a sign-in. `browser` is that of the request: a state of another one is refused, so that
    /// nobody is signed in as somebody else by a link.
    pub(crate) async fn finish(
        &self,
        browser: &str,
        callback: Callback,
    ) -> Result<SignedIn, SignInFailure> {
        let of_stranger = |reason| SignInFailure { reason, to: None };
        let state = callback.state.as_deref().unwrap_or_default();
        if state.is_empty() || state.len() > MAX_PARAMETER {
            return Err(of_stranger(SignInError::Malformed));
        }
        let opened = self
            .sealer
            .open::<Attempt>(state, &self.binding("attempt", browser))
            .map_err(|reason| of_stranger(SignInError::State(reason)))?;
        let used = Claim {
            key: opened.id,
            inputs: [0; 16],
            expires: opened.expires,
            holder: None,
            outcome: None,
        };
        let attempt = opened.contents;
        match self.session_of(browser, &attempt, &callback, used).await {
            Ok(cookie) => Ok(SignedIn {
                cookie,
                to: attempt.to,
            }),
            Err(reason) => Err(SignInFailure {
                reason,
                to: Some(attempt.to),
            }),
        }
    }

    async fn session_of(
        &self,
        browser: &str,
        attempt: &Attempt,
        callback: &Callback,
        used: Claim,
    ) -> Result<String, SignInError> {
        let OidcIdentity { issuer, settings } = &self.identity;
        let metadata = issuer.metadata(self.engine.now()).await?;
        // Before anything else is believed, errors included: they may be another issuer's.
        match &callback.iss {
            Some(iss) if *iss == issuer.url() => {}
            None if !metadata.sends_issuer => {}
            Some(_) | None => return Err(SignInError::Issuer),
        }
        if self.engine.claim(used).await?.is_some() {
            return Err(SignInError::Used);
        }
        if let Some(error) = &callback.error {
            return Err(SignInError::Refused(known_error(error)));
        }
        let code = callback.code.as_ref();
        let code = code.filter(|code| !code.is_empty() && code.len() <= MAX_PARAMETER);
        let code = code.ok_or(SignInError::Malformed)?;
        let token = self.exchange(&metadata, code, attempt).await?;
        let now = self.engine.now();
        let fresh = attempt.fresh.as_ref();
        let max_age = fresh.and_then(|fresh| fresh.max_age).map(|seconds| {
            // Whoever signed in since this began did so for it.
            Duration::from_secs(seconds.into()).max(now.since(attempt.begun))
        });
        let rules = IdTokenRules {
            client_id: &settings.client_id,
            nonce: &attempt.nonce,
            max_age,
            acr: fresh.and_then(|fresh| fresh.acr.as_deref()),
        };
        let claims = issuer.check_id_token(&token, rules, now).await?;
        let account = settings.claims.account(&claims);
        let session = Session {
            account: account.ok_or(SignInError::NoSubject)?,
            sign_in: SignInFacts {
                sid: claims.text("sid").map(Box::from),
                subject: claims.subject.as_str().into(),
                issued: time(&claims, "iat").unwrap_or(now),
                authenticated: time(&claims, "auth_time"),
                acr: claims.text("acr").map(Box::from),
                fresh_for: fresh.map(|fresh| (fresh.question, now)),
            },
        };
        self.seal_session(browser, session)
    }

    async fn exchange(
        &self,
        metadata: &Metadata,
        code: &str,
        attempt: &Attempt,
    ) -> Result<Zeroizing<String>, CodeError> {
        let settings = &self.identity.settings;
        let client = ClientIdentity {
            id: &settings.client_id,
            secret: settings
                .client_secret
                .as_ref()
                .map(|secret| secret.as_str()),
            tls: settings.tls.as_ref(),
        };
        let redirect = self.redirect_uri();
        exchange(metadata, &client, code, &attempt.verifier, &redirect).await
    }

    /// Seals a session, with as many groups as fit.
    fn seal_session(&self, browser: &str, mut session: Session) -> Result<String, SignInError> {
        let expires = self.engine.now().after(self.identity.settings.session);
        let binding = self.binding("session", browser);
        let all = session.account.groups.len();
        loop {
            let sealed = self.sealer.seal(&binding, expires, &session);
            let groups = &mut session.account.groups;
            if sealed.len() <= MAX_COOKIE {
                if groups.len() < all {
                    let left_out = all - groups.len();
                    tracing::warn!(
                        all,
                        left_out,
                        "a person is in more groups than fit into a session"
                    );
                }
                return Ok(sealed);
            }
            if groups.is_empty() {
                return Err(SignInError::TooLarge);
            }
            let fewer = groups.len() * 3 / 4;
            *groups = groups.iter().take(fewer).cloned().collect();
        }
    }

    /// Returns the session in a cookie, if it is this browser's and has not ended.
    pub(crate) async fn session(
        &self,
        browser: &str,
        cookie: &str,
        changes_something: bool,
    ) -> Result<Option<OpenSession>, StoreError> {
        let binding = self.binding("session", browser);
        let opened = match self.sealer.open::<Session>(cookie, &binding) {
            Ok(opened) => opened,
            Err(reason) => {
                tracing::debug!(%reason, "a session is not valid");
                return Ok(None);
            }
        };
        let sign_in = &opened.contents.sign_in;
        let has_ended = self
            .sign_outs
            .has_ended(&opened.id, sign_in, changes_something);
        Ok((!has_ended.await?).then_some(OpenSession {
            session: opened.contents,
            id: opened.id,
            expires: opened.expires,
        }))
    }

    /// Ends a session; returns where to sign out of the provider, too, if it offers that.
    pub(crate) async fn end(&self, session: &OpenSession) -> Result<Option<String>, StoreError> {
        self.sign_outs
            .end_session(&session.id, session.expires)
            .await?;
        let Ok(metadata) = self.identity.issuer.metadata(self.engine.now()).await else {
            return Ok(None);
        };
        let address = metadata.end_session_endpoint.as_deref();
        let Some(mut address) = address.and_then(|url| Url::parse(url).ok()) else {
            return Ok(None);
        };
        address
            .query_pairs_mut()
            .append_pair("client_id", &self.identity.settings.client_id)
            .append_pair("post_logout_redirect_uri", &self.signed_out_uri());
        Ok(Some(address.into()))
    }

    /// Ends the sessions that a logout token of the provider names.
    pub(crate) async fn end_by_token(&self, token: &str) -> Result<(), SignInError> {
        let OidcIdentity { issuer, settings } = &self.identity;
        let now = self.engine.now();
        let checked = issuer.check_logout_token(token, &settings.client_id, now);
        let claims = checked.await?;
        let expires = now.after(settings.session).after(CLOCK_SKEW);
        if let Some(sid) = claims.text("sid") {
            self.sign_outs.end_sid(sid, expires).await?;
        } else {
            // Times of tokens have no fractions: the whole second counts.
            let issued = time(&claims, "iat").unwrap_or(now);
            self.sign_outs
                .end_subject(&claims.subject, issued, expires)
                .await?;
        }
        Ok(())
    }

    /// The prompt that lets people choose an account. Every provider has to offer a new sign-in,
    /// except that Google's offers a choice in its place.
    fn other_account(&self) -> &'static str {
        if self.identity.issuer.url() == "https://accounts.google.com" {
            "select_account"
        } else {
            "login"
        }
    }

    /// How long a session lasts.
    pub(crate) fn session_length(&self) -> Duration {
        self.identity.settings.session
    }

    fn redirect_uri(&self) -> String {
        format!("{}/sign-in/callback", self.url)
    }

    fn signed_out_uri(&self) -> String {
        format!("{}/signed-out", self.url)
    }

    fn binding(&self, target: &str, browser: &str) -> Binding {
        Binding {
            principal: browser.to_owned(),
            target: target.to_owned(),
            arguments: self.realm,
        }
    }

    /// 256 random bits as text.
    fn random_text(&self) -> String {
        let mut bytes = Zeroizing::new([0; 32]);
        self.engine.fill_random(&mut *bytes);
        URL_SAFE_NO_PAD.encode(&bytes[..])
    }
}

/// A claim that is a time in seconds.
fn time(claims: &Claims, name: &str) -> Option<UnixTime> {
    let value = claims.all.get(name)?;
    let seconds = value.as_u64().or_else(|| {
        let seconds = value.as_f64().filter(|seconds| *seconds >= 0.0)?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a time after 1970, and fractions do not count"
        )]
        let seconds = seconds as u64;
        Some(seconds)
    })?;
    Some(UnixTime::from_millis(seconds.saturating_mul(1000)))
}

/// The error codes of the specifications; others are not repeated in the log.
fn known_error(code: &str) -> &'static str {
    const KNOWN: [&str; 12] = [
        "access_denied",
        "account_selection_required",
        "consent_required",
        "interaction_required",
        "invalid_request",
        "invalid_scope",
        "login_required",
        "server_error",
        "temporarily_unavailable",
        "unauthorized_client",
        "unmet_authentication_requirements",
        "unsupported_response_type",
    ];
    let known = KNOWN.iter().find(|known| **known == code);
    known.copied().unwrap_or("another error")
}

impl std::fmt::Debug for SignIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignIn")
            .field("identity", &self.identity)
            .finish_non_exhaustive()
    }
}
