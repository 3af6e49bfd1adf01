//! Authenticates visitors of pages.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{FromRequestParts, Path, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use entreat_core::{ElicitationId, Messages};
#[cfg(feature = "sign-in")]
use entreat_engine::StoreError;
use entreat_engine::{ActError, Actor, Elicitation, Snapshot};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Site;
use super::frame::{notice, see_other};
use super::guard::may_be_same_origin;
use super::posted::Posted;
use super::texts::Texts;
use super::token::{Access, Browser, FormPerson, PersonDigest, Target};
#[cfg(feature = "sign-in")]
use crate::identity::oidc::OpenSession;
use crate::identity::{Person, Unidentified};

/// A visitor with access.
pub(super) struct Visit {
    pub(super) site: Arc<Site>,
    pub(super) target: Target,
    pub(super) browser: Browser,
    /// The browser has no cookie yet.
    is_new: bool,
    /// The request is a navigation of a browser.
    navigates: bool,
    access: Access,
    /// `None` if a form arrives from somebody who is not signed in any more.
    pub(super) person: Option<Person>,
    /// Whose drafts these are.
    person_digest: Option<PersonDigest>,
    #[cfg(feature = "sign-in")]
    pub(super) session: Option<OpenSession>,
    pub(super) texts: &'static Texts,
    pub(super) messages: Messages,
}

/// Who sent a request.
pub(super) struct Visitor {
    pub(super) person: Person,
    #[cfg(feature = "sign-in")]
    pub(super) session: Option<OpenSession>,
}

impl Visitor {
    /// Whether the person signed in here, and can sign out.
    pub(super) fn has_session(&self) -> bool {
        #[cfg(feature = "sign-in")]
        return self.session.is_some();
        #[cfg(not(feature = "sign-in"))]
        false
    }
}

/// A visitor without access, and what they get.
pub(super) struct Refused {
    response: Box<Response>,
    /// The visit of somebody who had access when the form in this request was rendered.
    lapsed: Option<Box<QuestionVisit>>,
}

impl From<Response> for Refused {
    fn from(response: Response) -> Self {
        Self {
            response: Box::new(response),
            lapsed: None,
        }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        *self.response
    }
}

/// Lifetime of the cookie in seconds: 30 days.
const COOKIE_AGE: u64 = 30 * 24 * 3600;

impl Visit {
    /// Grants access, or returns an error page. Nonexistent questions and those of others are
    /// indistinguishable, and whoever is not signed in can tell nothing from nothing. Without a
    /// key, only people with names have access.
    pub(super) async fn authenticate(
        site: &Arc<Site>,
        parts: &Parts,
        target: Target,
        key: Option<&str>,
    ) -> Result<Self, Refused> {
        let (texts, messages) = language(site, &parts.headers);
        let error_page =
            |status, content| Err(Refused::from(notice(site, texts, status, content, &[])));
        let Some(peer) = peer_of(parts) else {
            return error_page(StatusCode::FORBIDDEN, texts.refused);
        };
        if site.rejects_everyone {
            tracing::info!(
                "nobody can open pages: `public_url` names another machine, and no proxy names \
                 the users"
            );
            return error_page(StatusCode::FORBIDDEN, texts.refused);
        }
        let known = site.browser(&parts.headers);
        let identified = site.identify(peer, parts, known.as_ref()).await;
        let visitor = identified.map_err(|refusal| site.refuse(&refusal, parts, known.as_ref()))?;
        let access = match (key, &visitor.person) {
            (Some(key), _) => site.keys.open(target, key, known.as_ref()),
            (None, Person::Named(_) | Person::SignedIn(_)) => Some(Access::Name),
            (None, Person::Local) => return error_page(StatusCode::FORBIDDEN, texts.no_inbox),
        };
        let Some(access) = access else {
            let refused = site.not_found_for(&visitor, peer, known.as_ref(), texts);
            // As often as for a link to somebody else's question.
            if let (Target::Question(id), Person::Named(_) | Person::SignedIn(_)) =
                (target, &visitor.person)
            {
                drop(site.engine.elicitation(id).status().await);
            }
            return Err(refused.into());
        };
        if parts.method == Method::POST
            && !(known.is_some() && may_be_same_origin(site, &parts.headers))
        {
            return error_page(StatusCode::FORBIDDEN, texts.forged);
        }
        let is_new = known.is_none();
        Ok(Self {
            site: site.clone(),
            target,
            browser: known.unwrap_or_else(|| site.new_browser()),
            is_new,
            navigates: navigates(&parts.headers),
            access,
            person_digest: visitor.person.digest(),
            person: Some(visitor.person),
            #[cfg(feature = "sign-in")]
            session: visitor.session,
            texts,
            messages,
        })
    }

