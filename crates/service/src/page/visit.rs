//! Authenticates visitors of pages.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{FromRequestParts, Path, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use entreat_core::{ElicitationId, Messages};
use entreat_engine::{ActError, Elicitation, Snapshot};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Site;
use super::frame::notice;
use super::guard::may_be_same_origin;
use super::texts::Texts;
use super::token::{Access, Browser, Target};
use crate::identity::Person;

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
    pub(super) person: Person,
    pub(super) texts: &'static Texts,
    pub(super) messages: Messages,
}

/// Lifetime of the cookie in seconds: 30 days.
const COOKIE_AGE: u32 = 30 * 24 * 3600;

impl Visit {
    /// Grants access, or returns an error page. Nonexistent questions and those of others are
    /// indistinguishable. Without a key, only signed-in people have access.
    #[expect(
        clippy::result_large_err,
        reason = "the error is the response and is returned at once"
    )]
    pub(super) fn authenticate(
        site: &Arc<Site>,
        parts: &Parts,
        target: Target,
        key: Option<&str>,
    ) -> Result<Self, Response> {
        let (texts, messages) = language(site, &parts.headers);
        let error_page = |status, content| Err(notice(site, texts, status, content, &[]));
        let peer = parts.extensions.get::<SocketAddr>();
        let Some(peer) = peer.copied() else {
            return error_page(StatusCode::FORBIDDEN, texts.refused);
        };
        if site.rejects_everyone {
            tracing::info!(
                "nobody can open pages: `public_url` names another machine, and no proxy names \
                 the users"
            );
            return error_page(StatusCode::FORBIDDEN, texts.refused);
        }
        let identity = &site.settings.identity;
        let identified = identity.identify(peer, &parts.uri, &parts.headers);
        let person = match identified {
            Ok(person) => person,
            Err(error) => {
                tracing::info!(%error, "a visitor was rejected");
                return error_page(StatusCode::FORBIDDEN, texts.refused);
            }
        };
        let known = site.browser(&parts.headers);
        let access = match (key, &person) {
            (Some(key), _) => site.keys.open(target, key, known.as_ref()),
            (None, Person::Named(_) | Person::SignedIn(_)) => Some(Access::Name),
            (None, Person::Local) => return error_page(StatusCode::FORBIDDEN, texts.no_inbox),
        };
        let Some(access) = access else {
            if site
                .guess_limiter
                .is_exceeded_by(peer.ip(), site.engine.now())
            {
                return error_page(StatusCode::TOO_MANY_REQUESTS, texts.too_many);
            }
            return Err(site.not_found(texts));
        };
        if parts.method == Method::POST
            && !(known.is_some() && may_be_same_origin(site, &parts.headers))
        {
            return error_page(StatusCode::FORBIDDEN, texts.forged);
        }
        let is_new = known.is_none();
        let mode = parts.headers.get("sec-fetch-mode");
        Ok(Self {
            site: site.clone(),
            target,
            browser: known.unwrap_or_else(|| site.new_browser()),
            is_new,
            navigates: mode.is_some_and(|mode| mode == "navigate"),
            access,
            person,
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
        }
    }

    /// Whether a question is for this person, and has a page.
    pub(super) fn may_see(&self, snapshot: &Snapshot) -> bool {
        let request = &snapshot.record().request;
        request.subject.form().is_some() && self.person.may_answer(request)
    }

    pub(super) fn csrf(&self) -> String {
        self.site.keys.csrf_token(self.target, &self.browser)
    }

    /// Whether a CSRF token is valid for this browser.
    pub(super) fn is_valid_csrf(&self, token: Option<&str>) -> bool {
        token.is_some_and(|token| {
            self.site
                .keys
                .is_csrf_token(self.target, &self.browser, token)
        })
    }

    /// Redirects a browser to an address without the token, which thus stays out of its history.
    /// Other clients, such as programs, get the page itself.
    pub(super) fn redirect_from_link(&self) -> Option<Response> {
        (self.navigates && self.access == Access::Link).then(|| self.redirect_to(&self.here()))
    }

    pub(super) fn redirect_to(&self, place: &str) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::SEE_OTHER;
        // Consists of our own path and tokens.
        if let Ok(place) = HeaderValue::from_str(place) {
            response.headers_mut().insert(header::LOCATION, place);
        }
        self.with_cookie(response)
    }

    /// Sets the cookie, if the browser has none.
    pub(super) fn with_cookie(&self, mut response: Response) -> Response {
        if self.is_new {
            let (name, rest) = self.site.cookie();
            let secret = self.browser.secret();
            let cookie = format!(
                "{name}={secret}; Path=/; Max-Age={COOKIE_AGE}; HttpOnly; SameSite=Lax{rest}"
            );
            if let Ok(cookie) = HeaderValue::from_str(&cookie) {
                response.headers_mut().insert(header::SET_COOKIE, cookie);
            }
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
    type Rejection = Response;

    /// Grants access to the inbox.
    async fn from_request_parts(parts: &mut Parts, site: &Arc<Site>) -> Result<Self, Response> {
        let key = Path::<String>::from_request_parts(parts, site).await.ok();
        let key = key.as_ref().map(|Path(key)| &**key);
        Self::authenticate(site, parts, Target::Inbox, key)
    }
}

/// A visitor with access to a question, and the question's state.
pub(super) struct QuestionVisit {
    pub(super) visit: Visit,
    pub(super) id: ElicitationId,
    pub(super) snapshot: Snapshot,
}

impl FromRequestParts<Arc<Site>> for QuestionVisit {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, site: &Arc<Site>) -> Result<Self, Response> {
        let address = Path::<QuestionAddress>::from_request_parts(parts, site).await;
        let Ok(Path(QuestionAddress { id, key })) = address else {
            // Indistinguishable from a wrong key, which this one always is.
            let visit = Visit::authenticate(site, parts, Target::Inbox, Some(""))?;
            return Err(site.not_found(visit.texts));
        };
        let visit = Visit::authenticate(site, parts, Target::Question(id), Some(&key))?;
        match site.engine.elicitation(id).status().await {
            Ok(snapshot) if visit.may_see(&snapshot) => Ok(Self {
                visit,
                id,
                snapshot,
            }),
            Ok(_) | Err(ActError::NotFound) => Err(site.not_found(visit.texts)),
            Err(error) => Err(visit.internal_error(&error)),
        }
    }
}