    /// The visit of somebody who posts a form to an address that was made for this browser, and who
    /// may not answer: signed out meanwhile, or signed in as somebody else.
    fn lapsed(site: &Arc<Site>, parts: &Parts, id: ElicitationId, key: &str) -> Option<Self> {
        let target = Target::Question(id);
        let browser = site.browser(&parts.headers)?;
        let is_theirs = site.settings.identity.needs_respondent()
            && parts.method == Method::POST
            && site.keys.open(target, key, Some(&browser)) == Some(Access::Pass)
            && may_be_same_origin(site, &parts.headers);
        let (texts, messages) = language(site, &parts.headers);
        is_theirs.then(|| Self {
            site: site.clone(),
            target,
            browser,
            is_new: false,
            navigates: false,
            access: Access::Pass,
            person: None,
            person_digest: None,
            #[cfg(feature = "sign-in")]
            session: None,
            texts,
            messages,
        })
    }

    /// The address of the page for this browser.
    pub(super) fn here(&self) -> String {
        let pass = self.site.keys.pass(self.target, &self.browser);
        let root = &self.site.root;
        match self.target {
            Target::Question(id) => format!("{root}/e/{id}/{pass}"),
            Target::Inbox if self.access == Access::Name => format!("{root}/inbox"),
            Target::Inbox => format!("{root}/inbox/{pass}"),
            Target::Account => format!("{root}/"),
            Target::Board => format!("{root}/board"),
        }
    }

    /// Whether the person signed in here, and can sign out.
    pub(super) fn has_session(&self) -> bool {
        #[cfg(feature = "sign-in")]
        return self.session.is_some();
        #[cfg(not(feature = "sign-in"))]
        false
    }

    /// Whether a question is for this person, and has a page.
    pub(super) fn may_see(&self, snapshot: &Snapshot) -> bool {
        let request = &snapshot.record().request;
        let person = self.person.as_ref();
        request.subject.form().is_some() && person.is_some_and(|it| it.may_answer(request))
    }

    pub(super) fn csrf(&self) -> String {
        let person = self.person_digest.as_ref();
        let keys = &self.site.keys;
        keys.csrf_token(self.target, &self.browser, person)
    }

    /// Returns for which person a form with this CSRF token was rendered, if it was for this
    /// browser.
    pub(super) fn person_of_form(&self, token: &str) -> Option<FormPerson> {
        let keys = &self.site.keys;
        keys.person_of_form(self.target, &self.browser, token)
    }

    /// Whether a CSRF token is valid for this browser and person.
    pub(super) fn is_own_form(&self, token: Option<&str>) -> bool {
        let person = token.and_then(|token| self.person_of_form(token));
        person.is_some_and(|person| person.0 == self.person_digest)
    }

    /// Who acts, as questions keep it.
    pub(super) fn actor(&self) -> Option<Actor> {
        self.person.as_ref()?.actor()
    }

    /// The author of drafts, as the engine stores it.
    fn typist(&self) -> String {
        let browser = self.browser.name();
        match &self.person_digest {
            Some(person) => format!("{browser}.{}", URL_SAFE_NO_PAD.encode(person)),
            None => browser,
        }
    }

    /// Redirects a browser to an address without the token, which thus stays out of its history.
    /// Other clients, such as programs, get the page itself.
    pub(super) fn redirect_from_link(&self) -> Option<Response> {
        (self.navigates && self.access == Access::Link).then(|| self.redirect_to(&self.here()))
    }

    pub(super) fn redirect_to(&self, place: &str) -> Response {
        self.with_cookie(see_other(place))
    }

    /// Sets the cookie, if the browser has none.
    pub(super) fn with_cookie(&self, mut response: Response) -> Response {
        if self.is_new {
            self.site.set_cookie(&mut response, &self.browser);
        }
        response
    }

    pub(super) fn error_page(
        &self,
        status: StatusCode,
        content: super::texts::NoticeTexts,
    ) -> Response {
        notice(&self.site, self.texts, status, content, &[])
    }
}

impl FromRequestParts<Arc<Site>> for Visit {
    type Rejection = Refused;

    /// Grants access to the inbox.
    async fn from_request_parts(parts: &mut Parts, site: &Arc<Site>) -> Result<Self, Refused> {
        let key = Path::<String>::from_request_parts(parts, site).await.ok();
        let key = key.as_ref().map(|Path(key)| &**key);
        Self::authenticate(site, parts, Target::Inbox, key).await
    }
}

/// A visitor with access to a question, and the question's state.
pub(super) struct QuestionVisit {
    pub(super) visit: Visit,
    pub(super) id: ElicitationId,
    pub(super) snapshot: Snapshot,
}

impl FromRequestParts<Arc<Site>> for QuestionVisit {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, site: &Arc<Site>) -> Result<Self, Refused> {
        let address = Path::<QuestionAddress>::from_request_parts(parts, site).await;
        let Ok(Path(QuestionAddress { id, key })) = address else {
            // Indistinguishable from a wrong key, which this one always is.
            let visit = Visit::authenticate(site, parts, Target::Inbox, Some("")).await?;
            return Err(site.not_found(visit.texts).into());
        };
        let mut refused = match Self::open(site, parts, id, &key).await {
            Ok(question) => return Ok(question),
            Err(refused) => refused,
        };
        if let Some(visit) = Visit::lapsed(site, parts, id, &key)
            && let Ok(snapshot) = site.engine.elicitation(id).status().await
            && snapshot.record().request.subject.form().is_some()
        {
            refused.lapsed = Some(Box::new(Self::new(visit, id, snapshot)));
        }
        Err(refused)
    }
}

/// The path parameters of a question; further ones are parsed by its handlers.
#[derive(Deserialize)]
struct QuestionAddress {
    id: ElicitationId,
    key: String,
}

impl QuestionVisit {
    fn new(visit: Visit, id: ElicitationId, snapshot: Snapshot) -> Self {
        Self {
            // Others who may answer have drafts of their own.
            snapshot: snapshot.for_typist(&visit.typist()),
            visit,
            id,
        }
    }

    pub(super) async fn open(
        site: &Arc<Site>,
        parts: &Parts,
        id: ElicitationId,
        key: &str,
    ) -> Result<Self, Refused> {
        let visit = Visit::authenticate(site, parts, Target::Question(id), Some(key)).await?;
        match site.engine.elicitation(id).status().await {
            Ok(snapshot) if visit.may_see(&snapshot) => Ok(Self::new(visit, id, snapshot)),
            Ok(_) | Err(ActError::NotFound) => Err(visit.not_found(peer_of(parts)).into()),
            Err(error) => Err(visit.internal_error(&error).into()),
        }
    }

    /// The elicitation, with this browser and person recorded as the author of drafts.
    pub(super) fn elicitation(&self) -> Elicitation {
        let name = self.visit.typist();
        let request = &self.snapshot.record().request;
        let elicitation = self.visit.site.engine.elicitation(self.id);
        let elicitation = elicitation.typed_by(&name).while_for(request.respondent());
        match self.visit.actor() {
            Some(actor) => elicitation.acting(actor),
            None => elicitation,
        }
    }

    /// The draft for showing it, including secrets; loads it only if there is one.
    pub(super) async fn draft_values(&self) -> Result<Map<String, Value>, ActError> {
        let held = self.snapshot.record().answer_state.as_ref();
        if held.is_none_or(|held| held.draft.is_none()) {
            return Ok(Map::new());
        }
        self.read_draft().await
    }

    /// This person's current draft, including secrets.
    pub(super) async fn read_draft(&self) -> Result<Map<String, Value>, ActError> {
        self.elicitation().read_draft().await
    }

    /// Whether the draft was typed in this browser, by this person.
    pub(super) fn is_typist(&self) -> bool {
        self.snapshot.typist() == Some(&*self.visit.typist())
    }
}

impl Refused {
    /// The texts of whoever had access.
    pub(super) fn texts(&self) -> Option<&'static Texts> {
        Some(self.lapsed.as_ref()?.visit.texts)
    }

    /// Saves what somebody typed who had access when they opened the form: nobody else will see it,
    /// and they find it there when they are signed in again. Returns whether it was saved, and the
    /// page for whoever is there now.
    pub(super) async fn save_typed(self, headers: &HeaderMap, body: Body) -> (bool, Response) {
        let Some(mut question) = self.lapsed else {
            return (false, *self.response);
        };
        let Ok(mut posted) = Posted::read(&question, headers, body).await else {
            return (false, *self.response);
        };
        let saved = question.save_for_author(&mut posted).await;
        (saved, *self.response)
    }
}