/// The path parameters of a question; further ones are parsed by its handlers.
#[derive(Deserialize)]
struct QuestionAddress {
    id: ElicitationId,
    key: String,
}

impl QuestionVisit {
    /// The elicitation, with this browser recorded as the author of drafts.
    pub(super) fn elicitation(&self) -> Elicitation {
        let name = self.visit.browser.name();
        self.visit.site.engine.elicitation(self.id).typed_by(&name)
    }

    /// The draft, including secrets; loads it only if there is one.
    pub(super) async fn draft_values(&self) -> Result<Map<String, Value>, ActError> {
        let held = self.snapshot.record().answer_state.as_ref();
        if held.is_none_or(|held| held.draft.is_none()) {
            return Ok(Map::new());
        }
        self.elicitation().read_draft().await
    }

    /// Whether the draft was typed in this browser.
    pub(super) fn is_typist(&self) -> bool {
        self.snapshot.typist() == Some(&*self.visit.browser.name())
    }
}

impl Visit {
    /// An internal error: logged, and shown as such.
    pub(super) fn internal_error(&self, error: &ActError) -> Response {
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
    fn cookie(&self) -> (&'static str, &'static str) {
        if self.is_secure() {
            ("__Host-entreat", "; Secure")
        } else {
            ("entreat", "")
        }
    }

    fn browser(&self, headers: &HeaderMap) -> Option<Browser> {
        let (name, _) = self.cookie();
        let cookies = headers.get_all(header::COOKIE).iter();
        let mut pairs = cookies
            .filter_map(|cookies| cookies.to_str().ok())
            .flat_map(|cookies| cookies.split(';'))
            .filter_map(|pair| pair.trim().split_once('='));
        let (_, secret) = pairs.find(|(other, _)| *other == name)?;
        Browser::read(secret)
    }
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