impl QuestionVisit {
    /// Saves a post as the draft of the person for whom its form was rendered.
    pub(super) async fn save_for_author(&mut self, posted: &mut Posted) -> bool {
        let token = posted.token().and_then(|it| self.visit.person_of_form(it));
        let Some(FormPerson(person)) = token else {
            return false;
        };
        self.visit.person_digest = person;
        let saved = self.save_draft(posted).await;
        if let Err(error) = &saved {
            tracing::debug!(%error, "a form of somebody who is not signed in was not saved");
        }
        saved.is_ok()
    }

    /// Whether a form was rendered for somebody else in this browser.
    pub(super) fn is_of_others(&self, posted: &Posted) -> bool {
        !self.visit.is_own_form(posted.token())
    }
}

fn peer_of(parts: &Parts) -> Option<SocketAddr> {
    parts.extensions.get::<SocketAddr>().copied()
}

/// Whether the request is a navigation of a browser.
fn navigates(headers: &HeaderMap) -> bool {
    let mode = headers.get("sec-fetch-mode");
    mode.is_some_and(|mode| mode == "navigate")
}

/// Why nobody is known to have sent a request.
pub(super) enum Unknown {
    Unidentified(Unidentified),
    #[cfg(feature = "sign-in")]
    Store(StoreError),
}

impl Site {
    /// Finds out who sent a request.
    pub(super) async fn identify(
        &self,
        peer: SocketAddr,
        parts: &Parts,
        browser: Option<&Browser>,
    ) -> Result<Visitor, Unknown> {
        #[cfg(feature = "sign-in")]
        if let Some(sign_in) = &self.sign_in {
            let session = super::sign_in::session_of(self, sign_in, parts, browser).await;
            let session = session.map_err(Unknown::Store)?;
            let session = session.ok_or(Unknown::Unidentified(Unidentified::NotSignedIn))?;
            let account = Arc::new(session.session.account.clone());
            return Ok(Visitor {
                person: Person::SignedIn(account),
                session: Some(session),
            });
        }
        let _ = browser;
        let identity = &self.settings.identity;
        let now = self.engine.now();
        let person = identity.identify(peer, &parts.uri, &parts.headers, now);
        Ok(Visitor {
            person: person.await.map_err(Unknown::Unidentified)?,
            #[cfg(feature = "sign-in")]
            session: None,
        })
    }

    /// The page for somebody who is not known.
    pub(super) fn refuse(
        &self,
        refusal: &Unknown,
        parts: &Parts,
        browser: Option<&Browser>,
    ) -> Response {
        let (texts, _) = language(self, &parts.headers);
        #[cfg(not(feature = "sign-in"))]
        let _ = browser;
        match refusal {
            #[cfg(feature = "sign-in")]
            Unknown::Unidentified(Unidentified::NotSignedIn) if self.sign_in.is_some() => {
                super::sign_in::page(self, texts, &parts.uri, browser)
            }
            Unknown::Unidentified(error) => {
                tracing::info!(%error, "a visitor was rejected");
                notice(self, texts, StatusCode::FORBIDDEN, texts.refused, &[])
            }
            #[cfg(feature = "sign-in")]
            Unknown::Store(error) => {
                tracing::error!(%error, "a session could not be checked");
                let status = StatusCode::INTERNAL_SERVER_ERROR;
                notice(self, texts, status, texts.failed, &[])
            }
        }
    }

    /// The page for a link that is not this visitor's, whether it is anybody's or not. Such
    /// requests are counted: they may be guesses.
    fn not_found_for(
        &self,
        visitor: &Visitor,
        peer: SocketAddr,
        browser: Option<&Browser>,
        texts: &'static Texts,
    ) -> Response {
        if self
            .guess_limiter
            .is_exceeded_by(peer.ip(), self.engine.now())
        {
            let status = StatusCode::TOO_MANY_REQUESTS;
            return notice(self, texts, status, texts.too_many, &[]);
        }
        #[cfg(feature = "sign-in")]
        if let Some(session) = &visitor.session {
            let account = &session.session.account;
            return super::sign_in::other_account_page(self, texts, account, browser);
        }
        let _ = (visitor, browser);
        self.not_found(texts)
    }
}

impl Visit {
    /// The page for a question that is not this person's, or not there at all.
    pub(super) fn not_found(&self, peer: Option<SocketAddr>) -> Response {
        match (&self.person, peer) {
            (Some(person @ (Person::Named(_) | Person::SignedIn(_))), Some(peer)) => {
                let visitor = Visitor {
                    person: person.clone(),
                    #[cfg(feature = "sign-in")]
                    session: self.session.clone(),
                };
                let browser = Some(&self.browser);
                self.site.not_found_for(&visitor, peer, browser, self.texts)
            }
            (Some(_) | None, _) => self.site.not_found(self.texts),
        }
    }

    /// An internal error: logged, and shown as such.
    pub(super) fn internal_error(&self, error: &ActError) -> Response {
        if matches!(error, ActError::NotFound) {
            // It became somebody else's, or was purged, while this request was served.
            return self.not_found(None);
        }
        tracing::error!(%error, "a page could not be served");
        self.error_page(StatusCode::INTERNAL_SERVER_ERROR, self.texts.failed)
    }
}

impl Site {
    pub(super) fn not_found(&self, texts: &'static Texts) -> Response {
        let lines = &texts.not_found_lines;
        notice(self, texts, StatusCode::NOT_FOUND, texts.not_found, lines)
    }

    /// The name and attributes of the cookie. The prefix makes browsers reject one that was set by
    /// another host or without TLS.
    pub(super) fn cookie(&self) -> (&'static str, &'static str) {
        if self.is_secure() {
            ("__Host-entreat", "; Secure")
        } else {
            ("entreat", "")
        }
    }

    pub(super) fn browser(&self, headers: &HeaderMap) -> Option<Browser> {
        let (name, _) = self.cookie();
        cookie_value(headers, name).and_then(Browser::read)
    }

    /// Sets the cookie of a browser.
    pub(super) fn set_cookie(&self, response: &mut Response, browser: &Browser) {
        set_cookie(response, self.cookie(), &browser.secret(), COOKIE_AGE);
    }
}

/// Sets a cookie of this name and with these attributes, for so many seconds.
pub(super) fn set_cookie(
    response: &mut Response,
    (name, rest): (&str, &str),
    value: &str,
    age: u64,
) {
    let cookie = format!("{name}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Lax{rest}");
    if let Ok(mut cookie) = HeaderValue::from_str(&cookie) {
        cookie.set_sensitive(true);
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
}

/// The first cookie of this name.
pub(super) fn cookie_value<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let cookies = headers.get_all(header::COOKIE).iter();
    let mut pairs = cookies
        .filter_map(|cookies| cookies.to_str().ok())
        .flat_map(|cookies| cookies.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = pairs.find(|(other, _)| *other == name)?;
    Some(value)
}

/// The page texts and messages in the requested language.
pub(super) fn language(site: &Site, headers: &HeaderMap) -> (&'static Texts, Messages) {
    let wanted = headers.get(header::ACCEPT_LANGUAGE);
    let wanted = wanted.and_then(|wanted| wanted.to_str().ok()).unwrap_or("");
    let mut tags: Vec<(&str, u16)> = wanted
        .split(',')
        .take(20)
        .filter_map(|item| {
            let (tag, weight) = item.split_once(';').unwrap_or((item, ""));
            let weight = weight.trim().strip_prefix("q=");
            let weight = weight.map_or(Some(1.0), |weight| weight.parse::<f32>().ok())?;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "between 0 and 1000"
            )]
            let weight = (weight.clamp(0.0, 1.0) * 1000.0) as u16;
            (weight > 0).then_some((tag.trim(), weight))
        })
        .collect();
    tags.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
    let messages = site
        .catalogue
        .messages(tags.into_iter().map(|(tag, _)| tag));
    (Texts::of(&messages.language()), messages)
}

pub(super) async fn not_found_fallback(
    State(site): State<Arc<Site>>,
    Extension(peer): Extension<SocketAddr>,
    headers: HeaderMap,
) -> Response {
    let (texts, _) = language(&site, &headers);
    if site
        .guess_limiter
        .is_exceeded_by(peer.ip(), site.engine.now())
    {
        return notice(
            &site,
            texts,
            StatusCode::TOO_MANY_REQUESTS,
            texts.too_many,
            &[],
        );
    }
    site.not_found(texts)
}

pub(super) async fn method_not_allowed(
    State(site): State<Arc<Site>>,
    headers: HeaderMap,
) -> Response {
    let (texts, _) = language(&site, &headers);
    notice(
        &site,
        texts,
        StatusCode::METHOD_NOT_ALLOWED,
        texts.forged,
        &[],
    )
}
